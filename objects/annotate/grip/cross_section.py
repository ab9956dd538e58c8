"""Cuts meshes, and finds what a ray from outside hits."""

from __future__ import annotations

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
    a, ab, ac, area, low, high = (values[facing] for values in (a, ab, ac, area, low, high))
    heights = np.full(len(points_yz), -np.inf)
    # neighbours in y share the triangles at their y: each line is compared with those only
    order = np.argsort(points_yz[:, 0], kind="stable")
    for first in range(0, len(order), _LINES_AT_ONCE):
        numbers = order[first : first + _LINES_AT_ONCE]
        lines = points_yz[numbers]
        band = np.flatnonzero((low[:, 0] <= lines[-1, 0]) & (high[:, 0] >= lines[0, 0]))
        over = np.all((low[band] <= lines[:, None]) & (lines[:, None] <= high[band]), axis=2)  # (lines, triangles)
        line, triangle = np.nonzero(over)
        triangle = band[triangle]
        ap = lines[line] - a[triangle, 1:]
        u = (ap[:, 0] * ac[triangle, 2] - ap[:, 1] * ac[triangle, 1]) / area[triangle]
        v = (ab[triangle, 1] * ap[:, 1] - ab[triangle, 2] * ap[:, 0]) / area[triangle]
        hit = (u >= -1e-9) & (v >= -1e-9) & (u + v <= 1 + 1e-9)
        x = a[triangle, 0] + u * ab[triangle, 0] + v * ac[triangle, 0]
        np.maximum.at(heights, numbers[line[hit]], x[hit])
    return heights
