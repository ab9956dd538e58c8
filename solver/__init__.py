"""Keypoint constraints to motions: kinematics, goal, articulated path, free motion, timing. No simulator inside.

Nothing heavy is imported here; import the module that holds what is needed.
"""

__all__ = [
    "collision",
    "diagnosis",
    "goal",
    "kinematics",
    "library",
    "motion",
    "path",
    "plan",
    "planner",
    "post",
    "program",
    "reader",
    "scene",
    "setting",
    "solution",
    "terms",
    "timing",
    "verify",
]
