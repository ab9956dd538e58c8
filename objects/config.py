"""The configuration of one object of a scene."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Annotated, Any

from unlatch.objects.instances import RANDOM, ROUND_ROBIN, InstanceChoice, Split, check_instances
from unlatch.objects.procedural.catalog import read_filter
from unlatch.objects.resting.side import RestsOn
from unlatch.simcore.errors import ConfigError, unknown_name
from unlatch.simcore.missing_value import MISSING
from unlatch.simcore.ranges import Range, check_ranges


class ObjectSource(Enum):
    """Where an object comes from."""

    procedural = "procedural"
    partnet_mobility = "partnet_mobility"
    scene_synthesizer = "scene_synthesizer"
    urdf = "urdf"


_SEEDED = (ObjectSource.procedural, ObjectSource.scene_synthesizer)
"""Sources that make an object from any seed."""

PARTNET_VARIABLE = "UNLATCH_PARTNET_DIR"
"""Environment variable that names the folder of the PartNet-Mobility data set."""
MOST_INSTANCES = 100_000
"""Largest `instance_count`."""


@dataclass
class ObjectCfg:
    """One object of a scene."""

    name: str = MISSING
    """Name in the scene; skills refer to it."""
    category: str = MISSING
    """What it is: a generator's name, or a category of the data set."""
    source: ObjectSource = ObjectSource.procedural
    """Where it comes from: a generator, the PartNet-Mobility data set, scene_synthesizer, or a URDF of your own."""
    root: str | None = None
    """Folder of the data set; without it, an environment variable names the folder. source=urdf: the URDF, or the
    folder of one object or of many; `object=PATH` on the command line sets it."""
    instance: str | None = None
    """Id of an object of the data set, or seed of a procedural object; without it, each episode chooses one. For a
    folder of URDFs, it is the path from the folder; for a single URDF, only its own name is allowed."""
    instances: Any = RANDOM
    """How an episode chooses: `random`, `round_robin` by its number, or at random from a list of ids or seeds."""
    instance_count: Annotated[int, Range(1, MOST_INSTANCES)] | None = None
    """source=procedural: only this many seeds, from 0 on, take part; null: every seed."""
    split: Split = Split.all
    """Which instances take part: `all`, those to `train` with, or those that are `held_out`."""
    held_out: float = 0.2
    """Share of the instances that is held out. Only the id of an instance decides whether it is held out."""
    where: dict[str, Any] = field(default_factory=dict)
    """source=procedural: only seeds whose recorded parameters match take part, for example
    `{doors: 1, shelves: [0, 1], width_m: {min: 0.4, max: 0.5}}`. Seeds that `instance` or `instances` name are not
    filtered."""
    part: str | None = None
    """source=urdf: the part at the front of the object, which faces the robot; without it, the first part."""
    scale: Annotated[float, Range(0.001, 100.0)] | None = None
    """Metres per unit of a data set's object; without it, the annotation or the category decides."""
    rests_on: RestsOn = RestsOn.bottom
    """The side that is down: `bottom` (as the object stands), `back`, `left`, `right`, `front` or `top`, left and right
    as seen from in front. With `any`, the search of `artpreplan` also tries the other sides on which it would lie
    stably."""
    cache_dir: str | None = None
    """Where converted objects are kept, see `unlatch.simcore.cache`; generated ones are not kept."""

    def __post_init__(self) -> None:
        check_ranges(self, "object")
        if self.source in _SEEDED:
            if self.instance is not None:
                _check_seed("object.instance", self.instance)
            unread = ("scale", "root") if self.source is ObjectSource.procedural else ("root",)
            self._refuse_keys(*unread, remedy="set object.source=partnet_mobility")
        else:
            self._refuse_keys("instance_count", remedy="set object.source=procedural")
        self.where = read_filter(self.where)
        if self.where:
            self._check_where()
        if self.source is not ObjectSource.urdf:
            self._refuse_keys("part", remedy="set object.source=urdf")
        self._check_choice()

    @property
    def choice(self) -> InstanceChoice:
        """How an episode chooses its instance."""
        is_list = not isinstance(self.instances, str)
        return InstanceChoice(
            mode=RANDOM if is_list else self.instances,
            named=tuple(self.instances) if is_list else (),
            count=self.instance_count,
            split=self.split,
            held_out=self.held_out,
        )

    def with_instance(self, instance: str) -> ObjectCfg:
        """Returns the configuration of one instance, named by its id or seed."""
        return replace(self, instance=instance, instances=RANDOM, instance_count=None, split=Split.all, where={})

    def _check_choice(self) -> None:
        self.instances = check_instances(self.instances)
        is_list = not isinstance(self.instances, str)
        for key, default in (("instances", RANDOM), ("instance_count", None), ("split", Split.all)):
            if self.instance is not None and getattr(self, key) != default:
                raise ConfigError(
                    f"object.{key}={self._yaml_value(key)} chooses among instances, but object.instance="
                    f"{self.instance} names one. Remove one of the two.",
                    key=f"object.{key}",
                )
        if not 0.0 < self.held_out < 1.0:
            raise ConfigError(
                f"object.held_out={self.held_out:g} is out of range. Expected a share between 0 and 1.",
                key="object.held_out",
            )
        if self.instance_count is not None and is_list:
            raise ConfigError(
                f"object.instance_count={self.instance_count} has no meaning if object.instances is a list. "
                "Remove one of the two.",
                key="object.instance_count",
            )
        if self.source not in _SEEDED:
            return
        if self.instances == ROUND_ROBIN and self.instance_count is None:
            raise ConfigError(
                "object.instance_count is missing: object.instances=round_robin needs the number of instances. Set it.",
                key="object.instance_count",
            )
        for index, seed in enumerate(self.instances if is_list else ()):
            _check_seed(f"object.instances[{index}]", seed)

    def _check_where(self) -> None:
        conflicts = {
            "source": self.source is not ObjectSource.procedural,
            "instances": self.instances == ROUND_ROBIN,
            "instance_count": self.instance_count is not None,
        }
        key = next((key for key, is_set in conflicts.items() if is_set), None)
        if key is not None:
            raise ConfigError(
                f"object.where filters randomly drawn seeds of a generator, but object.{key}={self._yaml_value(key)} "
                "draws none. Remove one of the two.",
                key="object.where",
            )

    def _refuse_keys(self, *keys: str, remedy: str) -> None:
        for key in keys:
            if getattr(self, key) is not None:
                raise ConfigError(
                    f"object.{key}={getattr(self, key)} has no meaning for source={self.source.value}. "
                    f"Remove it, or {remedy}.",
                    key=f"object.{key}",
                )

    def _yaml_value(self, key: str) -> Any:
        value = getattr(self, key)
        return value.value if isinstance(value, Enum) else value


def _check_seed(key: str, seed: str) -> None:
    if not (seed.isascii() and seed.isdigit()):
        raise ConfigError(f"{key}='{seed}' is not a seed of a procedural object. Expected a whole number.", key=key)


def check_category(cfg: ObjectCfg, known: Collection[str]) -> None:
    """Checks that a category is one of those known for the source of an object.

    Raises:
        ConfigError: It is not.
    """
    if cfg.category not in known:
        kind = f"a category of source={cfg.source.value}"
        listed_by = "unlatch list objects" if cfg.source is ObjectSource.procedural else ""
        raise unknown_name(cfg.category, kind, where="object.category", known=known, listed_by=listed_by)
