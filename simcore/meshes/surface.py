"""Distances from points to the surface of a link."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from unlatch.simcore.errors import AssetError
from unlatch.simcore.meshes.mesh_file import read_mesh
from unlatch.simcore.urdf.model import Shape, ShapeKind, UrdfModel

MOST_UNITS = 1e9
"""Sizes and positions beyond this are mistakes."""


def surface_distance(shapes: Iterable[Shape], point: np.ndarray) -> float:
    """Distance from a point to the nearest surface of the shapes, inside or outside [m]; infinite without shapes.

    Args:
        shapes: Shapes of one link.
        point: (3,) in the link frame [m].
    """
    return min((_distance(shape, point) for shape in shapes), default=float("inf"))


def shape_triangles(shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (V, 3) and triangles (F, 3) of a shape, in the frame of the shape [m], its scale applied.

    Raises:
        AssetError: Its mesh file cannot be read, or holds a number that is not finite; or the shape is of no size that
            any unit would make sense of, or lies that far away.
    """
    largest = max(*(abs(v) for v in shape.size), float(np.max(np.abs(shape.T_link_shape.p))))
    if largest > MOST_UNITS:
        raise AssetError(
            f"{shape.kind.name} '{shape.name or shape.mesh}' has size {shape.size} at {shape.T_link_shape.p.tolist()}, "
            f"expected at most {MOST_UNITS:g}. Mend the URDF.",
            size=shape.size,
        )
    if shape.kind is ShapeKind.mesh:
        if shape.path is None:
            return np.zeros((0, 3)), np.zeros((0, 3), dtype=int)
        vertices, faces = read_mesh(shape.path)
        return vertices * np.asarray(shape.size), faces
    import trimesh

    if shape.kind is ShapeKind.box:
        solid = trimesh.creation.box(extents=shape.size)
    elif shape.kind is ShapeKind.cylinder:
        solid = trimesh.creation.cylinder(radius=shape.size[0], height=shape.size[1], sections=48)
    else:
        solid = trimesh.creation.icosphere(radius=shape.size[0], subdivisions=3)
    return np.asarray(solid.vertices, dtype=float), np.asarray(solid.faces, dtype=int)


def shape_cloud(model: UrdfModel, positions: dict[str, float]) -> np.ndarray:
    """(V, 3) vertices of all of an object, a link's colliders where it has them, root frame [m]; (0, 3) without shapes.

    Args:
        model: The object.
        positions: Positions of its joints [rad or m]; 0 for those that are left out.
    """
    clouds = [np.zeros((0, 3))]
    for name, link in model.links.items():
        T_root_link = model.link_pose(name, positions)
        for shape in link.collisions or link.visuals:
            vertices, _ = shape_triangles(shape)
            if len(vertices):
                clouds.append(T_root_link @ (shape.T_link_shape @ vertices))
    return np.concatenate(clouds)


def triangle_distances(point: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """(F,) distances from a point (3,) to triangles (F, 3, 3)."""
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    ab, ac, ap = b - a, c - a, point - a
    d00, d01, d11 = _dot(ab, ab), _dot(ab, ac), _dot(ac, ac)
    d20, d21 = _dot(ap, ab), _dot(ap, ac)
    area = d00 * d11 - d01 * d01
    safe = np.where(area > 0, area, 1.0)
    v, w = (d11 * d20 - d01 * d21) / safe, (d00 * d21 - d01 * d20) / safe
    within = (area > 1e-18) & (v >= 0) & (w >= 0) & (v + w <= 1)
    plane = np.linalg.norm(ap - v[:, None] * ab - w[:, None] * ac, axis=1)
    edges = np.min([_segment(point, p, q) for p, q in ((a, b), (b, c), (c, a))], axis=0)
    distances: np.ndarray = np.where(within, plane, edges)
    return distances


def _distance(shape: Shape, point: np.ndarray) -> float:
    local = shape.T_link_shape.inverse() @ point
    if shape.kind is ShapeKind.sphere:
        return abs(float(np.linalg.norm(local)) - shape.size[0])
    if shape.kind is ShapeKind.mesh:
        if shape.path is None:
            return float("inf")
        vertices, faces = read_mesh(shape.path)
        triangles = (vertices * np.asarray(shape.size))[faces]
        return float(triangle_distances(local, triangles).min()) if len(triangles) else float("inf")
    if shape.kind is ShapeKind.box:
        excess = np.abs(local) - np.asarray(shape.size) / 2
    else:
        radius, length = shape.size
        excess = np.array([float(np.hypot(local[0], local[1])) - radius, abs(float(local[2])) - length / 2])
    outside = float(np.linalg.norm(np.maximum(excess, 0.0)))
    return outside if outside > 0 else -float(excess.max())


def _segment(point: np.ndarray, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    edge = q - p
    length = _dot(edge, edge)
    t = np.clip(_dot(point - p, edge) / np.where(length > 0, length, 1.0), 0.0, 1.0)
    distances: np.ndarray = np.linalg.norm(point - p - t[:, None] * edge, axis=1)
    return distances


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    product: np.ndarray = np.einsum("ij,ij->i", a, b)
    return product
