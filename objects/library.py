"""One door to all objects: generated ones and those of data sets on disk."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from omegaconf import MISSING

from unlatch.objects.annotation import ANNOTATION_FILE
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.instances import RANDOM, ROUND_ROBIN, SEEDS, InstanceChoice, Split, read_instances, split_of
from unlatch.objects.procedural.building.dressing import write_dressed
from unlatch.objects.procedural.building.generated import GeneratedObject
from unlatch.objects.procedural.building.wanted import first_wanted, read_wanted
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.objects.validation import check_articulation
from unlatch.simcore.cache import content_hash
from unlatch.simcore.errors import ConfigError, close_matches
from unlatch.simcore.scratch import scratch_files

logger = logging.getLogger(__name__)

URDF_FILE = "object.urdf"
"""Name of the URDF in the folder of a generated or converted object."""


class ObjectSource(Enum):
    """Where an object comes from."""

    procedural = "procedural"
    partnet_mobility = "partnet_mobility"
    scene_synthesizer = "scene_synthesizer"
    urdf = "urdf"


_SEEDED = (ObjectSource.procedural, ObjectSource.scene_synthesizer)
"""Sources that make an object of any seed."""

MOST_INSTANCES = 100_000
"""So many seeds take part at most where they are counted."""


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
        if self.scale is not None and not 0.001 <= self.scale <= 100.0:
            raise ConfigError(f"object.scale={self.scale} is out of range. Expected 0.001 to 100.", key="object.scale")
        if self.source in _SEEDED:
            if self.instance is not None and not (self.instance.isascii() and self.instance.isdigit()):
                raise ConfigError(
                    f"object.instance='{self.instance}' is no seed of a procedural object. Expected a whole number.",
                    key="object.instance",
                )
            unread = ("scale", "root") if self.source is ObjectSource.procedural else ("root",)
            self._refuse(*unread, remedy="set object.source=partnet_mobility")
        else:
            self._refuse("instance_count", remedy="set object.source=procedural")
        self.where = read_wanted(self.where)
        if self.where:
            self._check_where()
        if self.source is not ObjectSource.urdf:
            self._refuse("part", remedy="set object.source=urdf")

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
        """The same object with its instance named.

        Args:
            instance: Its id or seed.
        """
        return replace(self, instance=instance, instances=RANDOM, instance_count=None, split=Split.all, where={})

    def _check_choice(self) -> None:
        self.instances = read_instances(self.instances)
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
        if self.instance_count is not None and not 1 <= self.instance_count <= MOST_INSTANCES:
            raise ConfigError(
                f"object.instance_count={self.instance_count} is out of range. Expected 1 to {MOST_INSTANCES}.",
                key="object.instance_count",
            )
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
                    f"object.instances[{index}]='{seed}' is no seed of a procedural object. Expected a whole number.",
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

    def _refuse(self, *keys: str, remedy: str) -> None:
        for key in keys:
            if getattr(self, key) is not None:
                raise ConfigError(
                    f"object.{key}={getattr(self, key)} has no meaning for source={self.source.value}. "
                    f"Remove it, or {remedy}.",
                    key=f"object.{key}",
                )


def load_object(cfg: ObjectCfg, *, rng: np.random.Generator, number: int = 0) -> ObjectAsset:
    """Finds, generates or converts an object and checks its annotation.

    Exactly one number is drawn from `rng`, whatever the source, so that later draws do not depend on it.

    Args:
        cfg: Which object.
        rng: Draws the instance where the configuration names none.
        number: Number of the episode, by which `round_robin` goes.

    Raises:
        ConfigError: Unknown category or instance, or no data set folder.
        AssetError: The object is damaged or its annotation does not fit it.
    """
    draw = int(rng.integers(SEEDS))
    if draws_instances(cfg):
        instance = cfg.choice.choose(_available(cfg), draw=draw, number=number)
        if cfg.where and cfg.instances == RANDOM and instance is not None:
            _check_category(cfg)
            instance = first_wanted(cfg.category, cfg.where, int(instance), takes=cfg.choice.takes)
        cfg = cfg if instance is None else cfg.at(instance)
    if cfg.source is ObjectSource.procedural:
        asset = _load_procedural(cfg)
    elif cfg.source is ObjectSource.urdf:
        from unlatch.objects.importers.urdf_object import load_urdf_object

        asset = load_urdf_object(cfg)
    elif cfg.source is ObjectSource.scene_synthesizer:
        from unlatch.objects.importers.synthesized_object import load_synthesized_object

        asset = load_synthesized_object(cfg)
    else:
        # Imported on use: trimesh and coacd take a second to import.
        from unlatch.objects.importers.partnet.converter import load_partnet_object

        asset = load_partnet_object(cfg)
    check_articulation(asset)
    return asset


def draws_instances(cfg: ObjectCfg) -> bool:
    """Whether episodes choose among several instances: no one is named, and there may be others.

    Args:
        cfg: Which object.
    """
    if cfg.instance is not None:
        return False
    return cfg.source is not ObjectSource.urdf or _folder_of_many(cfg) is not None


def split_record(cfg: ObjectCfg, instance: str) -> dict[str, str]:
    """What is recorded of the split that an instance belongs to; nothing where there is none.

    Args:
        cfg: Which object.
        instance: Its id or seed.
    """
    return {} if cfg.split is Split.all else {"split": split_of(instance, held_out=cfg.held_out).value}


def object_set_of(cfg: ObjectCfg) -> dict[str, Any]:
    """What an object is drawn from and made with, beyond its configuration and the version of this software.

    A run that is resumed must find it unchanged: the n-th of another set would be another object. Where the set lies
    does not matter.

    Args:
        cfg: Which object.

    Returns:
        For an object of a data set: version of the converter, and a short hash of each object that may be drawn, by its
        id; for a URDF, of its files. Nothing for a generated one.

    Raises:
        ConfigError: Unknown category, or no data set folder.
        AssetError: There is no such object.
    """
    if cfg.source is ObjectSource.procedural:
        return {}
    if cfg.source is ObjectSource.urdf:
        from unlatch.objects.importers.urdf_object import urdf_object_set

        return urdf_object_set(cfg, among=_pool(cfg))
    if cfg.source is ObjectSource.scene_synthesizer:
        from unlatch.objects.importers.synthesized_object import synthesized_object_set

        return synthesized_object_set(cfg)
    from unlatch.objects.importers.partnet.converter import partnet_object_set

    return partnet_object_set(cfg, among=_pool(cfg))


def check_candidates(cfg: ObjectCfg) -> None:
    """Looks at every object that an episode may draw, without loading it.

    Args:
        cfg: Which object.

    Raises:
        ConfigError: Unknown category, or no data set folder.
        AssetError: Some are damaged; each is named.
    """
    if cfg.source is ObjectSource.partnet_mobility and cfg.instance is None:
        from unlatch.objects.importers.partnet import source as partnet_source

        root = partnet_source.partnet_root(cfg.root)
        some = cfg.split is not Split.all or not isinstance(cfg.instances, str)
        partnet_source.check_candidates(root, cfg.category, among=_pool(cfg) if some else None)


def _pool(cfg: ObjectCfg) -> list[str]:
    """The instances that episodes choose among; empty where one is named, or there are none."""
    if not draws_instances(cfg):
        return []
    return cfg.choice.pool(_available(cfg)) or []


def _available(cfg: ObjectCfg) -> list[str] | None:
    """Ids of a data set's or a folder's objects; None of a procedural object and of a single URDF."""
    if cfg.source is ObjectSource.partnet_mobility:
        from unlatch.objects.importers.partnet import source as partnet_source

        return list(partnet_source.partnet_instances(partnet_source.partnet_root(cfg.root), cfg.category))
    folder = _folder_of_many(cfg)
    if folder is None:
        return None
    from unlatch.objects.importers.urdf_folder import urdf_instances

    return list(urdf_instances(folder))


def _folder_of_many(cfg: ObjectCfg) -> Path | None:
    """The folder of URDFs that an object is drawn from, if it is one."""
    if cfg.source is not ObjectSource.urdf or not cfg.root:
        return None
    from unlatch.objects.importers.urdf_folder import is_urdf_folder

    path = Path(cfg.root).expanduser()
    return path if is_urdf_folder(path) else None


def _load_procedural(cfg: ObjectCfg) -> ObjectAsset:
    _check_category(cfg)
    generate: Callable[..., GeneratedObject] = GENERATORS.load(cfg.category)
    seed = int(cfg.instance or 0)
    made = generate(seed, name=cfg.category)
    files = {URDF_FILE: made.model.to_urdf().encode(), ANNOTATION_FILE: made.articulation.to_yaml().encode()}
    digest = content_hash(files)
    folder = scratch_files(f"{cfg.category}-{digest[:24]}", files)
    return ObjectAsset(
        name=cfg.name,
        category=cfg.category,
        instance=str(seed),
        source=cfg.source.value,
        urdf_path=folder / URDF_FILE,
        articulation=made.articulation,
        content_hash=digest,
        bounds_obj=made.bounds_obj,
        friction=made.friction,
        damping=made.damping,
        parameters=made.parameters,
        dress=partial(write_dressed, made, folder.name, URDF_FILE) if made.textures else None,
    )


def _check_category(cfg: ObjectCfg) -> None:
    known = GENERATORS.names()
    if cfg.category not in known:
        raise ConfigError(
            f"object.category='{cfg.category}' has no procedural generator.{close_matches(cfg.category, known)} "
            f"Known: {', '.join(known)}. Or set object.source=partnet_mobility.",
            key="object.category",
        )
