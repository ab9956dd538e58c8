"""Says in words how a hand lies in the frame of the link that carries it."""

from __future__ import annotations

import numpy as np

from unlatch.robots.description import ArmCfg
from unlatch.robots.hand_shape import tool_frame

_ALONG = 0.999
"""Cosine of the angle to an axis below which a direction is given by its numbers: 2.6 degrees."""


def describe_hand_frame(arm: ArmCfg) -> str:
    """Returns where the hand of an arm approaches, opens and holds, in the frame of its ee link.

    Robots differ in this: the hand of a Franka approaches along +z of its link, that of others along +x. The tool
    keypoints define it.
    """
    T_ee_tool = tool_frame(arm.keypoints)
    place = ", ".join(f"{1e3 * value + 0.0:.0f}" for value in T_ee_tool.p)
    opening = _name_direction(T_ee_tool.R[:, 1]).lstrip("+-")
    return (
        f"frame of {arm.ee_link}: approaches along {_name_direction(T_ee_tool.R[:, 0])}, opens along {opening}, "
        f"holds at ({place}) mm"
    )


def _name_direction(direction: np.ndarray) -> str:
    """Returns the signed axis that a unit vector equals, or else its numbers."""
    axis = int(np.argmax(np.abs(direction)))
    if abs(float(direction[axis])) >= _ALONG:
        return f"{'+' if direction[axis] > 0 else '-'}{'xyz'[axis]}"
    return "(" + ", ".join(f"{value + 0.0:.2f}" for value in direction) + ")"
