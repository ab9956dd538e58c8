"""Distractors: everyday things on the table that the task does not need. They are seen and touch nothing."""

from __future__ import annotations

import colorsys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unlatch.configs.dataclass_reader import read_dataclass
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.objects.procedural.item_looks import LOOKS, draw_look
from unlatch.objects.procedural.parameters import draw_one
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.mesh_reader import SurfaceMesh
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh
from unlatch.simcore.randomization.config import DistractorsCfg
from unlatch.simcore.rng import stream
from unlatch.simcore.sim.attribute_views import AttributeView
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.visuals.appearance import (
    OWN_TEXTURE,
    SOLIDS,
    LinkAppearance,
    TextureStore,
    add_solid,
    add_surface,
)
from unlatch.simcore.sim.visuals.visual_shapes import FINISHES
from unlatch.simcore.temporary_folders import scratch_files
from unlatch.tasks.layout import TABLE
from unlatch.workflows.episode.scene import TABLE_CENTER_M, TABLE_SIZE_M, EpisodeScene

Array = np.ndarray

DISTRACTOR_CLASS = "distractor"
"""Class of distractors in segmentation images."""
TRIES = 40
"""Number of places that are tried for each distractor; a distractor without a free place is left out."""
_CLEAR_M = {"robot": 0.1, "object": 0.3}
"""Free space around the boxes of robot and objects, into which doors and drawers open."""
_APART_M = 0.01
_EDGE_M = 0.05
_AWAY_M = 1e3
"""Distance at which a distractor is out of sight."""
_RADIUS = 0.62
"""Radius of a circle around a distractor, as a share of its size."""
_DRAWS = 12
"""Number of things that are drawn to find one of a size."""
MAX_INSTANCE = 1000
"""Things have seeds below."""
_PICTURE = "print.png"


@dataclass
class Distractor:
    """One object that is only seen and touches nothing."""

    shape: str
    """A category of things to carry, or one of `unlatch.simcore.sim.visuals.appearance.SOLIDS`."""
    size_m: float
    """Of a solid about its width and height, of a thing 1.6 times the radius of a circle around it [m]."""
    x_m: float
    y_m: float
    """Where it stands on the table, world frame [m]."""
    yaw_rad: float
    colour: list[float]
    """Red, green and blue of a solid, 0 to 1."""
    texture: int = OWN_TEXTURE
    """Number of the texture of a solid; 0: none."""
    instance: int = 0
    """Seed of a thing."""

    @property
    def T_world(self) -> Pose:
        """Returns the pose of the middle of a solid, or of the underside of a thing."""
        height = 0.5 * self.size_m if self.shape in SOLIDS else 0.0
        return Pose.from_rpy((self.x_m, self.y_m, height), (0.0, 0.0, self.yaw_rad))

    @property
    def radius_m(self) -> float:
        """Radius of a circle around it, seen from above [m]."""
        return _RADIUS * self.size_m


class FreeTable:
    """The free places on the table, seen from above, for the present poses of robot and objects."""

    def __init__(self, scene: EpisodeScene) -> None:
        """Measures the boxes of robot and objects, and the space between them."""
        self._occupied_boxes = _occupied_boxes(scene)
        self._base: Array = scene.robot.T_world_root.p[:2]
        self._has_table = scene.stand is None
        self._middles = [item.body.aabb()[:, :2].mean(axis=0) for item in scene.objects.values()]

    def draw(self, cfg: DistractorsCfg, rng: np.random.Generator) -> list[Distractor]:
        """Draws distractors that do not overlap each other, the robot, the objects or the space between these.

        Without a table, there are none.
        """
        placed: list[Distractor] = []
        if not self._has_table:
            return placed
        for _ in range(int(rng.integers(cfg.least, cfg.most + 1))):
            made = _draw_distractor(cfg, rng)
            if self._find_place(made, placed, rng):
                placed.append(made)
        return placed

    def rearrange(self, items: Sequence[Distractor], number: int) -> list[Distractor]:
        """Rearranges distractors; one without a free place stays or, where it would overlap, is moved out of sight."""
        rng = stream(number, DISTRACTOR_CLASS)
        placed: list[Distractor] = []
        for item in items:
            distractor = replace(item, yaw_rad=float(rng.uniform(-np.pi, np.pi)))
            if not self._find_place(distractor, placed, rng):
                distractor = item if self._is_free(item, placed) else replace(item, x_m=_AWAY_M)
            placed.append(distractor)
        return placed

    def _find_place(self, item: Distractor, placed: Sequence[Distractor], rng: np.random.Generator) -> bool:
        half = 0.5 * np.array(TABLE_SIZE_M[:2]) - _EDGE_M
        for _ in range(TRIES):
            place = np.array(TABLE_CENTER_M[:2]) + rng.uniform(-half, half)
            item.x_m, item.y_m = (float(value) for value in place)
            if self._is_free(item, placed):
                return True
        return False

    def _is_free(self, item: Distractor, placed: Sequence[Distractor]) -> bool:
        p = np.array([item.x_m, item.y_m])
        beside_m = [np.maximum(np.maximum(low - p, p - high), 0.0) for low, high in self._occupied_boxes]
        free = all(float(np.linalg.norm(distance)) > item.radius_m for distance in beside_m)
        free = free and all(
            _distance_to_segment(p, self._base, middle) > item.radius_m + _CLEAR_M["robot"] for middle in self._middles
        )
        return free and all(np.hypot(*(p - (o.x_m, o.y_m))) > item.radius_m + o.radius_m + _APART_M for o in placed)


def show_distractors(
    scene: EpisodeScene, distractors: Sequence[Distractor], textures: TextureStore
) -> list[list[Body]]:
    """Adds distractors to a world with visuals; returns the bodies of each, one for each material."""
    return [
        _show_solid(scene, number, item, textures)
        if item.shape in SOLIDS
        else show_thing(scene, f"{DISTRACTOR_CLASS}_{number}", item.shape, item.instance, item.T_world)
        for number, item in enumerate(distractors)
    ]


def _show_solid(scene: EpisodeScene, number: int, item: Distractor, textures: TextureStore) -> list[Body]:
    red, green, blue = item.colour
    body = add_solid(
        scene.world,
        f"{DISTRACTOR_CLASS}_{number}",
        shape=item.shape,
        size_m=item.size_m,
        T_world_solid=item.T_world,
        rgba=(red, green, blue, 1.0),
    )
    body.semantic_class = DISTRACTOR_CLASS
    appearance = LinkAppearance(scene.world, [body], textures, links=[-1])
    appearance.textures[:] = item.texture
    appearance.show()
    return [body]


def show_thing(scene: EpisodeScene, name: str, shape: str, instance: int, T_world: Pose) -> list[Body]:
    """Adds a thing to a world with visuals; returns its bodies, one for each material.

    Args:
        scene: The scene.
        name: Name of its first body.
        shape: A category of things to carry.
        instance: Its seed.
        T_world: Pose of its underside.
    """
    generate = GENERATORS.load(shape)
    rng = stream(instance, f"assets.procedural.{shape}.looks")  # as the object of that seed is drawn
    bodies = []
    for place, piece in enumerate(draw_look(shape, generate(instance).parameters, rng)):
        picture = None
        if piece.picture is not None:
            folder = f"thing-{shape}-{instance}-{place}"
            picture = scratch_files(folder, {_PICTURE: piece.picture.png()}) / _PICTURE
        mesh = piece.surface.textured()
        surface = SurfaceMesh(
            TriangleMesh(mesh.vertices, mesh.faces),
            corner_normals=mesh.normals[mesh.faces],
            corner_uvs=mesh.uvs[mesh.faces],
        )
        body = add_surface(
            scene.world,
            name + (f"_{place}" if place else ""),
            surface,
            T_world_surface=T_world,
            rgba=(*((1.0, 1.0, 1.0) if picture else piece.rgb), 1.0),
            finish=FINISHES[piece.finish],
            picture=picture,
        )
        body.semantic_class = DISTRACTOR_CLASS
        bodies.append(body)
    return bodies


def read_distractors(content: Sequence[Mapping[str, Any]], where: str) -> list[Distractor]:
    """Reads the distractors of a record.

    Raises:
        ConfigError: A distractor cannot be read.
    """
    return [read_dataclass(Distractor, item, where=f"{where}[{index}]") for index, item in enumerate(content)]


def _draw_distractor(cfg: DistractorsCfg, rng: np.random.Generator) -> Distractor:
    """Draws a thing whose size is in the range; where none of some fits, a solid of a size in it."""
    for _ in range(_DRAWS):
        category, instance = draw_one(rng, list(LOOKS)), int(rng.integers(MAX_INSTANCE))
        generate = GENERATORS.load(category)
        low, high = generate(instance).bounds_obj
        if cfg.size_m[0] <= float(max(high - low)) <= cfg.size_m[1]:
            radius = float(np.linalg.norm(np.maximum(np.abs(low), np.abs(high))[:2]))
            return Distractor(category, radius / _RADIUS, 0.0, 0.0, _draw_yaw(rng), [1.0] * 3, instance=instance)
    hue, saturation, value = rng.random(), rng.uniform(0.2, 0.9), rng.uniform(0.3, 0.95)
    return Distractor(
        shape=str(SOLIDS[int(rng.integers(len(SOLIDS)))]),
        size_m=float(rng.uniform(*cfg.size_m)),
        x_m=0.0,
        y_m=0.0,
        yaw_rad=_draw_yaw(rng),
        colour=list(colorsys.hsv_to_rgb(hue, saturation, value)),
        texture=int(rng.integers(1, 1000)) if rng.random() < 0.5 else OWN_TEXTURE,
    )


def _draw_yaw(rng: np.random.Generator) -> float:
    return float(rng.uniform(-np.pi, np.pi))


def _occupied_boxes(scene: EpisodeScene) -> list[Array]:
    """Returns (2, 2) lower and upper corners of occupied boxes, seen from above."""
    boxes = []
    for name, body in scene.world.bodies.items():
        if name != TABLE:
            clear = _CLEAR_M["object" if name in scene.objects else "robot"]
            boxes.append(body.aabb()[:, :2] + np.array([[-clear], [clear]]))
    return boxes


def _distance_to_segment(p: Array, start: Array, end: Array) -> float:
    """Returns the distance of a point to a line segment [m]."""
    along = end - start
    share = float(np.clip((p - start) @ along / max(float(along @ along), 1e-9), 0.0, 1.0))
    return float(np.linalg.norm(p - start - share * along))


DISTRACTORS = "distractors"
"""Name of the view."""


class DistractorView(AttributeView):
    """All distractors of one episode; one number decides their arrangement."""

    kind = "distractors"

    def __init__(self) -> None:
        """Makes a view without distractors; `bind` adds those of an episode."""
        super().__init__(DISTRACTORS)
        self._arrangement = 0.0
        self._items: Sequence[Distractor] = ()
        self._bodies: Sequence[Sequence[Body]] = ()
        self._table: FreeTable | None = None
        words = "number of the arrangement; 0: that of the reset"
        self._add_attribute("arrangement", 1, "-", words, self._read, self._write, least=0.0)

    def bind(self, items: Sequence[Distractor], bodies: Sequence[Sequence[Body]], table: FreeTable) -> None:
        """Binds the distractors of an episode, as its reset placed them.

        Args:
            items: The distractors in arrangement 0.
            bodies: The bodies that show each; empty in a world without visuals.
            table: The free places on the table.
        """
        self._items, self._bodies, self._table = items, bodies, table
        if self._arrangement:
            self._move_bodies()

    def places(self) -> list[Distractor]:
        """Returns the distractors as they stand now; see `FreeTable.rearrange`."""
        number = int(self._arrangement)
        return list(self._items) if self._table is None or not number else self._table.rearrange(self._items, number)

    def _read(self, env: int) -> Array:
        return np.array([self._arrangement])

    def _write(self, env: int, values: Array) -> None:
        self._arrangement = float(values[0])
        self._move_bodies()

    def _move_bodies(self) -> None:
        if self._bodies:
            for item, bodies in zip(self.places(), self._bodies, strict=True):
                for body in bodies:
                    body.set_root_pose(item.T_world)
