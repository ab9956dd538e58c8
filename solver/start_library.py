"""Library of starts: many configurations of an arm with their tool poses, from which a solve picks promising ones."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from unlatch.simcore.process import load_library
from unlatch.solver.parameter_layout import POINT_WEIGHT, is_cone, unit_weight
from unlatch.solver.scene import ArmModel, Array, checked_joints
from unlatch.solver.term import AxisRow, ExpressionRow, PlaneRow, PointRow, Row

LIBRARY_SIZE = 4096
STARTS = 16
"""Starts of a wave."""
WAVES = 6
"""Largest number of waves of starts; the search ends with the first one that finds a goal."""
RESTORE = (
    ((30.0, 0.3, 0.1, 0.6),) * 2
    + ((300.0, 0.3, 0.1, 0.6),) * 3
    + ((1e4, 0.3, 0.03, 0.4),) * 3
    + ((1e4, 1e-3, 0.0, 0.3),) * 4
)
"""Steps from a start: first a low penalty, with which the whole arm moves to the goal; exact at the end."""
_MARGIN_RAD = 0.3
_POOL = 6
"""Number of configurations compared per pick."""
_SPACING_RAD = 0.8
"""Smallest distance between two picked configurations (norm of the joint difference)."""
_MISFIT_WEIGHT = 10.0
"""Weight of a squared violation [rad] in a score."""
_POINT, _CONE_WITHIN, _CONE_BEYOND, _ANGLE, _PLANE = range(5)
"""Kinds of rows in `starts.c`."""
_SEED = 20240
"""Fixed, so that the library is the same table in every run, independent of an episode."""


class StartLibrary:
    """Configurations, drawn evenly inside the joint limits, with the ee origin inside the workspace box."""

    def __init__(self, arm: ArmModel) -> None:
        rng = np.random.default_rng(_SEED)
        # goals stay near their starts: those that begin away from the limits end away from them
        margin = np.minimum(_MARGIN_RAD, 0.1 * (arm.q_upper - arm.q_lower))
        kept: list[Array] = []
        count = 0
        for _ in range(40):  # the draws must end even if the arm hardly reaches the box
            q = rng.uniform(arm.q_lower + margin, arm.q_upper - margin, (2 * LIBRARY_SIZE, arm.n_q))
            _, p = arm.kinematics.fk_batch(q)
            inside = np.all((p > arm.workspace[0]) & (p < arm.workspace[1]), axis=1)
            kept.append(q[inside])
            count += int(inside.sum())
            if count >= LIBRARY_SIZE:
                break
        q = np.concatenate(kept)[:LIBRARY_SIZE]
        self.q = q if len(q) else arm.q_home[None].copy()
        self.R, self.p = arm.kinematics.fk_batch(self.q)
        self.q, self.R, self.p = map(np.ascontiguousarray, (self.q, self.R, self.p))
        self._lower, self._upper = arm.q_lower, arm.q_upper

    def score(self, rows: Sequence[Row], q_reference: Array, weights: Array) -> Array:
        """Returns the (size,) score of each configuration; lower is better.

        It is ten times the sum of squared violations of rows, 1 m counting as 4 rad, and the squared distances from the
        joints q_reference (n,) [rad] with weights (n,).
        """
        scores = np.zeros(len(self.q))
        for row in rows:
            if isinstance(row, ExpressionRow) and row.weight is None:
                h = row.kind.values(self.R, self.p, row.numbers)
                out = np.maximum(0.0, np.abs(h - row.wanted) - row.tolerance)
                scores += _MISFIT_WEIGHT * unit_weight(row.unit) * out**2
        numbers = np.array([_row_numbers(row) for row in rows if not isinstance(row, ExpressionRow)], dtype=float)
        n = self.q.shape[1]
        given = checked_joints("q_reference", q_reference, n), checked_joints("weights", weights, n)
        arrays = (self.q, self.R, self.p), (numbers, *given, scores)
        table, asked = ([array.ctypes.data for array in each] for each in arrays)
        _core().starts_score(*self.q.shape, *table, len(numbers), *asked)
        return scores

    def starts(self, score: Array, q_reference: Array, *, count: int, wave: int) -> Array:
        """Returns (count, n) starts [rad]: q_reference (n,), clipped to the limits, then configurations of low score.

        Wave 0 takes those with the lowest score (size,), each later wave the next ones. Repeats of the last one fill up
        the count, so that the compiled map always has the same size.
        """
        picked = self.pick(score, count=(count - 1) * (wave + 1))[(count - 1) * wave :]
        starts = np.empty((count, len(q_reference)))
        starts[0] = np.clip(q_reference, self._lower, self._upper)
        starts[1 : 1 + len(picked)] = picked
        starts[1 + len(picked) :] = starts[len(picked)]
        return starts

    def pick(self, score: Array, *, count: int) -> Array:
        """Returns (<= count, n) configurations [rad] with the lowest score (size,), best first.

        Any two are at least 0.8 rad apart (norm of the joint difference).
        """
        most = min(len(score), _POOL * count)
        numbers: Array = np.empty(most + count, np.int32)
        score, pool, picked = np.ascontiguousarray(score, dtype=float), numbers[:most], numbers[most:]
        places = [array.ctypes.data for array in (self.q, score, pool, picked)]
        found = _core().starts_pick(*self.q.shape, *places[:2], most, _SPACING_RAD, count, *places[2:])
        return self.q[picked[:found]]


def _row_numbers(row: AxisRow | PointRow | PlaneRow) -> list[float]:
    """Returns the numbers of a row for `starts_score`; a cost has weight 0."""
    if isinstance(row, AxisRow):
        kind = _ANGLE if not is_cone(row) else _CONE_WITHIN if row.lower <= 1e-12 else _CONE_BEYOND
        return [kind, *row.x_ee, *row.target, math.cos(row.upper), math.cos(row.lower), _MISFIT_WEIGHT]
    weight = _MISFIT_WEIGHT * POINT_WEIGHT if row.weight is None else 0.0
    if isinstance(row, PointRow):
        return [_POINT, *row.x_ee, *row.target, 0.0, 0.0, weight]
    return [_PLANE, *row.x_ee, *row.normal, float(row.normal @ row.point), 0.0, weight]


@cache
def _core() -> Any:
    """Loads the compiled core."""
    library, number, at = load_library(), ctypes.c_int32, ctypes.c_void_p
    library.starts_score.argtypes = (number, number, at, at, at, number, at, at, at, at)
    library.starts_pick.argtypes = (number, number, at, at, number, ctypes.c_double, number, at, at)
    return library


def start_library_of(arm: ArmModel) -> StartLibrary:
    """Returns the library of an arm and its limits, drawn on first use."""
    key = (StartLibrary, arm.q_lower.tobytes(), arm.q_upper.tobytes(), arm.workspace.tobytes())
    return arm.kinematics.program(key, lambda: StartLibrary(arm))
