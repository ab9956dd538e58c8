"""Solves goal and path together: sets up the program from a guess, and measures its result in plain NumPy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unlatch.solver.goal.verify import box_excess, row_excess
from unlatch.solver.path.path_program import PathProblem, PathShape, path_program_of
from unlatch.solver.path.slip import SlipMode, bar_axis, slide_line
from unlatch.solver.path.waypoints import Grasp, part_motions, side_axis
from unlatch.solver.scene import ArmModel, Array, PlanningScene
from unlatch.solver.terms.row import AxisRow, PlaneRow, PointRow, Row

WAYPOINTS = 12
"""Stages of the program after the goal: it solves as many problems as with 24, in three quarters of the time."""
APPROACH = 5
"""Stages before it."""
_TIGHTEN = 0.7
"""Share of a goal tolerance that the solver aims at, as in the goal solve."""
_CONE_SHARE = 0.97
_FREE = 1e3


@dataclass(frozen=True)
class GoalPath:
    """A goal with the waypoints after it."""

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
    """Solves for the goal, its approach and the path of the part to `target_s` [rad or m], from joints (G, n) [rad]
    along that path at positions (G,). `retreats` (K, 3) are offsets back from the goal, ee frame, the goal (zero) first
    [m]; one row = no approach. The arm stays near q_now (n,) [rad].
    """
    s_values = np.linspace(scene.s, target_s, WAYPOINTS + 1)
    order = np.argsort(s_guess)
    first = np.column_stack([np.interp(s_values, s_guess[order], guess[order, i]) for i in range(arm.n_q)])
    R, p = arm.kinematics.fk_batch(first[:1])
    R0, p0 = R[0], p[0]
    shares = np.linspace(1.0, 0.0, APPROACH, endpoint=False) * (len(retreats) - 1)
    offsets = np.column_stack([np.interp(shares, np.arange(len(retreats)), retreats[:, i]) for i in range(3)])
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
    problem = PathProblem(
        turns=turns[1:],
        shifts=shifts[1:],
        x_contact=grasp.contact_ee,
        retreats=offsets,
        pairs_approach=pairs_approach,
        pairs_held=pairs_held,
        x_approach=arm.approach_axis(),
        inward=grasp.inward,
        cone=math.pi if fixed else _CONE_SHARE * grasp.slip.limit_rad,
        stiffness=0.0 if fixed else grasp.slip.stiffness,
        line=np.zeros(3) if line is None else line,
        slide_m=0.97 * grasp.slip.slide_m,
        goal=goal,
        goal_lower=low,
        goal_upper=high,
        q_now=q_now,
    )
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
    side, mode = side_axis(arm), grasp.slip.mode
    if mode is SlipMode.fixed:
        return _fixed_pairs(R0)
    bar = bar_axis(scene)
    bar = R0 @ np.cross(side, arm.approach_axis()) if bar is None else bar
    if mode is SlipMode.bar:
        return np.array([(bar, y) for y in _perpendicular_pair(R0.T @ bar)])
    if mode is SlipMode.side:
        return np.array([(e, side) for e in _perpendicular_pair(R0 @ side)])
    if mode is SlipMode.gimbal:
        return np.array([(bar, side)])
    return np.empty((0, 2, 3))


def _fixed_pairs(R0: Array) -> Array:
    """(3, 2, 3): e_i . B y_j with B y_j = e_j at R0, for three pairs i, j: the three rotations to first order."""
    unit = np.eye(3)
    return np.array([(unit[i], R0.T @ unit[j]) for i, j in ((0, 1), (1, 2), (2, 0))])


def _perpendicular_pair(direction: Array) -> Array:
    """Returns (2, 3) unit vectors at right angles to a direction and to each other."""
    helper = np.eye(3)[int(np.argmin(np.abs(direction)))]
    first = np.cross(direction, helper)
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(direction, first)])


def _pair_values(pairs: Array, R0: Array) -> Array:
    return np.array([e @ R0 @ y for e, y in pairs])


def _pack_rows(rows: Sequence[Row]) -> tuple[Array, Array, Array]:
    """Returns numbers and bounds of the goal's rows in the order of the program."""
    numbers: list[Array] = []
    low: list[float] = []
    high: list[float] = []
    for row in rows:
        if isinstance(row, PointRow):
            numbers.append(np.concatenate([row.x_ee, row.target, [row.weight or 0.0]]))
            half = _TIGHTEN * row.tolerance if row.weight is None else _FREE
            low += [-half] * 3
            high += [half] * 3
    for row in rows:
        if isinstance(row, AxisRow):
            numbers.append(np.concatenate([row.x_ee, row.target]))
            lower, upper = _tighten(row)
            low.append(math.cos(upper) if upper < math.pi else -2.0)
            high.append(math.cos(lower) if lower > 0.0 else 2.0)
    for row in rows:
        if isinstance(row, PlaneRow):
            offset = float(row.normal @ row.point)
            numbers.append(np.concatenate([row.x_ee, row.normal, [offset, row.weight or 0.0]]))
            half = _TIGHTEN * row.tolerance if row.weight is None else _FREE
            low.append(-half)
            high.append(half)
    return np.concatenate([*numbers, np.empty(0)]), np.array(low), np.array(high)


def _tighten(row: AxisRow) -> tuple[float, float]:
    if row.lower <= 1e-12:
        return 0.0, _TIGHTEN * row.upper
    if row.upper >= math.pi - 1e-12:
        return math.pi - _TIGHTEN * (math.pi - row.lower), math.pi
    middle, half = 0.5 * (row.lower + row.upper), 0.5 * _TIGHTEN * (row.upper - row.lower)
    return middle - half, middle + half
