"""Boxes and other small meshes."""

from __future__ import annotations

import numpy as np

from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.collider_pieces import winding_numbers
from unlatch.simcore.meshes.solids import convex_hull
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh

Point = tuple[float, float, float]


def box(low: Point, high: Point) -> TriangleMesh:
    return convex_hull(np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(3, -1).T)


def centred_box(size: Point, T: Pose | None = None) -> TriangleMesh:
    x, y, z = np.asarray(size) / 2
    return box((-x, -y, -z), (x, y, z)).moved(T or Pose.identity())


def contains(hull: TriangleMesh, point: np.ndarray) -> bool:
    return bool(winding_numbers(np.asarray(point)[None], hull.triangles)[0] > 0.5)


def sheet(x: float, y: float) -> TriangleMesh:
    """A rectangle of two triangles in the plane z = 0, with a corner at the origin."""
    corners = np.array([[0.0, 0.0, 0.0], [x, 0.0, 0.0], [x, y, 0.0], [0.0, y, 0.0]])
    return TriangleMesh(corners, np.array([[0, 1, 2], [0, 2, 3]]))
