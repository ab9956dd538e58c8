"""Solves goal, approach and articulated path together, as one nonlinear program.

Stages k run from the farthest pre-grasp over the goal g to the end of the part's motion. The variables are:

- the joints q_k of every stage;
- the place c of the contact on the part, and the slides v_k where the contact may slide along a line;
- the values that the grasp holds constant: f on the approach, h while the part moves.

    min  sum_k |q_k - q_k-1|^2 + centring |q_k - q_mid|^2 - 2 stiffness (R x_a) . (M_k inward)
         + near_limit |part of q_k inside the margin at its limits|^2
         + nearness |q_0 - q_now|^2 + sliding |v|^2 + the costs of the goal
    s.t. M_k^-1 (R x_k + p) = c + v_k line,   e_i . M_k^-1 R y_i = h_i (f_i on the approach),   every stage
         (R x_a) . (M_k inward) >= cos(cone),   while the part moves
         p inside the workspace,  q_k inside its limits,  |q_k - q_k-1| <= step,   every stage
         every constraint, and e_i . R y_i = h_i,   at the goal

M_k is the motion of the part (the identity on the approach), and x_k is the contact point, moved back on the approach.
A pair (e_i on the part, y_i in the hand) is a held direction; the slip determines the pairs. Our own formulation.
A stage shares variables only with its neighbours and with the grasp, so the derivatives are sparse. IPOPT solves the
program, starting from the path that was followed step by step. Its iterations are limited, and all its inner loops end.

fatrop solved as many of these problems in half the time per iteration. But its version 1.1.8 never returned from 1 of
200 drawn problems: its limit of iterations does not hold after a restoration.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from unlatch.solver.compiled_functions import StoredFunction, function_key
from unlatch.solver.kinematics import Kinematics
from unlatch.solver.program_steps import WISHED_MARGIN_RAD
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
) -> tuple[Array, Array, float]:
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

    Returns:
        (1 + WAYPOINTS, n) joints, the goal first, inside their limits [rad]; the (1 + WAYPOINTS,) joint positions of
        the part [rad or m]; and the largest excess of a goal row or of the workspace at the goal, metres and radians
        alike.
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
    place = R0 @ grasp.contact_ee + p0
    joints = path_program_of(arm.kinematics, shape).solve(
        parameters,
        np.concatenate([np.repeat(first[:1], APPROACH, axis=0), first]),
        place,
        np.concatenate([_pair_values(pairs_approach, R0), _pair_values(pairs_held, R0)]),
        cone=math.pi if fixed else _LIMIT_SHARE * grasp.slip.limit_rad,
        slide_m=_LIMIT_SHARE * grasp.slip.slide_m,
        goal_bounds=(low, high),
        limits=np.array([arm.q_lower, arm.q_upper]),
        box=arm.workspace,
        step=0.95 * max_step_rad,
    )
    q = np.clip(joints, arm.q_lower, arm.q_upper)
    R, p = arm.kinematics.fk_batch(q[APPROACH : APPROACH + 1])
    out = max(float(row_excess(rows, R, p).max(initial=0.0)), float(box_excess(arm, p)[0]))
    return q[APPROACH:], s_values, out if np.isfinite(q).all() else math.inf


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


_MAX_ITERATIONS = 40
"""Limit of IPOPT's iterations; one of 545 solved problems needed more."""
_TOLERANCE = 1e-4
_CENTRING = 1e-3
_NEARNESS = 0.02
_NEAR_LIMIT = 1.0
"""Weight of a squared joint angle nearer to its limit than `WISHED_MARGIN_RAD` [1/rad^2]."""
_SLIDING = 1.0
"""Weight of a squared slide [1/m^2]."""


@dataclass(frozen=True)
class PathShape:
    """The sizes that determine the program."""

    approach: int
    """Stages before the goal."""
    waypoints: int
    """Stages after the goal."""
    held: int
    """Held directions while the part moves, 0 to 3."""
    slides: bool
    """Whether the contact may slide along a line."""
    points: int
    """Point rows of the goal."""
    axes: int
    """Axis rows of the goal."""
    planes: int
    """Plane rows of the goal."""

    @property
    def stages(self) -> int:
        """Number of stages."""
        return self.approach + 1 + self.waypoints


class PathParameters(NamedTuple):
    """The numbers of one problem in the order of the program; base frame, the part at the scene's joint position.

    The same tuple holds the CasADi symbols of a program, one column each.
    """

    turns: Any
    """(waypoints, 3, 3) rotations of the part."""
    shifts: Any
    """(waypoints, 3) translations of the part [m]."""
    x_contact: Any
    """(3,) contact point of the hand, ee frame [m]."""
    retreats: Any
    """(approach, 3) offsets of the hand from the goal, ee frame, the farthest first [m]."""
    pairs_approach: Any
    """(3, 2, 3) directions (base frame, ee frame) that fix the rotation on the approach."""
    pairs_held: Any
    """(held, 2, 3) directions (part, ee frame) that are held while the part moves."""
    x_approach: Any
    """(3,) approach axis, ee frame."""
    inward: Any
    """(3,) inward direction of the part."""
    stiffness: Any
    """Weight of keeping the approach axis near the inward direction."""
    line: Any
    """(3,) direction in which the contact may slide on the part."""
    goal: Any
    """(7 points + 6 axes + 8 planes,) numbers of the goal's rows, the weight of a cost last in its row."""
    q_now: Any
    """(n,) joints to stay near [rad]."""


class PathProgram:
    """The program for one arm and shape; get it from `path_program_of`."""

    def __init__(self, kinematics: Kinematics, shape: PathShape) -> None:
        self.n_q = kinematics.n_q
        self.shape = shape
        problem = StoredFunction("path_problem", lambda: self._build(kinematics), key=function_key(kinematics, shape))
        ipopt: dict[str, Any] = {
            "print_level": 0,
            "sb": "yes",
            "max_iter": _MAX_ITERATIONS,
            "tol": _TOLERANCE,
            "mu_init": 1e-2,
        }
        options: dict[str, Any] = {"print_time": False, "error_on_fail": False, "ipopt": ipopt}
        self._solver = ca.nlpsol("path", "ipopt", problem.function, options)

    def solve(
        self,
        problem: PathParameters,
        guess: Array,
        place: Array,
        held: Array,
        *,
        cone: float,
        slide_m: float,
        goal_bounds: tuple[Array, Array],
        limits: Array,
        box: Array,
        step: float,
    ) -> Array:
        """Returns (stages, n) joints [rad], solved from a guess; the caller measures whether they hold.

        Args:
            problem: The numbers of the problem.
            guess: (stages, n) joints to start from [rad].
            place: (3,) place of the contact on the part in the guess [m].
            held: (3 + held,) values of the held directions in the guess: on the approach, then while the part moves.
            cone: Largest angle between the approach axis and the inward direction of the part [rad].
            slide_m: Largest slide of the contact to either side [m].
            goal_bounds: (3 points + axes + planes,) lower and upper bounds of the goal's rows.
            limits: (2, n) lower and upper joint limits [rad].
            box: (2, 3) workspace of the ee origin [m].
            step: Largest change of a joint between two stages [rad].
        """
        s, n = self.shape, self.n_q
        guess = np.clip(guess, limits[0], limits[1])
        unbound = np.full(3 + 3 + s.held, np.inf)
        slides = np.full(s.waypoints if s.slides else 0, slide_m)
        lower = np.concatenate([-unbound, np.tile(limits[0], s.stages), -slides])
        upper = np.concatenate([unbound, np.tile(limits[1], s.stages), slides])
        first = np.concatenate([place, held, guess.ravel(), 0.0 * slides])
        inset = np.minimum(WISHED_MARGIN_RAD, 0.25 * (limits[1] - limits[0]))
        low_g, high_g = self._row_bounds(cone, goal_bounds, box, step)
        wished = (limits[0] + inset, limits[1] - inset)
        parameters = np.concatenate([np.ravel(value) for value in (*problem, *wished)])
        answer = self._solver(x0=first, p=parameters, lbx=lower, ubx=upper, lbg=low_g, ubg=high_g)
        x: Array = answer["x"].toarray().ravel()
        begin = 6 + s.held
        return x[begin : begin + n * s.stages].reshape(s.stages, n)

    def _row_bounds(
        self, cone: float, goal_bounds: tuple[Array, Array], box: Array, step: float
    ) -> tuple[Array, Array]:
        s, n = self.shape, self.n_q
        cosine = math.cos(cone) - (1e-6 if cone == 0.0 else 0.0)
        low, high = [], []
        for k in range(s.stages):
            equal = np.zeros(3 + (s.held if k > s.approach else 3))
            low += [equal, box[0]]
            high += [equal, box[1]]
            if k > 0:
                low.append(np.full(n, -step))
                high.append(np.full(n, step))
            if k == s.approach:
                low += [np.zeros(s.held), goal_bounds[0]]
                high += [np.zeros(s.held), goal_bounds[1]]
            if k > s.approach:
                low.append(np.array([cosine]))
                high.append(np.array([2.0]))
        return np.concatenate(low), np.concatenate(high)

    def _build(self, kinematics: Kinematics) -> Any:
        """Returns the CasADi Function (variables x, parameters p) -> cost f and constraints g."""
        s, n = self.shape, self.n_q
        symbol = ca.SX.sym
        pose_of = kinematics.pose_function()
        goal_size = 7 * s.points + 6 * s.axes + 8 * s.planes
        sizes = PathParameters(
            9 * s.waypoints, 3 * s.waypoints, 3, 3 * s.approach, 18, 6 * s.held, 3, 3, 1, 3, goal_size, n
        )
        given = PathParameters(*map(symbol, PathParameters._fields, sizes))
        wished_low, wished_high = symbol("low", n), symbol("high", n)
        middle = 0.5 * (wished_low + wished_high)
        place, fixed, held = symbol("place", 3), symbol("fixed", 3), symbol("held", s.held)
        q_of = [symbol(f"q{k}", n) for k in range(s.stages)]
        slid = symbol("slid", s.waypoints if s.slides else 0)
        rows: list[Any] = []
        cost: Any = _NEARNESS * ca.sumsqr(q_of[0] - given.q_now) + _SLIDING * ca.sumsqr(slid)
        for k, q in enumerate(q_of):
            w = k - s.approach - 1
            R, p = pose_of(q)
            if w >= 0:
                turn = ca.reshape(
                    given.turns[9 * w : 9 * w + 9], 3, 3
                )  # column by column: the transpose, so the inverse
                there = place + given.line * slid[w] if s.slides else place
                B = turn @ R
                rows += [turn @ (R @ given.x_contact + p - given.shifts[3 * w : 3 * w + 3]) - there]
                rows += [_held_values(B, given.pairs_held, s.held) - held]
            else:
                B = R
                back = given.retreats[3 * k : 3 * k + 3] if k < s.approach else 0.0
                rows += [R @ (given.x_contact - back) + p - place, _held_values(B, given.pairs_approach, 3) - fixed]
            rows.append(p)
            if k > 0:
                rows.append(q - q_of[k - 1])
                cost += ca.sumsqr(q - q_of[k - 1])
            if k == s.approach:
                goal_rows, goal_cost = _goal_rows(R, p, given.goal, s)
                rows += [_held_values(B, given.pairs_held, s.held) - held, goal_rows]
                cost += goal_cost
            if w >= 0:
                near = ca.dot(B @ given.x_approach, given.inward)
                rows.append(near)
                cost -= 2.0 * given.stiffness * near
            near_limit = ca.fmax(0.0, wished_low - q) + ca.fmax(0.0, q - wished_high)
            cost += _CENTRING * ca.sumsqr(q - middle) + _NEAR_LIMIT * ca.sumsqr(near_limit)
        x, p = ca.vertcat(place, fixed, held, *q_of, slid), ca.vertcat(*given, wished_low, wished_high)
        return ca.Function("path_problem", [x, p], [cost, ca.vertcat(*rows)], ["x", "p"], ["f", "g"])


def _held_values(B: Any, pairs: Any, count: int) -> Any:
    """Returns the values e_i . B y_i of the pairs (e_i, y_i)."""
    return ca.vertcat(*[ca.dot(pairs[6 * i : 6 * i + 3], B @ pairs[6 * i + 3 : 6 * i + 6]) for i in range(count)])


def _goal_rows(R: Any, p: Any, goal: Any, s: PathShape) -> tuple[Any, Any]:
    """Returns the values of the goal's rows, and the cost of rows with a weight."""
    rows, cost, cursor = [], 0.0, 0
    for _ in range(s.points):
        error = R @ goal[cursor : cursor + 3] + p - goal[cursor + 3 : cursor + 6]
        rows.append(error)
        cost += goal[cursor + 6] * ca.sumsqr(error)
        cursor += 7
    for _ in range(s.axes):
        rows.append(ca.dot(R @ goal[cursor : cursor + 3], goal[cursor + 3 : cursor + 6]))
        cursor += 6
    for _ in range(s.planes):
        error = ca.dot(goal[cursor + 3 : cursor + 6], R @ goal[cursor : cursor + 3] + p) - goal[cursor + 6]
        rows.append(error)
        cost += goal[cursor + 7] * error * error
        cursor += 8
    return ca.vertcat(*rows), cost


def path_program_of(kinematics: Kinematics, shape: PathShape) -> PathProgram:
    """Returns the program of an arm and a shape, built on first use and cached in the arm's kinematics."""
    return kinematics.program((PathProgram, shape), lambda: PathProgram(kinematics, shape))
