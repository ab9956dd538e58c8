"""Measures how deep points lie inside the closed pieces of meshes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import scipy

from unlatch.simcore.meshes.decomposition.hull_nearness import winding_numbers
from unlatch.simcore.meshes.shape_surface import triangle_distances
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, closed_volume, split_components, weld_vertices

Array = np.ndarray

_MOST_FACES = 1000
"""A piece with more triangles that is not convex is left out: each point would cost a millisecond."""
_CONVEX = 0.999
"""A piece is convex if it fills this share of its hull."""


class SolidPieces:
    """The closed pieces of meshes; open pieces have no inside and are left out."""

    def __init__(self, meshes: Iterable[TriangleMesh]) -> None:
        """Takes meshes of one frame."""
        self._convex: list[tuple[Array, Array]] = []
        self._others: list[Array] = []
        for mesh in meshes:
            if not len(mesh.faces):
                continue
            welded = weld_vertices(mesh, distance_m=max(1e-9, 1e-6 * float(np.max(mesh.extents))))
            for piece in split_components(welded):
                volume = closed_volume(piece)
                if volume is None:
                    continue
                hull = scipy.spatial.ConvexHull(piece.vertices)
                if volume >= _CONVEX * hull.volume:
                    self._convex.append((piece.vertices, np.unique(hull.equations.round(9), axis=0)))
                elif len(piece.faces) <= _MOST_FACES:
                    self._others.append(piece.triangles)

    @property
    def face_count(self) -> int:
        """Number of triangles of the pieces that are not convex; each costs time at each point."""
        return sum(map(len, self._others))

    def depths(self, points: Array) -> Array:
        """Returns (N,) the distances of points (N, 3) inside a piece to its surface; 0 outside all pieces."""
        depths = np.zeros(len(points))
        for corners, planes in self._convex:
            near = _find_near(points, corners)
            depths[near] = np.maximum(depths[near], -(points[near] @ planes[:, :3].T + planes[:, 3]).max(axis=1))
        for triangles in self._others:
            near = _find_near(points, triangles.reshape(-1, 3))
            inside = near[winding_numbers(points[near], triangles) > 0.5]
            found = [float(triangle_distances(points[index], triangles).min()) for index in inside]
            depths[inside] = np.maximum(depths[inside], found)
        return depths


def _find_near(points: Array, corners: Array) -> Array:
    """Returns the indices of the points (N, 3) inside the bounding box of corners (M, 3)."""
    return np.flatnonzero(np.all((points > corners.min(axis=0)) & (points < corners.max(axis=0)), axis=1))
