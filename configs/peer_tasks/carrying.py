"""Reads what a task of another system carries: into what, how far that is open, and where everything stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unlatch.configs.peer_tasks.scene_objects import SceneObject
from unlatch.configs.peer_tasks.task_builder import TaskBuilder
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.carrying.region import RegionKind, RegionOpening
from unlatch.skills.pick import LIFTED_M
from unlatch.skills.place import DROPPED_M

MOST_HALF_M = 0.1
"""Largest half extent of a region where something is carried, so that all objects find room [m]."""
_SMALL_ITEM = "apple"
"""Category that fits where things of another one do not."""
_OPEN_SHARES, _LID_SHARES = (0.85, 0.95), (0.75, 0.85)
"""How far a door or drawer, and a lid, is open at the start if things are put behind it, as shares of its range."""
_LEAST_OPEN_SHARE = 0.7
"""Least share of its range by which each drawer of a task is open, so that there is room for a hand."""
_DEEP_M = 0.2
"""Depth of a container from which on things are dropped into it [m]."""
_HIGHEST_BIN_M = 0.32
"""Largest height of such a container, so that a hand reaches over it [m]."""
_HEADROOM_M = 0.04
"""Room over an object on a shelf [m]."""
_SIDE_ROOM_M = 0.01
"""Room beside an object, both sides together [m]."""
_SIZED_INSTANCES = 16
"""Instances of an object whose sizes are compared."""
_FIXED_M = {"drawer": (0.68, 0.12), "shelf": (0.63, 0.12), "open": (0.55, 0.15), "deep": (0.5, 0.25)}
"""Middle of the front of what stands fixed, by what things are put into; the hand comes from the other side [m]."""
_FREE_M = ((0.4, -0.33), (0.55, -0.38), (0.35, 0.38))
"""Where things that are carried stand, one after the other [m]."""
_PUT_M = (0.5, -0.2)
_TAKEN_M = (0.5, 0.15)
"""Where things on the table are put, and where they are taken from if nothing else stands there [m]."""


@dataclass(frozen=True)
class PutInto:
    """A region of an object into or onto which things are put."""

    scene: SceneObject
    region: str

    @property
    def _first(self) -> ObjectAsset:
        return self.scene.asset

    @property
    def part(self) -> str | None:
        """The part that must be open; None: it is always open."""
        return self._first.regions[self.region].part

    @property
    def is_inside(self) -> bool:
        """Whether it has walls."""
        return self._first.regions[self.region].kind is RegionKind.inside

    @property
    def is_shelf(self) -> bool:
        """Whether things come in from the front."""
        return self._first.regions[self.region].opening is RegionOpening.front

    @property
    def is_drawer(self) -> bool:
        """Whether it moves with its part."""
        return self.part is not None and self._first.regions[self.region].link == self.scene.part(self.part).link

    @property
    def height_m(self) -> float:
        """The smallest height of its free space [m]."""
        return min(float(asset.regions[self.region].size[2]) for asset in self.scene.assets)

    @property
    def width_m(self) -> float:
        """The smallest horizontal extent of its free space [m]."""
        return min(float(min(asset.regions[self.region].size[:2])) for asset in self.scene.assets)

    @property
    def is_deep(self) -> bool:
        """Whether a hand does not reach its floor, so that things are dropped."""
        return self.is_inside and not self.is_shelf and not self.is_drawer and self.height_m > _DEEP_M

    def open_range(self) -> list[float]:
        """Returns how far the part is open if a hand is to reach in [rad or m]."""
        span = self.scene.span(str(self.part))
        shares = _OPEN_SHARES if self.is_shelf or self.is_drawer else _LID_SHARES
        return [round(share * span, 3) for share in shares]

    def keep_open_wide(self, start: Sequence[float]) -> None:
        """Keeps only drawers that are wide open within a range of starts from closed [m], which is one for all."""

        def is_wide_open(asset: ObjectAsset) -> bool:
            span = asset.articulation.part(str(self.part)).openness.span
            return start[0] >= _LEAST_OPEN_SHARE * span and start[1] <= span

        if self.is_drawer:
            self.scene.keep_instances(is_wide_open, least=_SIZED_INSTANCES)

    @property
    def kind(self) -> str:
        """Kind of its place on the table."""
        if self.is_deep:
            return "deep"
        return "drawer" if self.is_drawer else "shelf" if self.is_shelf else "open"


def put_into(scene: SceneObject, part: str | None) -> PutInto | None:
    """Returns where things are put in an object; a part that a skill moves leads to it. None: nowhere."""
    region = scene.region_for(part)
    if region is None:
        return None
    found = PutInto(scene, region)
    if found.is_deep:
        scene.keep_instances(lambda asset: _height_m(asset) <= _HIGHEST_BIN_M, least=_SIZED_INSTANCES)
    return found


def fit_item(item: SceneObject, place: PutInto, *, is_closed: bool) -> str:
    """Keeps only instances of a carried object that fit into a place; returns what is said about it."""
    if not place.is_inside:
        return ""
    limits_m = [place.width_m - _SIDE_ROOM_M, np.inf]
    if place.is_shelf or place.is_drawer or is_closed:
        limits_m[1] = place.height_m - (_HEADROOM_M if place.is_shelf else 0.0)

    def fits(asset: ObjectAsset) -> bool:
        return _width_m(asset) <= limits_m[0] and _height_m(asset) <= limits_m[1]

    if item.keep_instances(fits, least=_SIZED_INSTANCES):
        return f"only those {item.category}s are taken that fit into {place.scene.name}" if item.instances else ""
    larger = item.category
    item.replace_category(_SMALL_ITEM)
    return f"no {larger} fits into {place.scene.name}; {_SMALL_ITEM} is taken"


def _width_m(asset: ObjectAsset) -> float:
    """Returns the largest horizontal extent of an object, which may turn [m]."""
    return float(np.linalg.norm((asset.bounds_obj[1] - asset.bounds_obj[0])[:2]))


def _height_m(asset: ObjectAsset) -> float:
    return float(asset.bounds_obj[1, 2] - asset.bounds_obj[0, 2])


@dataclass
class CarryLayout:
    """Where the objects of a task stand, as long as the file does not say it in a way that fits our objects."""

    side: float
    """1 if the carried things stand on the right of the robot, -1 if on the left."""
    has_container: bool
    """Whether they are put into something, and not only onto the table."""
    count: int = field(default=0, init=False)

    def of_container(self, scene: SceneObject, place: PutInto | None) -> dict[str, Any]:
        """Returns the region of what things are put into."""
        x, y = _FIXED_M["open" if place is None else place.kind]
        height_m = [0.0, 0.05] if place is not None and place.is_shelf else [0.0, 0.0]
        return self._region(scene, x, y, half=[0.05, 0.08], yaw_deg=15.0, height_m=height_m)

    def of_item(self, scene: SceneObject) -> dict[str, Any]:
        """Returns the region of the next thing that is carried."""
        x, y = _FREE_M[self.count % len(_FREE_M)] if self.has_container or self.count else _TAKEN_M
        self.count += 1
        return self._region(scene, x, y, half=[0.06, 0.06], yaw_deg=180.0, height_m=[0.0, 0.0])

    def on_table(self) -> dict[str, Any]:
        """Returns the keys of a `place` onto the table."""
        x, y = _FREE_M[0] if self.has_container else _PUT_M
        return {"center_m": [x, round(self.side * y, 3)], "half_extent_m": [0.08, 0.08]}

    def _region(
        self, scene: SceneObject, x: float, y: float, *, half: list[float], yaw_deg: float, height_m: list[float]
    ) -> dict[str, Any]:
        where = {"object": scene.name, "center_m": [x, round(self.side * y, 3)], "half_extent_m": half}
        return {**where, "yaw_deg": yaw_deg, "height_m": height_m}


def relation_in(item: SceneObject, place: PutInto) -> dict[str, Any]:
    """Returns the relation of a thing that stands in or on a region at the start, where a hand reaches it."""
    where = {"object": item.name, "relation": "inside" if place.is_inside else "on", "of": place.scene.name}
    if not place.is_inside:
        return {**where, "region": place.region}
    # towards the front: a drawer is not pulled out as a whole, and a hand reaches only so far onto a shelf
    return {**where, "region": place.region, "center_m": [0.08, 0.0], "half_extent_m": [0.03, 0.06]}


def add_carry(
    task: TaskBuilder,
    name: str,
    item: SceneObject,
    place: PutInto | None,
    *,
    arm: str | None,
    group: int,
    extra: Mapping[str, Any],
) -> None:
    """Adds a `pick`, or a `place` into a region or, without one, onto the table, with the goal that it leads to.

    `extra` are further keys of the entry.
    """
    entry: dict[str, Any] = {"name": name, "objects": [item.name], **extra}
    task.goals = {key: goal for key, goal in task.goals.items() if key[0] != item.name}
    if name == "pick":
        task.goals[item.name, "lifted"] = {"object": item.name, "kind": "lifted", "value": LIFTED_M}
    elif place is None:
        task.goals[item.name, "on"] = {"object": item.name, "kind": "on"}
    else:
        entry["objects"] = [item.name, place.scene.name]
        entry["region"] = place.region
        kind = "inside" if place.is_inside else "on"
        goal: dict[str, Any] = {"object": item.name, "kind": kind, "of": place.scene.name, "region": place.region}
        if place.is_deep:
            entry |= {"drop": True, "upright": False}
            goal["value"] = DROPPED_M
        task.goals[item.name, kind] = goal
    task.entries.append((group, arm, entry))


def describe_in_words(items: Sequence[tuple[SceneObject, PutInto | None]]) -> str:
    """Returns an instruction for a task without words."""
    words = [
        f"put the {_words(item)} {'into' if place.is_inside else 'onto'} the {_words(place.scene)}"
        if place is not None
        else f"move the {_words(item)}"
        for item, place in items
    ]
    return " and ".join(words)


def _words(scene: SceneObject) -> str:
    return scene.category.replace("_", " ")
