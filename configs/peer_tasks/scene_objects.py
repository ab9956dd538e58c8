"""Finds the object of Unlatch, or of the user, that stands for an object of another system, and its parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.configs.derivation.derived_request import describe_object_path, is_object_path
from unlatch.objects.annotation import Part
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.carrying.region import RegionKind
from unlatch.objects.config import ObjectCfg, ObjectSource
from unlatch.objects.library import load_object
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.simcore.errors import ConfigError, UnlatchError, describe_choices
from unlatch.simcore.files import plain_name, user_path
from unlatch.skills.contract.config import part_acted_on

TURNED = "faucet"
"""Category of the library for an object with a part that turns in the hand."""

_INSTANCES = 4
"""Instances of a generated category whose parts are compared."""
_MOST_INSTANCES = 16
"""Instances among which those with a part are found, if not every instance has it."""


@dataclass
class SceneObject:
    """One object of the imported task."""

    name: str
    """Its name in the scene."""
    category: str
    node: dict[str, Any] | None = None
    """Content of `object` for an object of the user; None for one of the library."""
    parts_by_key: dict[str, str] = field(default_factory=dict)
    """Part by what tells it from others in the file."""
    instances: list[str] | None = None
    """The only instances that serve; None: all of the category."""

    @cached_property
    def assets(self) -> list[ObjectAsset]:
        """Some of its instances."""
        if self.node is not None:
            values = {**self.node, "name": self.name, "source": ObjectSource.urdf}
            return [load_object(ObjectCfg(**values), rng=np.random.default_rng(0))]
        return [self._load(seed) for seed in range(_INSTANCES)]

    @property
    def asset(self) -> ObjectAsset:
        """The first of its instances."""
        return self.assets[0]

    def replace_category(self, category: str) -> None:
        """Takes another category of the library."""
        self.category, self.instances = category, None
        del self.assets

    def part(self, name: str) -> Part:
        """Returns a part of the first instance."""
        return self.asset.articulation.part(name)

    def span(self, part: str) -> float:
        """Returns the smallest range of a part [rad or m]."""
        return min(asset.articulation.part(part).openness.span for asset in self.assets)

    @property
    def half_width_m(self) -> float:
        """Half the largest width of its instances [m]."""
        return max(float(asset.bounds_obj[1, 1] - asset.bounds_obj[0, 1]) / 2 for asset in self.assets)

    def turns_in_hand(self) -> bool:
        """Whether a part of it can be turned by `rotate`."""
        return any(part.kind.turns_in_hand for part in self.asset.articulation.parts.values())

    def part_for(self, skill: str, key: str) -> str:
        """Returns the part that a skill acts on; equal keys give equal parts, others the next part that fits."""
        if key not in self.parts_by_key:
            usual = part_acted_on(skill, None, self.asset.articulation)
            names = [
                name
                for name, part in self.asset.articulation.parts.items()
                if part.kind.turns_in_hand == usual.kind.turns_in_hand
                and all(name in asset.articulation.parts for asset in self.assets)
            ]
            taken = set(self.parts_by_key.values())
            free = [name for name in (usual.name, *names) if name not in taken]
            chosen = self.parts_by_key[key] = (free or [usual.name])[0]
            self.keep_instances(lambda asset: chosen in asset.articulation.parts)
        return self.parts_by_key[key]

    def region_for(self, part: str | None) -> str | None:
        """Returns the region that things are put into or onto, or None if no instance has one.

        With a part: one that a hand reaches when only this part is open, or one on top.
        """
        names = (pair for asset in self.assets for pair in _regions_by_use(asset, part))
        name, of = next(names, (None, None))
        if name is not None:
            self.keep_instances(lambda asset: name in asset.regions and asset.regions[name].part == of)
        return name

    def _load(self, seed: int) -> ObjectAsset:
        cfg = ObjectCfg(name=self.name, category=self.category).with_instance(str(seed))
        return load_object(cfg, rng=np.random.default_rng(0))

    def keep_instances(self, fits: Callable[[ObjectAsset], bool], *, least: int = _INSTANCES) -> bool:
        """Keeps only instances that fit; at least so many are looked at. Returns whether there are any."""
        known = self.assets
        if self.node is None and self.instances is None and (len(known) < least or not all(map(fits, known))):
            known = [*known, *(self._load(seed) for seed in range(len(known), _MOST_INSTANCES))]
        found = [asset for asset in known if fits(asset)]
        if found and len(found) < len(known):
            self.assets, self.instances = found, [asset.instance for asset in found]
        return bool(found)

    def to_yaml(self) -> dict[str, Any]:
        """Returns an entry of `objects`, or the content of `object`."""
        if self.node is not None:
            return {**self.node, "name": self.name}
        chosen = {} if self.instances is None else {"instances": self.instances}
        return {"name": self.name, "category": self.category, **chosen}


def _regions_by_use(asset: ObjectAsset, part: str | None) -> Iterator[tuple[str, str | None]]:
    """Yields the regions of an object that a hand reaches when a part is open, with their part; insides come first."""
    reached = {name: region for name, region in asset.regions.items() if part is None or region.part in (part, None)}
    for name in sorted(reached, key=lambda name: reached[name].kind is not RegionKind.inside):
        yield name, reached[name].part


def user_object(name: str, value: str) -> SceneObject:
    """Returns an object that the command line names: a category of the library, or a path.

    Raises:
        ConfigError: It is neither.
        AssetError: There is no object at the path.
    """
    if value in GENERATORS.names():
        return SceneObject(name, value)
    if is_object_path(value, ()):
        node = describe_object_path(str(user_path(value).absolute()), None)
        return SceneObject(name, str(node["category"]), node)
    raise ConfigError(
        f"object={value} is neither a category of the library nor a path."
        f"{describe_choices(value, GENERATORS.names(), listed_by='unlatch list objects')} Name one of them, or a "
        "URDF, a USD or a folder.",
        key="object",
    )


def object_on_disk(name: str, paths: Sequence[Path]) -> tuple[SceneObject | None, str]:
    """Returns the object of the first path that can be read, with the path; without one, why there is none."""
    why = "there is no such file"
    for path in paths:
        if not path.is_file() and not path.is_dir():
            continue
        try:
            found = SceneObject(name, "object", describe_object_path(str(path.absolute()), None))
            found.category = str((found.node or {}).get("category", "object"))
            _ = found.asset
        except UnlatchError as exc:
            why = exc.message.rstrip(".")
            continue
        return found, str(path)
    return None, why


def scene_name(name: str) -> str:
    """Returns a name that a scene can have."""
    plain = plain_name(name.strip()).strip("_")
    return plain or "object"
