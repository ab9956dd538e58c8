"""Reads the surfaces of a URDF's links from their files, or makes them from their primitives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from unlatch.objects.importers.converted_asset import VisualMesh
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.convex_hull import convex_hull
from unlatch.simcore.meshes.mesh_reader import SurfaceMesh, read_mesh
from unlatch.simcore.meshes.obj_materials import mesh_colour
from unlatch.simcore.meshes.textured_surface import read_textured_surface
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh
from unlatch.simcore.urdf.model import Shape, ShapeKind, UrdfModel

_SEGMENTS = 24


@dataclass(frozen=True)
class LinkSurfaces:
    """Visual and collision surfaces of one link, in its frame, one for each shape."""

    seen: tuple[TriangleMesh, ...]
    touched: tuple[TriangleMesh, ...]
    visuals: tuple[VisualMesh, ...]
    sources: dict[Path, SurfaceMesh]
    """The meshes read, by file."""

    def colour(self, shape: Shape, folder: Path) -> tuple[float, float, float, float] | None:
        """Returns the colour of a visual: the URDF's, else that of its mesh file."""
        return _find_colour(shape, self.sources, folder)


def read_surfaces(model: UrdfModel, folder: Path, *, where: str) -> dict[str, LinkSurfaces]:
    """Reads the surfaces of all links, each file once; `folder` is that of the asset, and `where` names the URDF in
    errors.

    Raises:
        AssetError: A mesh cannot be read.
    """
    sources: dict[Path, SurfaceMesh] = {}
    primitives: dict[tuple[ShapeKind, tuple[float, ...]], TriangleMesh] = {}
    found = {}
    for name, link in model.links.items():
        for shape in (*link.visuals, *link.collisions):
            if shape.path is not None and shape.path not in sources:
                sources[shape.path] = read_mesh(
                    shape.path, turn_to_z_up=False, where=f"{where}: mesh '{shape.mesh}' of link '{name}'"
                )
        found[name] = LinkSurfaces(
            tuple(_make_surface(shape, sources, primitives) for shape in link.visuals),
            tuple(_make_surface(shape, sources, primitives) for shape in link.collisions),
            tuple(_make_visual(shape, sources, primitives, folder) for shape in link.visuals),
            sources,
        )
    return found


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


def placed_mesh(mesh: TriangleMesh, scale: tuple[float, float, float], T: Pose) -> TriangleMesh:
    """Returns a mesh scaled along its own axes, then moved; triangles of a mirrored mesh face outwards again."""
    faces = mesh.faces[:, ::-1] if float(np.prod(scale)) < 0 else mesh.faces
    return TriangleMesh(T @ (mesh.vertices * np.asarray(scale)), faces)


def _find_mesh(
    shape: Shape, sources: dict[Path, SurfaceMesh], primitives: dict[tuple[ShapeKind, tuple[float, ...]], TriangleMesh]
) -> tuple[TriangleMesh, tuple[float, float, float]]:
    if shape.path is not None:
        return sources[shape.path].mesh, (shape.size[0], shape.size[1], shape.size[2])
    key = (shape.kind, shape.size)
    if key not in primitives:
        primitives[key] = primitive_mesh(*key)
    return primitives[key], (1.0, 1.0, 1.0)


def _make_surface(
    shape: Shape, sources: dict[Path, SurfaceMesh], primitives: dict[tuple[ShapeKind, tuple[float, ...]], TriangleMesh]
) -> TriangleMesh:
    return placed_mesh(*_find_mesh(shape, sources, primitives), shape.T_link_shape)


def _make_visual(
    shape: Shape,
    sources: dict[Path, SurfaceMesh],
    primitives: dict[tuple[ShapeKind, tuple[float, ...]], TriangleMesh],
    folder: Path,
) -> VisualMesh:
    mesh, scale = _find_mesh(shape, sources, primitives)
    rgba = _find_colour(shape, sources, folder)
    textured = None if shape.path is None or rgba is None else read_textured_surface(shape.path, folder)
    return VisualMesh(mesh, scale, shape.T_link_shape, rgba, textured)


def _find_colour(
    shape: Shape, sources: dict[Path, SurfaceMesh], folder: Path
) -> tuple[float, float, float, float] | None:
    if shape.rgba is not None or shape.path is None:
        return shape.rgba
    if shape.path.suffix.lower() == ".obj":
        return mesh_colour(shape, folder)
    return sources[shape.path].rgba


def moved_visual(visual: VisualMesh, T: Pose) -> VisualMesh:
    """Returns a visual in another frame; `T` is the pose of its own frame."""
    return replace(visual, T_link_mesh=T @ visual.T_link_mesh)
