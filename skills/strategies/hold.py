"""The planner setting for holding a handle that stands still: the bar across the pads, the hand from outside."""

from __future__ import annotations

from typing import Any

from unlatch.objects.fixed_handle import FixedHandle
from unlatch.robots.hand_shape import HandShape
from unlatch.skills.hold import HANDLE, HANDLE_END, HANDLE_OUT

_ROOM_M = 0.012
"""Gap that each finger leaves beside the bar on the way there [m]."""
_APPROACH_M = 0.06
_LEAN_RAD = 0.4
"""How far the hand may lean from straight out of the object."""


def hold_setting(handle: FixedHandle, hand: HandShape) -> dict[str, Any]:
    """A planner setting as a task's YAML file has it.

    Args:
        handle: The handle.
        hand: The hand that holds it.
    """
    head = {"axis_from_keypoint_name": "tool_head", "target_axis_from_keypoint_name": HANDLE}
    return {
        "success_threshold": 0.0,
        "constraint_list": [
            {
                "type": "point2point_constraint",
                "keypoint_name": "tool_head",
                "target_keypoint_name": HANDLE,
                "tolerance": 0.002,
            },
            {
                "type": "keypoint_axis_orthogonal",
                **head,
                "axis_to_keypoint_name": "tool_side",
                "target_axis_to_keypoint_name": HANDLE_END,
                "target_inner_product": 0,
                "tolerance": 0.1,
            },
            {
                "type": "keypoint_axis_parallel",
                **head,
                "axis_to_keypoint_name": "tool_tail",
                "target_axis_to_keypoint_name": HANDLE_OUT,
                "target_inner_product": 1,
                "tolerance": _LEAN_RAD,
            },
        ],
        "approach_width_m": round(min(handle.thickness_m + 2 * _ROOM_M, hand.max_width_m), 4),
        "pre_actuation_motions": [["translate_z", -_APPROACH_M]],
        "post_actuation_motions": [],
    }
