"""How a fixed handle is held: the hand comes from outside, and the bar lies across the pads."""

from __future__ import annotations

from unlatch.objects.fixed_handle import FixedHandle
from unlatch.robots.hand_shape import HandShape
from unlatch.skills.hold import HANDLE, HANDLE_END, HANDLE_OUT
from unlatch.solver.settings.setting import PlannerSettingCfg
from unlatch.solver.terms.axis import KeypointAxisOrthogonal, KeypointAxisParallel
from unlatch.solver.terms.point2point import Point2Point

_ROOM_M = 0.012
"""Gap between each finger and the bar on the approach [m]."""
_APPROACH_M = 0.06
_LEAN_RAD = 0.4
"""Largest angle between the hand and straight out of the object."""


def hold_setting(handle: FixedHandle, hand: HandShape) -> PlannerSettingCfg:
    """Returns the planner setting for holding a handle."""
    across = KeypointAxisOrthogonal(
        "tool_head",
        "tool_side",
        0.1,
        target_axis_from_keypoint_name=HANDLE,
        target_axis_to_keypoint_name=HANDLE_END,
        target_inner_product=0,
    )
    outward = KeypointAxisParallel(
        "tool_head",
        "tool_tail",
        _LEAN_RAD,
        target_axis_from_keypoint_name=HANDLE,
        target_axis_to_keypoint_name=HANDLE_OUT,
        target_inner_product=1,
    )
    return PlannerSettingCfg(
        success_threshold=0.0,
        constraint_list=[Point2Point("tool_head", HANDLE, 0.002), across, outward],
        approach_width_m=round(min(handle.thickness_m + 2 * _ROOM_M, hand.max_width_m), 4),
        pre_actuation_motions=[["translate_z", -_APPROACH_M]],
        post_actuation_motions=[],
    )
