"""Candidates for a plan: the draws of `variety`, and the order of goals by their cost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from unlatch.simcore.geometry import matrix_from_axis_angle
from unlatch.simcore.rng import sum_in_order
from unlatch.solver.goal_search import GoalRanker, RankedGoal, ReachedGoal
from unlatch.solver.goal_solver import Goal
from unlatch.solver.plan import PlanRequest
from unlatch.solver.scene import Slip, bar_axis
from unlatch.solver.term import AxisRow, Row

Array = np.ndarray

_SLOWEST = 0.5
"""Smallest pace, as a share of the usual speeds."""
_TIGHT_RAD = 0.2
"""An axis with less room is fixed: the hand can only turn about its target."""
_ROOM_SHARE = 0.9
"""Share of the room of an axis that is used."""
_TURN_STEP_RAD = 0.05
_LARGEST_TURN_RAD = 0.5 * math.pi
_BALL_TRIES = 200
_VIA_SHARE = 0.35
"""Largest distance of a via point from the middle of the straight transit, as a share of its length."""
_VIA_TRIES = 3


class Variation:
    """The draws of one plan."""

    def __init__(self, variety: float, rng: np.random.Generator) -> None:
        """Draws nothing yet; `variety` is from 0 to 1."""
        self.variety = variety
        self.rng = rng

    def draw_pace(self) -> float:
        """Returns the share of the usual speeds: 0.5 to 1 with variety 1."""
        return 1.0 - (1.0 - _SLOWEST) * self.variety * float(self.rng.uniform())

    def move_grasp(self, request: PlanRequest) -> PlanRequest:
        """Returns the request with the keypoints of the handle moved along it, by up to `grasp_room_m`."""
        along = bar_axis(request.scene)
        shift_m = self.variety * request.grasp_room_m * float(self.rng.uniform(-1.0, 1.0))
        if along is None or shift_m == 0.0:
            return request
        scene, names = request.scene, ("articulated_object_head", "articulated_object_tail")
        moved = {name: scene.keypoints[name] + shift_m * along for name in names if name in scene.keypoints}
        return replace(request, scene=replace(scene, keypoints={**scene.keypoints, **moved}))

    def turn_hand(self, goals: Sequence[Goal]) -> tuple[Goal, Array] | None:
        """Returns the goal in the middle of its constraints, and a drawn (3, 3) turn of the hand that they allow.

        None if they leave no room.
        """

        def room_used(goal: Goal) -> float:
            """Returns how far the hand is from the middle of its constraints: the squared shares of their room."""
            rows, T = axis_rows(goal.batch.rows), goal.T_base_ee
            return sum_in_order((row.value(T.R, T.p) / max(1e-3, row.upper - row.lower)) ** 2 for row in rows)

        best = min(goals, key=room_used, default=None)
        if best is None:
            return None
        R, rows = best.T_base_ee.R, axis_rows(best.batch.rows)
        if not rows:
            return None
        if all(row.upper - row.lower >= _TIGHT_RAD for row in rows):
            turn = self._turn_anywhere(R, rows)
            return None if turn is None else (best, turn)
        room = room_to_turn(R, rows)
        if room is None:
            return None
        axis, low, high = room
        return best, matrix_from_axis_angle(axis, self.variety * float(self.rng.uniform(low, high)))

    def _turn_anywhere(self, R: Array, rows: Sequence[AxisRow]) -> Array | None:
        """Returns a turn about any axis, evenly drawn from those that the rows allow."""
        largest = min(_LARGEST_TURN_RAD, max(row.upper - row.lower for row in rows))
        for _ in range(_BALL_TRIES):
            vector = self.rng.uniform(-1.0, 1.0, 3)
            length = float(np.linalg.norm(vector))
            if 1e-6 < length <= 1.0:
                turn = matrix_from_axis_angle(vector / length, self.variety * largest * length)
                if _holds(turn @ R, rows):
                    return turn
        return None

    def posture_order(self, costs: Sequence[float]) -> list[int]:
        """Returns the order in which postures of these costs are tried: by cost, or with variety 1 by chance."""
        drawn = self.rng.uniform(size=len(costs)) * (1.0 + max(costs, default=0.0))
        return np.argsort((1.0 - self.variety) * np.array(costs) + self.variety * drawn, kind="stable").tolist()

    def draw_vias(self, start: Array, goal: Array) -> Iterator[Array]:
        """Yields joints (n,) beside the middle of the line between two joints, each nearer to it [rad]."""
        direction = self.rng.normal(size=len(start))
        distance = float(np.linalg.norm(goal - start)) * _VIA_SHARE * self.variety * float(self.rng.uniform())
        for attempt in range(_VIA_TRIES):
            yield 0.5 * (start + goal) + 0.5**attempt * distance * direction / float(np.linalg.norm(direction))


def axis_rows(rows: Sequence[Row]) -> list[AxisRow]:
    """Returns the rows that limit the rotation of the hand."""
    return [row for row in rows if isinstance(row, AxisRow)]


def room_to_turn(R: Array, rows: Sequence[AxisRow]) -> tuple[Array, float, float] | None:
    """Returns the (3,) only axis about which the hand (3, 3) can turn, base frame, and from where to where [rad].

    None if rows fix no axis, or more than one.
    """
    fixed = [row.target for row in rows if row.upper - row.lower < _TIGHT_RAD]
    if not fixed or any(abs(float(target @ fixed[0])) < 0.99 for target in fixed):
        return None
    ends = []
    for sign in (-1.0, 1.0):
        angles = sign * np.arange(0.0, _LARGEST_TURN_RAD, _TURN_STEP_RAD)
        held = [_holds(matrix_from_axis_angle(fixed[0], angle) @ R, rows) for angle in angles[1:]]
        ends.append(float(angles[held.index(False) if False in held else -1]))
    return fixed[0], ends[0], ends[1]


def _holds(R: Array, rows: Sequence[AxisRow]) -> bool:
    """Whether axis rows hold at a rotation of the hand (3, 3), with a part of their room left."""
    for row in rows:
        spare = 0.5 * (1.0 - _ROOM_SHARE) * (row.upper - row.lower)
        low = row.lower if row.lower <= 1e-12 else row.lower + spare
        high = row.upper if row.upper >= math.pi - 1e-12 else row.upper - spare
        if not low - 1e-9 <= row.angle(R) <= high + 1e-9:
            return False
    return True


_POSTURES = 4
"""Largest number of postures that are tried."""
_SAME_POSTURE_RAD = 0.6
"""Two goals have the same posture if no joint differs by more."""
_TURNS_RAD = (0.2, -0.2, 0.4, -0.4)
"""Turns of the hand that are tried if the goal of least cost of a posture collides."""
_OTHERS = 4
"""Largest number of other goals of a posture that are tried after them."""
_GOOD_MARGIN_RAD = 0.1
_MARGIN_PRICE = 10.0
"""Cost of a radian that the margin to a joint limit lacks [1/rad]."""


class LeastCostSearch:
    """Orders the goals of one request."""

    def __init__(self, request: PlanRequest, ranker: GoalRanker, variation: Variation | None = None) -> None:
        """Prepares the order; with a variation, the order of the postures is drawn."""
        self.request = request
        self.ranker = ranker
        self.variation = variation
        n = request.arm.n_q
        self._weights = np.arange(n, 0, -1) / (0.5 * (n + 1))
        """(n,) weights of squared joint differences: a joint near the base moves more of the arm. Their mean is 1."""

    def order(self, goals: list[ReachedGoal], slip: Slip) -> Iterator[Iterator[RankedGoal]]:
        """Yields the goals of each posture, the preferred posture and its goal of least cost first."""
        ranked = sorted(self.ranker.rank(goals, slip), key=self._posture_cost)
        first_of_each: list[RankedGoal] = []
        for goal in ranked:
            if all(_joint_distance(goal, other) > _SAME_POSTURE_RAD for other in first_of_each):
                first_of_each.append(goal)
        solved: list[RankedGoal] = []
        for goal in first_of_each:
            # without a path of the part there is nothing to solve: the end of the start is taken as it is
            found = goal if self.ranker.target_s is None else self.ranker.solve_with_path(goal)
            if found is not None and not any(_joint_distance(found, other) < _SAME_POSTURE_RAD for other in solved):
                solved.append(found)
            if len(solved) == _POSTURES:
                break
        solved.sort(key=self._posture_cost)
        if self.variation is not None:
            costs = [self._posture_cost(goal) for goal in solved]
            solved = [solved[i] for i in self.variation.posture_order(costs)]
        for best in solved:
            yield self._goals_of_posture(best, ranked)

    def _goals_of_posture(self, best: RankedGoal, ranked: list[RankedGoal]) -> Iterator[RankedGoal]:
        """Yields the goal of least cost, then goals near it in case it collides: turned hands, then other ends."""
        yield best
        source, T = best.reached.source, best.reached.T_base_ee
        room = room_to_turn(T.R, axis_rows(source.batch.rows))
        if room is not None:
            axis, low, high = room
            for angle in (angle for angle in _TURNS_RAD if low <= angle <= high):
                turned = self.ranker.goals.with_turn(best.reached, matrix_from_axis_angle(axis, angle))
                found = self.ranker.solve_with_path(replace(best, reached=turned))
                if found is not None and _joint_distance(found, best) < 2.0 * _SAME_POSTURE_RAD:
                    yield found
        near = sorted(ranked, key=lambda goal: _joint_distance(goal, best))[:_OTHERS]
        yield from (goal for goal in near if _joint_distance(goal, best) < _SAME_POSTURE_RAD)

    def _posture_cost(self, goal: RankedGoal) -> float:
        """Returns the weighted distance from home, plus the price of a path near a joint limit."""
        away = float(np.sqrt(self._weights @ (goal.reached.q - self.request.q_reference) ** 2))
        path = goal.coarse if goal.path is None else goal.path
        margin = _GOOD_MARGIN_RAD if path is None else path.margin_rad
        return away + _MARGIN_PRICE * max(0.0, _GOOD_MARGIN_RAD - margin)


def _joint_distance(goal: RankedGoal, other: RankedGoal) -> float:
    """Returns the largest difference of a joint between two goals [rad]."""
    return float(np.abs(goal.reached.q - other.reached.q).max())
