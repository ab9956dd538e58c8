"""The configuration of one object of a scene: where it comes from, which instance, and the side on which it rests."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Annotated, Any

import numpy as np

from unlatch.objects.procedural.catalog import read_filter
from unlatch.simcore.errors import MISSING, ConfigError, UnlatchError, close_matches, unknown_name
from unlatch.simcore.ranges import Range, check_ranges


class RestsOn(Enum):
    """The side of an object that is down. Left and right are as seen from in front of the object as it stands."""

    bottom = "bottom"
    """As the object stands by itself."""
    back = "back"
    left = "left"
    right = "right"
    front = "front"
    top = "top"
    any = "any"
    """As it stands; where a search for a layout finds no plan, the search tries the other sides."""

    @property
    def down_rotation(self) -> np.ndarray:
        """(3, 3) exact rotation that turns this side of a standing object down.

        Raises:
            UnlatchError: `any` names no side.
        """
        if self not in _COLUMNS:
            raise UnlatchError(f"rests_on={self.value} names no side. Choose one of {', '.join(_NAMES)}.")
        return np.array(_COLUMNS[self], dtype=float).T


# the directions to which x (out of the front), y (to the right as seen from in front) and z (up) of the standing object
# point as it lies
_COLUMNS = {
    RestsOn.bottom: ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    RestsOn.back: ((0, 0, 1), (0, 1, 0), (-1, 0, 0)),
    RestsOn.left: ((1, 0, 0), (0, 0, 1), (0, -1, 0)),
    RestsOn.right: ((1, 0, 0), (0, 0, -1), (0, 1, 0)),
    RestsOn.front: ((0, 0, -1), (0, 1, 0), (1, 0, 0)),
    RestsOn.top: ((1, 0, 0), (0, -1, 0), (0, 0, -1)),
}
_NAMES = [side.value for side in _COLUMNS]

OTHER_SIDES = tuple(side for side in _COLUMNS if side is not RestsOn.bottom)
"""All sides but the bottom, in the order in which they are tried."""


RANDOM, ROUND_ROBIN = "random", "round_robin"
SEEDS = 2**31
"""Drawn seeds of procedural objects are below this number."""


class Split(Enum):
    """Which instances take part."""

    all = "all"
    train = "train"
    held_out = "held_out"


@dataclass(frozen=True)
class InstanceChoice:
    """How an episode chooses its instance. The choice depends only on a random number and on the episode's number."""

    mode: str = RANDOM
    """`random`: by the random number; `round_robin`: in turn, by the number of the episode."""
    named: tuple[str, ...] = ()
    """The instances that take part; empty means all."""
    count: int | None = None
    """Only the procedural seeds from 0 below this number take part; None means any seed."""
    split: Split = Split.all
    held_out: float = 0.2

    def pool(self, available: Sequence[str] | None) -> list[str] | None:
        """Returns the instances that take part, in order; None if every seed takes part.

        `available` are the ids of a data set or folder, and None for a procedural object.

        Raises:
            ConfigError: A named instance does not exist, or the split leaves none.
        """
        ids = list(available) if available is not None else self._counted_seeds()
        if ids is None:
            return None
        missing = [name for name in self.named if name not in ids]
        if missing:
            raise ConfigError(
                f"object.instances: '{missing[0]}' does not exist.{close_matches(missing[0], ids)} "
                f"Known: {_list_ids(ids)}. Remove or correct it.",
                key="object.instances",
                available=ids,
            )
        ids = list(self.named) or ids
        kept = [name for name in ids if self.is_in_split(name)]
        if ids and not kept:
            raise ConfigError(
                f"object.split={self.split.value} leaves none of {len(ids)} instances ({_list_ids(ids)}) with "
                f"object.held_out={self.held_out:g}. Change the share, or allow more instances.",
                key="object.split",
            )
        return kept

    def choose(self, available: Sequence[str] | None, *, draw: int, number: int) -> str | None:
        """Returns the instance of an episode; None if there is none. `draw` is a random number from 0 below `SEEDS`.

        Raises:
            ConfigError: A named instance does not exist, or the split leaves none.
        """
        pool = self.pool(available)
        if pool is None:
            seed = draw
            while not self.is_in_split(str(seed)):
                seed = (seed + 1) % SEEDS
            return str(seed)
        if not pool:
            return None
        return pool[(number if self.mode == ROUND_ROBIN else draw) % len(pool)]

    def is_in_split(self, instance: str) -> bool:
        """Returns whether an instance belongs to the split."""
        return self.split is Split.all or split_of(instance, held_out=self.held_out) is self.split

    def _counted_seeds(self) -> list[str] | None:
        if self.named:
            return list(self.named)
        return None if self.count is None else [str(seed) for seed in range(self.count)]


def split_of(instance: str, *, held_out: float) -> Split:
    """Returns `train` or `held_out`. Only the instance's id decides, so every run has the same split.

    A larger share holds out all that a smaller share holds out, and more.
    """
    digest = hashlib.sha256(f"unlatch-split:{instance}".encode()).digest()
    return Split.held_out if int.from_bytes(digest[:8], "big") < held_out * 2.0**64 else Split.train


def check_instances(value: Any) -> str | list[str]:
    """Checks `object.instances` from a YAML and returns it: `random`, `round_robin`, or a list of ids.

    Raises:
        ConfigError: It is none of these.
    """
    if value in (RANDOM, ROUND_ROBIN):
        return str(value)
    ids = value if isinstance(value, (list, tuple)) else []
    if not ids or any(isinstance(item, bool) or not isinstance(item, (int, str)) for item in ids):
        raise ConfigError(
            f"object.instances={value} is not a choice. Expected {RANDOM}, {ROUND_ROBIN} or a list of ids or seeds. "
            "Change it.",
            key="object.instances",
        )
    names = [str(item) for item in ids]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise ConfigError(
            f"object.instances holds '{repeated}' twice. Expected each once. Remove one.", key="object.instances"
        )
    return names


def _list_ids(ids: Sequence[str]) -> str:
    shown = ", ".join(ids[:8])
    return shown if len(ids) <= 8 else f"{shown} and {len(ids) - 8} more"


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
    size: Annotated[float, Range(0.05, 20.0)] | None = None
    """Size relative to the object's own: 0.5 halves every length. Weights and forces change with the third power, as
    for a small object of the same material. Null: that of the robot's tasks, `robot.scale`."""
    rests_on: RestsOn = RestsOn.bottom
    """The side that is down: `bottom` (as the object stands), `back`, `left`, `right`, `front` or `top`, left and right
    as seen from in front. With `any`, the search of `artpreplan` also tries the other sides on which it would lie
    stably."""
    fixed: bool = True
    """Whether the object is fastened where it stands. Without, it stands by its weight alone, and may slide or tip."""
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
