"""Finds where a hand can push a part shut, and a point of the body to press against."""

from __future__ import annotations

import numpy as np
import scipy

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
"""Half the width of a hand; a leaning palm touches things this near to the spot if they stand out too far."""
_STANDING_OUT_M = 0.012
"""A thing that stands out by less than this does not touch the palm."""


def push_point(view: PartView, grip: Grip) -> np.ndarray:
    """Returns (3,) a clear spot on the part, far from the hinge or central on a drawer [m], work frame."""
    if view.kind in (PartKind.knob, PartKind.lever):
        return _surface_point(view.part_mesh, grip.centre)
    handles = handle_names(view)
    panel = join_meshes([p.mesh for p in view.part if p.name not in handles] or [view.part_mesh])
    obstacles = join_meshes([p.mesh for p in view.part if p.name in handles]) if handles else None
    low, high = panel.vertices.min(axis=0)[1:], panel.vertices.max(axis=0)[1:]
    counts = np.clip(((high - low) / 0.012).astype(int), 5, 40)
    axes = [np.linspace(a, b, n + 2)[1:-1] for a, b, n in zip(low, high, counts, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)  # (Y, Z, 2)
    heights = heights_in_front(panel, grid.reshape(-1, 2)).reshape(grid.shape[:2])
    steps = [max(float(axis[1] - axis[0]), 1e-6) for axis in axes]
    spot = {"size": [2 * max(1, round(_SPOT_M / step)) + 1 for step in steps], "mode": "nearest"}
    palm = {"size": [2 * round(_PALM_M / step) + 1 for step in steps], "mode": "nearest"}
    rim = np.minimum(_RIM_M, _RIM_SHARE * (high - low))
    with np.errstate(invalid="ignore"):  # where a ray misses, the height is -inf, and differences may be NaN
        relief = scipy.ndimage.maximum_filter(heights, **spot) - scipy.ndimage.minimum_filter(heights, **spot)
        standing_out = scipy.ndimage.maximum_filter(heights, **palm) - heights
    uneven = np.minimum(relief, 0.05)
    off_rim = np.max(rim - np.minimum(grid - low, high - grid), axis=-1)
    near = 0.0 if obstacles is None else np.maximum(0.0, 0.06 - _gaps_to_box(obstacles, grid))
    scores = (
        _leverage(view, grid, low, high)
        - 40.0 * np.maximum(0.0, uneven - 0.004)
        - 20.0 * near
        - 10.0 * np.maximum(0.0, off_rim)
        - 15.0 * np.maximum(0.0, standing_out - _STANDING_OUT_M)
    )
    scores = np.where(np.isfinite(heights), scores, -np.inf)
    i, j = np.unravel_index(int(np.argmax(scores)), scores.shape)
    if not np.isfinite(scores[i, j]):
        return _surface_point(view.part_mesh, grip.centre)
    return np.array([heights[i, j], *grid[i, j]])


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
    return points[int(np.argmin(np.linalg.norm(points - point, axis=1)))]


def _leverage(view: PartView, points: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Returns how well a push at points (..., 2) moves the part, 0 to 1.

    For a hinged part, the value grows with the distance from the hinge, and towards the middle of the hinge. For a
    drawer, it grows towards the middle.
    """
    width, height = (max(float(v), 1e-6) for v in high - low)
    off_y, off_z = np.moveaxis(np.abs(points - (low + high) / 2), -1, 0)
    if view.slides:
        return 1.0 - off_y / width - 0.5 * off_z / height
    levers = view.free_side * (points[..., 0] - view.origin[1])
    return levers / width - 0.5 * off_z / height


def _gaps_to_box(mesh: TriangleMesh, points_yz: np.ndarray) -> np.ndarray:
    """Returns the distances of points (..., 2) from the bounding box of a mesh in the y-z plane [m]."""
    low, high = mesh.vertices.min(axis=0)[1:], mesh.vertices.max(axis=0)[1:]
    return np.linalg.norm(np.maximum(np.maximum(low - points_yz, points_yz - high), 0.0), axis=-1)
