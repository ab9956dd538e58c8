"""A converted object in memory: links and joints with their surfaces, masses and inertias, at any scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.simcore.errors import AssetError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.mesh_reader import SurfaceMesh, read_mesh
from unlatch.simcore.meshes.obj_file import TexturedSurface, mesh_colour, read_textured_surface
from unlatch.simcore.meshes.solids import convex_hull, hulls_inertial
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, closed_volume
from unlatch.simcore.rng import sum_in_order
from unlatch.simcore.urdf.model import Inertial, Joint, Link, Shape, ShapeKind, UrdfModel

DEFAULT_DENSITY_KG_M3 = 1000.0
"""Density if neither the file nor the configuration states one; `UsdPhysics` has the same default."""
SMALLEST_M, LARGEST_M = 1e-3, 100.0
"""Plausible sizes of a whole object [m]."""

_TINY_KG = 1e-3
_LEAST_INERTIA = 1e-9


def check_size(surfaces: Sequence[TriangleMesh], *, where: str) -> float:
    """Returns the largest extent of surfaces in one frame [m].

    Raises:
        AssetError: No object has this size: its unit is wrong.
    """
    low = np.min([s.vertices[np.unique(s.faces)].min(axis=0) for s in surfaces], axis=0)
    high = np.max([s.vertices[np.unique(s.faces)].max(axis=0) for s in surfaces], axis=0)
    size_m = float(np.max(high - low))
    if not SMALLEST_M <= size_m <= LARGEST_M:
        raise AssetError(
            f"{where}: the object is {size_m:.4g} m large, expected {SMALLEST_M:g} to {LARGEST_M:g} m. "
            "Its unit is probably not the metre: set scale.",
            size_m=size_m,
        )
    return size_m


def solid_inertial(
    surface: Sequence[TriangleMesh],
    parts: Sequence[TriangleMesh],
    *,
    mass_kg: float | None = None,
    density: float | None = None,
    least_kg_m2: float = 0.0,
) -> Inertial:
    """Returns mass, centre and inertia of a link from its shape; a tiny ball for a link without one.

    Args:
        surface: Meshes that the link's colliders were made from; used if all of them are closed.
        parts: Its convex colliders; used otherwise.
        mass_kg: Its mass [kg]; None: density times volume.
        density: [kg/m^3]; None: `DEFAULT_DENSITY_KG_M3`.
        least_kg_m2: Least mass for each square metre of the link's face, see `face_m2`, unless `mass_kg` is given.
    """
    solids = list(surface) if surface and all(closed_volume(mesh) is not None for mesh in surface) else list(parts)
    volume = sum_in_order(mesh.volume for mesh in solids)
    if volume <= 0.0:
        mass = mass_kg if mass_kg is not None else _TINY_KG
        return Inertial(mass, np.zeros(3), np.eye(3) * mass * 1e-4)
    if mass_kg is None:
        mass_kg = max(volume * (density or DEFAULT_DENSITY_KG_M3), least_kg_m2 * face_m2(solids))
    inertial = hulls_inertial(solids, mass_kg)
    return Inertial(mass_kg, inertial.com_link, inertial.inertia + np.eye(3) * _LEAST_INERTIA)


def face_m2(meshes: Sequence[TriangleMesh]) -> float:
    """Returns the area of the face of a plate-like body [m^2].

    It is half of its surface, and at most the largest side of its box: inner surfaces do not count twice, and a bent
    rod does not count as a plate.
    """
    points = np.concatenate([mesh.vertices[np.unique(mesh.faces)] for mesh in meshes])
    extents = np.sort(np.ptp(points, axis=0))
    return min(0.5 * sum_in_order(mesh.area for mesh in meshes), float(extents[1] * extents[2]))


def combined_inertial(first: Inertial, second: Inertial) -> Inertial:
    """Returns the inertial of two bodies of one frame together."""
    mass = first.mass_kg + second.mass_kg
    if mass <= 0.0:
        return first
    com = (first.mass_kg * first.com_link + second.mass_kg * second.com_link) / mass
    inertia = np.zeros((3, 3))
    for body in (first, second):
        d = body.com_link - com
        inertia += body.inertia + body.mass_kg * (d @ d * np.eye(3) - np.outer(d, d))
    return Inertial(mass, com, inertia)


def inertia_problem(inertial: Inertial) -> str | None:
    """Returns what is wrong with an inertial, as one clause; None if a rigid body can have it."""
    if inertial.mass_kg <= 0.0:
        return f"mass {inertial.mass_kg:g} kg is not above 0"
    moments = np.linalg.eigvalsh(inertial.inertia)
    if moments[0] <= 0.0:
        return f"its principal moments {moments[0]:.3g}, {moments[1]:.3g}, {moments[2]:.3g} are not all above 0"
    if moments[0] + moments[1] < moments[2] * (1.0 - 1e-6):
        return (
            f"its principal moments {moments[0]:.3g}, {moments[1]:.3g}, {moments[2]:.3g} break the triangle rule: "
            "two must add up to the third or more"
        )
    return None


@dataclass(frozen=True)
class PlacedMesh:
    """A mesh with its place in a link, and its colour if it is drawn."""

    mesh: TriangleMesh
    """The mesh before scaling; copies of one mesh share the object."""
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    T_link_mesh: Pose = field(default_factory=Pose.identity)
    rgba: tuple[float, float, float, float] | None = None
    texture: TexturedSurface | None = None
    """The same triangles with texture coordinates, if they have a picture."""

    def in_link(self) -> TriangleMesh:
        """Returns the scaled mesh in the link frame; triangles of a mirrored mesh face outwards again."""
        faces = self.mesh.faces[:, ::-1] if float(np.prod(self.scale)) < 0 else self.mesh.faces
        return TriangleMesh(self.T_link_mesh @ (self.mesh.vertices * np.asarray(self.scale)), faces)


@dataclass(frozen=True)
class ConvertedLink:
    """A link as written to the URDF, and its meshes in memory."""

    link: Link
    visuals: tuple[PlacedMesh, ...] = ()
    parts: tuple[TriangleMesh, ...] = ()
    """Convex colliders in the link frame, including those of primitives."""


@dataclass(frozen=True)
class ConvertedAsset:
    """One converted asset."""

    name: str
    links: dict[str, ConvertedLink]
    joints: dict[str, Joint]
    physics: dict[str, Any]
    """Content of `physics.json`."""
    fix_base: bool = False
    approximation: str | None = None
    """For a single mesh: how an engine that reads USD makes colliders from the visual mesh."""
    notices: tuple[str, ...] = ()

    @property
    def model(self) -> UrdfModel:
        """The URDF."""
        return UrdfModel(self.name, {name: item.link for name, item in self.links.items()}, self.joints)


def mesh_collider(folder: Path, file: str, *, concave: bool = False) -> Shape:
    """Returns the collider of a mesh file in the link frame; `file` is relative to the folder of the URDF."""
    name = "triangles" if concave else "hulls"
    unscaled = (1.0, 1.0, 1.0)
    return Shape(ShapeKind.mesh, unscaled, Pose.identity(), name, mesh=file, path=folder / file, concave=concave)


_SEGMENTS = 24


@dataclass(frozen=True)
class LinkSurfaces:
    """Visual and collision surfaces of one link, in its frame, one for each shape."""

    visual_meshes: tuple[TriangleMesh, ...]
    collision_meshes: tuple[TriangleMesh, ...]
    visuals: tuple[PlacedMesh, ...]
    """The surfaces of `visual_meshes`, with their colours."""


def read_surfaces(model: UrdfModel, folder: Path, *, where: str, allow_empty: bool = False) -> dict[str, LinkSurfaces]:
    """Reads the surfaces of all links, each file once.

    `folder` is the folder of the asset; `where` names the URDF in errors. With `allow_empty`, a mesh file may have no
    triangle.

    Raises:
        AssetError: A mesh cannot be read.
    """
    reader = _SurfaceReader(folder, where, allow_empty=allow_empty)
    return {name: reader.read_link(link) for name, link in model.links.items()}


def without_empty_meshes(
    model: UrdfModel, surfaces: Mapping[str, LinkSurfaces], *, where: str
) -> tuple[UrdfModel, dict[str, LinkSurfaces], list[str]]:
    """Returns a model and its surfaces without the meshes that have no triangle, and a line for each of these.

    `where` names the URDF in errors.

    Raises:
        AssetError: All that a link has are such meshes.
    """
    links, kept, lines = dict(model.links), dict(surfaces), []
    for name, link in model.links.items():
        found = surfaces[name]
        shapes, meshes = (*link.visuals, *link.collisions), (*found.visual_meshes, *found.collision_meshes)
        is_left = [_has_extent(mesh) for mesh in meshes]
        if all(is_left):
            continue
        empty = dict.fromkeys(shape.mesh for shape, left in zip(shapes, is_left, strict=True) if not left)
        lines += [f"mesh '{mesh}' of link '{name}' has no triangle: it is left out" for mesh in empty]
        if not any(is_left):
            raise AssetError(
                f"{where}: mesh '{shapes[0].mesh}' of link '{name}': the mesh has no triangle. Expected a surface, or "
                "another shape of the link. Export it again.",
                path=where,
            )
        seen, hit = is_left[: len(link.visuals)], is_left[len(link.visuals) :]
        links[name] = replace(
            link, visuals=tuple(compress(link.visuals, seen)), collisions=tuple(compress(link.collisions, hit))
        )
        kept[name] = LinkSurfaces(
            tuple(compress(found.visual_meshes, seen)),
            tuple(compress(found.collision_meshes, hit)),
            tuple(compress(found.visuals, seen)),
        )
    return replace(model, links=links), kept, lines


def _has_extent(mesh: TriangleMesh) -> bool:
    return len(mesh.faces) > 0 and bool(np.ptp(mesh.vertices[np.unique(mesh.faces)], axis=0).any())


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
    def __init__(self, folder: Path, where: str, *, allow_empty: bool) -> None:
        self._folder = folder
        self._where = where
        self._allow_empty = allow_empty
        self._files: dict[Path, SurfaceMesh] = {}
        self._primitives: dict[tuple[ShapeKind, tuple[float, ...]], TriangleMesh] = {}

    def read_link(self, link: Link) -> LinkSurfaces:
        for shape in (*link.visuals, *link.collisions):
            if shape.path is not None and shape.path not in self._files:
                where = f"{self._where}: mesh '{shape.mesh}' of link '{link.name}'"
                self._files[shape.path] = read_mesh(
                    shape.path, turn_to_z_up=False, where=where, allow_empty=self._allow_empty
                )
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
