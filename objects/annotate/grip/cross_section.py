"""Cuts meshes, and finds what a ray from outside hits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unlatch.simcore.meshes.triangle_mesh import TriangleMesh

_LINES_AT_ONCE = 32
"""Lines for which the triangles at their y are looked up together."""


def cut_mesh(mesh: TriangleMesh, *, axis: int, at: float) -> np.ndarray:
    """Returns line segments (N, 2, 3) where a plane cuts a mesh [m].

    The plane is at right angles to the axis 0, 1 or 2, at the coordinate `at` [m].
    """
    corners = mesh.triangles
    # Vertices on the plane itself would give points instead of segments: they count as just above it.
    side = corners[:, :, axis] - at
    side = np.where(side == 0.0, 1e-12, side)
    crossing = (side.min(axis=1) < 0) & (side.max(axis=1) > 0)
    corners, side = corners[crossing], side[crossing]
    ends = []
    for a, b in ((0, 1), (1, 2), (2, 0)):
        share = side[:, a] / np.where(side[:, a] == side[:, b], 1.0, side[:, a] - side[:, b])
        point = corners[:, a] + share[:, None] * (corners[:, b] - corners[:, a])
        cuts = (side[:, a] < 0) != (side[:, b] < 0)
        ends.append(np.where(cuts[:, None], point, np.nan))
    points = np.stack(ends, axis=1)  # (N, 3, 3), one of three rows is NaN
    order = np.argsort(np.isnan(points[:, :, 0]), axis=1, kind="stable")[:, :2]
    return np.take_along_axis(points, order[:, :, None], axis=1)


def outermost_interval(segments: np.ndarray, *, axis: int, gap_m: float = 0.002) -> tuple[float, float] | None:
    """Returns the last connected interval that segments (N, 2, 3) cover along an axis [m]; None without segments."""
    if not len(segments):
        return None
    spans = np.sort(segments[:, :, axis], axis=1)
    spans = spans[np.argsort(-spans[:, 1])]
    low, high = float(spans[0, 0]), float(spans[0, 1])
    for start, end in spans[1:]:
        if end < low - gap_m:
            break
        low = min(low, float(start))
    return low, high


def heights_in_front(mesh: TriangleMesh, points_yz: np.ndarray) -> np.ndarray:
    """Returns (N,) the largest x at which lines along x through points (N, 2) meet a mesh; -inf for a miss."""
    corners = mesh.triangles
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    ab, ac = b - a, c - a
    area = ab[:, 1] * ac[:, 2] - ab[:, 2] * ac[:, 1]
    facing = np.abs(area) > 1e-14
    low, high = np.minimum(np.minimum(a, b), c)[:, 1:], np.maximum(np.maximum(a, b), c)[:, 1:]
    triangles = _FacingTriangles(*(values[facing] for values in (a, ab, ac, area, low, high)))
    heights = np.full(len(points_yz), -np.inf)
    # neighbours in y share the triangles at their y: each line is compared with those only
    order = np.argsort(points_yz[:, 0], kind="stable")
    for first in range(0, len(order), _LINES_AT_ONCE):
        numbers = order[first : first + _LINES_AT_ONCE]
        ys = points_yz[numbers, 0]
        near = triangles.take((triangles.low[:, 0] <= ys.max()) & (triangles.high[:, 0] >= ys.min()))
        for number in numbers if len(near.area) else ():
            heights[number] = near.largest_x(points_yz[number])
    return heights


@dataclass(frozen=True)
class _FacingTriangles:
    """Triangles that a line along x can meet in one point."""

    a: np.ndarray
    """(F, 3) their first corners."""
    ab: np.ndarray
    """(F, 3) from the first corners to the second ones."""
    ac: np.ndarray
    """(F, 3) from the first corners to the third ones."""
    area: np.ndarray
    """(F,) twice the signed areas of their projections onto the y-z plane."""
    low: np.ndarray
    """(F, 2) the smallest y and z of each."""
    high: np.ndarray
    """(F, 2) the largest y and z of each."""

    def take(self, which: np.ndarray) -> _FacingTriangles:
        """Returns the triangles that a mask (F,) names."""
        return _FacingTriangles(*(values[which] for values in vars(self).values()))

    def largest_x(self, point_yz: np.ndarray) -> float:
        """Returns the largest x at which the line along x through a point (2,) meets a triangle; -inf for a miss."""
        (y, z), low, high = point_yz, self.low, self.high
        near = np.flatnonzero((low[:, 0] <= y) & (y <= high[:, 0]) & (low[:, 1] <= z) & (z <= high[:, 1]))
        if not len(near):
            return -np.inf
        a, ab, ac, area = self.a[near], self.ab[near], self.ac[near], self.area[near]
        ap = point_yz - a[:, 1:]
        u = (ap[:, 0] * ac[:, 2] - ap[:, 1] * ac[:, 1]) / area
        v = (ab[:, 1] * ap[:, 1] - ab[:, 2] * ap[:, 0]) / area
        hit = (u >= -1e-9) & (v >= -1e-9) & (u + v <= 1 + 1e-9)
        x = a[:, 0] + u * ab[:, 0] + v * ac[:, 0]
        return float(x[hit].max(initial=-np.inf))
