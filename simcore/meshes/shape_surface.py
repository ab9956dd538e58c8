"""The surfaces of URDF shapes: their triangles, and distances to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from unlatch.simcore.cache import arrays_key, kept_arrays
from unlatch.simcore.errors import AssetError
from unlatch.simcore.urdf.model import Shape, ShapeKind, UrdfModel

if TYPE_CHECKING:
    from unlatch.simcore.meshes.triangle_mesh import TriangleMesh

MAX_LENGTH = 1e9
"""Sizes and positions beyond this are mistakes, whatever their unit."""

_SIDES = 48
"""Sides of the prism that stands for a cylinder."""


def surface_distance(shapes: Iterable[Shape], point: np.ndarray) -> float:
    """Returns the distance from a point (3,) to the nearest shape of a link, in its frame [m]; infinite without any.

    The distance is positive inside a shape, too.
    """
    return min((_shape_distance(shape, point) for shape in shapes), default=float("inf"))


def shape_mesh(shape: Shape) -> TriangleMesh:
    """Returns the triangles of a shape in its own frame [m], with its scale applied.

    A mesh without a path has no triangles.

    Raises:
        AssetError: Its mesh file cannot be read or holds a number that is not finite; or its size or position is
            larger than any unit could explain.
    """
    from unlatch.simcore.meshes.mesh_reader import read_mesh
    from unlatch.simcore.meshes.triangle_mesh import join_meshes

    largest = max(*(abs(v) for v in shape.size), float(np.max(np.abs(shape.T_link_shape.p))))
    if largest > MAX_LENGTH:
        raise AssetError(
            f"{shape.kind.name} '{shape.name or shape.mesh}' has size {shape.size} at {shape.T_link_shape.p.tolist()}, "
            f"expected at most {MAX_LENGTH:g}. Fix the URDF.",
            size=shape.size,
        )
    if shape.kind is not ShapeKind.mesh:
        return primitive_mesh(shape.kind, shape.size)
    if shape.path is None:
        return join_meshes([])
    return read_mesh(shape.path, allow_empty=True).mesh.scaled(shape.size)


def primitive_mesh(kind: ShapeKind, size: Sequence[float]) -> TriangleMesh:
    """Returns a box, cylinder or sphere around its origin as triangles; its size is as in `Shape`.

    A cylinder is a prism of 48 sides, a sphere a polyhedron. Both lie up to 0.3 % of a radius inside the true surface.
    """
    from unlatch.simcore.meshes.triangle_mesh import TriangleMesh

    is_ball = kind is ShapeKind.sphere
    solid = _read_solid(kind, size[0] if is_ball else 1.0)
    scale = size if kind is ShapeKind.box else (1.0,) * 3 if is_ball else (size[0], size[0], size[1])
    return TriangleMesh(solid["vertices"] * scale, solid["faces"])


@lru_cache(maxsize=64)
def _read_solid(kind: ShapeKind, radius: float) -> Mapping[str, np.ndarray]:
    """Returns vertices and faces of a ball, or of a cylinder of height 1 or a box, whose edges are as long."""

    def make() -> dict[str, np.ndarray]:
        import trimesh  # 0.6 s to import

        if kind is ShapeKind.box:
            solid = trimesh.creation.box(extents=(radius,) * 3)
        elif kind is ShapeKind.cylinder:
            solid = trimesh.creation.cylinder(radius=radius, height=1.0, sections=_SIDES)
        else:
            solid = trimesh.creation.icosphere(radius=radius, subdivisions=3)
        return {"vertices": np.asarray(solid.vertices, dtype=float), "faces": np.asarray(solid.faces, dtype=int)}

    return kept_arrays("solids", arrays_key(__file__, kind.name, radius), make)


def shape_cloud(model: UrdfModel, positions: dict[str, float]) -> np.ndarray:
    """(V, 3) vertices of all links of an object in the root frame [m]; (0, 3) without shapes. Missing joints are at 0.

    A link gives the vertices of its colliders, or of its visuals if it has none.
    """
    clouds = [np.zeros((0, 3))]
    for name, link in model.links.items():
        T_root_link = model.link_pose(name, positions)
        for shape in link.collisions or link.visuals:
            clouds.append(T_root_link @ (shape.T_link_shape @ shape_mesh(shape).vertices))
    return np.concatenate(clouds)


def triangle_distances(point: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """(F,) distances from a point (3,) to triangles (F, 3, 3)."""
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    ab, ac, ap = b - a, c - a, point - a
    d00, d01, d11 = _row_dot(ab, ab), _row_dot(ab, ac), _row_dot(ac, ac)
    d20, d21 = _row_dot(ap, ab), _row_dot(ap, ac)
    area = d00 * d11 - d01 * d01
    safe = np.where(area > 0, area, 1.0)
    v, w = (d11 * d20 - d01 * d21) / safe, (d00 * d21 - d01 * d20) / safe
    within = (area > 1e-18) & (v >= 0) & (w >= 0) & (v + w <= 1)
    plane = np.linalg.norm(ap - v[:, None] * ab - w[:, None] * ac, axis=1)
    edges = np.min([_segment_distances(point, p, q) for p, q in ((a, b), (b, c), (c, a))], axis=0)
    return np.where(within, plane, edges)


def _shape_distance(shape: Shape, point: np.ndarray) -> float:
    local = shape.T_link_shape.inverse() @ point
    if shape.kind is ShapeKind.sphere:
        return abs(float(np.linalg.norm(local)) - shape.size[0])
    if shape.kind is ShapeKind.mesh:
        triangles = shape_mesh(shape).triangles
        return float(triangle_distances(local, triangles).min()) if len(triangles) else float("inf")
    if shape.kind is ShapeKind.box:
        excess = np.abs(local) - np.asarray(shape.size) / 2
    else:
        radius, length = shape.size
        excess = np.array([float(np.hypot(local[0], local[1])) - radius, abs(float(local[2])) - length / 2])
    outside = float(np.linalg.norm(np.maximum(excess, 0.0)))
    return outside if outside > 0 else -float(excess.max())


def _segment_distances(point: np.ndarray, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    edge = q - p
    length = _row_dot(edge, edge)
    t = np.clip(_row_dot(point - p, edge) / np.where(length > 0, length, 1.0), 0.0, 1.0)
    return np.linalg.norm(point - p - t[:, None] * edge, axis=1)


def _row_dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", a, b)
