"""Finds joints that meet constraints: many starts from a table of configurations, and the goal of least cost."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import Pose
from unlatch.solver.kinematics import frozen_array
from unlatch.solver.parameter_layout import Nearness
from unlatch.solver.program import Program, Schedule, program_of
from unlatch.solver.scene import ArmModel, Array, PlanningScene, checked_joints
from unlatch.solver.solution import SLACK, Solution, active_bounds, box_excess, residuals_of, row_excess
from unlatch.solver.start_library import RESTORE, STARTS, WAVES, start_library_of
from unlatch.solver.term import AxisRow, PointRow, Row, Term

_Variant: TypeAlias = tuple[str, tuple[Row, ...]]
"""Label of a set of tool keypoints, and its rows."""

_SETTLE: Schedule = ((1e4, 1.0, 0.0, 0.3),) * 40
"""Steps to a compromise if no exact solution exists."""
_COMPROMISES = 8
_LAST_STARTS = 24
_DISTINCT_RAD = 0.05
_REFERENCE_WEIGHT = 0.1


@dataclass(frozen=True)
class GoalBatch:
    """The ends of all starts for one set of tool keypoints."""

    variant: str
    rows: tuple[Row, ...]
    q: Array
    """(B, n) joints at the end of each start [rad]."""
    R: Array
    """(B, 3, 3) tool rotations."""
    p: Array
    """(B, 3) tool positions [m]."""
    violation: Array
    """(B,) largest violation of a constraint or of the workspace, metres and radians alike."""

    @property
    def solved(self) -> Array:
        """(B,) whether every constraint holds."""
        return self.violation <= SLACK


@dataclass(frozen=True)
class Goal:
    """The end of one start."""

    batch: GoalBatch
    index: int
    """Its place in the batch."""
    cost: float
    """Its cost; lower is nearer to the reference joints."""

    @property
    def q(self) -> Array:
        """(n,) joints [rad]."""
        return self.batch.q[self.index]

    @property
    def solved(self) -> bool:
        """Whether every constraint holds."""
        return bool(self.batch.solved[self.index])

    @property
    def T_base_ee(self) -> Pose:
        """Pose of the ee."""
        return Pose(self.batch.R[self.index], self.batch.p[self.index])


class GoalSolver:
    """Solves lists of constraints for one arm; each combination of kinds is compiled once."""

    def __init__(self, arm: ArmModel) -> None:
        self.arm = arm

    def solve(
        self,
        terms: Sequence[Term],
        scene: PlanningScene,
        *,
        q_reference: Array,
        costs: Sequence[Term] = (),
        nearness: Nearness | None = None,
        waves: int = WAVES,
    ) -> Solution:
        """Returns the solution of least cost that meets the constraints, or the best compromise with `found` False.

        The cost has `nearness` to the joints q_reference (n,) [rad]; None = joints and hand pose, all weights 1. There
        are at most `waves` waves of starts; the first one that finds a goal is the last.
        """
        began = time.perf_counter()
        problems, build_ms = self._build_problems(terms, scene, costs, q_reference)
        near = self._default_nearness(q_reference) if nearness is None else nearness
        goal, tried = self._find_least_cost(problems, q_reference, near, waves)
        if goal is None:
            batches = [
                self.run(rows, variant=variant, q_reference=q_reference, starts=_LAST_STARTS)
                for variant, rows in problems
            ]
            tried += _LAST_STARTS * len(batches)
            # these ends may hold although the exact refinement did not converge
            found = self.goals(batches, q_reference, nearness=near)
            goal = found[0] if found else self.best_compromise(batches)
        solve_ms = 1e3 * (time.perf_counter() - began) - build_ms
        return self.solution(goal, terms, starts_tried=tried, build_ms=build_ms, solve_ms=solve_ms)

    def least_cost(
        self, terms: Sequence[Term], scene: PlanningScene, *, q_reference: Array, costs: Sequence[Term] = ()
    ) -> tuple[Goal | None, int]:
        """Returns the goal nearest to the joints q_reference (n,) [rad] and their hand pose, None if none is found, and
        the number of starts.
        """
        problems, _ = self._build_problems(terms, scene, costs, q_reference)
        return self._find_least_cost(problems, q_reference, self._default_nearness(q_reference), WAVES)

    def _find_least_cost(
        self, problems: Sequence[_Variant], q_reference: Array, nearness: Nearness, waves: int
    ) -> tuple[Goal | None, int]:
        from unlatch.solver.least_cost import solve_least_cost

        best: Goal | None = None
        tried = 0
        for variant, rows in problems:
            end = solve_least_cost(self.arm, rows, q_reference=q_reference, nearness=nearness, waves=waves)
            tried += STARTS * waves if end is None else end.starts
            if end is not None and (best is None or end.cost < best.cost):
                best = Goal(self.measure(rows, end.q[None], variant=variant), 0, end.cost)
        return best, tried

    def _build_problems(
        self, terms: Sequence[Term], scene: PlanningScene, costs: Sequence[Term], q_reference: Array
    ) -> tuple[list[_Variant], float]:
        """Returns the rows for each set of tool keypoints, and the time to build their programs [ms]."""
        checked_joints("q_reference", q_reference, self.arm.n_q)
        if not terms:
            raise ConfigError("There is no constraint. Give at least one.", key="constraint_list")
        problems = [
            (variant, tuple(term.row(tool, scene) for term in [*terms, *costs]))
            for variant, tool in self.arm.tool_variants()
        ]
        began = time.perf_counter()
        for _, rows in problems:
            program_of(self.arm.kinematics, rows, pose=True)
        return problems, 1e3 * (time.perf_counter() - began)

    def _default_nearness(self, q_reference: Array) -> Nearness:
        """Returns the cost of the distance of joints and hand pose, all weights 1."""
        return Nearness(np.ones(self.arm.n_q), self.arm.kinematics.pose(q_reference), 1.0, 1.0)

    def run(self, rows: tuple[Row, ...], *, variant: str, q_reference: Array, starts: int, wave: int = 0) -> GoalBatch:
        """Runs one wave of starts on rows; the first start is q_reference (n,) [rad].

        Wave 0 takes the best starts of the library, each later wave the next best.
        """
        arm = self.arm
        program = program_of(arm.kinematics, rows, pose=True)
        library = start_library_of(self.arm)
        score = library.score(rows, q_reference, np.full(arm.n_q, _REFERENCE_WEIGHT))
        first = library.starts(score, q_reference, count=starts, wave=wave)
        schedules = np.broadcast_to(np.array(RESTORE), (starts, len(RESTORE), 4))
        # each start is its own reference, so that the goals differ
        ends, _, _ = program.descend(first, first, self.parameters(program, rows), schedules)
        return self.measure(rows, ends, variant=variant)

    def measure(self, rows: tuple[Row, ...], q: Array, *, variant: str) -> GoalBatch:
        """Measures rows of one set of tool keypoints at configurations (B, n), in plain NumPy."""
        R, p = self.arm.kinematics.fk_batch(q)
        violation = np.maximum(row_excess(rows, R, p).max(axis=1, initial=0.0), box_excess(self.arm, p))
        violation[~np.isfinite(violation)] = np.inf
        return GoalBatch(variant, rows, q, R, p, violation)

    def goals(
        self, batches: Sequence[GoalBatch], q_reference: Array, *, nearness: Nearness | None = None
    ) -> list[Goal]:
        """Returns the distinct goals of batches of one problem, least cost first. Without `nearness` the cost is the
        squared distance of the joints from q_reference (n,) [rad].
        """
        near = Nearness(np.ones(self.arm.n_q)) if nearness is None else nearness
        entries = [
            Goal(batch, int(i), _goal_cost(batch, int(i), q_reference, near))
            for batch in batches
            for i in np.flatnonzero(batch.solved)
        ]
        entries.sort(key=lambda goal: goal.cost)
        distinct: list[Goal] = []
        kept = np.empty((len(entries), self.arm.n_q))
        for goal in entries:
            if not distinct or np.abs(kept[: len(distinct)] - goal.q).max(axis=1).min() > _DISTINCT_RAD:
                kept[len(distinct)] = goal.q
                distinct.append(goal)
        return distinct

    def best_compromise(self, batches: Sequence[GoalBatch]) -> Goal:
        """Runs the least violated ends until they settle; returns the best of them as a compromise."""
        settled = []
        for batch in batches:
            starts = batch.q[np.argsort(batch.violation, kind="stable")[:_COMPROMISES]]
            program = program_of(self.arm.kinematics, batch.rows, pose=True)
            q = program.solve(starts, starts, self.parameters(program, batch.rows), _SETTLE)
            settled.append(self.measure(batch.rows, q, variant=batch.variant))
        best = min(settled, key=lambda b: float(b.violation.min()))
        return Goal(best, int(np.argmin(best.violation)), math.inf)

    def solution(
        self,
        goal: Goal,
        terms: Sequence[Term],
        *,
        starts_tried: int,
        build_ms: float = 0.0,
        solve_ms: float = 0.0,
    ) -> Solution:
        """Returns a goal with its residuals; the rows of `terms` are the first of the goal's batch."""
        batch, index = goal.batch, goal.index
        q = frozen_array(goal.q)
        return Solution(
            found=goal.solved,
            residuals=residuals_of(terms, batch.rows[: len(terms)], batch.R[index], batch.p[index]),
            cost=goal.cost,
            starts_tried=starts_tried,
            build_ms=build_ms,
            solve_ms=solve_ms,
            status="solved" if goal.solved else "no start met every constraint",
            tool_variant=batch.variant,
            active_bounds=active_bounds(self.arm, q, batch.p[index]),
            configuration=q,
        )

    def parameters(self, program: Program, rows: Sequence[Row]) -> Array:
        """Returns the parameter vector of rows with the limits and the workspace of this arm."""
        arm = self.arm
        return program.layout.pack(rows, lower=arm.q_lower, upper=arm.q_upper, box=arm.workspace)


def _goal_cost(batch: GoalBatch, index: int, q_reference: Array, nearness: Nearness) -> float:
    R, p = batch.R[index], batch.p[index]
    total = nearness.value(batch.q[index], R, p, q_reference)
    for row in batch.rows:
        weight = None if isinstance(row, AxisRow) else row.weight
        if weight is not None:
            if isinstance(row, PointRow):
                error = R @ row.x_ee + p - row.target
                total += weight * float(error @ error)
            else:
                total += weight * row.value(R, p) ** 2
    return total
