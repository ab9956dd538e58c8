"""The parts of rooms: boxes, panels and solids of a material, and the shell that all rooms have."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.objects.procedural.parameters import draw_one
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.mesh_reader import SurfaceMesh
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, creased_normals
from unlatch.simcore.sim.visuals.appearance import add_panel, add_surface
from unlatch.simcore.sim.visuals.visual_shapes import FINISHES, Finish
from unlatch.simcore.sim.world import World
from unlatch.tasks.layout import TABLE
from unlatch.workflows.episode.room_pictures import VIEWS, draw_poster, draw_view, picture_file
from unlatch.workflows.episode.scene import TABLE_CENTER_M, TABLE_SIZE_M

Array = np.ndarray
Point = tuple[float, float, float]

_AROUND = 64
"""Corners of a ring of a backdrop."""
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


@dataclass(frozen=True)
class Niche:
    """What stands at the wall at +x, in a gap of the furniture there, or is a door in that wall."""

    T_world_front: Pose
    """Frame in the lower middle of the front of its body, with x into it and z up."""
    size_m: tuple[float, float, float]
    """Depth, width and height of its body [m]."""
    category: str
    """Category of the object."""
    material: Material
    """Look of its body."""

    @property
    def is_door(self) -> bool:
        """Whether it is a wall with a door: high and thin."""
        return self.size_m[2] > _DOOR_M[1] and self.size_m[0] < _DOOR_M[0]

    @property
    def is_tall(self) -> bool:
        """Whether it reaches up to wall units."""
        return self.size_m[2] > _TALL_M


_DOOR_M = (0.25, 1.8)
"""Largest depth and least height of a wall with a door [m]."""
_TALL_M = 1.3
_BEHIND_M = 0.02
"""Space between the back of an object and the wall [m]."""
_BEFORE_WALL_M = 0.0125
"""How far the frame of a door stands before the wall [m]."""
_OVER_M = 0.006
"""How far the wall covers the bevelled edges of the part of it that belongs to a door [m]."""
_CORRIDOR_M = 1.6
"""Depth of what is behind a door [m]."""


class RoomBuilder:
    """The parts of one room; `build` adds them to a world."""

    def __init__(self, rng: np.random.Generator, *, floor_z_m: float | None = None, niche: Niche | None = None) -> None:
        """Makes a room without parts.

        Args:
            rng: Draws what differs between two rooms of one kind.
            floor_z_m: Height of its floor below the stand of a robot [m]. Without one, there is a table in the room,
                and the room has its own height.
            niche: What the room is built around: the room is turned to it; None: the room is around the table.
        """
        self.rng = rng
        """Draws what differs between two rooms of one kind."""
        self.has_table = floor_z_m is None
        """Whether there is a table; without one, parts of it are left out."""
        self.own_floor_z_m = 0.0
        """Height of the floor that the parts are added for [m]."""
        self.niche = niche
        """What stands at the wall at +x; None: nothing does."""
        self.niche_y_m = (math.nan, math.nan)
        """Its sides along the wall at +x [m]."""
        self._wall_x_m, self._least_depth_m = math.nan, 0.0
        self._floor_z_m = floor_z_m
        self._parts: dict[tuple[str, Material], list[tuple[TriangleMesh, Array]]] = {}
        self._backdrops: list[tuple[str, Material, Pose, TriangleMesh]] = []
        self._panels: list[tuple[str, Material, Pose, tuple[float, float]]] = []
        self._turned, self._mirror_y_m = False, math.nan
        self.top = WHITE
        """What the table is covered with."""

    def place_niche(self, wall_x_m: float, *, high_y_m: float, least_depth_m: float = 0.0) -> None:
        """Places the niche at the wall at +x.

        Args:
            wall_x_m: Where the wall is [m].
            high_y_m: The higher side of the niche along the wall [m].
            least_depth_m: Least distance of its front from the wall, as of the furniture beside it [m].
        """
        if self.niche is not None:
            self._wall_x_m, self._least_depth_m = wall_x_m, least_depth_m
            self.niche_y_m = (high_y_m - self.niche.size_m[1], high_y_m)

    def beside_niche(self, low_y_m: float, high_y_m: float, *, apart_m: float = 0.0) -> list[tuple[float, float]]:
        """Returns the parts of a range along the wall at +x that the niche leaves free [m]."""
        if self.niche is None:
            return [(low_y_m, high_y_m)]
        low, high = self.niche_y_m
        runs = [(low_y_m, min(high_y_m, low - apart_m)), (max(low_y_m, high + apart_m), high_y_m)]
        return [(start, end) for start, end in runs if start < end]

    @contextmanager
    def arranged(self, *, turned: bool, mirror_y_m: float = math.nan) -> Iterator[None]:
        """Places what is added inside elsewhere.

        Args:
            turned: Whether x and y change places: what stands along the wall at +x stands along the one at +y.
            mirror_y_m: Before that, y becomes this less y [m]; NaN: it stays.
        """
        before = self._turned, self._mirror_y_m
        self._turned, self._mirror_y_m = turned, mirror_y_m
        try:
            yield
        finally:
            self._turned, self._mirror_y_m = before

    def _arrange(self, points: Array) -> Array:
        """Returns points (..., 3) where they are placed."""
        placed: Array = np.array(points, dtype=float)
        if not math.isnan(self._mirror_y_m):
            placed[..., 1] = self._mirror_y_m - placed[..., 1]
        return placed[..., [1, 0, 2]] if self._turned else placed

    def box(self, kind: str, material: Material, low: Point, high: Point, *, T_world_box: Pose | None = None) -> None:
        """Adds a box between two corners [m], of the frame of the box, to the parts of a semantic class."""
        bounds = np.array([low, high])
        corners = np.array([bounds[[n & 1, n >> 1 & 1, n >> 2 & 1], [0, 1, 2]] for n in range(8)])
        quads = corners[_QUADS]  # (6, 4, 3)
        faces = np.array([(4 * side, 4 * side + a, 4 * side + b) for side in range(6) for a, b in ((1, 2), (2, 3))])
        start = self.rng.uniform(size=2) if material.picture is not None else np.zeros(2)
        uvs = np.stack([side[:, axes] for side, axes in zip(quads, _SIDE_AXES, strict=True)]).reshape(-1, 2)
        vertices = quads.reshape(-1, 3) if T_world_box is None else T_world_box @ quads.reshape(-1, 3)
        self._add(kind, material, TriangleMesh(vertices, faces), uvs, start)

    def cylinder(self, kind: str, material: Material, start: Point, end: Point, radius_m: float) -> None:
        """Adds a cylinder between the middles of its ends [m]."""
        self._add_solid(kind, material, "cylinder", radius=radius_m, segment=[start, end], sections=28)

    def ball(self, kind: str, material: Material, middle: Point, radius_m: float) -> None:
        """Adds a ball of a radius [m]."""
        self._add_solid(kind, material, "uv_sphere", middle, radius=radius_m, count=[14, 20])

    def profile(self, kind: str, material: Material, middle: Point, outline: Sequence[tuple[float, float]]) -> None:
        """Adds a solid of revolution about a vertical axis: (radius, height) from its bottom up [m]."""
        self._add_solid(kind, material, "revolve", middle, linestring=np.array(outline), sections=28)

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
        radius, height = np.array(outline, dtype=float).T[:, :, None]  # (K, 1) each
        around: Array = np.arange(_AROUND) * (2.0 * np.pi / _AROUND)
        rings = np.broadcast_arrays(radius * np.cos(around), radius * np.sin(around), height)
        places: Array = np.arange(radius.size * _AROUND).reshape(-1, _AROUND)
        here, beside = places[:-1], np.roll(places, -1, axis=1)[:-1]
        further, across = places[1:], np.roll(places, -1, axis=1)[1:]
        inwards = [np.stack(each, axis=-1).reshape(-1, 3) for each in ((here, across, beside), (here, further, across))]
        mesh = TriangleMesh(np.stack(rings, axis=-1).reshape(-1, 3), np.concatenate(inwards))
        self._backdrops.append((kind, material, Pose(np.eye(3), np.array(middle)), mesh))

    def panel(self, kind: str, material: Material, middle: Point, normal: Point, size_m: tuple[float, float]) -> None:
        """Adds a rectangle that is visible from the side of its normal; the second edge points up, or along y."""
        if kind == TABLE and not self.has_table:
            return
        z = self._arrange(np.add(middle, normal)) - self._arrange(np.array(middle))
        up = np.array([0.0, 0.0, 1.0]) if abs(z[2]) < 0.5 else np.array([0.0, 1.0, 0.0])
        x = np.cross(up, z)
        self._panels.append(
            (kind, material, Pose(np.column_stack([x, up, z]), self._arrange(np.array(middle))), size_m)
        )

    def _add_solid(self, kind: str, material: Material, shape: str, at: Point | None = None, **sizes: Any) -> None:
        """Adds a shape of `trimesh.creation` with its origin at a point [m]; None: its sizes say where it is."""
        import trimesh

        solid = getattr(trimesh.creation, shape)(**sizes)
        if at is not None:
            solid.apply_translation(at)
        mesh = TriangleMesh(np.asarray(solid.vertices, dtype=float), np.asarray(solid.faces, dtype=int))
        middle = mesh.vertices.mean(axis=0)
        around = np.arctan2(mesh.vertices[:, 1] - middle[1], mesh.vertices[:, 0] - middle[0])
        self._add(kind, material, mesh, np.stack([0.2 * around, mesh.vertices[:, 2]], axis=1), np.zeros(2))

    def _add(self, kind: str, material: Material, mesh: TriangleMesh, metres: Array, start: Array) -> None:
        if kind == TABLE and not self.has_table:
            return
        if self._turned != (not math.isnan(self._mirror_y_m)):  # a reflection turns triangles inside out
            mesh = TriangleMesh(mesh.vertices, mesh.faces[:, ::-1])
        mesh = TriangleMesh(self._arrange(mesh.vertices), mesh.faces)
        along = metres[:, ::-1] if material.turned else metres
        uvs = along / np.array(material.tile_m) + start
        self._parts.setdefault((kind, material), []).append((mesh, uvs[mesh.faces]))

    @property
    def T_world_room(self) -> Pose:
        """Where all parts are moved: the floor has its height, and the niche is where its object is."""
        if self._floor_z_m is None:
            return Pose.identity()
        lift = Pose.from_translation((0.0, 0.0, self._floor_z_m + _COVER_M - self.own_floor_z_m))
        if self.niche is None or math.isnan(self._wall_x_m):
            return lift
        depth = _BEFORE_WALL_M if self.niche.is_door else max(self._least_depth_m, self.niche.size_m[0] + _BEHIND_M)
        front = (self._wall_x_m - depth, 0.5 * sum(self.niche_y_m), self._floor_z_m)
        T_world_front = self.niche.T_world_front
        level = Pose(T_world_front.R, np.array([*T_world_front.p[:2], self._floor_z_m]))
        return level @ Pose.from_translation(front).inverse() @ lift

    def build(self, world: World) -> None:
        """Adds all parts to a world with visual shapes, one body for each class and material."""
        T_world_room = self.T_world_room
        for number, ((kind, material), parts) in enumerate(self._parts.items()):
            triangles = np.concatenate([mesh.triangles for mesh, _ in parts])
            mesh = TriangleMesh(triangles.reshape(-1, 3), np.arange(3 * len(triangles)).reshape(-1, 3))
            normals = np.concatenate([creased_normals(part, crease_rad=np.radians(40.0)) for part, _ in parts])
            surface = SurfaceMesh(mesh, corner_normals=normals, corner_uvs=np.concatenate([uvs for _, uvs in parts]))
            body = add_surface(
                world,
                f"{PREFIX}{kind}_{number}",
                surface,
                T_world_surface=T_world_room,
                rgba=(*material.rgb, 1.0),
                finish=material.finish,
                picture=material.picture,
            )
            body.semantic_class = kind
        for kind, material, pose, mesh in self._backdrops:
            surface = SurfaceMesh(mesh, corner_normals=creased_normals(mesh, crease_rad=np.radians(60.0)))
            rgba, name = (*material.rgb, 1.0), f"{PREFIX}{kind}_backdrop"
            body = add_surface(
                world, name, surface, T_world_surface=T_world_room @ pose, rgba=rgba, finish=material.finish
            )
            body.semantic_class, body.sheet = kind, True
        for number, (kind, material, pose, size_m) in enumerate(self._panels):
            body = add_panel(
                world,
                f"{PREFIX}{kind}_panel_{number}",
                size_m=size_m,
                T_world_panel=T_world_room @ pose,
                rgba=(*material.rgb, 1.0),
                tile_m=material.tile_m,
                finish=material.finish,
                picture=material.picture,
            )
            body.semantic_class = kind


FLOOR, WALL, CEILING, WINDOW, FURNITURE, PLINTH = "floor", "wall", "ceiling", "window", "furniture", "plinth"
"""Semantic classes of the parts of a room."""

TABLE_X_M = (TABLE_CENTER_M[0] - TABLE_SIZE_M[0] / 2, TABLE_CENTER_M[0] + TABLE_SIZE_M[0] / 2)
TABLE_Y_M = (TABLE_CENTER_M[1] - TABLE_SIZE_M[1] / 2, TABLE_CENTER_M[1] + TABLE_SIZE_M[1] / 2)
"""Edges of the table [m]; its top is at z = 0."""

WHITE = Material((0.92, 0.92, 0.90), FINISHES["painted_wood"])
STEEL = Material((0.72, 0.73, 0.75), FINISHES["brushed_metal"])
BLACK = Material((0.10, 0.10, 0.11), FINISHES["plastic"])
DARK_METAL = Material((0.22, 0.23, 0.25), Finish(0.45, 0.4))
GLASS = Material((0.05, 0.06, 0.07), FINISHES["glass"])
_COVER_M = 3e-4
"""How far the drawn top lies above the table [m]."""


@dataclass(frozen=True)
class WindowPlace:
    """Middle and size of a window in the wall at +y [m]."""

    x_m: float
    z_m: float
    size_m: tuple[float, float]


@dataclass(frozen=True)
class Shell:
    """Floor, walls and ceiling of a room [m]."""

    floor_z_m: float
    x_m: tuple[float, float] = (-2.3, 2.4)
    y_m: tuple[float, float] = (-2.7, 2.3)
    height_m: float = 2.6

    @property
    def ceiling_z_m(self) -> float:
        """Height of the ceiling above the table's top [m]."""
        return self.floor_z_m + self.height_m

    def build(self, room: RoomBuilder, *, floor: Material, wall: Material, ceiling: Material = WHITE) -> None:
        """Adds floor, walls and ceiling."""
        room.own_floor_z_m = self.floor_z_m
        (x0, x1), (y0, y1) = self.x_m, self.y_m
        end = x1 + (_CORRIDOR_M if room.niche is not None and room.niche.is_door else 0.0)
        x, y, z = (x0 + x1) / 2, (y0 + y1) / 2, self.floor_z_m + self.height_m / 2
        room.panel(FLOOR, floor, ((x0 + end) / 2, y, self.floor_z_m), (0, 0, 1), (end - x0, y1 - y0))
        room.panel(CEILING, ceiling, ((x0 + end) / 2, y, self.ceiling_z_m), (0, 0, -1), (end - x0, y1 - y0))
        room.panel(WALL, wall, (x0, y, z), (1, 0, 0), (y1 - y0, self.height_m))
        self.cover_wall(room, wall)
        if end > x1:
            room.panel(WALL, WHITE, (end, y, z), (-1, 0, 0), (y1 - y0, self.height_m))
        room.panel(WALL, wall, (x, y0, z), (0, 1, 0), (x1 - x0, self.height_m))
        room.panel(WALL, wall, (x, y1, z), (0, -1, 0), (x1 - x0, self.height_m))

    def cover_wall(
        self,
        room: RoomBuilder,
        material: Material,
        *,
        out_m: float = 0.0,
        z_m: tuple[float, float] = (-math.inf, math.inf),
    ) -> None:
        """Covers the wall at +x between two heights, `out_m` before it [m].

        Around a door, the wall has the look of the part of it that belongs to the door.
        """
        low, high = max(z_m[0], self.floor_z_m), min(z_m[1], self.ceiling_z_m)
        runs = [(*self.y_m, low, high)]
        niche = room.niche
        if niche is not None and niche.is_door:
            if out_m == 0.0:
                material = niche.material
                above = *room.niche_y_m, self.floor_z_m + niche.size_m[2] - _OVER_M, self.ceiling_z_m
                runs = [*((*run, low, high) for run in room.beside_niche(*self.y_m, apart_m=-_OVER_M)), above]
            elif math.isinf(z_m[0]):
                return
            else:
                runs = [(*room.beside_niche(*self.y_m)[-1], low, high)]
        for start, end, bottom, upper in runs:
            middle = (self.x_m[1] - out_m, (start + end) / 2, (bottom + upper) / 2)
            room.panel(WALL, material, middle, (-1, 0, 0), (end - start, upper - bottom))

    def add_skirting(self, room: RoomBuilder, material: Material, *, height_m: float = 0.09) -> None:
        """Adds a skirting board along the two walls that cameras see most."""
        (x0, x1), (y0, y1), z = self.x_m, self.y_m, self.floor_z_m
        for start, end in room.beside_niche(y0, y1):
            room.box(FURNITURE, material, (x1 - 0.015, start, z), (x1, end, z + height_m))
        room.box(FURNITURE, material, (x0, y1 - 0.015, z), (x1, y1, z + height_m))
        room.box(FURNITURE, material, (x0, y0, z), (x0 + 0.015, y1, z + height_m))

    def add_window(self, room: RoomBuilder, frame: Material, at: WindowPlace, *, panes: int) -> None:
        """Adds a window in the wall at +y, with the daylight behind it."""
        (width, height), x_m, z_m = at.size_m, at.x_m, at.z_m
        y = self.y_m[1]
        view = Material(
            (1.0, 1.0, 1.0),
            Finish(1.0, 0.0, 0.95),
            picture_file(draw_view, room.rng, draw_one(room.rng, VIEWS)),
            (width * 1.001, height * 1.001),
        )
        room.panel(WINDOW, view, (x_m, y - 0.004, z_m), (0, -1, 0), (width, height))
        left, right, low, high = x_m - width / 2, x_m + width / 2, z_m - height / 2, z_m + height / 2
        bar, deep = 0.05, 0.07
        room.box(FURNITURE, frame, (left - bar, y - deep, low - bar), (left, y, high + bar))
        room.box(FURNITURE, frame, (right, y - deep, low - bar), (right + bar, y, high + bar))
        room.box(FURNITURE, frame, (left, y - deep, high), (right, y, high + bar))
        room.box(FURNITURE, frame, (left - 0.1, y - 0.16, low - bar), (right + 0.1, y, low - bar + 0.03))
        for pane in range(1, panes):
            x = left + width * pane / panes
            room.box(FURNITURE, frame, (x - bar / 2, y - deep, low), (x + bar / 2, y, high))

    def add_blinds(self, room: RoomBuilder, at: WindowPlace, *, share: float) -> None:
        """Adds blinds before the upper `share` of a window."""
        (width, height), x_m, y = at.size_m, at.x_m, self.y_m[1] - 0.09
        top = at.z_m + height / 2
        for z in np.arange(top - share * height, top, 0.04).tolist():
            # wide enough to be seen in a small picture
            room.box(FURNITURE, WHITE, (x_m - width / 2, y - 0.006, z), (x_m + width / 2, y + 0.006, z + 0.026))
        room.box(FURNITURE, WHITE, (x_m - width / 2, y - 0.02, top), (x_m + width / 2, y + 0.02, top + 0.04))

    def add_poster(self, room: RoomBuilder, *, y_m: float, z_m: float, size_m: tuple[float, float]) -> None:
        """Adds a framed picture on the wall at +x."""
        x, (width, height), rng = self.x_m[1], size_m, room.rng
        frame = DARK_METAL if rng.random() < 0.5 else WHITE
        low, high = (x - 0.025, y_m - width / 2, z_m - height / 2), (x - 0.001, y_m + width / 2, z_m + height / 2)
        room.box(FURNITURE, frame, low, high)
        tones = tuple(tuple(float(v) for v in rng.choice([0.2, 0.35, 0.5, 0.65, 0.8, 0.92], size=3)) for _ in range(3))
        picture = picture_file(draw_poster, rng, tones)
        inner = (width - 0.04, height - 0.04)
        room.panel(
            FURNITURE,
            Material(finish=Finish(0.3), picture=picture, tile_m=inner),
            (x - 0.026, y_m, z_m),
            (-1, 0, 0),
            inner,
        )

    def add_clock(self, room: RoomBuilder, *, y_m: float, z_m: float) -> None:
        """Adds a clock on the wall at +x."""
        x = self.x_m[1]
        room.cylinder(FURNITURE, DARK_METAL, (x - 0.03, y_m, z_m), (x - 0.001, y_m, z_m), 0.15)
        room.cylinder(FURNITURE, WHITE, (x - 0.034, y_m, z_m), (x - 0.03, y_m, z_m), 0.135)
        for angle, length in zip(room.rng.uniform(0.0, 2.0 * np.pi, size=2).tolist(), (0.07, 0.11), strict=True):
            end = (x - 0.037, y_m + length * np.sin(angle), z_m + length * np.cos(angle))
            room.cylinder(FURNITURE, BLACK, (x - 0.037, y_m, z_m), end, 0.004)

    def add_pendants(self, room: RoomBuilder, *, count: int, low_z_m: float, shade: Material) -> None:
        """Adds lamps that hang over the table, above everything that moves; none without a table."""
        if not room.has_table:
            return
        middle = (TABLE_Y_M[0] + TABLE_Y_M[1]) / 2
        for y in np.linspace(middle - 0.5, middle + 0.5, count).tolist() if count > 1 else [middle]:
            x = (TABLE_X_M[0] + TABLE_X_M[1]) / 2 + 0.3
            room.cylinder(CEILING, BLACK, (x, y, low_z_m + 0.14), (x, y, self.ceiling_z_m), 0.004)
            outline = [
                (0.14, 0.0),
                (0.10, 0.08),
                (0.03, 0.14),
                (0.0, 0.145),
                (0.0, 0.13),
                (0.03, 0.125),
                (0.095, 0.07),
                (0.14, 0.0),
            ]
            room.profile(CEILING, shade, (x, y, low_z_m), outline)
            room.ball(CEILING, Material((1.0, 0.95, 0.85), Finish(0.5, 0.0, 1.0)), (x, y, low_z_m + 0.04), 0.035)

    @property
    def turned(self) -> Shell:
        """The same room with x and y in each other's place, see `RoomBuilder.arranged`."""
        return replace(self, x_m=self.y_m, y_m=self.x_m)

    def add_radiator(self, room: RoomBuilder, *, x_m: float, length_m: float) -> None:
        """Adds a radiator at the wall at +y, below the window."""
        y, low = self.y_m[1] - 0.1, self.floor_z_m + 0.14
        for x in np.arange(x_m - length_m / 2, x_m + length_m / 2, 0.06).tolist():
            room.box(FURNITURE, WHITE, (x, y - 0.03, low), (x + 0.045, y + 0.03, low + 0.55))
        room.box(
            FURNITURE, WHITE, (x_m - length_m / 2, y - 0.015, low + 0.03), (x_m + length_m / 2, y + 0.015, low + 0.06)
        )
        room.box(
            FURNITURE, WHITE, (x_m - length_m / 2, y - 0.015, low + 0.49), (x_m + length_m / 2, y + 0.015, low + 0.52)
        )

    def add_ceiling_lamps(self, room: RoomBuilder, *, size_m: tuple[float, float], places: int) -> None:
        """Adds rows of lamps under the ceiling: their undersides, as a camera may be above them."""
        lamp = Material((1.0, 0.98, 0.94), Finish(0.5, 0.0, 1.0))
        for x in np.linspace(self.x_m[0] + 0.8, self.x_m[1] - 0.8, places):
            for y in (-1.0, 1.0):
                room.panel(CEILING, lamp, (float(x), y, self.ceiling_z_m - 0.03), (0, 0, -1), size_m)


def cover_table(room: RoomBuilder, top: Material, edge: Material | None = None) -> None:
    """Covers the table with a material; its shape stays."""
    room.top = top
    (x0, x1), (y0, y1) = TABLE_X_M, TABLE_Y_M
    edge = edge or top
    x, y, high = (x0 + x1) / 2, (y0 + y1) / 2, TABLE_SIZE_M[2]
    room.panel(TABLE, top, (x, y, _COVER_M), (0, 0, 1), (x1 - x0, y1 - y0))
    out = _COVER_M
    room.panel(TABLE, edge, (x0 - out, y, -high / 2), (-1, 0, 0), (y1 - y0, high))
    room.panel(TABLE, edge, (x1 + out, y, -high / 2), (1, 0, 0), (y1 - y0, high))
    room.panel(TABLE, edge, (x, y0 - out, -high / 2), (0, -1, 0), (x1 - x0, high))
    room.panel(TABLE, edge, (x, y1 + out, -high / 2), (0, 1, 0), (x1 - x0, high))


def cover_plinth(room: RoomBuilder, size_m: Sequence[float], T_world_plinth: Pose) -> None:
    """Covers a plinth with what the table is covered with: a step of the counter."""
    half = np.asarray(size_m) / 2 + _COVER_M
    room.box(PLINTH, room.top, tuple((-half).tolist()), tuple(half.tolist()), T_world_box=T_world_plinth)


def add_legs(room: RoomBuilder, material: Material, *, floor_z_m: float, side_m: float, inset_m: float = 0.06) -> None:
    """Adds four square legs and the frame between them under the table."""
    (x0, x1), (y0, y1) = TABLE_X_M, TABLE_Y_M
    x0, x1, y0, y1 = x0 + inset_m, x1 - inset_m, y0 + inset_m, y1 - inset_m
    below = -TABLE_SIZE_M[2]
    for x in (x0, x1 - side_m):
        for y in (y0, y1 - side_m):
            room.box(TABLE, material, (x, y, floor_z_m), (x + side_m, y + side_m, below))
    for y in (y0, y1 - side_m):
        room.box(TABLE, material, (x0 + side_m, y, below - 0.08), (x1 - side_m, y + side_m, below))
    for x in (x0, x1 - side_m):
        room.box(TABLE, material, (x, y0 + side_m, below - 0.08), (x + side_m, y1 - side_m, below))
