"""Everyday things that are seen and touch nothing: distractors on the table, which the task does not need, and contents
of drawers and of shelves behind doors, which follow their drawer.
"""

from __future__ import annotations

import colorsys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unlatch.configs.dataclass_reader import read_dataclass
from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.annotation_entries import Region, RegionKind
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.library import load_object
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.objects.procedural.item_looks import LOOKS, draw_look
from unlatch.objects.procedural.parameters import draw_one
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.mesh_reader import SurfaceMesh
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh
from unlatch.simcore.randomization.config import ContentsCfg, DistractorsCfg
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
    carry,
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


CONTENTS = "contents"
"""Beginning of the names of bodies."""
_FOOD = ("apple", "bowl", "can", "cup", "plate", "water_bottle")
_DISHES = ("bowl", "cup", "mug", "plate")
_THINGS: Mapping[str, tuple[str, ...]] = {
    "dishwasher": (),
    "washing": (),
    "toilet": (),
    "oven": ("bowl", "plate"),
    "microwave": _DISHES,
    "refrigerator": _FOOD,
    "fridge": _FOOD,
}
"""What is in an object whose category has a word in its name; in others, there is anything."""
_CONTENT_DRAWS = 8
"""Number of things that are drawn to find one that fits a place."""
_TRIED = 4
"""Number of things that are tried to tell whether any fits."""
_WALL_M = 0.012
"""Space between things and walls, and above them [m]."""


@dataclass
class Content:
    """One thing in an object, which is only seen."""

    object: str
    """Name of the object."""
    region: str
    """Region of the object in which it stands."""
    shape: str
    """A category of things to carry."""
    instance: int
    """Seed of the thing."""
    x_m: float
    y_m: float
    """Where it stands on the floor of the region, in the region's frame [m]."""
    yaw_rad: float

    @property
    def T_region(self) -> Pose:
        """Pose of its underside in the frame of the region."""
        return Pose.from_rpy((self.x_m, self.y_m, 0.0), (0.0, 0.0, self.yaw_rad))


def draw_contents(scene: EpisodeScene, cfg: ContentsCfg, rng: np.random.Generator) -> list[Content]:
    """Draws things that stand apart from each other in each drawer and on each shelf that the task leaves alone.

    A place that the task puts something into, or that has a free object in it, stays as it is.
    """
    placed: list[Content] = []
    for name, item in scene.objects.items():
        for key, region in _places(item.asset):
            if (name, key) not in scene.regions and not _has_free_object(scene, name, region):
                count = int(rng.integers(min(cfg.least, cfg.most), cfg.most + 1))
                placed += _fill(name, key, region, _kinds(item.asset), count, rng)
    return placed


def find_empty(cfg: EpisodeCfg) -> list[str]:
    """Returns a line for each object into which nothing is put; of drawn objects, one example counts.

    Raises:
        ConfigError, AssetError: The configuration names something that does not exist.
    """
    assets = {name: load_object(item, rng=np.random.default_rng(0)) for name, item in cfg.all_objects().items()}
    lines = [_explain_empty(asset, name=name) for name, asset in assets.items() if not asset.free]
    return [line for line in lines if line]


def _explain_empty(asset: ObjectAsset, *, name: str) -> str:
    """Returns why nothing is put into an object, as one line; empty if something fits."""
    places, kinds = _places(asset), _kinds(asset)
    if any(_fill(name, key, region, kinds, _TRIED, stream(0, CONTENTS)) for key, region in places):
        return ""
    why = (
        f"nothing is kept in a {asset.category}"
        if not kinds
        else f"no {', '.join(kinds)} fits into its {', '.join(key for key, _ in places)}"
        if places
        else "its colliders leave no floor in a drawer or behind a door, and its annotation states no region there"
    )
    return f"note: randomization.contents puts nothing into '{name}': {why}"


def _kinds(asset: ObjectAsset) -> tuple[str, ...]:
    return next((found for word, found in _THINGS.items() if word in asset.category.lower()), tuple(LOOKS))


def _places(asset: ObjectAsset) -> list[tuple[str, Region]]:
    """Returns the drawers and shelves behind doors of an object in which something may be, by their names."""
    if not _kinds(asset):
        return []
    regions = asset.regions.items()
    return [(key, region) for key, region in regions if region.kind is RegionKind.inside and asset.covers(region)]


def _has_free_object(scene: EpisodeScene, name: str, region: Region) -> bool:
    T_world_region = scene.objects[name].body.link_pose(region.link) @ region.T_link_region
    free = [item.body.aabb().mean(axis=0) for item in scene.objects.values() if item.free]
    return any(region.holds(T_world_region.inverse() @ middle) for middle in free)


def _fill(
    name: str, key: str, region: Region, kinds: Sequence[str], count: int, rng: np.random.Generator
) -> list[Content]:
    """Returns up to `count` things in a region; one that fits nowhere is left out."""
    placed: list[tuple[Content, float]] = []
    for _ in range(count):
        for _ in range(_CONTENT_DRAWS):
            shape, instance = draw_one(rng, list(kinds)), int(rng.integers(MAX_INSTANCE))
            low, high = GENERATORS.load(shape)(instance).bounds_obj
            radius = float(np.linalg.norm(np.maximum(np.abs(low), np.abs(high))[:2]))
            half = 0.5 * region.size[:2] - radius - _WALL_M
            if high[2] < region.size[2] - _WALL_M and half.min() > 0.0:
                break
        else:
            continue
        for _ in range(TRIES):
            place: Array = np.asarray(rng.uniform(-half, half))
            x, y = place.tolist()
            if all(np.hypot(x - o.x_m, y - o.y_m) > radius + other + _WALL_M for o, other in placed):
                yaw = float(rng.uniform(-np.pi, np.pi))
                placed.append((Content(name, key, shape, instance, x, y, yaw), radius))
                break
    return [content for content, _ in placed]


def show_contents(scene: EpisodeScene, contents: Sequence[Content]) -> None:
    """Adds things to a world with visuals; each follows the link of its place."""
    for number, content in enumerate(contents):
        item = scene.objects[content.object]
        region = item.asset.region(content.region)
        T_link_thing = region.T_link_region @ content.T_region
        T_world = item.body.link_pose(region.link) @ T_link_thing
        for body in show_thing(scene, f"{CONTENTS}_{number}", content.shape, content.instance, T_world):
            carry(body, item.body, region.link, T_link_thing)


def read_contents(content: Sequence[Mapping[str, Any]], where: str) -> list[Content]:
    """Reads the contents of a record.

    Raises:
        ConfigError: One cannot be read.
    """
    return [read_dataclass(Content, item, where=f"{where}[{index}]") for index, item in enumerate(content)]
