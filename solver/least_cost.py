"""Finds the goal of least cost: many starts at once, and an exact refinement of the promising ends.

One wave picks starts from a table of configurations by their distance from the constraints and the reference. It takes
penalty steps that include the cost. The penalty rises slowly for half of the starts and fast for the other half. The
wave then refines the ends exactly, in order of promise (`unlatch.solver.program`). It skips an end that costs more
than the best refined one: refinement only raises the cost, because the penalised minimum of a basin costs less than the
constrained one.

If a wave finds nothing, the next one takes other starts, meets the constraints first, and then lowers the cost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from unlatch.solver.parameter_layout import Nearness
from unlatch.solver.program import Program, Schedule, program_of
from unlatch.solver.scene import ArmModel, Array
from unlatch.solver.start_library import RESTORE, STARTS, WAVES, StartLibrary, start_library_of
from unlatch.solver.term import AxisRow, Row

_STEPS = 12
_SLOW = tuple((mu, 0.5, 1.0, 0.4) for mu in np.geomspace(10.0, 1e4, _STEPS))
_FAST = tuple((mu, 3.0, 1.0, 0.4) for mu in np.geomspace(300.0, 1e4, _STEPS))
_HOLD = ((1e6, 1e-3, 0.0, 0.1),) * _STEPS
_DISTINCT_END_RAD = 0.03
_VIOLATION_PRICE = 30.0
"""Cost per unit of violation in the ranking of ends."""
_GROUPS = (2, 3, 3)
"""Numbers of ends that are refined together, in order of promise."""
_LARGEST_WEIGHT = 1e3
"""Largest weight of a cost; the last penalty is 1e4."""
_RUNS = 4
"""Largest number of runs of Newton steps per end."""
_CONVERGED = 2e-7
"""Largest violation of a refined end, 1 m counting as 4 rad."""
_AT_REST_RAD = 1e-3


class RefinedEnd(NamedTuple):
    """A refined end at which the constraints hold."""

    q: Array
    """(n,) joints [rad]."""
    cost: float
    """Its cost."""
    starts: int
    """Number of starts that were run until it was found."""


def solve_least_cost(
    arm: ArmModel, rows: tuple[Row, ...], *, q_reference: Array, nearness: Nearness, waves: int = WAVES
) -> RefinedEnd | None:
    """Returns the end of least cost at which every row holds, or None.

    `nearness` is the cost of the distance from the joints q_reference (n,) [rad].
    """
    problem, library = _Problem.of(arm, rows, q_reference, nearness), start_library_of(arm)
    for wave in range(waves):
        best = problem.finish(*problem.run_wave(library, wave))
        if best is not None:
            q = np.clip(best[0], arm.q_lower, arm.q_upper)  # moves them by less than the tolerance
            return RefinedEnd(q, best[1] / problem.cost_scale, STARTS * (wave + 1))
    return None


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

    def run_wave(self, library: StartLibrary, wave: int) -> tuple[Array, Array, Array]:
        """Returns (B, n) ends of the penalty steps, (B,) their costs and (B,) violations."""
        score = library.score(self.rows, self.q_reference, self.nearness.weights)
        first = library.starts(score, self.q_reference, count=STARTS, wave=wave)
        if wave > 0:
            first = self.descend(first, (RESTORE,))[0]
        return self.descend(first, (_FAST,) if wave > 0 else (_SLOW, _FAST))

    def descend(self, starts: Array, schedules: tuple[Schedule, ...]) -> tuple[Array, Array, Array]:
        """Takes penalty steps from starts (B, n), see `_interleave`; returns ends, (B,) costs and (B,) violations."""
        return self.program.descend(starts, self.q_reference, self.parameters, _interleave(schedules, len(starts)))

    def finish(self, q: Array, cost: Array, violation: Array) -> tuple[Array, float] | None:
        """Returns the best refined end and its cost, or None."""
        rank = np.where(np.isfinite(cost + violation), cost + _VIOLATION_PRICE * violation, np.inf)
        is_apart = (np.abs(q[:, None] - q).max(axis=2) > _DISTINCT_END_RAD).tolist()
        chosen: list[int] = []
        for i in np.argsort(rank, kind="stable").tolist():
            if math.isfinite(rank[i]) and all(is_apart[i][other] for other in chosen):
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
        """Returns the ends that converge, with their costs. Only ends that cost less than `below` get more steps."""
        found: list[tuple[Array, float]] = []
        memory = None
        for _ in range(_RUNS):
            refined = self.program.refine(q, self.q_reference, self.parameters, memory=memory)
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
        """Moves ends that converge too slowly to where the rows hold; returns those, with their cost there."""
        held = self.descend(q, (_HOLD,))
        return [(end, float(cost)) for end, cost, out in zip(*held, strict=True) if out <= _CONVERGED and cost < below]


@lru_cache(maxsize=32)
def _interleave(schedules: tuple[Schedule, ...], count: int) -> Array:
    """Returns (count, steps, 4): start i has schedule i, then from the first one again."""
    return np.array([schedules[i % len(schedules)] for i in range(count)])
