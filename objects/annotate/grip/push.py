"""Finds where a hand can push a part shut, and a point of the body to press against."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from unlatch.objects.annotate.grip.cross_section import heights_in_front
from unlatch.objects.annotate.grip.handle import handle_names
from unlatch.objects.annotate.posing import PosedObject
from unlatch.objects.annotate.view import Grip, PartView
from unlatch.objects.annotation import PartKind
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, join_meshes

_SPOT_M = 0.025
"""Half the side of the clear square that a push needs."""
_RIM_M = 0.06
"""Distance of a push from the rim: a fingertip may slide by 5 cm, and beyond the rim it loses the part."""
_RIM_SHARE = 0.3
"""Distance of a push from the rim of a small part, as a share of its size."""
_PALM_M = 0.1
"""Half the width of a hand. What stands out this near a spot would touch a leaning palm, ..."""
_STANDING_OUT_M = 0.012
"""... if it stands out by more than this."""


def push_point(view: PartView, grip: Grip) -> np.ndarray:
    """Returns (3,) a clear spot on the part, far from the hinge or central on a drawer [m], work frame."""
    if view.kind in (PartKind.knob, PartKind.lever):
        return _surface_point(view.whole, grip.centre)
    handles = handle_names(view)
    panel = join_meshes([p.mesh for p in view.part if p.name not in handles] or [view.whole])
    obstacles = join_meshes([p.mesh for p in view.part if p.name in handles]) if handles else None
    low, high = panel.vertices.min(axis=0)[1:], panel.vertices.max(axis=0)[1:]
    counts = np.clip(((high - low) / 0.012).astype(int), 5, 40)
    axes = [np.linspace(a, b, n + 2)[1:-1] for a, b, n in zip(low, high, counts, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)  # (Y, Z, 2)
    heights = heights_in_front(panel, grid.reshape(-1, 2)).reshape(grid.shape[:2])
    steps = [max(float(axis[1] - axis[0]), 1e-6) for axis in axes]
    reach = [max(1, round(_SPOT_M / step)) for step in steps]
    seen = np.where(np.isfinite(heights), heights, -np.inf)
    around = ndimage.maximum_filter(seen, size=[2 * round(_PALM_M / step) + 1 for step in steps], mode="nearest")
    rim = np.minimum(_RIM_M, _RIM_SHARE * (high - low))
    best, best_score = None, -np.inf
    for i in range(grid.shape[0]):
        for j in range(grid.shape[1]):
            x = heights[i, j]
            if not np.isfinite(x):
                continue
            window = heights[
                max(0, i - reach[0]) : i + reach[0] + 1,
                max(0, j - reach[1]) : j + reach[1] + 1,
            ]
            uneven = float(min(np.ptp(window), 0.05)) if np.isfinite(window).all() else 0.05
            off_rim = float(np.max(rim - np.minimum(grid[i, j] - low, high - grid[i, j])))
            near = 0.0 if obstacles is None else max(0.0, 0.06 - _gap_to_box(obstacles, grid[i, j]))
            score = (
                _leverage(view, grid[i, j], low, high)
                - 40.0 * max(0.0, uneven - 0.004)
                - 20.0 * near
                - 10.0 * max(0.0, off_rim)
                - 15.0 * max(0.0, float(around[i, j]) - x - _STANDING_OUT_M)
            )
            if score > best_score:
                best, best_score = np.array([x, *grid[i, j]]), score
    return best if best is not None else _surface_point(view.whole, grip.centre)


def body_point(posed: PosedObject) -> np.ndarray | None:
    """Returns (3,) the point of the body nearest to its upper front edge [m], root frame; None without a body."""
    mesh = join_meshes([p.mesh for p in posed.body_collisions])
    if not len(mesh.vertices):
        return None
    high, low = mesh.vertices.max(axis=0), mesh.vertices.min(axis=0)
    return _surface_point(mesh, np.array([high[0] - 0.05, (low[1] + high[1]) / 2, high[2]]))


def _surface_point(mesh: TriangleMesh, point: np.ndarray) -> np.ndarray:
    """Returns (3,) the vertex or the middle of a triangle that is nearest to a point."""
    points = np.concatenate([mesh.vertices, mesh.triangles.mean(axis=1)])
    nearest: np.ndarray = points[int(np.argmin(np.linalg.norm(points - point, axis=1)))]
    return nearest


def _leverage(view: PartView, point: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    """Returns 0 to 1: more is farther from the hinge and nearer to its middle; on a drawer, nearer to the middle."""
    width, height = (max(float(v), 1e-6) for v in high - low)
    off_y, off_z = (abs(float(v)) for v in point - (low + high) / 2)
    if view.slides:
        return 1.0 - off_y / width - 0.5 * off_z / height
    return abs(float(point[0] - view.origin[1])) / width - 0.5 * off_z / height


def _gap_to_box(mesh: TriangleMesh, point_yz: np.ndarray) -> float:
    low, high = mesh.vertices.min(axis=0)[1:], mesh.vertices.max(axis=0)[1:]
    return float(np.linalg.norm(np.maximum(np.maximum(low - point_yz, point_yz - high), 0.0)))
