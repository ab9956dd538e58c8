"""Surfaces for ray casting, and the values for shading them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.mesh_reader import SurfaceMesh
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, creased_normals, join_meshes

Array = np.ndarray

_CREASE_RAD = np.radians(30.0)


@dataclass(frozen=True)
class FaceShading:
    """The values for shading of some triangles: of a shape, a link or a scene."""

    normals: Array
    """(F, 3) unit normals of the faces, each in the frame of its shape or link."""
    corner_normals: Array
    """(F, 3, 3) unit normals at their corners, likewise."""
    uvs: Array
    """(F, 3, 2) texture coordinates."""
    uvs_per_m: Array
    """(F,) repetitions of a picture per metre of each face."""
    shape_of_face: Array
    """(F,) index of the shape of each face."""

    def in_link(self, T_link_shape: Pose) -> FaceShading:
        """Returns the values in the frame of the link, as float32."""
        return FaceShading(
            T_link_shape.rotate(self.normals).astype(np.float32),
            T_link_shape.rotate(self.corner_normals).astype(np.float32),
            self.uvs.astype(np.float32),
            self.uvs_per_m.astype(np.float32),
            self.shape_of_face,
        )

    @classmethod
    def join(cls, parts: Sequence[FaceShading], *, shapes: Sequence[int]) -> FaceShading:
        """Joins parts; `shapes` has the number of shapes of each. Indices of shapes then count through all parts."""
        firsts = np.cumsum([0, *shapes])
        return cls(
            np.concatenate([part.normals for part in parts]),
            np.concatenate([part.corner_normals for part in parts]),
            np.concatenate([part.uvs for part in parts]),
            np.concatenate([part.uvs_per_m for part in parts]),
            np.concatenate([part.shape_of_face + first for part, first in zip(parts, firsts, strict=False)]),
        )


@dataclass(frozen=True)
class RayShape:
    """One visual shape in its own frame."""

    mesh: TriangleMesh
    """Its triangles [m]."""
    shading: FaceShading
    """Their values for shading."""
    picture: Path | None
    """The texture of its file."""
    textured: bool
    """Whether it has texture coordinates."""

    @classmethod
    def from_surface(cls, surface: SurfaceMesh, scale: Array) -> RayShape:
        """Computes the values for shading; `scale` (3,) are factors on the coordinates."""
        mesh = surface.mesh.scaled(scale)
        across = mesh.area_normals
        twice_area = np.maximum(np.linalg.norm(across, axis=1), 1e-30)
        if surface.corner_normals is None:
            at_corners = creased_normals(mesh, crease_rad=_CREASE_RAD)
        else:
            at_corners = surface.corner_normals / scale
            at_corners /= np.maximum(np.linalg.norm(at_corners, axis=-1, keepdims=True), 1e-30)
        uvs = np.zeros((len(mesh.faces), 3, 2)) if surface.corner_uvs is None else surface.corner_uvs
        (a, b), (c, d) = (uvs[:, 1] - uvs[:, 0]).T, (uvs[:, 2] - uvs[:, 0]).T
        density = np.sqrt(np.abs(a * d - b * c) / twice_area)
        first: Array = np.zeros(len(mesh.faces), dtype=int)
        shading = FaceShading(across / twice_area[:, None], at_corners, uvs, density, first)
        return cls(mesh, shading, surface.texture, surface.corner_uvs is not None)


@dataclass(frozen=True, eq=False)
class RaySurface:
    """All shapes of one link in the link's frame, with a ray tree; equal only to itself."""

    box_corners: Array
    """(8, 3) corners of its bounding box [m]."""
    shading: FaceShading
    """Values for shading of the faces of all shapes, float32."""
    pictures: tuple[Path | None, ...]
    """The texture of each shape's file."""
    textured: tuple[bool, ...]
    """Whether each shape has texture coordinates."""
    tree: Any
    """Embree's scene."""
    tree_meshes: Any
    """Objects that Embree's scene refers to; they must live as long as the tree."""

    @classmethod
    def from_shapes(cls, shapes: Sequence[tuple[Pose, RayShape]]) -> RaySurface:
        """Joins shapes, each with its pose in the link's frame, and builds the ray tree."""
        from embreex.mesh_construction import TriangleMesh as EmbreeMesh
        from embreex.rtcore_scene import EmbreeScene

        mesh = join_meshes(shape.mesh.moved(T) for T, shape in shapes)
        tree = EmbreeScene(robust=True)
        tree_meshes = EmbreeMesh(tree, mesh.vertices.astype(np.float32), mesh.faces.astype(np.int32))
        low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
        picks = np.array([[(corner >> axis) & 1 for axis in range(3)] for corner in range(8)], dtype=bool)
        return cls(
            np.where(picks, high, low),
            FaceShading.join([shape.shading.in_link(T) for T, shape in shapes], shapes=[1] * len(shapes)),
            tuple(shape.picture for _, shape in shapes),
            tuple(shape.textured for _, shape in shapes),
            tree,
            tree_meshes,
        )
