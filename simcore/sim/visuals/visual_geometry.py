"""The triangles of a body's visual shapes, with normals and texture coordinates."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from pathlib import Path

import numpy as np
import pybullet as p

from unlatch.simcore.errors import WorldError
from unlatch.simcore.meshes.mesh_reader import SurfaceMesh, read_mesh
from unlatch.simcore.meshes.shape_surface import primitive_mesh
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, join_meshes
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.visuals.visual_shapes import VisualShape
from unlatch.simcore.urdf.model import ShapeKind

Array = np.ndarray


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
    import trimesh

    kind, size = shape.kind, shape.size
    if kind == p.GEOM_BOX:
        return primitive_mesh(ShapeKind.box, size)
    if kind == p.GEOM_SPHERE:
        return primitive_mesh(ShapeKind.sphere, size)
    if kind == p.GEOM_CYLINDER:
        return primitive_mesh(ShapeKind.cylinder, (size[1], size[0]))
    if kind == p.GEOM_CAPSULE:
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
        AssetError: A mesh file cannot be read.
        WorldError: The shape is of a kind that has no triangles.
    """
    if body.surface is not None:
        return body.surface
    if shape.kind == p.GEOM_MESH:
        return read_mesh(Path(shape.path), allow_empty=True, with_shading=True)
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
