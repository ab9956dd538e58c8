"""Surfaces for ray casting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.creased_normals import creased_normals
from unlatch.simcore.meshes.mesh_reader import SurfaceMesh

Array = np.ndarray

_CREASE_RAD = np.radians(30.0)


@dataclass(frozen=True)
class RayShape:
    """One visual shape in its own frame: its triangles and their values for shading."""

    vertices: Array
    """(V, 3) [m]."""
    faces: Array
    """(F, 3) indices of the corners among the vertices."""
    normals: Array
    """(F, 3) unit normals of the faces."""
    corner_normals: Array
    """(F, 3, 3) unit normals at their corners, for shading."""
    uvs: Array
    """(F, 3, 2) texture coordinates."""
    uvs_per_m: Array
    """(F,) repetitions of a picture per metre of each face."""
    picture: Path | None
    """The texture of its file."""
    textured: bool
    """Whether it has texture coordinates."""

    @classmethod
    def from_surface(cls, surface: SurfaceMesh, scale: Array) -> RayShape:
        """Computes the values for shading; `scale` (3,) are factors on the coordinates."""
        mesh = surface.mesh.scaled(scale)
        corners = mesh.triangles
        across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        twice_area = np.maximum(np.linalg.norm(across, axis=1), 1e-30)
        if surface.corner_normals is None:
            at_corners = creased_normals(mesh, crease_rad=_CREASE_RAD)
        else:
            at_corners = surface.corner_normals / scale
            at_corners /= np.maximum(np.linalg.norm(at_corners, axis=-1, keepdims=True), 1e-30)
        uvs = np.zeros((len(corners), 3, 2)) if surface.corner_uvs is None else surface.corner_uvs
        (a, b), (c, d) = (uvs[:, 1] - uvs[:, 0]).T, (uvs[:, 2] - uvs[:, 0]).T
        density = np.sqrt(np.abs(a * d - b * c) / twice_area)
        normals = across / twice_area[:, None]
        textured = surface.corner_uvs is not None
        return cls(mesh.vertices, mesh.faces, normals, at_corners, uvs, density, surface.texture, textured)


@dataclass(frozen=True)
class RaySurface:
    """All shapes of one link in the link's frame, with a ray tree."""

    box_corners: Array
    """(8, 3) corners of its bounding box [m]."""
    normals: Array
    """(F, 3) float32, of the faces of all shapes."""
    corner_normals: Array
    """(F, 3, 3) float32."""
    uvs: Array
    """(F, 3, 2) float32."""
    uvs_per_m: Array
    """(F,) float32."""
    shape_of_face: Array
    """(F,) index of each face's shape."""
    pictures: tuple[Path | None, ...]
    """The texture of each shape's file."""
    textured: tuple[bool, ...]
    """Whether each shape has texture coordinates."""
    tree: Any
    """Embree's scene."""
    kept: Any
    """Objects that Embree's scene refers to."""

    @classmethod
    def from_shapes(cls, shapes: Sequence[tuple[Pose, RayShape]]) -> RaySurface:
        """Joins shapes, each with its pose in the link's frame, and builds the ray tree."""
        from embreex.mesh_construction import TriangleMesh as EmbreeMesh
        from embreex.rtcore_scene import EmbreeScene

        places = [T @ shape.vertices for T, shape in shapes]
        firsts = np.cumsum([0, *(len(vertices) for vertices in places)])
        vertices = np.concatenate(places)
        faces = np.concatenate([shape.faces + first for (_, shape), first in zip(shapes, firsts, strict=False)])
        tree = EmbreeScene(robust=True)
        kept = EmbreeMesh(tree, vertices.astype(np.float32), faces.astype(np.int32))
        low, high = vertices.min(axis=0), vertices.max(axis=0)
        picks = np.array([[(corner >> axis) & 1 for axis in range(3)] for corner in range(8)], dtype=bool)
        return cls(
            np.where(picks, high, low),
            np.concatenate([T.rotate(shape.normals) for T, shape in shapes]).astype(np.float32),
            np.concatenate([T.rotate(shape.corner_normals) for T, shape in shapes]).astype(np.float32),
            np.concatenate([shape.uvs for _, shape in shapes]).astype(np.float32),
            np.concatenate([shape.uvs_per_m for _, shape in shapes]).astype(np.float32),
            np.concatenate([np.full(len(shape.faces), place) for place, (_, shape) in enumerate(shapes)]),
            tuple(shape.picture for _, shape in shapes),
            tuple(shape.textured for _, shape in shapes),
            tree,
            kept,
        )
