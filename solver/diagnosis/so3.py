"""Searches a rotation that satisfies a list of conditions, or proves that there is none.

A condition is a range for the angle between a rotated direction and a fixed one, or a box or slab for a rotated vector.
Its violation changes by at most its `reach` per radian of rotation. So if the centre of a ball of rotations violates a
condition by more than reach times radius, the ball contains no solution. The proof splits the ball of all rotation
vectors into cubes and discards such cubes until none is left: branch and bound over SO(3), after Hartley and Kahl,
Global Optimization through Rotation Space Search, 2009. The angle between two rotations is at most the distance of the
vectors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from unlatch.solver.goal.verify import SLACK, angles_between

Array = np.ndarray

_STARTS = 48
_ITERATIONS = 40
_MAX_CUBES = 400_000
"""Largest number of cubes of a proof; beyond it nothing is claimed."""
_SPIRAL_A, _SPIRAL_B = math.sqrt(2.0), 1.533751168755204288118041


@dataclass(frozen=True)
class AngleCondition:
    """`lower <= angle(R x, a) <= upper`."""

    x: Array
    """(3,) unit vector."""
    a: Array
    """(3,) unit vector."""
    lower: float
    """Smallest angle [rad]."""
    upper: float
    """Largest angle [rad]."""

    reach = 1.0

    def excess(self, R: Array) -> Array:
        """Returns the (B,) violation at rotations (B, 3, 3) [rad]."""
        angle = angles_between(R @ self.x, self.a)
        return np.maximum(0.0, np.maximum(angle - self.upper, self.lower - angle))

    def linearize(self, R: Array) -> tuple[Array, Array]:
        """Returns the (B, 1) signed excess, and its (B, 1, 3) derivative by a rotation of the base."""
        v = R @ self.x
        angle = angles_between(v, self.a)
        r = np.maximum(0.0, angle - self.upper) - np.maximum(0.0, self.lower - angle)
        normal = np.cross(self.a, v)
        length = np.linalg.norm(normal, axis=1, keepdims=True)
        # if v and a are collinear, every axis across them will do
        spare = np.cross(v, np.roll(v, 1, axis=1) + np.array([0.3, 0.0, -0.2]))
        spare /= np.linalg.norm(spare, axis=1, keepdims=True) + 1e-12
        direction = np.where(length > 1e-9, normal / np.maximum(length, 1e-12), spare)
        return r[:, None], (direction * (r != 0.0)[:, None])[:, None, :]


@dataclass(frozen=True)
class LinearCondition:
    """`low <= N R d <= high` in every component [m]: a box (N is the identity) or a slab (N is one row)."""

    d: Array
    """(3,) vector [m]."""
    N: Array
    """(k, 3) unit normals, one a row."""
    low: Array
    """(k,) [m]."""
    high: Array
    """(k,) [m]."""

    @property
    def reach(self) -> float:
        """Metres per radian."""
        return float(np.linalg.norm(self.d))

    def excess(self, R: Array) -> Array:
        """Returns the (B,) distance from the box or slab at rotations (B, 3, 3) [m]."""
        r, _ = self.linearize(R)
        return np.linalg.norm(r, axis=1)

    def linearize(self, R: Array) -> tuple[Array, Array]:
        """Returns the (B, k) signed excess, and its (B, k, 3) derivative by a rotation of the base."""
        v = R @ self.d
        value = v @ self.N.T
        r = np.maximum(0.0, value - self.high) - np.maximum(0.0, self.low - value)
        return r, np.cross(v[:, None], self.N) * (r != 0.0)[:, :, None]


Condition: TypeAlias = AngleCondition | LinearCondition


@dataclass(frozen=True)
class RotationSearch:
    """The result of a search."""

    R: Array
    """(3, 3) rotation with the least violation (sum of squares, metres and radians alike)."""
    excess: Array
    """(K,) violation of each condition there."""

    @property
    def found(self) -> bool:
        """Whether all conditions hold."""
        return bool(np.all(self.excess <= SLACK))


def search_rotation(conditions: Sequence[Condition]) -> RotationSearch:
    """Returns the best rotation for K >= 1 conditions from many evenly spread starts (Levenberg-Marquardt)."""
    R = _spread_rotations(_STARTS)
    damping = np.full(_STARTS, 1e-3)
    r, J = _stack_conditions(conditions, R)
    value = (r * r).sum(axis=1)
    for _ in range(_ITERATIONS):
        if float(value.min()) < 1e-18:
            break
        H = np.einsum("bki,bkj->bij", J, J) + damping[:, None, None] * np.eye(3)
        step = -np.linalg.solve(H, np.einsum("bki,bk->bi", J, r)[:, :, None])[:, :, 0]
        tried = rotations_of_vectors(step) @ R
        r_new, J_new = _stack_conditions(conditions, tried)
        value_new = (r_new * r_new).sum(axis=1)
        better = value_new < value
        R = np.where(better[:, None, None], tried, R)
        r, J = np.where(better[:, None], r_new, r), np.where(better[:, None, None], J_new, J)
        value = np.where(better, value_new, value)
        damping = np.clip(np.where(better, 0.2 * damping, 5.0 * damping), 1e-12, 1e3)
    best = int(np.argmin(value))
    at_best = R[best][None]
    return RotationSearch(R[best], np.array([float(c.excess(at_best)[0]) for c in conditions]))


def proves_no_rotation(conditions: Sequence[Condition]) -> bool:
    """Returns whether a proof shows that no rotation satisfies all conditions; False if the proof costs too much."""
    centres, half, seen = np.zeros((1, 3)), math.pi, 0
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])  # (8, 3)
    while len(centres):
        seen += len(centres)
        if seen > _MAX_CUBES:
            return False
        radius = math.sqrt(3.0) * half
        centres = centres[np.linalg.norm(centres, axis=1) <= math.pi + radius]
        R = rotations_of_vectors(centres)
        open_: Array = np.ones(len(centres), dtype=bool)
        for condition in conditions:
            here = np.flatnonzero(open_)
            open_[here] = condition.excess(R[here]) <= condition.reach * radius + SLACK
        centres, half = centres[open_], 0.5 * half
        centres = (centres[:, None, :] + 2.0 * half * corners[None]).reshape(-1, 3)
    return True


def rotations_of_vectors(vectors: Array) -> Array:
    """Returns the (B, 3, 3) rotations of rotation vectors (B, 3) [rad]."""
    from scipy.spatial.transform import Rotation  # the reader of settings imports this module, and needs no SciPy

    rotations: Array = Rotation.from_rotvec(vectors).as_matrix()
    return rotations


def _stack_conditions(conditions: Sequence[Condition], R: Array) -> tuple[Array, Array]:
    parts = [condition.linearize(R) for condition in conditions]
    return np.concatenate([r for r, _ in parts], axis=1), np.concatenate([J for _, J in parts], axis=1)


def _spread_rotations(count: int) -> Array:
    """Returns (count, 3, 3) evenly spread rotations: the spiral of Alexa, Super-Fibonacci Spirals, CVPR 2022."""
    s = np.arange(count) + 0.5
    r, rest = np.sqrt(s / count), np.sqrt(1.0 - s / count)
    alpha, beta = 2.0 * math.pi * s / _SPIRAL_A, 2.0 * math.pi * s / _SPIRAL_B
    x, y, z, w = r * np.sin(alpha), r * np.cos(alpha), rest * np.sin(beta), rest * np.cos(beta)
    length = np.linalg.norm([x, y, z], axis=0)
    angle = 2.0 * np.arctan2(length, w)
    return rotations_of_vectors(np.column_stack([x, y, z]) * (angle / length)[:, None])
