"""The triangles of one link as arrays for a graphics card: indexed, with one normal and texture coordinate a vertex."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.renderers.ray_surface import RayShape
from unlatch.simcore.sim.visuals.finish import Finish
from unlatch.simcore.sim.visuals.shape_surface import shape_key, shape_scale, shape_surface
from unlatch.simcore.sim.visuals.visual_shapes import VisualShape

Array = np.ndarray

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
    surface = shape_surface(body, shape)
    made = RayShape.from_surface(surface, np.array(shape_scale(body, shape)))
    finish = _colour_finish(body, shape)
    if surface.finish is not None:
        finish = Finish(*surface.finish)
    corners = made.mesh.faces.ravel()
    normals, uvs = made.shading.corner_normals.reshape(-1, 3), made.shading.uvs.reshape(-1, 2)
    _, first, which = np.unique(corner_keys(corners, normals, uvs), return_index=True, return_inverse=True)
    pose = Pose.identity() if body.surface is not None else shape.T_link_shape
    return ShapeGeometry(
        (pose @ made.mesh.vertices[corners[first]]).astype(np.float32),
        pose.rotate(normals[first]).astype(np.float32),
        uvs[first].astype(np.float32),
        which.reshape(-1, 3).astype(np.uint32),
        made.picture,
        made.textured,
        finish,
    )


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
