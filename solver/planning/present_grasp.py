"""Measures whether a hand that is at a part holds it nearly as a goal of the planner would."""

from __future__ import annotations

import numpy as np

from unlatch.simcore.geometry import Pose, matrix_from_axis_angle
from unlatch.solver.goal.verify import SLACK, row_excess
from unlatch.solver.path.slip import Slip, SlipMode, bar_axis
from unlatch.solver.planning.plan import PlanRequest
from unlatch.solver.terms.row import AxisRow, PointRow, Row

Array = np.ndarray

_OFF_M = 0.015
"""Largest distance of the grasp point from where a goal has it, besides the room along the handle [m]."""
_TURNED_RAD = 0.15
"""Largest angle of a direction beyond its tolerance: pads slip a little on a part that they lead."""
_TURN_STEP_RAD = 0.05


def describe_misfit(rows: tuple[Row, ...], T_base_ee: Pose, slip: Slip, request: PlanRequest) -> str | None:
    """Returns why a hand does not hold a part as a goal would; None if it does.

    The hand may be turned about the contact as far as `slip` lets it turn while it leads the part.

    Args:
        rows: Constraints on a goal.
        T_base_ee: Pose of the hand.
        slip: Freedom of the hand on the part.
        request: The problem, with the part where it is now.
    """
    R, p = T_base_ee.R, T_base_ee.p
    limits = [row for row in rows if isinstance(row, AxisRow) or row.weight is None]
    off_m = max((_measure_distance(row, R, p, request) for row in limits if isinstance(row, PointRow)), default=0.0)
    if off_m > _OFF_M:
        return f"the hand is {1e3 * off_m:.0f} mm off the place of its grasp, expected at most {1e3 * _OFF_M:.0f} mm"
    directions = tuple(row for row in limits if isinstance(row, AxisRow))
    if directions and slip.mode is not SlipMode.cone:  # a cone is checked along the path
        turned = _turn_hand(R, slip, request)
        off_rad = float(row_excess(directions, turned, np.tile(p, (len(turned), 1))).max(axis=1).min())
        if off_rad > _TURNED_RAD:
            return f"the hand is turned {off_rad:.2f} rad beyond the angles of a grasp, expected at most {_TURNED_RAD}"
    others = tuple(row for row in limits if not isinstance(row, AxisRow | PointRow))
    if float(row_excess(others, R[None], p[None]).max(initial=0.0)) > SLACK:
        return "the hand does not meet the constraints of a grasp"
    return None


def _measure_distance(row: PointRow, R: Array, p: Array, request: PlanRequest) -> float:
    """Returns how far a point of the hand is from its target; less along the handle, where there is room [m]."""
    error, bar = R @ row.x_ee + p - row.target, bar_axis(request.scene)
    if bar is not None:
        room_m = request.grasp_room_m
        error = error - np.clip(error @ bar, -room_m, room_m) * bar
    return float(np.linalg.norm(error))


def _turn_hand(R: Array, slip: Slip, request: PlanRequest) -> Array:
    """Returns (B, 3, 3) rotations of a hand that it can reach by turning about its contact, itself included."""
    bar, side = bar_axis(request.scene), R @ request.arm.side_axis()
    about_bar = (SlipMode.bar, SlipMode.gimbal)
    axes = [axis for axis, modes in ((bar, about_bar), (side, (SlipMode.side, SlipMode.gimbal))) if slip.mode in modes]
    angles = np.arange(-slip.limit_rad, slip.limit_rad, _TURN_STEP_RAD)
    turned = R[None]
    for axis in axes:
        if axis is not None:
            turns = np.array([np.eye(3), *(matrix_from_axis_angle(axis, float(angle)) for angle in angles)])
            turned = np.einsum("aij,bjk->abik", turns, turned).reshape(-1, 3, 3)
    return turned
