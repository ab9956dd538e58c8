"""Meshes as they are found, welded and split into the pieces that a modeller made."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components


@dataclass(frozen=True)
class TriangleMesh:
    """Vertices (V, 3) [m] and triangles (F, 3)."""

    vertices: np.ndarray
    faces: np.ndarray

    @property
    def extents(self) -> np.ndarray:
        """(3,) size of the bounding box [m]."""
        size: np.ndarray = np.ptp(self.vertices, axis=0)
        return size

    @property
    def triangles(self) -> np.ndarray:
        """(F, 3, 3) corner positions [m]."""
        corners: np.ndarray = self.vertices[self.faces]
        return corners


def join(meshes: list[TriangleMesh]) -> TriangleMesh:
    """One mesh of all."""
    offsets = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    return TriangleMesh(
        np.concatenate([mesh.vertices for mesh in meshes]) if meshes else np.zeros((0, 3)),
        np.concatenate([mesh.faces + offset for mesh, offset in zip(meshes, offsets, strict=False)])
        if meshes
        else np.zeros((0, 3), dtype=int),
    )


def welded(mesh: TriangleMesh, *, distance_m: float) -> TriangleMesh:
    """Merges vertices that round to the same point and drops triangles that have no area then."""
    keys = np.round(mesh.vertices / distance_m).astype(np.int64)
    _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    faces = inverse.reshape(-1)[mesh.faces]
    distinct = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 0] != faces[:, 2])
    faces = faces[distinct]
    vertices = mesh.vertices[first]
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2
    return TriangleMesh(vertices, faces[area > 1e-4 * distance_m**2])


def once(mesh: TriangleMesh) -> TriangleMesh:
    """A mesh with each triangle once: many modellers write them twice, to be seen from both sides."""
    _, first = np.unique(np.sort(mesh.faces, axis=1), axis=0, return_index=True)
    return mesh if len(first) == len(mesh.faces) else TriangleMesh(mesh.vertices, mesh.faces[np.sort(first)])


def components(mesh: TriangleMesh) -> list[TriangleMesh]:
    """Splits a mesh by shared vertices.

    Sharing of vertices, not of edges: split by edges, the meshes of PartNet fall into hundreds of flat quads.
    """
    if not len(mesh.faces):
        return []
    rows = np.concatenate([mesh.faces[:, 0], mesh.faces[:, 1]])
    columns = np.concatenate([mesh.faces[:, 1], mesh.faces[:, 2]])
    n = len(mesh.vertices)
    graph = coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(n, n))
    count, labels = connected_components(graph, directed=False)
    face_labels = labels[mesh.faces[:, 0]]
    pieces = []
    for label in range(count):
        faces = mesh.faces[face_labels == label]
        if len(faces):
            used, renumbered = np.unique(faces, return_inverse=True)
            pieces.append(TriangleMesh(mesh.vertices[used], renumbered.reshape(-1, 3)))
    return pieces


def surface_points(mesh: TriangleMesh, *, spacing_m: float, most: int = 400_000) -> np.ndarray:
    """(N, 3) points that cover every triangle, at most `spacing_m` apart, in a fixed order; corners included.

    The spacing grows where more than `most` points would be needed.
    """
    return surface_samples(mesh, spacing_m=spacing_m, most=most)[0]


def surface_samples(mesh: TriangleMesh, *, spacing_m: float, most: int) -> tuple[np.ndarray, np.ndarray]:
    """`surface_points`, and (N,) the triangle of each."""
    triangles = mesh.triangles
    longest = np.max(np.linalg.norm(triangles - np.roll(triangles, 1, axis=1), axis=2), axis=1)
    steps = np.maximum(1, np.ceil(longest / spacing_m).astype(int))
    total = int(np.sum((steps + 1) * (steps + 2) // 2))
    if total > most:
        steps = np.maximum(1, (steps * np.sqrt(most / total)).astype(int))
    clouds: list[np.ndarray] = [np.zeros((0, 3))]
    owners: list[np.ndarray] = [np.zeros(0, dtype=int)]
    for step in np.unique(steps):
        grid = np.indices((int(step) + 1, int(step) + 1)).reshape(2, -1)
        u, v = grid[:, grid.sum(axis=0) <= step] / step
        weights = np.stack([1 - u - v, u, v], axis=1)  # (M, 3)
        chosen = np.flatnonzero(steps == step)
        clouds.append(np.einsum("mk,fkd->fmd", weights, triangles[chosen]).reshape(-1, 3))
        owners.append(np.repeat(chosen, len(weights)))
    return np.concatenate(clouds), np.concatenate(owners)
