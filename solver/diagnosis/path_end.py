"""Finds where a path ends and what stops it, for the one path that came furthest.

The search continues the path from its last exact waypoint, in steps that are halved on failure, until no configuration
nearby continues it. There the elastic solve names the joint limits, workspace faces or slip limits that stop the hand.
If there are none, the arm is stretched out or folded, or a joint would have to jump.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unlatch.simcore.geometry import unit
from unlatch.solver.diagnosis.elastic import HARD, METRE, Compromise, Weights, compromise
from unlatch.solver.diagnosis.relaxation import amount, describe_bounds, limiting_bounds
from unlatch.solver.path.waypoints import Waypoints
from unlatch.solver.scene import ArmModel, Array
from unlatch.solver.terms.row import AxisRow, PlaneRow, PointRow, Row

_HALVINGS = 7
_SOLVES = 60
"""Largest number of elastic solves per path."""
_POINT_M, _ANGLE_RAD = 2e-4, 2e-3
"""Tolerances of a waypoint, as in `unlatch.solver.path.path_solver`."""
_HOLDS = 2e-5
_JUMP_RAD = 0.6
"""A larger change of a joint in one step is a jump."""
_PULLS = 1e-2
_NEAR_START = 3e-4
"""Weight that keeps steps short; far below the cost of a violation, so that no constraint is given up for it."""


@dataclass(frozen=True)
class PathEnd:
    """Where a path ends."""

    reached: float
    """Position of the part, or count of poses, up to which the path holds."""
    stopped_by: tuple[str, ...]
    """What stops the hand, in words, the worst first."""
    kinds: tuple[str, ...]
    """The kinds of these: `joint limit`, `workspace`, `slip`, `reach` or `jump`."""
    q: Array
    """(n,) joints there [rad]."""


def path_end(
    arm: ArmModel, rows_at: Callable[[float], Waypoints], q: Array, s_from: float, s_to: float, step: float
) -> PathEnd | None:
    """Continues a path from joints q (n,) [rad], where it holds with the part at s_from, to where it ends, or returns
    None if it continues to s_to. Of the waypoints that `rows_at` gives the last one counts. `step` is the first and
    largest step; a step costs a solve of some 10 ms.
    """
    distance, sign = abs(s_to - s_from), math.copysign(1.0, s_to - s_from)
    joints = np.asarray(q, dtype=float)
    gone, size, failed = 0.0, step, None
    for _ in range(_SOLVES):
        ahead = min(distance, gone + size)
        end = _solve_waypoint(arm, rows_at(s_from + sign * ahead), joints)
        if _is_met(end):
            gone, joints = ahead, end.q
            if gone >= distance:
                return None
            size = min(step, 2.0 * size)
            continue
        failed = (ahead, end)
        if size <= step / 2**_HALVINGS:
            break
        size *= 0.5
    if failed is None:
        return None
    words, kinds = _describe_stop(arm, rows_at(s_from + sign * failed[0]), failed[1], joints)
    return PathEnd(s_from + sign * gone, tuple(words), tuple(kinds), joints)


def holds_at(arm: ArmModel, asked: Waypoints, q: Array) -> bool:
    """Returns whether joints near q (n,) [rad] meet the last of the waypoints."""
    return _is_met(_solve_waypoint(arm, asked, q))


def _solve_waypoint(arm: ArmModel, asked: Waypoints, q: Array) -> Compromise:
    rows, limits = _waypoint_rows(asked)
    cost = np.array([1.0 if isinstance(row, AxisRow) else METRE for row in rows])
    cost[list(limits)] = HARD  # hard, like limits of joints and workspace; only the demands of the part may be violated
    weights = Weights(cost, np.full(6, HARD), np.full(arm.n_q, HARD), near_start=_NEAR_START, radius_rad=_JUMP_RAD)
    return compromise(arm, rows, q[None], weights=weights)


def _is_met(end: Compromise) -> bool:
    return end.largest_violation() <= _HOLDS


def _describe_stop(arm: ArmModel, asked: Waypoints, end: Compromise, q: Array) -> tuple[list[str], list[str]]:
    words, kinds = describe_bounds(arm, end), [element.kind for element in limiting_bounds(arm, end)]
    for row, limit in _waypoint_rows(asked)[1].items():
        if float(end.pull_rows[row]) > _PULLS:
            words.append(limit)
            kinds.append("slip")
    turn = np.abs(end.q - q)
    if not words and float(turn.max()) > 0.99 * _JUMP_RAD:
        jump = arm.kinematics.joint_names[int(np.argmax(turn))]
        words = [f"a singular posture: {jump} would have to jump by more than {amount(_JUMP_RAD, 'rad')}"]
        kinds = ["jump"]
    elif not words:
        words, kinds = ["the arm's reach, with no joint limit or workspace face in the way"], ["reach"]
    return words, kinds


def _waypoint_rows(asked: Waypoints) -> tuple[list[Row], dict[int, str]]:
    """Returns the last waypoint as rows, and the rows that are slip limits, in words."""
    limits: dict[int, str] = {}
    rows: list[Row] = []
    if asked.line is None:
        rows.append(PointRow(asked.x_point, asked.points[-1], _POINT_M))
    else:
        line, point = asked.line[-1], asked.points[-1]
        first = unit(np.cross(line, np.eye(3)[int(np.argmin(np.abs(line)))]))
        for normal in (first, np.cross(line, first)):
            rows.append(PlaneRow(asked.x_point, normal, point, _POINT_M))
        limits[len(rows)] = f"the limit of sliding, {asked.slide_m:.4g} m to either side"
        rows.append(PlaneRow(asked.x_point, line, point, asked.slide_m + _POINT_M))
    if not asked.held_is_wish:
        angle = asked.held_angle
        low, high = max(0.0, angle - _ANGLE_RAD), min(math.pi, angle + _ANGLE_RAD)
        rows.append(AxisRow(asked.x_held, asked.held[-1], low, high, angle))
    if asked.cone > 0.0:
        limits[len(rows)] = f"the limit of slip, the hand leaning {amount(asked.cone, 'rad')} from straight in"
    rows.append(AxisRow(asked.x_approach, asked.approach[-1], 0.0, min(math.pi, asked.cone + _ANGLE_RAD), 0.0))
    return rows, limits
