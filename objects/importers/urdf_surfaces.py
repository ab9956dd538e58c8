"""Reads the surfaces of a URDF's links from their files, or makes them from their primitives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from unlatch.objects.importers.converted_asset import PlacedMesh
from unlatch.simcore.meshes.convex_hull import convex_hull
from unlatch.simcore.meshes.mesh_reader import SurfaceMesh, read_mesh
from unlatch.simcore.meshes.obj_materials import mesh_colour
from unlatch.simcore.meshes.textured_surface import read_textured_surface
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh
from unlatch.simcore.urdf.model import Link, Shape, ShapeKind, UrdfModel

_SEGMENTS = 24


@dataclass(frozen=True)
class LinkSurfaces:
    """Visual and collision surfaces of one link, in its frame, one for each shape."""

    visual_meshes: tuple[TriangleMesh, ...]
    collision_meshes: tuple[TriangleMesh, ...]
    visuals: tuple[PlacedMesh, ...]
    """The surfaces of `visual_meshes`, with their colours."""


def read_surfaces(model: UrdfModel, folder: Path, *, where: str) -> dict[str, LinkSurfaces]:
    """Reads the surfaces of all links, each file once.

    `folder` is the folder of the asset; `where` names the URDF in errors.

    Raises:
        AssetError: A mesh cannot be read.
    """
    reader = _SurfaceReader(folder, where)
    return {name: reader.read_link(link) for name, link in model.links.items()}


def primitive_mesh(kind: ShapeKind, size: tuple[float, ...]) -> TriangleMesh:
    """Returns the surface of a box, cylinder or sphere around its origin; round surfaces are made of flat pieces."""
    if kind is ShapeKind.box:
        corners = np.array(np.meshgrid((-0.5, 0.5), (-0.5, 0.5), (-0.5, 0.5))).reshape(3, -1).T
        return convex_hull(corners * np.asarray(size))
    angles = np.linspace(0.0, 2 * np.pi, _SEGMENTS, endpoint=False)
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    if kind is ShapeKind.cylinder:
        radius, length = size
        ends = [np.column_stack([ring * radius, np.full(_SEGMENTS, z)]) for z in (-length / 2, length / 2)]
        return convex_hull(np.concatenate(ends))
    layers = [
        np.column_stack([ring * np.sin(theta), np.full(_SEGMENTS, np.cos(theta))])
        for theta in np.linspace(0.0, np.pi, _SEGMENTS // 2 + 1)[1:-1]
    ]
    points = np.concatenate([*layers, [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]])
    return convex_hull(points * size[0])


class _SurfaceReader:
    def __init__(self, folder: Path, where: str) -> None:
        self._folder = folder
        self._where = where
        self._files: dict[Path, SurfaceMesh] = {}
        self._primitives: dict[tuple[ShapeKind, tuple[float, ...]], TriangleMesh] = {}

    def read_link(self, link: Link) -> LinkSurfaces:
        for shape in (*link.visuals, *link.collisions):
            if shape.path is not None and shape.path not in self._files:
                where = f"{self._where}: mesh '{shape.mesh}' of link '{link.name}'"
                self._files[shape.path] = read_mesh(shape.path, turn_to_z_up=False, where=where)
        visuals = tuple(self._read_visual(shape) for shape in link.visuals)
        collision_meshes = tuple(self._place_mesh(shape).in_link() for shape in link.collisions)
        return LinkSurfaces(tuple(visual.in_link() for visual in visuals), collision_meshes, visuals)

    def _read_visual(self, shape: Shape) -> PlacedMesh:
        placed, rgba = self._place_mesh(shape), self._find_colour(shape)
        texture = None if shape.path is None or rgba is None else read_textured_surface(shape.path, self._folder)
        return replace(placed, rgba=rgba, texture=texture)

    def _place_mesh(self, shape: Shape) -> PlacedMesh:
        if shape.path is not None:
            x, y, z = shape.size
            return PlacedMesh(self._files[shape.path].mesh, (x, y, z), shape.T_link_shape)
        key = (shape.kind, shape.size)
        if key not in self._primitives:
            self._primitives[key] = primitive_mesh(*key)
        return PlacedMesh(self._primitives[key], T_link_mesh=shape.T_link_shape)

    def _find_colour(self, shape: Shape) -> tuple[float, float, float, float] | None:
        """Returns the colour of a visual: the URDF's, else that of its mesh file."""
        if shape.rgba is not None or shape.path is None:
            return shape.rgba
        if shape.path.suffix.lower() == ".obj":
            return mesh_colour(shape, self._folder)
        return self._files[shape.path].rgba
