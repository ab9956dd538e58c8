"""The surfaces of visual shapes with what shading needs: normals and texture coordinates."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path

import numpy as np
import pybullet as p

from unlatch.simcore.meshes.mesh_reader import SurfaceMesh, read_mesh
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.visuals.visual_geometry import bullet_primitive_mesh
from unlatch.simcore.sim.visuals.visual_shapes import VisualShape

Array = np.ndarray


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
