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

from unlatch.solver.diagnosis.diagnosis_text import format_amount
from unlatch.solver.diagnosis.elastic import HARD, METRE, Compromise, Weights, compromise
from unlatch.solver.diagnosis.relaxation import describe_bounds, limiting_bounds
from unlatch.solver.path.path_solver import ANGLE_TOLERANCE_RAD, POINT_TOLERANCE_M
from unlatch.solver.path.waypoints import Waypoints, perpendicular_pair
from unlatch.solver.scene import ArmModel, Array
from unlatch.solver.terms.row import AxisRow, PlaneRow, PointRow, Row

_HALVINGS = 7
_SOLVES = 60
"""Largest number of elastic solves per path."""
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
    """What stops the hand, in words, the most important first."""
    kinds: tuple[str, ...]
    """Kind of each entry of `stopped_by`: `joint limit`, `workspace`, `slip`, `reach` or `jump`."""
    q: Array
    """(n,) joints there [rad]."""


def path_end(
    arm: ArmModel, waypoint_at: Callable[[float], Waypoints], q: Array, s_from: float, s_to: float, step: float
) -> PathEnd | None:
    """Continues a path to where it ends; returns None if it continues to s_to.

    Args:
        arm: The arm.
        waypoint_at: Returns the waypoints for a position of the part; only the last of them counts.
        q: (n,) joints at s_from, where the path holds [rad].
        s_from: Position of the part, or count of poses, at the start.
        s_to: Position of the part, or count of poses, at the end of the whole path.
        step: First and largest step; a step costs a solve of some 10 ms.
    """
    distance, sign = abs(s_to - s_from), math.copysign(1.0, s_to - s_from)
    joints = np.asarray(q, dtype=float)
    gone, size, failed = 0.0, step, None
    for _ in range(_SOLVES):
        ahead = min(distance, gone + size)
        end = _solve_waypoint(arm, waypoint_at(s_from + sign * ahead), joints)
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
    words, kinds = _describe_stop(arm, waypoint_at(s_from + sign * failed[0]), failed[1], joints)
    return PathEnd(s_from + sign * gone, tuple(words), tuple(kinds), joints)


def holds_at(arm: ArmModel, waypoint: Waypoints, q: Array) -> bool:
    """Returns whether joints near q (n,) [rad] meet the last of the waypoints."""
    return _is_met(_solve_waypoint(arm, waypoint, q))


def _solve_waypoint(arm: ArmModel, waypoint: Waypoints, q: Array) -> Compromise:
    rows, limits = _waypoint_rows(waypoint)
    cost = np.array([1.0 if isinstance(row, AxisRow) else METRE for row in rows])
    cost[list(limits)] = HARD  # hard, like limits of joints and workspace; only conditions of the part are soft
    weights = Weights(cost, np.full(6, HARD), np.full(arm.n_q, HARD), near_start=_NEAR_START, radius_rad=_JUMP_RAD)
    return compromise(arm, rows, q[None], weights=weights)


def _is_met(end: Compromise) -> bool:
    return end.largest_violation() <= _HOLDS


def _describe_stop(arm: ArmModel, waypoint: Waypoints, end: Compromise, q: Array) -> tuple[list[str], list[str]]:
    words, kinds = describe_bounds(arm, end), [element.kind for element in limiting_bounds(arm, end)]
    for row, limit in _waypoint_rows(waypoint)[1].items():
        if float(end.pull_rows[row]) > _PULLS:
            words.append(limit)
            kinds.append("slip")
    turn = np.abs(end.q - q)
    if not words and float(turn.max()) > 0.99 * _JUMP_RAD:
        jump = arm.kinematics.joint_names[int(np.argmax(turn))]
        words = [f"a singular posture: {jump} would have to jump by more than {format_amount(_JUMP_RAD, 'rad')}"]
        kinds = ["jump"]
    elif not words:
        words, kinds = ["the arm's reach, with no joint limit or workspace face in the way"], ["reach"]
    return words, kinds


def _waypoint_rows(waypoint: Waypoints) -> tuple[list[Row], dict[int, str]]:
    """Returns the last waypoint as rows, and the rows that are slip limits, in words."""
    limits: dict[int, str] = {}
    rows: list[Row] = []
    if waypoint.line is None:
        rows.append(PointRow(waypoint.x_point, waypoint.points[-1], POINT_TOLERANCE_M))
    else:
        line, point = waypoint.line[-1], waypoint.points[-1]
        rows += [PlaneRow(waypoint.x_point, normal, point, POINT_TOLERANCE_M) for normal in perpendicular_pair(line)]
        limits[len(rows)] = f"the limit of sliding, {waypoint.slide_m:.4g} m to either side"
        rows.append(PlaneRow(waypoint.x_point, line, point, waypoint.slide_m + POINT_TOLERANCE_M))
    if not waypoint.held_is_soft:
        angle = waypoint.held_angle
        low, high = max(0.0, angle - ANGLE_TOLERANCE_RAD), min(math.pi, angle + ANGLE_TOLERANCE_RAD)
        rows.append(AxisRow(waypoint.x_held, waypoint.held[-1], low, high, angle))
    cone = waypoint.cone
    if cone > 0.0:
        limits[len(rows)] = f"the limit of slip, the hand leaning {format_amount(cone, 'rad')} from straight in"
    rows.append(AxisRow(waypoint.x_approach, waypoint.approach[-1], 0.0, min(math.pi, cone + ANGLE_TOLERANCE_RAD), 0.0))
    return rows, limits
