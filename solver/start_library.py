"""Library of starts: many configurations of an arm with their tool poses, from which a solve picks promising ones."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from unlatch.simcore.cache import LRUCache
from unlatch.solver.parameter_layout import POINT_WEIGHT, is_cone, unit_weight
from unlatch.solver.scene import ArmModel, Array
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
_KEPT_VECTORS = 64
"""Number of tool vectors whose base-frame directions are cached."""
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
        self._lower, self._upper = arm.q_lower, arm.q_upper
        self._vectors: LRUCache[Array] = LRUCache(_KEPT_VECTORS)

    def misfit(self, rows: Sequence[Row]) -> Array:
        """Returns the (size,) sum of squared violations of rows at each configuration, 1 m counting as 4 rad."""
        total = np.zeros(len(self.q))
        for row in rows:
            if isinstance(row, ExpressionRow):
                if row.weight is None:
                    h = row.kind.values(self.R, self.p, row.numbers)
                    total += unit_weight(row.unit) * (np.maximum(0.0, np.abs(h - row.wanted) - row.tolerance)) ** 2
                continue
            v = self._turned_vectors(row.x_ee)
            if isinstance(row, AxisRow):
                cosine = v @ row.target
                if is_cone(row):  # 1 - cos is about half the square of the angle
                    bound = math.cos(row.upper) if row.lower <= 1e-12 else math.cos(row.lower)
                    total += 2.0 * np.maximum(0.0, bound - cosine if row.lower <= 1e-12 else cosine - bound)
                else:
                    out = np.maximum(cosine - math.cos(row.lower), math.cos(row.upper) - cosine)
                    total += np.maximum(0.0, out) ** 2
            elif isinstance(row, PointRow):
                if row.weight is None:
                    error = v + (self.p - row.target)
                    total += POINT_WEIGHT * np.einsum("ij,ij->i", error, error)
            elif isinstance(row, PlaneRow) and row.weight is None:
                total += POINT_WEIGHT * ((v + self.p) @ row.normal - float(row.normal @ row.point)) ** 2
        return total

    def _turned_vectors(self, x: Array) -> Array:
        """Returns the (size, 3) base-frame directions of a tool vector (3,), one for each configuration."""
        key = np.asarray(x, dtype=float).tobytes()
        return self._vectors.get(key, lambda: np.ascontiguousarray(self.R @ x))

    def starts(self, score: Array, q_reference: Array, *, count: int, wave: int) -> Array:
        """Returns (count, n) starts [rad]: q_reference (n,), clipped to the limits, then configurations of low score.

        Wave 0 takes those with the lowest score (size,), each later wave the next ones. Repeats of the last one fill up
        the count, so that the compiled map always has the same size.
        """
        picked = self.pick(score, count=(count - 1) * (wave + 1))[(count - 1) * wave :]
        filled = np.vstack([np.clip(q_reference, self._lower, self._upper)[None], picked])
        return np.vstack([filled, np.repeat(filled[-1:], count - len(filled), axis=0)])

    def pick(self, score: Array, *, count: int) -> Array:
        """Returns (<= count, n) configurations [rad] with the lowest score (size,), best first.

        Any two are at least 0.8 rad apart (norm of the joint difference).
        """
        pool = min(len(score), _POOL * count)
        order = np.argpartition(score, pool - 1)[:pool]
        order = order[np.lexsort((order, score[order]))]
        q = self.q[order]
        squares = (q * q).sum(axis=1)
        free: Array = np.ones(pool, dtype=bool)
        picked: list[int] = []
        while len(picked) < count:
            index = int(free.argmax())
            if not free[index]:
                break
            picked.append(index)
            # only from the picked one: all distances of the pool, up to 2,300 squared, cost four times as much CPU time
            free &= squares[index] + squares - 2.0 * (q @ q[index]) >= _SPACING_RAD**2
            free[index] = False
        return q[picked]


def start_library_of(arm: ArmModel) -> StartLibrary:
    """Returns the library of an arm and its limits, drawn on first use."""
    key = (StartLibrary, arm.q_lower.tobytes(), arm.q_upper.tobytes(), arm.workspace.tobytes())
    return arm.kinematics.program(key, lambda: StartLibrary(arm))
