"""The positions to which the joint of a part can be led."""

from __future__ import annotations

from unlatch.simcore.urdf.model import Joint

_PAST_LIMIT_RAD = 0.05
_PAST_LIMIT_M = 0.01
"""A part may be pushed this far past its joint's limit, so that it surely reaches the limit."""


def joint_unit(joint: Joint) -> str:
    """Returns the unit of a joint's positions: `m` or `rad`."""
    return "m" if joint.kind == "prismatic" else "rad"


def is_reachable(joint: Joint, position: float) -> bool:
    """Returns whether a part can be led to a position of its joint [rad or m], or pushed against its limit there."""
    past = _past_limit(joint)
    return joint.kind == "continuous" or joint.lower - past <= position <= joint.upper + past


def describe_reach(joint: Joint) -> str:
    """Returns the positions that a joint with limits can reach, in words."""
    unit, past = joint_unit(joint), _past_limit(joint)
    return f"{joint.lower:.3g} to {joint.upper:.3g} {unit} (at most {past:g} {unit} past a limit, to push against it)"


def _past_limit(joint: Joint) -> float:
    return _PAST_LIMIT_M if joint.kind == "prismatic" else _PAST_LIMIT_RAD
