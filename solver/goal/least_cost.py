"""Finds the goal of least cost: many starts at once, and an exact refinement of the promising ends.

One wave picks starts from a table of configurations by their distance from the constraints and the reference. It takes
penalty steps that include the cost, half of the starts with a slowly and half with a fast rising penalty. It then
refines the ends exactly, in order of promise (`unlatch.solver.goal.refiner`). It skips an end whose cost exceeds the
best refined one: inside one basin the penalised minimum costs less than the constrained one.

If a wave finds nothing, the next one takes other starts, meets the constraints first, and then lowers the cost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from unlatch.solver.goal.parameter_layout import Nearness
from unlatch.solver.goal.program import Program, Schedule, program_of
from unlatch.solver.goal.start_library import StartLibrary, start_library_of
from unlatch.solver.scene import ArmModel, Array
from unlatch.solver.terms.row import AxisRow, Row

_STEPS = 12
_SLOW = tuple((mu, 0.5, 1.0, 0.4) for mu in np.geomspace(10.0, 1e4, _STEPS))
_FAST = tuple((mu, 3.0, 1.0, 0.4) for mu in np.geomspace(300.0, 1e4, _STEPS))
RESTORE = (
    ((30.0, 0.3, 0.1, 0.6),) * 2
    + ((300.0, 0.3, 0.1, 0.6),) * 3
    + ((1e4, 0.3, 0.03, 0.4),) * 3
    + ((1e4, 1e-3, 0.0, 0.3),) * 4
)
"""Steps from a start: soft first, so that the posture moves along to the goal; exact at the end."""
_HOLD = ((1e6, 1e-3, 0.0, 0.1),) * _STEPS
_DISTINCT_RAD = 0.03
_VIOLATION_PRICE = 30.0
"""Cost per unit of violation in the ranking of ends."""
_GROUPS = (2, 3, 3)
"""Numbers of ends that are refined together, in order of promise."""
WAVES = 6
"""Largest number of waves of starts while nothing is found."""
_LARGEST_WEIGHT = 1e3
"""Largest weight of a cost; the last penalty is 1e4."""
_RUNS = 4
"""Largest number of runs of Newton steps per end."""
_CONVERGED = 2e-7
"""Largest violation of a refined end, 4 m counting as 1 rad."""
_AT_REST_RAD = 1e-3


class End(NamedTuple):
    """One refined end."""

    q: Array
    """(n,) joints [rad]."""
    cost: float
    """Its cost; infinite if the constraints do not hold."""
    starts: int
    """Number of starts run for it."""


@dataclass(frozen=True)
class LeastCost:
    """Solves rows for one arm."""

    arm: ArmModel
    starts: int = 16
    """Starts of a wave."""

    def solve(self, rows: tuple[Row, ...], *, q_reference: Array, nearness: Nearness, waves: int = WAVES) -> End | None:
        """Returns the end of least cost at which every row holds, or None. The cost is the distance from the joints
        q_reference (n,) [rad].
        """
        problem = _Problem.of(self.arm, rows, q_reference, nearness)
        for wave in range(waves):
            ends = self._run_wave(problem, wave)
            best = problem.finish(*ends)
            if best is not None:
                q = np.clip(best[0], self.arm.q_lower, self.arm.q_upper)  # by less than the tolerance
                return End(q, best[1] / problem.cost_scale, self.starts * (wave + 1))
        return None

    def _run_wave(self, problem: _Problem, wave: int) -> tuple[Array, Array, Array]:
        """Returns (B, n) ends of the penalty steps, (B,) their costs and (B,) violations."""
        library = start_library_of(self.arm)
        first = library.starts(problem.score(library), problem.q_reference, count=self.starts, wave=wave)
        if wave > 0:
            first = problem.descend(first, (RESTORE,))[0]
        return problem.descend(first, (_FAST,) if wave > 0 else (_SLOW, _FAST))


@dataclass(frozen=True)
class _Problem:
    rows: tuple[Row, ...]
    q_reference: Array
    nearness: Nearness
    program: Program
    parameters: Array
    cost_scale: float
    """Factor on the costs that keeps them far below the penalty of the constraints."""

    @classmethod
    def of(cls, arm: ArmModel, rows: tuple[Row, ...], q_reference: Array, nearness: Nearness) -> _Problem:
        program = program_of(arm.kinematics, rows, pose=True)
        weights = [row.weight for row in rows if not isinstance(row, AxisRow) and row.weight is not None]
        largest = max([*weights, *nearness.weights.tolist(), nearness.position_weight, nearness.rotation_weight])
        scale = min(1.0, _LARGEST_WEIGHT / max(largest, 1e-300))
        parameters = program.layout.pack(
            rows,
            lower=arm.q_lower,
            upper=arm.q_upper,
            box=arm.workspace,
            nearness=nearness,
            tighten=1.0,
            cost_scale=scale,
        )
        return cls(rows, q_reference, nearness, program, parameters, scale)

    def score(self, library: StartLibrary) -> Array:
        """Returns the (size,) score of each configuration of the library; lower is better."""
        away = library.q - self.q_reference
        return 10.0 * library.misfit(self.rows) + (away * away) @ self.nearness.weights

    def descend(self, first: Array, paces: tuple[Schedule, ...]) -> tuple[Array, Array, Array]:
        """Takes penalty steps with the given paces in turn; returns (B, n) ends, (B,) costs, (B,) violations."""
        return self.program.descend(first, self.q_reference, self.parameters, _interleave(paces, len(first)))

    def finish(self, q: Array, cost: Array, violation: Array) -> tuple[Array, float] | None:
        """Returns the best refined end and its cost, or None."""
        rank = np.where(np.isfinite(cost + violation), cost + _VIOLATION_PRICE * violation, np.inf)
        chosen: list[int] = []
        for i in np.argsort(rank, kind="stable").tolist():
            if math.isfinite(rank[i]) and (not chosen or _distance(q[chosen], q[i]) > _DISTINCT_RAD):
                chosen.append(i)
            if len(chosen) == sum(_GROUPS):
                break
        best_q, best_cost = None, math.inf
        for size in _GROUPS:
            group, chosen = [i for i in chosen[:size] if cost[i] < best_cost], chosen[size:]
            if not group:
                continue
            for end_q, end_cost in self._refine_ends(q[group], best_cost):
                if end_cost < best_cost:
                    best_q, best_cost = end_q, end_cost
        return None if best_q is None else (best_q, best_cost)

    def _refine_ends(self, q: Array, below: float) -> list[tuple[Array, float]]:
        """Returns the ends that converge, with their costs; ends that may still get below a cost get more steps."""
        found: list[tuple[Array, float]] = []
        memory = None
        for _ in range(_RUNS):
            refined = self.program.refiner.run(q, self.q_reference, self.parameters, memory=memory)
            done = (refined.violation <= _CONVERGED) & (refined.step <= _AT_REST_RAD)
            for i in np.flatnonzero(done):
                found.append((refined.q[i], float(refined.cost[i])))
                below = min(below, float(refined.cost[i]))
            going = np.flatnonzero(~done & (refined.cost < below))
            if len(going) == 0:
                return found
            q, memory = refined.q[going], refined.memory[going]
        return found + self._restore_ends(q, below)

    def _restore_ends(self, q: Array, below: float) -> list[tuple[Array, float]]:
        """Returns ends that converge too slowly, moved to where the rows hold, with their cost there."""
        held = self.descend(q, (_HOLD,))
        return [(end, float(cost)) for end, cost, out in zip(*held, strict=True) if out <= _CONVERGED and cost < below]


@lru_cache(maxsize=32)
def _interleave(paces: tuple[Schedule, ...], count: int) -> Array:
    """Returns (count, steps, 4) schedules, the paces in turn."""
    return np.array([paces[i % len(paces)] for i in range(count)])


def _distance(q: Array, other: Array) -> float:
    return float(np.abs(q - other).max(axis=1).min())
