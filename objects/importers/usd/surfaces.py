"""Reads the geometry of a USD prim: its triangles, the groups of them that share a material, and primitives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from unlatch.objects.importers.urdf_surfaces import primitive_mesh
from unlatch.objects.importers.usd.stage import OpenedStage
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.convex_hull import convex_hull
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh
from unlatch.simcore.urdf.model import ShapeKind

Array = np.ndarray

MAX_TRIANGLES = 5_000_000
"""Largest number of triangles of one mesh."""

_TURNS = {
    "X": np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]),
    "Y": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]),
    "Z": np.eye(3),
}
"""(3, 3) rotation from z to the axis of a round primitive."""
_LARGEST_SKEW = 1e-6
"""Largest cosine between the axes of a primitive, and largest relative difference of radii, that keep its shape."""


@dataclass(frozen=True)
class Primitive:
    """A box, cylinder or sphere."""

    kind: ShapeKind
    size: tuple[float, ...]
    """As in `Shape.size`."""
    T_prim_shape: Pose
    """Its pose in the frame of its prim, or of another frame after `placed_primitive`."""


@dataclass(frozen=True)
class PrimSurface:
    """The geometry of one prim, in its own coordinates."""

    mesh: TriangleMesh
    primitive: Primitive | None = None
    """The same geometry as a primitive, if it is one."""
    corners: Array | None = None
    """(F, 3) places of the triangles' corners in `faceVertexIndices`; None if the prim is no mesh."""
    polygons: Array | None = None
    """(F,) polygon of each triangle; None if the prim is no mesh."""


def read_surface(stage: OpenedStage, prim: Any) -> PrimSurface | None:
    """Reads the geometry of a `UsdGeom.Gprim`; None if its type has no surface that can be grasped or hit.

    Raises:
        AssetError: A mesh names a point that it does not have, or a number is not finite.
    """
    kind = str(prim.GetTypeName())
    if kind == "Mesh":
        return _read_mesh(stage, prim)
    if kind not in _PRIMITIVES:
        return None
    primitive, mesh = _PRIMITIVES[kind](_Attributes(stage, prim))
    if mesh is None and primitive is not None:
        pose = primitive.T_prim_shape
        mesh = primitive_mesh(primitive.kind, primitive.size).moved(pose)
    return None if mesh is None else PrimSurface(mesh, primitive)


def placed_primitive(primitive: Primitive, affine: Array) -> Primitive | None:
    """Returns a primitive in another frame; None if the (4, 4) affine map makes another shape of it."""
    M = affine[:3, :3] @ primitive.T_prim_shape.R
    scale = np.linalg.norm(M, axis=0)
    axes = M / scale
    if np.abs(axes.T @ axes - np.eye(3)).max() > _LARGEST_SKEW:
        return None
    if primitive.kind is ShapeKind.box:
        size = tuple(float(v) for v in np.asarray(primitive.size) * scale)
    else:
        alike = scale if primitive.kind is ShapeKind.sphere else scale[:2]
        if np.ptp(alike) > _LARGEST_SKEW * scale.max():
            return None
        size = tuple(float(v) for v in np.asarray(primitive.size) * scale[[0, 2]][: len(primitive.size)])
    if np.linalg.det(axes) < 0:
        axes[:, 0] *= -1  # these shapes are their own mirror images
    return Primitive(primitive.kind, size, Pose(axes, affine[:3, :3] @ primitive.T_prim_shape.p + affine[:3, 3]))


def placed_mesh(mesh: TriangleMesh, affine: Array) -> TriangleMesh:
    """Returns a mesh in another frame; triangles of a mirrored one face outwards again."""
    faces = mesh.faces[:, ::-1] if np.linalg.det(affine[:3, :3]) < 0 else mesh.faces
    return TriangleMesh(mesh.vertices @ affine[:3, :3].T + affine[:3, 3], faces)


def read_primvar(stage: OpenedStage, prim: Any, name: str) -> tuple[Array, str] | None:
    """Returns the values of a primvar (N, ...), one for each element, and its interpolation; None without one."""
    primvar = stage.pxr.UsdGeom.PrimvarsAPI(prim).FindPrimvarWithInheritance(name)
    if not primvar or not primvar.HasValue():
        return None
    values = primvar.ComputeFlattened(stage.time)
    if values is None:
        return None
    found = np.array(values, dtype=float)
    return (found, str(primvar.GetInterpolation())) if len(found) and np.all(np.isfinite(found)) else None


class _Attributes:
    """Reads the attributes of a primitive."""

    def __init__(self, stage: OpenedStage, prim: Any) -> None:
        self._stage = stage
        self._prim = prim

    def number(self, name: str) -> float:
        attribute = self._prim.GetAttribute(name)
        value = attribute.Get(self._stage.time) if attribute else None
        if value is None or not np.isfinite(value) or not value > 0.0:
            raise self._stage.error(self._prim, f"has {name}={value}. Expected a number above 0.")
        return float(value)

    def turn(self) -> Array:
        axis = str(self._prim.GetAttribute("axis").Get(self._stage.time))
        return _TURNS.get(axis, _TURNS["Z"])


def _read_cube(read: _Attributes) -> tuple[Primitive, None]:
    return Primitive(ShapeKind.box, (read.number("size"),) * 3, Pose.identity()), None


def _read_sphere(read: _Attributes) -> tuple[Primitive, None]:
    return Primitive(ShapeKind.sphere, (read.number("radius"),), Pose.identity()), None


def _read_cylinder(read: _Attributes) -> tuple[Primitive, None]:
    size = (read.number("radius"), read.number("height"))
    return Primitive(ShapeKind.cylinder, size, Pose(read.turn(), np.zeros(3))), None


def _read_tapered(read: _Attributes) -> tuple[None, TriangleMesh]:
    bottom, top, height = read.number("radiusBottom"), read.number("radiusTop"), read.number("height")
    ring = primitive_mesh(ShapeKind.cylinder, (1.0, height)).vertices
    wide = np.where(ring[:, 2] > 0.0, top, bottom)[:, None]
    return None, _turned_hull(ring * np.column_stack([wide, wide, np.ones_like(wide)]), read)


def _read_capsule(read: _Attributes) -> tuple[None, TriangleMesh]:
    ball = primitive_mesh(ShapeKind.sphere, (read.number("radius"),)).vertices
    ends = np.array([0.0, 0.0, read.number("height") / 2])
    return None, _turned_hull(np.concatenate([ball + ends, ball - ends]), read)


def _read_cone(read: _Attributes) -> tuple[None, TriangleMesh]:
    radius, height = read.number("radius"), read.number("height")
    ring = primitive_mesh(ShapeKind.cylinder, (radius, height)).vertices
    base = ring[ring[:, 2] < 0.0]
    return None, _turned_hull(np.concatenate([base, [[0.0, 0.0, height / 2]]]), read)


def _turned_hull(points: Array, read: _Attributes) -> TriangleMesh:
    return convex_hull(points @ read.turn().T)


_PRIMITIVES: dict[str, Callable[[_Attributes], tuple[Primitive | None, TriangleMesh | None]]] = {
    "Capsule": _read_capsule,
    "Cone": _read_cone,
    "Cube": _read_cube,
    "Cylinder": _read_cylinder,
    "Cylinder_1": _read_tapered,
    "Sphere": _read_sphere,
}


def _read_mesh(stage: OpenedStage, prim: Any) -> PrimSurface:
    geom = stage.pxr.UsdGeom.Mesh(prim)
    points = _read_array(geom.GetPointsAttr(), stage, float).reshape(-1, 3)
    counts = _read_array(geom.GetFaceVertexCountsAttr(), stage, int)
    indices = _read_array(geom.GetFaceVertexIndicesAttr(), stage, int)
    if int(counts.sum()) != len(indices) or (len(counts) and counts.min() < 0):
        raise stage.error(
            prim, f"has {len(indices)} faceVertexIndices, faceVertexCounts want {int(counts.sum())}. Export it again."
        )
    if len(indices) and (indices.min() < 0 or indices.max() >= len(points)):
        raise stage.error(prim, f"names point {int(indices.max())} of {len(points)}. Export it again.")
    if not np.all(np.isfinite(points)):
        raise stage.error(prim, "has a point that is not finite. Export it again.")
    corners, polygons = _triangulate(counts)
    if len(corners) > MAX_TRIANGLES:
        raise stage.error(prim, f"has {len(corners)} triangles, at most {MAX_TRIANGLES} are read. Simplify it.")
    holes = _read_array(geom.GetHoleIndicesAttr(), stage, int)
    kept = ~np.isin(polygons, holes)
    corners, polygons = corners[kept], polygons[kept]
    if str(geom.GetOrientationAttr().Get(stage.time)) == "leftHanded":
        corners = corners[:, ::-1]
    return PrimSurface(TriangleMesh(points, indices[corners].reshape(-1, 3)), None, corners, polygons)


def _read_array(attribute: Any, stage: OpenedStage, kind: type) -> Array:
    values = attribute.Get(stage.time) if attribute else None
    return np.zeros(0, dtype=kind) if values is None else np.array(values, dtype=kind)


def _triangulate(counts: Array) -> tuple[Array, Array]:
    """Returns fans of triangles for polygons of (P,) corners: places of the corners (F, 3), and polygons (F,)."""
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]]) if len(counts) else counts
    corners: list[Array] = [np.zeros((0, 3), dtype=int)]
    polygons: list[Array] = [np.zeros(0, dtype=int)]
    for count in np.unique(counts[counts > 2]):
        chosen = np.flatnonzero(counts == count)
        fan = np.array([[0, k, k + 1] for k in range(1, count - 1)])
        corners.append((starts[chosen][:, None, None] + fan).reshape(-1, 3))
        polygons.append(np.repeat(chosen, count - 2))
    found = np.concatenate(polygons)
    order = np.argsort(found, kind="stable")
    return np.concatenate(corners)[order], found[order]
