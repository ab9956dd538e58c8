"""The compiled programs of the goal solver: penalty steps from many starts, and exact refinement of their ends."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from unlatch.solver.compiled_functions import CompiledFunction, function_key
from unlatch.solver.kinematics import Kinematics
from unlatch.solver.parameter_layout import LEAST_DAMPING, ParameterLayout, RowCounts
from unlatch.solver.term import Row

Array = np.ndarray


class Refined(NamedTuple):
    """The result of Newton steps."""

    q: Array
    """(B, n_q) joints [rad]."""
    memory: Array
    """(B, m + 1) multipliers over mu, and the damping, from which another run continues."""
    cost: Array
    """(B,) cost at these joints."""
    violation: Array
    """(B,) largest residual of a row, 1 m counting as 4 rad."""
    step: Array
    """(B,) largest component of the next step [rad]."""


REFINING_STEPS = 8
"""Newton steps of one run; a run may continue another."""


def program_key(kinematics: Kinematics, layout: ParameterLayout, *sizes: Any) -> str | None:
    """Returns the key of a program for one arm and one layout of rows, see `function_key`.

    Rows that are expressions come from terms outside this package, whose code a key cannot state: None for these.
    """
    return None if layout.row_counts.expressions else function_key(kinematics, layout, *sizes)


Schedule: TypeAlias = tuple[tuple[float, float, float, float], ...]
"""Parameters of each step: mu, d, c and the largest joint step [rad]."""


class Program:
    """Batched solves for one arm and one layout of rows; get it from `program_of`."""

    def __init__(self, kinematics: Kinematics, row_counts: RowCounts, *, pose: bool = False) -> None:
        self.kinematics = kinematics
        self.row_counts = row_counts
        self.layout = ParameterLayout(row_counts, kinematics.n_q, pose)
        self._functions: dict[tuple[Any, ...], CompiledFunction] = {}

    @property
    def model(self) -> Any:
        """CasADi Function (q, parameters, schedule row) -> gradient and lower triangle of the Hessian of the rows."""
        return self._built_step[0]

    def refine(self, q: Array, reference: Array, parameters: Array, *, memory: Array | None = None) -> Refined:
        """Takes Newton steps from several ends of one problem.

        Args:
            q: (B, n_q) joints at the end of the penalty steps [rad].
            reference: (n_q,) reference joints of the cost [rad].
            parameters: (n_parameters,) the problem, packed without tightening.
            memory: (B, m + 1) `memory` of the run to continue; None = a first run.
        """
        count, n = q.shape
        m = self.layout.scalar_rows
        if memory is None:
            memory = np.zeros((count, m + 1))
            memory[:, m] = LEAST_DAMPING
        function = self._compiled_function("refine", (REFINING_STEPS,))
        out = function(count, lambda f: f.map(count), q, memory, reference, parameters)
        return Refined(out[:, :n], out[:, n : n + m + 1], *out[:, n + m + 1 :].T)

    def solve(self, starts: Array, reference: Array, parameters: Array, schedule: Schedule) -> Array:
        """Returns the (B, n_q) joints [rad] to which the schedule leads from starts (B, n_q).

        `reference` and `parameters` have a row for each start, or one row for all.
        """
        count, steps = len(starts), np.array(schedule)
        function = self._compiled_function("solve", (len(steps),))
        return function(count, lambda f: f.map(count), starts, reference, parameters, steps.reshape(-1))

    def descend(
        self, starts: Array, reference: Array, parameters: Array, schedules: Array
    ) -> tuple[Array, Array, Array]:
        """Runs (B, steps, 4) schedules from starts (B, n_q) [rad].

        Returns:
            (B, n_q) joints, (B,) costs and (B,) largest residuals of a row, 1 m counting as 4 rad.
        """
        count, n = starts.shape
        steps = schedules.shape[1]
        function = self._compiled_function("descend", (steps,))
        out = function(count, lambda f: f.map(count), starts, reference, parameters, schedules.reshape(count, -1))
        return out[:, :n], out[:, n], out[:, n + 1]

    def track(self, starts: Array, middle: Array, parameters: Array, schedule: Schedule, *, centring: float) -> Array:
        """Solves W problems in sequence. Each solution is the start of the next problem, which stays near it.

        Args:
            starts: (C, n_q) starts of the first problem [rad].
            middle: (n_q,) joints to which the reference is drawn [rad].
            parameters: (C, W, n_parameters) problems, or (W, n_parameters) for all starts.
            schedule: Steps of each problem.
            centring: Share of `middle` in the reference, 0 to 1.

        Returns:
            (C, W, n_q) joints [rad].
        """
        count, waypoints = starts.shape[0], parameters.shape[-2]
        function = self._compiled_function("waypoint", (schedule, centring))
        parameters = np.broadcast_to(parameters, (count, waypoints, self.layout.size))
        flat = parameters.reshape(count * waypoints, self.layout.size)
        out = function((count, waypoints), lambda f: f.mapaccum(waypoints).map(count), starts, middle, flat)
        return out.reshape(count, waypoints, self.kinematics.n_q)

    def _compiled_function(self, name: str, sizes: tuple[Any, ...]) -> CompiledFunction:
        if (name, sizes) not in self._functions:
            key = program_key(self.kinematics, self.layout, sizes)
            self._functions[name, sizes] = CompiledFunction(name, lambda: self._build(name, *sizes), key=key)
        return self._functions[name, sizes]

    def _build(self, name: str, *sizes: Any) -> Any:
        """Returns the CasADi Function of a name, for the sizes that its builder takes."""
        from unlatch.solver.program_steps import build_refinement, build_solve, build_track

        if name == "refine":
            return build_refinement(self.kinematics, self.layout, *sizes)
        step = self._built_step[1]
        if name == "waypoint":
            return build_track(self.kinematics, self.layout, step, *sizes)
        return build_solve(self.kinematics, self.layout, step, *sizes, measured=name == "descend")

    @cached_property
    def _built_step(self) -> tuple[Any, Any]:
        from unlatch.solver.program_steps import build_step

        return build_step(self.kinematics, self.layout)


def program_of(kinematics: Kinematics, problem: RowCounts | Sequence[Row], *, pose: bool = False) -> Program:
    """Returns the program of an arm for row counts, or with room for rows; `pose` adds a cost of the hand's pose.

    The program is built on first use and cached in the arm's kinematics.
    """
    row_counts = problem if isinstance(problem, RowCounts) else RowCounts.of(problem).rounded()
    return kinematics.program((Program, row_counts, pose), lambda: Program(kinematics, row_counts, pose=pose))
