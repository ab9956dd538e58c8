"""Triangles that share vertices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from unlatch.simcore.geometry.pose import Pose

Array = np.ndarray


@dataclass(frozen=True)
class TriangleMesh:
    """Vertices and the triangles between them."""

    vertices: Array
    """(V, 3) [m]."""
    faces: Array
    """(F, 3) places of the corners among the vertices."""

    @classmethod
    def joined(cls, pieces: Iterable[tuple[Pose, TriangleMesh]]) -> TriangleMesh:
        """One mesh of several, each moved by a pose; empty without any.

        Args:
            pieces: Pose of each mesh's frame in that of the whole, and the mesh.
        """
        vertices: list[Array] = [np.zeros((0, 3))]
        faces: list[Array] = [np.zeros((0, 3), dtype=int)]
        count = 0
        for T, mesh in pieces:
            vertices.append(T @ mesh.vertices)
            faces.append(mesh.faces + count)
            count += len(mesh.vertices)
        return cls(np.concatenate(vertices), np.concatenate(faces))

    @cached_property
    def outermost(self) -> Array:
        """(H, 3) vertices that have the extents of all of them along any direction [m]."""
        try:
            return self.vertices[ConvexHull(self.vertices).vertices]
        except (QhullError, ValueError):  # flat, or too few
            return self.vertices
