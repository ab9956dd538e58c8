"""Solves goal and path together: sets up the program from a guess, and measures the result in plain NumPy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unlatch.solver.path_program import PathParameters, PathProblem, PathShape, path_program_of
from unlatch.solver.scene import ArmModel, Array, PlanningScene, SlipMode, bar_axis, slide_line
from unlatch.solver.solution import box_excess, row_excess
from unlatch.solver.term import AxisRow, GeometricRow, PlaneRow, PointRow, Row
from unlatch.solver.waypoints import Grasp, interpolate_rows, part_motions, perpendicular_pair

WAYPOINTS = 12
"""Stages of the program after the goal: it solves as many problems as with 24, in three quarters of the time."""
APPROACH = 5
"""Stages of the program before the goal."""
_TIGHTEN = 0.7
"""Share of a goal tolerance that the solver aims at, as in the goal solve."""
_LIMIT_SHARE = 0.97
"""Share of the limits of slip and slide that the solver aims at."""
_FREE = 1e3


@dataclass(frozen=True)
class GoalPath:
    """A goal and the waypoints after it."""

    q: Array
    """(1 + WAYPOINTS, n) joints, the goal first, inside their limits [rad]."""
    s: Array
    """(1 + WAYPOINTS,) joint positions of the part [rad or m]."""
    goal_violation: float
    """Largest excess of a goal row or of the workspace at the goal, metres and radians alike."""


def solve_with_goal(
    arm: ArmModel,
    scene: PlanningScene,
    grasp: Grasp,
    rows: Sequence[Row],
    *,
    guess: Array,
    s_guess: Array,
    target_s: float,
    retreats: Array,
    q_now: Array,
    max_step_rad: float,
) -> GoalPath:
    """Solves for the goal, its approach and the path of the part.

    Args:
        arm: The arm.
        scene: The object at the start.
        grasp: How the hand leads the part.
        rows: Constraints and costs of the goal.
        guess: (G, n) joints along the path of the part to start from [rad].
        s_guess: (G,) positions of the part there [rad or m].
        target_s: Position of the part at the end [rad or m].
        retreats: (K, 3) offsets back from the goal, ee frame, the goal (zero) first; one row = no approach [m].
        q_now: (n,) joints to stay near [rad].
        max_step_rad: Largest change of a joint between two stages [rad].
    """
    s_values = np.linspace(scene.s, target_s, WAYPOINTS + 1)
    first = interpolate_rows(s_values, s_guess, guess)
    R, p = arm.kinematics.fk_batch(first[:1])
    R0, p0 = R[0], p[0]
    shares = np.linspace(1.0, 0.0, APPROACH, endpoint=False) * (len(retreats) - 1)
    offsets = interpolate_rows(shares, np.arange(len(retreats)), retreats)
    pairs_approach = _fixed_pairs(R0)
    pairs_held = _held_pairs(arm, scene, grasp, R0)
    goal, low, high = _pack_rows(rows)
    line = slide_line(scene, grasp.slip, grasp.inward)
    shape = PathShape(
        approach=APPROACH,
        waypoints=WAYPOINTS,
        held=len(pairs_held),
        slides=line is not None,
        points=sum(isinstance(row, PointRow) for row in rows),
        axes=sum(isinstance(row, AxisRow) for row in rows),
        planes=sum(isinstance(row, PlaneRow) for row in rows),
    )
    turns, shifts = part_motions(scene, s_values)
    fixed = grasp.slip.mode is SlipMode.fixed
    parameters = PathParameters(
        turns=turns[1:],
        shifts=shifts[1:],
        x_contact=grasp.contact_ee,
        retreats=offsets,
        pairs_approach=pairs_approach,
        pairs_held=pairs_held,
        x_approach=arm.approach_axis(),
        inward=grasp.inward,
        stiffness=0.0 if fixed else grasp.slip.stiffness,
        line=np.zeros(3) if line is None else line,
        goal=goal,
        q_now=q_now,
    )
    cone = math.pi if fixed else _LIMIT_SHARE * grasp.slip.limit_rad
    problem = PathProblem(parameters, cone, _LIMIT_SHARE * grasp.slip.slide_m, low, high)
    place = R0 @ grasp.contact_ee + p0
    joints = path_program_of(arm.kinematics, shape).solve(
        problem,
        np.concatenate([np.repeat(first[:1], APPROACH, axis=0), first]),
        place,
        np.concatenate([_pair_values(pairs_approach, R0), _pair_values(pairs_held, R0)]),
        limits=np.array([arm.q_lower, arm.q_upper]),
        box=arm.workspace,
        step=0.95 * max_step_rad,
    )
    q = np.clip(joints, arm.q_lower, arm.q_upper)
    R, p = arm.kinematics.fk_batch(q[APPROACH : APPROACH + 1])
    out = max(float(row_excess(rows, R, p).max(initial=0.0)), float(box_excess(arm, p)[0]))
    return GoalPath(q=q[APPROACH:], s=s_values, goal_violation=out if np.isfinite(q).all() else math.inf)


def _held_pairs(arm: ArmModel, scene: PlanningScene, grasp: Grasp, R0: Array) -> Array:
    """Returns (K, 2, 3) directions on the part and in the hand whose inner products the slip keeps."""
    side, mode = arm.side_axis(), grasp.slip.mode
    if mode is SlipMode.fixed:
        return _fixed_pairs(R0)
    bar = bar_axis(scene)
    bar = R0 @ np.cross(side, arm.approach_axis()) if bar is None else bar
    if mode is SlipMode.bar:
        return np.array([(bar, y) for y in perpendicular_pair(R0.T @ bar)])
    if mode is SlipMode.side:
        return np.array([(e, side) for e in perpendicular_pair(R0 @ side)])
    if mode is SlipMode.gimbal:
        return np.array([(bar, side)])
    return np.empty((0, 2, 3))


def _fixed_pairs(R0: Array) -> Array:
    """Returns (3, 2, 3) pairs (e_i, y_j), R0 y_j = e_j; e_i . B y_j is the turn from R0 to B, if that is small."""
    unit = np.eye(3)
    return np.array([(unit[i], R0.T @ unit[j]) for i, j in ((0, 1), (1, 2), (2, 0))])


def _pair_values(pairs: Array, R0: Array) -> Array:
    return np.array([e @ R0 @ y for e, y in pairs])


def _pack_rows(rows: Sequence[Row]) -> tuple[Array, Array, Array]:
    """Returns numbers and bounds of the goal's rows in the order of the program: points, axes, planes."""
    ordered = [row for kind in (PointRow, AxisRow, PlaneRow) for row in rows if isinstance(row, kind)]
    packed = [_pack_row(row) for row in ordered]
    numbers, low, high = (np.concatenate([*(part[i] for part in packed), np.empty(0)]) for i in range(3))
    return numbers, low, high


def _pack_row(row: GeometricRow) -> tuple[Array, list[float], list[float]]:
    if isinstance(row, AxisRow):
        lower, upper = _tighten(row)
        low = math.cos(upper) if upper < math.pi else -2.0
        return np.concatenate([row.x_ee, row.target]), [low], [math.cos(lower) if lower > 0.0 else 2.0]
    half = _TIGHTEN * row.tolerance if row.weight is None else _FREE
    weight = row.weight or 0.0
    if isinstance(row, PointRow):
        return np.concatenate([row.x_ee, row.target, [weight]]), [-half] * 3, [half] * 3
    offset = float(row.normal @ row.point)
    return np.concatenate([row.x_ee, row.normal, [offset, weight]]), [-half], [half]


def _tighten(row: AxisRow) -> tuple[float, float]:
    if row.lower <= 1e-12:
        return 0.0, _TIGHTEN * row.upper
    if row.upper >= math.pi - 1e-12:
        return math.pi - _TIGHTEN * (math.pi - row.lower), math.pi
    middle, half = 0.5 * (row.lower + row.upper), 0.5 * _TIGHTEN * (row.upper - row.lower)
    return middle - half, middle + half
