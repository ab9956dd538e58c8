"""Orders goals so that the plan is a function of the scene alone, and changes little if the scene changes little.

The first goal that serves depends on the starts of the goal solver: if the object moves by a millimetre, another start
may win, with another posture of the arm. Here the goals are grouped by posture, since a posture exists in all scenes
that are similar. One goal of each posture is solved together with its approach and path, which gives the goal of least
cost near it, whatever start it came from. The posture nearest to the home of the arm comes first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from unlatch.simcore.geometry import matrix_from_axis_angle
from unlatch.solver.path.slip import Slip
from unlatch.solver.planning.goal_finder import ReachedGoal
from unlatch.solver.planning.goal_ranker import GoalRanker, RankedGoal
from unlatch.solver.planning.plan import PlanRequest
from unlatch.solver.planning.variation import Variation, axis_rows, room_to_turn

Array = np.ndarray

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
        solved: list[RankedGoal] = []
        for goal in _first_of_each_posture(ranked):
            # without a path of the part there is nothing to solve: the end of the start is taken as it is
            found = goal if self.ranker.target_s is None else self.ranker.solve_with_path(goal)
            if found is not None and not any(_joint_distance(found, other) < _SAME_POSTURE_RAD for other in solved):
                solved.append(found)
            if len(solved) == _POSTURES:
                break
        for best in self._order_postures(solved):
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

    def _order_postures(self, solved: list[RankedGoal]) -> list[RankedGoal]:
        solved = sorted(solved, key=self._posture_cost)
        if self.variation is None:
            return solved
        return [solved[i] for i in self.variation.posture_order([self._posture_cost(goal) for goal in solved])]

    def _posture_cost(self, goal: RankedGoal) -> float:
        """Returns the weighted distance from home, plus the price of a path near a joint limit."""
        away = float(np.sqrt(self._weights @ (goal.reached.q - self.request.q_reference) ** 2))
        path = goal.coarse if goal.path is None else goal.path
        margin = _GOOD_MARGIN_RAD if path is None else path.margin_rad
        return away + _MARGIN_PRICE * max(0.0, _GOOD_MARGIN_RAD - margin)


def _first_of_each_posture(goals: list[RankedGoal]) -> list[RankedGoal]:
    chosen: list[RankedGoal] = []
    for goal in goals:
        if all(_joint_distance(goal, other) > _SAME_POSTURE_RAD for other in chosen):
            chosen.append(goal)
    return chosen


def _joint_distance(goal: RankedGoal, other: RankedGoal) -> float:
    """Returns the largest difference of a joint between two goals [rad]."""
    return float(np.abs(goal.reached.q - other.reached.q).max())
