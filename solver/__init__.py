"""Keypoint constraints to motions: kinematics, goal, articulated path, free motion, timing. No simulator inside.

Nothing heavy is imported here; import the module that holds what is needed.
"""

__all__ = [
    "collision",
    "constraint_program",
    "diagnosis",
    "goal",
    "kinematics",
    "motion",
    "path",
    "planner",
    "reader",
    "scene",
    "setting",
    "solution",
    "terms",
    "timing",
]
