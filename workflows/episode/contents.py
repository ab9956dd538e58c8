"""Contents: everyday things in drawers and on shelves behind doors. They follow their drawer and touch nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unlatch.configs.dataclass_reader import read_dataclass
from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.annotation_entries import Region, RegionKind
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.library import load_object
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.objects.procedural.item_looks import LOOKS
from unlatch.objects.procedural.parameters import draw_one
from unlatch.simcore.geometry import Pose
from unlatch.simcore.randomization.config import ContentsCfg
from unlatch.simcore.rng import stream
from unlatch.simcore.sim.visuals.appearance import carry
from unlatch.workflows.episode.distractors import MAX_INSTANCE, TRIES, show_thing
from unlatch.workflows.episode.scene import EpisodeScene

Array = np.ndarray

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
_DRAWS = 8
"""Number of things that are drawn to find one that fits a place."""
_TRIED = 4
"""Number of things that are tried to tell whether any fits."""
_CLEAR_M = 0.012
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
        for _ in range(_DRAWS):
            shape, instance = draw_one(rng, list(kinds)), int(rng.integers(MAX_INSTANCE))
            low, high = GENERATORS.load(shape)(instance).bounds_obj
            radius = float(np.linalg.norm(np.maximum(np.abs(low), np.abs(high))[:2]))
            half = 0.5 * region.size[:2] - radius - _CLEAR_M
            if high[2] < region.size[2] - _CLEAR_M and half.min() > 0.0:
                break
        else:
            continue
        for _ in range(TRIES):
            place: Array = np.asarray(rng.uniform(-half, half))
            x, y = place.tolist()
            if all(np.hypot(x - o.x_m, y - o.y_m) > radius + other + _CLEAR_M for o, other in placed):
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
