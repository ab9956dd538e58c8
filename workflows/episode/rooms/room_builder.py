"""Collects the boxes, cylinders and panels of a room by material, and adds them to a world."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.mesh_reader import SurfaceMesh
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, creased_normals
from unlatch.simcore.sim.visuals.finish import FINISHES, Finish
from unlatch.simcore.sim.visuals.scenery import add_panel, add_surface
from unlatch.simcore.sim.world import World

Array = np.ndarray
Point = tuple[float, float, float]

PREFIX = "room_"
"""Beginning of the names of all bodies of a room."""
_QUADS = np.array([(0, 4, 6, 2), (1, 3, 7, 5), (0, 1, 5, 4), (2, 6, 7, 3), (0, 2, 3, 1), (4, 5, 7, 6)])
"""(6, 4) corners of the sides of a box, whose corner number is x + 2 y + 4 z; sides -x, +x, -y, +y, -z, +z."""
_SIDE_AXES = np.array([(1, 2), (1, 2), (0, 2), (0, 2), (0, 1), (0, 1)])


@dataclass(frozen=True)
class Material:
    """The look of a surface."""

    rgb: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """Its colour, or white where a picture has the colours."""
    finish: Finish = FINISHES["paint"]
    """How it reflects light."""
    picture: Path | None = None
    """A picture that repeats on it."""
    tile_m: tuple[float, float] = (1.0, 1.0)
    """Size of the picture on the surface [m]."""
    turned: bool = False
    """Whether the picture is turned by a quarter."""


class RoomBuilder:
    """The parts of one room; `build` adds them to a world."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        """Draws what differs between two rooms of one kind."""
        self._parts: dict[tuple[str, Material], list[tuple[TriangleMesh, Array]]] = {}
        self._backdrops: list[tuple[str, Material, Pose, TriangleMesh]] = []
        self._panels: list[tuple[str, Material, Pose, tuple[float, float]]] = []

    def box(self, kind: str, material: Material, low: Point, high: Point) -> None:
        """Adds a box between two corners [m] to the parts of a semantic class."""
        bounds = np.array([low, high])
        corners = np.array([bounds[[n & 1, n >> 1 & 1, n >> 2 & 1], [0, 1, 2]] for n in range(8)])
        quads = corners[_QUADS]  # (6, 4, 3)
        faces = np.array([(4 * side, 4 * side + a, 4 * side + b) for side in range(6) for a, b in ((1, 2), (2, 3))])
        start = self.rng.uniform(size=2) if material.picture is not None else np.zeros(2)
        uvs = np.stack([side[:, axes] for side, axes in zip(quads, _SIDE_AXES, strict=True)]).reshape(-1, 2)
        self._add(kind, material, TriangleMesh(quads.reshape(-1, 3), faces), uvs, start)

    def cylinder(self, kind: str, material: Material, start: Point, end: Point, radius_m: float) -> None:
        """Adds a cylinder between the middles of its ends [m]."""
        import trimesh

        solid = trimesh.creation.cylinder(radius=radius_m, segment=[start, end], sections=28)
        self._add_solid(kind, material, solid)

    def ball(self, kind: str, material: Material, middle: Point, radius_m: float, *, squash: Point = (1, 1, 1)) -> None:
        """Adds a ball, or an ellipsoid of other factors on its radius [m]."""
        import trimesh

        solid = trimesh.creation.uv_sphere(radius=radius_m, count=[14, 20])
        solid.apply_scale(squash)
        solid.apply_translation(middle)
        self._add_solid(kind, material, solid)

    def profile(self, kind: str, material: Material, middle: Point, outline: Sequence[tuple[float, float]]) -> None:
        """Adds a solid of revolution about a vertical axis: (radius, height) from its bottom up [m]."""
        import trimesh

        solid = trimesh.creation.revolve(np.array(outline), sections=28)
        solid.apply_translation(middle)
        self._add_solid(kind, material, solid)

    def leaf(self, kind: str, material: Material, base: Point, along: Array, length_m: float) -> None:
        """Adds a flat leaf from its base along a direction (3,), bent downwards [m]."""
        aside = np.cross(along, [0.0, 0.0, 1.0])
        aside = aside / max(float(np.linalg.norm(aside)), 1e-6)
        share = np.linspace(0.0, 1.0, 7)[:, None]
        middle = np.array(base) + share * length_m * along - share**2 * np.array([0.0, 0.0, 0.35 * length_m])
        wide = 0.16 * length_m * np.sin(np.pi * share**0.8) * aside
        raised = middle + np.array([0.0, 0.0, 0.004])
        vertices = np.concatenate([middle - wide, middle + wide, raised])
        strip: Array = np.arange(6)
        sides: list[tuple[Array, Array, Array]] = [(strip, strip + 1, 14 + strip), (strip + 1, 15 + strip, 14 + strip)]
        sides += [(14 + strip, 15 + strip, 7 + strip), (15 + strip, 8 + strip, 7 + strip)]
        faces = np.concatenate([np.stack(side, axis=1) for side in sides])
        self._add(kind, material, TriangleMesh(vertices, faces), vertices[:, :2], np.zeros(2))

    def backdrop(self, kind: str, material: Material, middle: Point, outline: Sequence[tuple[float, float]]) -> None:
        """Adds a surface of revolution that is visible from inside: (radius, height) from its middle outwards [m]."""
        import trimesh

        solid = trimesh.creation.revolve(np.array(outline, dtype=float), sections=64)
        mesh = TriangleMesh(np.array(solid.vertices), np.array(solid.faces)[:, ::-1])  # its triangles face inwards
        self._backdrops.append((kind, material, Pose(np.eye(3), np.array(middle)), mesh))

    def panel(self, kind: str, material: Material, middle: Point, normal: Point, size_m: tuple[float, float]) -> None:
        """Adds a rectangle that is visible from the side of its normal; the second edge points up, or along y."""
        z = np.array(normal, dtype=float)
        up = np.array([0.0, 0.0, 1.0]) if abs(z[2]) < 0.5 else np.array([0.0, 1.0, 0.0])
        x = np.cross(up, z)
        self._panels.append((kind, material, Pose(np.column_stack([x, up, z]), np.array(middle)), size_m))

    def _add_solid(self, kind: str, material: Material, solid: object) -> None:
        mesh = TriangleMesh(np.asarray(solid.vertices, dtype=float), np.asarray(solid.faces, dtype=int))  # type: ignore[attr-defined]
        middle = mesh.vertices.mean(axis=0)
        around = np.arctan2(mesh.vertices[:, 1] - middle[1], mesh.vertices[:, 0] - middle[0])
        self._add(kind, material, mesh, np.stack([0.2 * around, mesh.vertices[:, 2]], axis=1), np.zeros(2))

    def _add(self, kind: str, material: Material, mesh: TriangleMesh, metres: Array, start: Array) -> None:
        along = metres[:, ::-1] if material.turned else metres
        uvs = along / np.array(material.tile_m) + start
        self._parts.setdefault((kind, material), []).append((mesh, uvs[mesh.faces]))

    def build(self, world: World) -> None:
        """Adds all parts to a world with visual shapes, one body for each class and material."""
        for number, ((kind, material), parts) in enumerate(self._parts.items()):
            triangles = np.concatenate([mesh.triangles for mesh, _ in parts])
            mesh = TriangleMesh(triangles.reshape(-1, 3), np.arange(3 * len(triangles)).reshape(-1, 3))
            normals = np.concatenate([creased_normals(part, crease_rad=np.radians(40.0)) for part, _ in parts])
            surface = SurfaceMesh(mesh, corner_normals=normals, corner_uvs=np.concatenate([uvs for _, uvs in parts]))
            body = add_surface(
                world,
                f"{PREFIX}{kind}_{number}",
                surface,
                T_world_surface=Pose.identity(),
                rgba=(*material.rgb, 1.0),
                finish=material.finish,
                picture=material.picture,
            )
            body.semantic_class = kind
        for kind, material, pose, mesh in self._backdrops:
            surface = SurfaceMesh(mesh, corner_normals=creased_normals(mesh, crease_rad=np.radians(60.0)))
            rgba, name = (*material.rgb, 1.0), f"{PREFIX}{kind}_backdrop"
            body = add_surface(world, name, surface, T_world_surface=pose, rgba=rgba, finish=material.finish)
            body.semantic_class, body.sheet = kind, True
        for number, (kind, material, pose, size_m) in enumerate(self._panels):
            body = add_panel(
                world,
                f"{PREFIX}{kind}_panel_{number}",
                size_m=size_m,
                T_world_panel=pose,
                rgba=(*material.rgb, 1.0),
                tile_m=material.tile_m,
                finish=material.finish,
                picture=material.picture,
            )
            body.semantic_class = kind
