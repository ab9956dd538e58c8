"""The geometry that renderers of meshes draw: visible links, their triangles as arrays, and levels of detail."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pybullet as p
import scipy

from unlatch.simcore.cache import arrays_key, kept_arrays
from unlatch.simcore.cameras import Pinhole
from unlatch.simcore.errors import AssetError, WorldError
from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.meshes.mesh_reader import SurfaceMesh, read_mesh
from unlatch.simcore.meshes.shape_surface import primitive_mesh
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, creased_normals, join_meshes
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.renderers.renderer import RenderedWorld
from unlatch.simcore.sim.visuals.visual_shapes import Finish, Paint, VisualShape
from unlatch.simcore.urdf.model import ShapeKind


@dataclass(frozen=True)
class DrawnLink:
    """One link that has visible shapes."""

    body: Body
    name: str
    """Name of the link."""
    link_id: int
    """As in `RawImages.link_ids`."""
    shapes: tuple[VisualShape, ...]
    """Its shapes that are not fully transparent."""
    paints: tuple[Paint, ...]
    """The appearance of each."""


def drawn_links(world: RenderedWorld) -> Iterator[DrawnLink]:
    """Yields the visible links of a world; a fully transparent shape is invisible."""
    number = 0
    for body in world.seen_bodies():
        shapes: dict[int, list[tuple[VisualShape, Paint]]] = {}
        for shape in body.visual_shapes:
            paint = world.paint.get((shape.body, shape.link, shape.index), Paint(shape.rgba, None))
            if paint.rgba[3] > 0.0:
                shapes.setdefault(shape.link, []).append((shape, paint))
        for index, name in body.link_names.items():
            number += 1
            if index in shapes:
                found, paints = zip(*shapes[index], strict=True)
                yield DrawnLink(body, name, number, found, paints)


_COLOUR_DECIMALS = 4
"""Bullet reports colours in single precision: 0.72 as 0.72000003."""


@dataclass(frozen=True, eq=False)
class ShapeGeometry:
    """One shape in the frame of its link."""

    vertices: Array
    """(V, 3) float32 [m]."""
    normals: Array
    """(V, 3) float32 unit normals."""
    uvs: Array
    """(V, 2) float32 texture coordinates; v points up in the picture."""
    faces: Array
    """(F, 3) uint32 indices of vertices."""
    picture: Path | None
    """The picture of its mesh file."""
    textured: bool
    """Whether it has texture coordinates."""
    finish: Finish
    """How it reflects light."""


def shape_geometry(body: Body, shape: VisualShape) -> ShapeGeometry:
    """Returns the geometry of a shape.

    Raises:
        AssetError: A mesh file cannot be read.
        WorldError: The shape is of a kind that has no triangles.
    """
    pose = Pose.identity() if body.surface is not None else shape.T_link_shape
    surface, scale = shape_surface(body, shape), np.array(shape_scale(body, shape))
    vertices, normals, uvs, faces = _split_corners(surface, scale)
    return ShapeGeometry(
        (pose @ vertices).astype(np.float32),
        pose.rotate(normals).astype(np.float32),
        uvs.astype(np.float32),
        faces,
        surface.texture,
        surface.corner_uvs is not None,
        _colour_finish(body, shape) if surface.finish is None else Finish(*surface.finish),
    )


def _split_corners(surface: SurfaceMesh, scale: Array) -> tuple[Array, Array, Array, Array]:
    """Returns vertices (V, 3), normals (V, 3), coordinates (V, 2) and faces (F, 3) of a surface that is scaled.

    Corners with other normals or coordinates are vertices of their own.
    """
    mesh = surface.mesh.scaled(scale)
    corners = mesh.faces.ravel()
    normals = _corner_normals(surface, mesh, scale).reshape(-1, 3)
    uvs: Array = np.zeros((len(corners), 2)) if surface.corner_uvs is None else surface.corner_uvs.reshape(-1, 2)
    _, first, which = np.unique(corner_keys(corners, normals, uvs), return_index=True, return_inverse=True)
    return mesh.vertices[corners[first]], normals[first], uvs[first], which.reshape(-1, 3).astype(np.uint32)


_CREASE_RAD = np.radians(30.0)
"""Angle between triangles from which their edge is sharp."""


def _corner_normals(surface: SurfaceMesh, mesh: TriangleMesh, scale: Array) -> Array:
    """Returns the unit normals (F, 3, 3) at the corners of `mesh`, which is the surface with scaled coordinates."""
    if surface.corner_normals is None:
        return creased_normals(mesh, crease_rad=_CREASE_RAD)
    found: Array = surface.corner_normals / scale
    return found / np.maximum(np.linalg.norm(found, axis=-1, keepdims=True), 1e-30)


def geometry_key(body: Body, shapes: Sequence[VisualShape]) -> tuple[object, ...]:
    """Returns a cache key that determines the geometry of shapes of a link."""
    return tuple(
        (
            shape_key(body, shape),
            _colour_finish(body, shape),
            *shape.T_link_shape.p.tolist(),
            *shape.T_link_shape.quat_xyzw.tolist(),
        )
        for shape in shapes
    )


def _colour_finish(body: Body, shape: VisualShape) -> Finish:
    r, g, b, a = (round(value, _COLOUR_DECIMALS) for value in shape.rgba)
    return body.finish_by_colour.get((r, g, b, a), body.finish)


def corner_keys(vertex: Array, normals: Array, uvs: Array) -> Array:
    """Returns one number (N,) for each corner: equal for corners of one vertex with equal normals and coordinates."""
    values = np.concatenate([np.rint(normals * 1000.0), np.rint(uvs * 8192.0)], axis=1).astype(np.int64)
    mixed = (values * np.array([73856093, 19349663, 83492791, 2971215073, 433494437])).sum(axis=1)
    return (vertex.astype(np.int64) << 32) | (mixed & 0xFFFFFFFF)


FINEST_PIXEL_M = 0.001
"""Size of a pixel at level 0; where pixels are smaller, all triangles are drawn [m]."""
COARSEST_LEVEL = 6
"""Its pixels are 64 times as large as those of level 0."""
_ERROR_PX = 0.5
"""Limit of the quadric error of a vertex, as a share of a pixel.

The quadric error is the root of the summed squared distances from the planes of all triangles that were merged into the
vertex. The surfaces of the Panda's links are half a pixel apart at most. The exception is 1 mm on the small screws of
its base, at any level: fast_simplification drops a few of their triangles. Therefore no level is finer than 1 mm.
"""
_WELD_M = 1e-6
"""Corners that are not further apart are one vertex [m]."""
_COLLAPSE_ERROR = 1e-9
"""The squared error up to which fast_simplification collapses edges with `agg=0`."""
_COST_OF_A_PIXEL = 0.1
"""Distance of an original normal against its angle to the triangle: a pixel counts as much as 26 degrees."""
_LEAST_AREA = 1e-12
"""Triangles with less area are not drawn, as they have no normal [m^2]."""


def pixel_size(pinhole: Pinhole, distance_m: float) -> float:
    """Returns the size of a pixel at a distance from the camera [m]; 0 behind the lens."""
    return max(distance_m, 0.0) / max(pinhole.fx, pinhole.fy)


def level_of_detail(pixel_m: float) -> int | None:
    """Returns the level for pixels of a size, rounded to finer meshes; None: all triangles are drawn."""
    level = int(levels_of_detail(np.array(pixel_m)))
    return None if level < 0 else level


def levels_of_detail(pixel_m: Array) -> Array:
    """Returns `level_of_detail` of sizes (N,); -1: all triangles."""
    return np.clip(np.floor(np.log2(np.maximum(pixel_m / FINEST_PIXEL_M, 0.5))), -1, COARSEST_LEVEL).astype(int)


def bounding_sphere(shapes: list[ShapeGeometry]) -> tuple[Array, float]:
    """Returns centre (3,) and radius of a sphere around shapes of one link, in the frame of the link [m]."""
    vertices = np.concatenate([shape.vertices for shape in shapes]).astype(float)
    centre: Array = (vertices.min(axis=0) + vertices.max(axis=0)) / 2.0
    return centre, float(np.linalg.norm(vertices - centre, axis=1).max())


def nearest_distance(centre: Array, radius_m: float, T_world_link: Pose, T_world_camera: Pose) -> float:
    """Returns the distance from the camera to a bounding sphere [m]; negative inside of it."""
    return float(np.linalg.norm(T_world_link @ centre - T_world_camera.p)) - radius_m


def can_simplify(shape: ShapeGeometry) -> bool:
    """Returns whether a shape has levels of detail: many triangles, and no texture that would move on them.

    Levels need fast_simplification, which comes with the extra that brings meshes of many triangles.
    """
    many = len(shape.faces) >= 500  # shapes with fewer triangles stay as they are
    return many and not shape.textured and _simplifier_versions() is not None


@cache
def _simplifier_versions() -> tuple[str, str] | None:
    """Returns the versions of the packages that make levels of detail; None: one is missing."""
    if find_spec("fast_simplification") is None:
        return None
    return version("fast_simplification"), version("scipy")


def simplify_shape(shape: ShapeGeometry, level: int) -> ShapeGeometry:
    """Returns a shape with the triangles that pixels of a level need; the same one if it has no levels of detail."""
    if not can_simplify(shape):
        return shape
    key = arrays_key(__file__, _simplifier_versions(), level, shape.vertices, shape.normals, shape.faces)
    found: dict[str, Any] = {**kept_arrays("levels_of_detail", key, lambda: _simplified_arrays(shape, level))}
    return replace(shape, **found)


def _simplified_arrays(shape: ShapeGeometry, level: int) -> dict[str, Array]:
    """Returns the arrays of a shape that a level changes; empty if it has no fewer triangles there."""
    pixel_m = FINEST_PIXEL_M * 2.0**level
    mesh = _collapse_edges(_weld_corners(shape), _ERROR_PX * pixel_m)
    if not 0 < len(mesh.faces) < len(shape.faces):
        return {}
    normals = _find_normals(mesh, shape, pixel_m).reshape(-1, 3)
    corners = mesh.faces.ravel()
    keys = corner_keys(corners, normals, np.zeros((len(corners), 2)))
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    return {
        "vertices": mesh.vertices[corners[first]].astype(np.float32),
        "normals": normals[first].astype(np.float32),
        "uvs": np.zeros((len(first), 2), dtype=np.float32),
        "faces": which.reshape(-1, 3).astype(np.uint32),
    }


def _weld_corners(shape: ShapeGeometry) -> TriangleMesh:
    """Returns its triangles with one vertex at each place; those without area are left out."""
    keys = np.rint(shape.vertices.astype(float) / _WELD_M).astype(np.int64)
    _, first, which = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    faces = which.reshape(-1)[shape.faces]
    distinct = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 0] != faces[:, 2])
    return TriangleMesh(shape.vertices[first].astype(float), faces[distinct])


def _collapse_edges(mesh: TriangleMesh, error_m: float) -> TriangleMesh:
    """Collapses edges up to a quadric error [m]."""
    from fast_simplification import simplify

    # with agg=0 the limit of the error is the same in every round, but a constant: the mesh is scaled to it
    scale = np.sqrt(_COLLAPSE_ERROR) / error_m
    vertices, faces = simplify(
        mesh.vertices * scale, mesh.faces.astype(np.int32), target_count=1, agg=0.0, preserve_border=True
    )
    collapsed = TriangleMesh(np.asarray(vertices, dtype=float) / scale, np.asarray(faces, dtype=np.int64))
    return collapsed.cut(np.linalg.norm(collapsed.area_normals, axis=1) > 2.0 * _LEAST_AREA)


def _find_normals(mesh: TriangleMesh, shape: ShapeGeometry, pixel_m: float) -> Array:
    """Returns (F, 3, 3) normals of the corners of a simplified mesh: near ones of the original surface.

    A corner takes a normal that is close to it and to the direction of its triangle. So a sharp edge, where the
    original has one normal for each side, stays sharp. A flat side whose rounded edge is smaller than a pixel stays
    flat, and a curved surface stays smooth.
    """
    across = mesh.area_normals
    of_faces = across / np.linalg.norm(across, axis=1, keepdims=True)
    count = min(16, len(shape.vertices))  # original normals among which that of a corner is chosen
    distance_m, near = scipy.spatial.cKDTree(shape.vertices).query(mesh.vertices, k=count)  # (V, K)
    near, far = near[mesh.faces], (_COST_OF_A_PIXEL * (distance_m / pixel_m) ** 2)[mesh.faces]  # (F, 3, K)
    cosine = np.einsum("fckx,fx->fck", shape.normals[near], of_faces)
    best = np.argmin(far - cosine, axis=2)[..., None]
    found: Array = shape.normals[np.take_along_axis(near, best, axis=2)[..., 0]]  # (F, 3, 3)
    behind = np.take_along_axis(cosine, best, axis=2) < 0.0  # of the other side of a thin sheet
    return np.where(behind, of_faces[:, None, :], found)


def link_mesh(body: Body, link: str) -> TriangleMesh:
    """Returns the triangles of a link's visual shapes, in the link frame; empty for a link without any.

    Cylinders and capsules are prisms of 48 sides, spheres polyhedra, up to 0.3 % of a radius inside the true surface.

    Raises:
        FrameNotFoundError: No such link.
        WorldError: A shape is of a kind that has no triangles.
        AssetError: A mesh file cannot be read.
    """
    body.link_index(link)
    if link not in body.meshes:
        body.meshes.update(_read_link_meshes(body))
    return body.meshes[link]


def _read_link_meshes(body: Body) -> dict[str, TriangleMesh]:
    pieces: dict[str, list[TriangleMesh]] = {link: [] for link in body.links if link not in body.meshes}
    for shape in body.visual_shapes:
        link = body.link_names[shape.link]
        if link in pieces:
            pieces[link].append(_shape_mesh(body, shape).moved(shape.T_link_shape))
    return {link: join_meshes(found) for link, found in pieces.items()}


def _shape_mesh(body: Body, shape: VisualShape) -> TriangleMesh:
    if shape.kind != p.GEOM_MESH:
        return bullet_primitive_mesh(body, shape)
    status = Path(shape.path).stat()
    return _read_cached_mesh(Path(shape.path), status.st_mtime_ns, status.st_size).scaled(shape.size)


def bullet_primitive_mesh(body: Body, shape: VisualShape) -> TriangleMesh:
    """Returns a box, sphere, cylinder or capsule of a body as triangles.

    Raises:
        WorldError: The shape is of another kind.
    """
    kind, size = shape.kind, shape.size
    if kind == p.GEOM_BOX:
        return primitive_mesh(ShapeKind.box, size)
    if kind == p.GEOM_SPHERE:
        return primitive_mesh(ShapeKind.sphere, size)
    if kind == p.GEOM_CYLINDER:
        return primitive_mesh(ShapeKind.cylinder, (size[1], size[0]))
    if kind == p.GEOM_CAPSULE:
        import trimesh

        solid = trimesh.creation.capsule(radius=size[1], height=size[0], count=[48, 24])
        solid.apply_translation(-solid.bounds.mean(axis=0))
        return TriangleMesh(np.asarray(solid.vertices, dtype=float), np.asarray(solid.faces, dtype=int))
    raise WorldError(
        f"A visual shape of '{body.name}' is of Bullet's kind {kind}, which has no triangles. Expected a box, "
        "sphere, cylinder, capsule or mesh. Change the model.",
        name=body.name,
    )


@lru_cache(maxsize=256)
def _read_cached_mesh(path: Path, _mtime_ns: int, _size: int) -> TriangleMesh:
    """Returns the mesh of a file; time and size are part of the key, so that a changed file is read again."""
    return read_mesh(path, allow_empty=True).mesh


def shape_key(body: Body, shape: VisualShape) -> Hashable:
    """Returns a cache key that determines a shape's triangles."""
    if body.surface is not None:
        uvs = body.surface.corner_uvs
        return (body.surface.mesh.vertices.tobytes(), b"" if uvs is None else uvs.tobytes(), body.surface.texture)
    if shape.kind == p.GEOM_MESH:
        status = Path(shape.path).stat()
        return (shape.path, status.st_mtime_ns, status.st_size, shape.size)
    return (shape.kind, shape.size)


def shape_scale(body: Body, shape: VisualShape) -> tuple[float, ...]:
    """Returns the factors (3,) on the coordinates of a shape's surface."""
    return shape.size if shape.kind == p.GEOM_MESH and body.surface is None else (1.0, 1.0, 1.0)


def shape_surface(body: Body, shape: VisualShape) -> SurfaceMesh:
    """Returns the surface of a shape in its own frame, before `shape_scale`.

    Raises:
        AssetError: A mesh file cannot be read, or has no triangle.
        WorldError: The shape is of a kind that has no triangles.
    """
    if body.surface is not None:
        return body.surface
    if shape.kind == p.GEOM_MESH:
        surface = read_mesh(Path(shape.path), allow_empty=True, with_shading=True)
        if not len(surface.mesh.faces):
            raise AssetError(
                f"{shape.path}: the mesh of '{body.name}' has no triangle. Expected a surface. Export it again, or "
                "remove its <visual> from the URDF.",
                path=str(shape.path),
            )
        return surface
    mesh = bullet_primitive_mesh(body, shape)
    return SurfaceMesh(mesh, corner_uvs=_span_texture(mesh, box=shape.kind == p.GEOM_BOX))


def _span_texture(mesh: TriangleMesh, *, box: bool) -> Array:
    """Returns texture coordinates (F, 3, 2) that span each side of a box, or once around a round shape."""
    corners, low, high = mesh.triangles, mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    shares = (corners - low) / (high - low)  # (F, 3, 3)
    if not box:
        around = np.arctan2(corners[..., 1], corners[..., 0]) / (2.0 * np.pi) + 0.5
        back = around < around.max(axis=1, keepdims=True) - 0.5  # beyond the seam the coordinates continue
        return np.stack([around + back, shares[..., 2]], axis=-1)
    facing = np.argmin(np.ptp(shares, axis=1), axis=1)
    axes = np.array([[1, 2], [0, 2], [0, 1]])[facing]  # (F, 2)
    return np.take_along_axis(shares, np.repeat(axes[:, None], 3, axis=1), axis=2)
