"""Checks whether convex hulls stay near a surface."""

from __future__ import annotations

import numpy as np
import scipy

from unlatch.simcore.meshes.shape_surface import triangle_distances
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, sample_surface, sample_triangles

_MOST_SAMPLES = 20_000
_NEAREST = 3


class SampledSurface:
    """A surface with samples, which restrict distance queries to triangles near a point."""

    def __init__(self, mesh: TriangleMesh) -> None:
        """Samples a mesh."""
        self.triangles = mesh.triangles
        spacing_m = float(np.max(mesh.extents)) / 100
        points, self._owners = sample_triangles(mesh, spacing_m=spacing_m, max_points=_MOST_SAMPLES)
        self._samples = scipy.spatial.cKDTree(points)

    def distances(self, points: np.ndarray) -> np.ndarray:
        """Returns distances (N,) of points (N, 3) to the triangles of the nearest samples; some are a bit too large."""
        found = self._owners[self._samples.query(points, k=range(1, _NEAREST + 1))[1]]  # (N, _NEAREST)
        measured = triangle_distances(np.repeat(points, _NEAREST, axis=0), self.triangles[found.reshape(-1)])
        return measured.reshape(found.shape).min(axis=1)

    def is_near(self, hull: TriangleMesh, *, limit_m: float, solid: bool = False) -> bool:
        """Returns whether no point of a hull lies farther from the surface than a limit; at most 400 are checked.

        If `solid`, the inside of a closed surface counts as near.
        """
        spacing = float(np.max(hull.extents)) / 10
        points = sample_surface(hull, spacing_m=spacing, max_points=3000)
        if len(points) > 400:
            points = points[:: len(points) // 400 + 1]
        points = points[self.distances(points) > limit_m]
        if solid and len(points):
            points = points[winding_numbers(points, self.triangles) < 0.9]
        return all(float(triangle_distances(point, self.triangles).min()) <= limit_m for point in points)


def winding_numbers(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Returns the winding numbers (N,) of triangles (F, 3, 3) around points (N, 3).

    It is 1 inside a closed outward surface, 0 outside: the sum of solid angles over 4 pi (van Oosterom and Strackee
    1983).
    """
    numbers = np.zeros(len(points))
    for n, point in enumerate(points):
        a, b, c = (triangles[:, k] - point for k in range(3))
        la, lb, lc = (np.linalg.norm(v, axis=1) for v in (a, b, c))
        triple = np.einsum("ij,ij->i", a, np.cross(b, c))
        dots = [np.einsum("ij,ij->i", u, v) for u, v in ((a, b), (b, c), (c, a))]
        numbers[n] = np.sum(np.arctan2(triple, la * lb * lc + dots[0] * lc + dots[1] * la + dots[2] * lb)) / (2 * np.pi)
    return numbers
