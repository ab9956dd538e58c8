"""Cuts meshes, and finds what a ray from outside hits."""

from __future__ import annotations

import numpy as np

from unlatch.simcore.meshes.triangle_mesh import TriangleMesh


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
    ab, ac = (b - a)[:, 1:], (c - a)[:, 1:]
    area = ab[:, 0] * ac[:, 1] - ab[:, 1] * ac[:, 0]
    facing = np.abs(area) > 1e-14
    a, b, c, ab, ac, area = a[facing], b[facing], c[facing], ab[facing], ac[facing], area[facing]
    low, high = np.minimum(np.minimum(a, b), c)[:, 1:], np.maximum(np.maximum(a, b), c)[:, 1:]
    heights = np.full(len(points_yz), -np.inf)
    for number, point in enumerate(points_yz):
        near = np.all((low <= point) & (point <= high), axis=1)
        if not near.any():
            continue
        ap = point - a[near][:, 1:]
        u = (ap[:, 0] * ac[near][:, 1] - ap[:, 1] * ac[near][:, 0]) / area[near]
        v = (ab[near][:, 0] * ap[:, 1] - ab[near][:, 1] * ap[:, 0]) / area[near]
        hit = (u >= -1e-9) & (v >= -1e-9) & (u + v <= 1 + 1e-9)
        if hit.any():
            x = a[near][:, 0] + u * (b - a)[near][:, 0] + v * (c - a)[near][:, 0]
            heights[number] = float(x[hit].max())
    return heights
