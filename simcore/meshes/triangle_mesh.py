"""Triangle meshes: measuring, joining, welding, splitting, sampling and smooth normals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from unlatch.simcore.geometry import Array, Pose


@dataclass(frozen=True)
class TriangleMesh:
    """Vertices and the triangles between them."""

    vertices: Array
    """(V, 3) [m]."""
    faces: Array
    """(F, 3) indices of the corners among the vertices."""

    @property
    def extents(self) -> Array:
        """(3,) size of the bounding box [m]."""
        return np.ptp(self.vertices, axis=0)

    @property
    def triangles(self) -> Array:
        """(F, 3, 3) corner positions [m]."""
        return self.vertices[self.faces]

    @property
    def area_normals(self) -> Array:
        """(F, 3) normals of the triangles, as long as twice their areas [m^2]."""
        a, b, c = (self.vertices[self.faces[:, k]] for k in range(3))
        return np.cross(b - a, c - a)

    @property
    def area(self) -> float:
        """Area of all triangles together [m^2]."""
        return float(np.linalg.norm(self.area_normals, axis=1).sum() / 2)

    @property
    def volume(self) -> float:
        """Volume of a closed mesh with outward triangles [m^3]; without meaning for an open mesh."""
        a, b, c = (self.vertices[self.faces[:, k]] for k in range(3))
        return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0)

    def cut(self, chosen: Array | slice = slice(None)) -> TriangleMesh:
        """Returns the triangles that a mask (F,) chooses, or all, with the vertices that they use."""
        used, faces = np.unique(self.faces[chosen], return_inverse=True)
        return TriangleMesh(self.vertices[used], faces.reshape(-1, 3))

    @cached_property
    def hull_points(self) -> Array:
        """(H, 3) vertices of the convex hull, which has the same extents along any direction [m]."""
        try:
            return self.vertices[scipy.spatial.ConvexHull(self.vertices).vertices]
        except (scipy.spatial.QhullError, ValueError):  # flat, or too few
            return self.vertices

    def moved(self, T: Pose) -> TriangleMesh:
        """Returns the mesh in another frame; `T` is the pose of its own frame there."""
        return TriangleMesh(T @ self.vertices, self.faces)

    def mapped(self, T: Array) -> TriangleMesh:
        """Returns the mesh after an affine map (3, 4) or (4, 4); a mirrored one is turned so that its outside stays."""
        faces = self.faces[:, ::-1] if np.linalg.det(T[:3, :3]) < 0 else self.faces
        return TriangleMesh(self.vertices @ T[:3, :3].T + T[:3, 3], faces)

    def scaled(self, factors: Iterable[float]) -> TriangleMesh:
        """Returns the mesh with its coordinates multiplied by (3,) factors; the order of the corners stays."""
        return TriangleMesh(self.vertices * np.asarray(factors), self.faces)


def join_meshes(meshes: Iterable[TriangleMesh]) -> TriangleMesh:
    """Joins meshes of one frame into one; the result is empty without any."""
    vertices: list[Array] = [np.zeros((0, 3))]
    faces: list[Array] = [np.zeros((0, 3), dtype=int)]
    count = 0
    for mesh in meshes:
        vertices.append(mesh.vertices)
        faces.append(mesh.faces + count)
        count += len(mesh.vertices)
    return TriangleMesh(np.concatenate(vertices), np.concatenate(faces))


def fan_triangles(counts: Array) -> tuple[Array, Array]:
    """Returns fans of triangles for polygons of (P,) corners: places of the corners (F, 3), and polygons (F,)."""
    sizes = np.maximum(counts - 2, 0)
    first: Array = np.repeat(np.cumsum(counts) - counts, sizes)
    step = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.stack([first, first + step + 1, first + step + 2], axis=1), np.repeat(np.arange(len(counts)), sizes)


def weld_vertices(mesh: TriangleMesh, *, distance_m: float) -> TriangleMesh:
    """Merges vertices that round to the same point, and drops triangles that have no area left."""
    keys = np.round(mesh.vertices / distance_m).astype(np.int64)
    _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    faces = inverse.reshape(-1)[mesh.faces]
    distinct = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 0] != faces[:, 2])
    welded = TriangleMesh(mesh.vertices[first], faces[distinct])
    area = np.linalg.norm(welded.area_normals, axis=1) / 2
    return TriangleMesh(welded.vertices, welded.faces[area > 1e-4 * distance_m**2])


def simplify_mesh(mesh: TriangleMesh, *, max_faces: int, first_distance_m: float) -> TriangleMesh:
    """Merges vertices over growing distances until a mesh has at most `max_faces` triangles.

    A mesh that would lose all triangles keeps those of the step before.
    """
    simpler, distance_m = mesh, first_distance_m
    while len(simpler.faces) > max_faces:
        merged = weld_vertices(mesh, distance_m=distance_m)
        if not len(merged.faces):
            break
        simpler, distance_m = merged, distance_m * 1.25
    return simpler


def drop_duplicate_faces(mesh: TriangleMesh) -> TriangleMesh:
    """Keeps each triangle once: many modellers write triangles twice, so that both sides are visible."""
    _, first = np.unique(np.sort(mesh.faces, axis=1), axis=0, return_index=True)
    return mesh if len(first) == len(mesh.faces) else TriangleMesh(mesh.vertices, mesh.faces[np.sort(first)])


def split_components(mesh: TriangleMesh) -> list[TriangleMesh]:
    """Splits a mesh into its connected components.

    Triangles with a common vertex are connected. If a common edge were required, the meshes of PartNet would fall into
    hundreds of flat quads.
    """
    labels = component_labels(mesh)
    return [mesh.cut(labels == label) for label in np.unique(labels)]


def component_labels(mesh: TriangleMesh) -> Array:
    """Returns (F,) the number of the connected component of each triangle."""
    if not len(mesh.faces):
        return np.zeros(0, dtype=int)
    rows = np.concatenate([mesh.faces[:, 0], mesh.faces[:, 1]])
    columns = np.concatenate([mesh.faces[:, 1], mesh.faces[:, 2]])
    n = len(mesh.vertices)
    graph = scipy.sparse.coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(n, n))
    _, labels = scipy.sparse.csgraph.connected_components(graph, directed=False)
    return np.asarray(labels[mesh.faces[:, 0]])


def is_closed(mesh: TriangleMesh) -> bool:
    """Whether a mesh encloses a volume: each edge has two triangles, which run along it in opposite directions."""
    return _edge_multiplicity(mesh) == 1


def closed_volume(mesh: TriangleMesh) -> float | None:
    """Returns the volume of a surface without holes [m^3]; None if it has holes, is inside out or encloses nothing."""
    whole = weld_vertices(mesh, distance_m=max(1e-9, 1e-6 * float(np.max(mesh.extents))))
    if not len(whole.faces) or not _edge_multiplicity(whole):
        return None
    volume = whole.volume
    # a sheet with two sides encloses nothing but rounding errors
    return volume if volume > 1e-4 * whole.area * float(np.max(mesh.extents)) else None


def _edge_multiplicity(mesh: TriangleMesh) -> int:
    """Returns the largest number of triangles along an edge in one direction.

    It is 0 unless every edge has as many triangles in the other direction.
    """
    edges = mesh.faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    there, counts = np.unique(edges, axis=0, return_counts=True)
    back, counts_back = np.unique(edges[:, ::-1], axis=0, return_counts=True)
    paired = there.shape == back.shape and bool(np.all(there == back)) and bool(np.all(counts == counts_back))
    return int(counts.max()) if paired and len(counts) else 0


def sample_surface(mesh: TriangleMesh, *, spacing_m: float, max_points: int = 400_000) -> Array:
    """Returns points (N, 3) that cover every triangle, at most `spacing_m` apart, in a fixed order; corners included.

    The spacing grows where more than `max_points` points would be needed.
    """
    return sample_triangles(mesh, spacing_m=spacing_m, max_points=max_points)[0]


def sample_triangles(mesh: TriangleMesh, *, spacing_m: float, max_points: int) -> tuple[Array, Array]:
    """Returns the points of `sample_surface`, and (N,) the index of each point's triangle."""
    triangles = mesh.triangles
    longest = np.max(np.linalg.norm(triangles - np.roll(triangles, 1, axis=1), axis=2), axis=1)
    steps = np.maximum(1, np.ceil(longest / spacing_m).astype(int))
    total = int(np.sum((steps + 1) * (steps + 2) // 2))
    if total > max_points:
        steps = np.maximum(1, (steps * np.sqrt(max_points / total)).astype(int))
    clouds: list[Array] = [np.zeros((0, 3))]
    owners: list[Array] = [np.zeros(0, dtype=int)]
    for step in np.unique(steps):
        grid = np.indices((int(step) + 1, int(step) + 1)).reshape(2, -1)
        u, v = grid[:, grid.sum(axis=0) <= step] / step
        weights = np.stack([1 - u - v, u, v], axis=1)  # (M, 3)
        chosen = np.flatnonzero(steps == step)
        clouds.append(np.einsum("mk,fkd->fmd", weights, triangles[chosen]).reshape(-1, 3))
        owners.append(np.repeat(chosen, len(weights)))
    return np.concatenate(clouds), np.concatenate(owners)


def draw_surface_points(mesh: TriangleMesh, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draws n points (n, 3), uniform over the area of a mesh, and returns (n,) the index of each point's triangle.

    The mesh must have an area.
    """
    areas = np.linalg.norm(mesh.area_normals, axis=1)
    faces = rng.choice(len(areas), size=n, p=areas / areas.sum())
    u, v = rng.uniform(size=(2, n))
    outside = u + v > 1.0  # the other half of the parallelogram
    u, v = np.where(outside, 1.0 - u, u), np.where(outside, 1.0 - v, v)
    a, b, c = mesh.triangles[faces].transpose(1, 0, 2)
    return a + u[:, None] * (b - a) + v[:, None] * (c - a), faces


def creased_normals(mesh: TriangleMesh, *, crease_rad: float) -> Array:
    """Returns unit normals (F, 3, 3) at the corners for smooth shading, with sharp edges kept.

    The normal at a corner is a mean, weighted by area. It is taken over the faces at the vertex whose normals are less
    than `crease_rad` away from that of the corner's own face [rad].
    """
    places, merged = np.unique(np.round(mesh.vertices, 7), axis=0, return_inverse=True)
    corners = merged.reshape(-1)[mesh.faces]  # (F, 3)
    weighted = mesh.area_normals
    unit = weighted / np.maximum(np.linalg.norm(weighted, axis=1, keepdims=True), 1e-30)
    order = np.argsort(corners, axis=None, kind="stable")
    at, of = corners.ravel()[order], order // 3
    counts = np.bincount(at, minlength=len(places))
    starts = np.cumsum(counts) - counts
    repeats = counts[at]  # every corner meets all corners at its vertex
    first: Array = np.repeat(np.arange(len(at)), repeats)
    second = (
        np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats) + np.repeat(starts[at], repeats)
    )
    near = np.einsum("ij,ij->i", unit[of[first]], unit[of[second]]) >= np.cos(crease_rad)
    total = np.stack(
        [np.bincount(first[near], weights=weighted[of[second[near]], axis], minlength=len(at)) for axis in range(3)],
        axis=-1,
    )
    normals = np.empty((len(at), 3))
    normals[order] = total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-30)
    return normals.reshape(-1, 3, 3)
