"""The configuration of one object of a scene."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from omegaconf import MISSING

from unlatch.objects.instances import RANDOM, ROUND_ROBIN, InstanceChoice, Split, check_instances
from unlatch.objects.procedural.building.parameter_filter import read_filter
from unlatch.simcore.errors import ConfigError, check_range


class ObjectSource(Enum):
    """Where an object comes from."""

    procedural = "procedural"
    partnet_mobility = "partnet_mobility"
    scene_synthesizer = "scene_synthesizer"
    urdf = "urdf"


_SEEDED = (ObjectSource.procedural, ObjectSource.scene_synthesizer)
"""Sources that make an object from any seed."""

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
    """Where it comes from: made by a generator, a data set's, made by scene_synthesizer, or a URDF of your own."""
    root: str | None = None
    """Folder of the data set; without it the environment variable of the source says where. source=urdf: the URDF, or
    the folder of one object or of many; `object=PATH` on the command line sets it."""
    instance: str | None = None
    """Id of the data set's object, or seed of a procedural one; without it, each episode chooses one. Of a URDF, at
    most its own name; of a folder of URDFs, the path from there."""
    instances: Any = RANDOM
    """How an episode chooses: `random`, `round_robin` by its number, or at random from a list of ids or seeds."""
    instance_count: int | None = None
    """source=procedural: only the seeds from 0 below it take part; without it, any seed, if it is drawn."""
    split: Split = Split.all
    """Which instances take part: `all`, those to `train` with, or those that are `held_out`."""
    held_out: float = 0.2
    """Share of the instances that is held out; which they are follows from their ids alone."""
    where: dict[str, Any] = field(default_factory=dict)
    """source=procedural: of all seeds only those take part whose parameters, as they stand in the record, are as said
    here: `{doors: 1, shelves: [0, 1], width_m: {min: 0.4, max: 0.5}}`; those that are named are taken as they are."""
    part: str | None = None
    """source=urdf: the part whose side of the object is its front, which faces the robot; without it, the first one."""
    scale: float | None = None
    """Metres per unit of a data set's object; without it, the annotation or the category decides."""
    cache_dir: str | None = None
    """Where converted objects are kept, see `unlatch.simcore.cache`; generated ones are not kept."""

    def __post_init__(self) -> None:
        check_range("object.scale", self.scale, 0.001, 100.0)
        if self.source in _SEEDED:
            if self.instance is not None and not (self.instance.isascii() and self.instance.isdigit()):
                raise ConfigError(
                    f"object.instance='{self.instance}' is not a seed of a procedural object. Expected a whole number.",
                    key="object.instance",
                )
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

    def at(self, instance: str) -> ObjectCfg:
        """Returns the same object with a given instance, an id or a seed."""
        return replace(self, instance=instance, instances=RANDOM, instance_count=None, split=Split.all, where={})

    def _check_choice(self) -> None:
        self.instances = check_instances(self.instances)
        is_list = not isinstance(self.instances, str)
        if self.instance is not None:
            chosen = {
                "instances": self.instances != RANDOM,
                "instance_count": self.instance_count is not None,
                "split": self.split is not Split.all,
            }
            for key in (key for key, said in chosen.items() if said):
                value = getattr(self, key)
                raise ConfigError(
                    f"object.{key}={value.value if isinstance(value, Enum) else value} chooses among instances, and "
                    f"object.instance={self.instance} names one. Expected one of both. Remove one.",
                    key=f"object.{key}",
                )
        if not 0.0 < self.held_out < 1.0:
            raise ConfigError(
                f"object.held_out={self.held_out:g} is out of range. Expected a share between 0 and 1.",
                key="object.held_out",
            )
        check_range("object.instance_count", self.instance_count, 1, MOST_INSTANCES)
        if self.instance_count is not None and is_list:
            raise ConfigError(
                f"object.instance_count={self.instance_count} has no meaning beside a list of object.instances. "
                "Remove one.",
                key="object.instance_count",
            )
        if self.source not in _SEEDED:
            return
        if self.instances == ROUND_ROBIN and self.instance_count is None:
            raise ConfigError(
                "object.instance_count is missing. Expected how many instances object.instances=round_robin goes "
                "through. Set it.",
                key="object.instance_count",
            )
        for index, seed in enumerate(self.instances if is_list else ()):
            if not (seed.isascii() and seed.isdigit()):
                raise ConfigError(
                    f"object.instances[{index}]='{seed}' is not a seed of a procedural object. Expected a whole "
                    "number.",
                    key=f"object.instances[{index}]",
                )

    def _check_where(self) -> None:
        others = {
            "source": self.source is not ObjectSource.procedural,
            "instances": self.instances == ROUND_ROBIN,
            "instance_count": self.instance_count is not None,
        }
        for key in (key for key, said in others.items() if said):
            value = getattr(self, key)
            raise ConfigError(
                f"object.where chooses among the seeds of a generator, which object.{key}="
                f"{value.value if isinstance(value, Enum) else value} does not leave open. Remove one of them.",
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
