"""A task: where objects are placed, how that varies, the goal and the phrasings of the instruction."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Any

from unlatch.objects.carrying_conditions import DEFAULT_VALUES, ConditionKind, ObjectCondition
from unlatch.simcore.errors import MISSING, ConfigError, check_range
from unlatch.simcore.ranges import Count, NotNegative, Range, check_ranges


class RelationKind(Enum):
    """How an object is placed relative to another one."""

    inside = "inside"
    on = "on"
    beside = "beside"
    facing = "facing"


@dataclass
class RelationCfg:
    """Where an object is placed relative to another one, in place of a region.

    Positions are those of the middle of the object's front, in the front frame of the other object. The origin of that
    frame is the middle of the lower edge of the front. Its x axis points into the other object, y to the left as seen
    from the robot, z up. If the other object faces the robot, these are the directions of the world frame.
    """

    object: str = MISSING
    """Name of the object."""
    relation: RelationKind = MISSING
    """`inside`: within the other object's outer bounds, on a board or its floor; `on`: on top of it; `beside`: on the
    table with the same heading; `facing`: on the table, its front towards the middle of the other object."""
    of: str = MISSING
    """Name of the other object."""
    region: str | None = None
    """`inside` and `on`: region of the other object in which the object stands, such as the inside of a drawer; None:
    any board that carries it. `center_m` is then measured from the middle of the region's floor."""
    center_m: list[float] | None = None
    """Nominal x, y in the front frame of the other object [m]; None: anywhere (`inside`, `on`)."""
    half_extent_m: list[NotNegative] = field(default_factory=lambda: [0.0, 0.0])
    """Largest deviation from it in x and y [m]."""
    distance_m: list[NotNegative] | None = None
    """`beside` and `facing`, in place of `center_m`: range of the distance between the two middles [m]."""
    bearing_deg: list[float] = field(default_factory=lambda: [0.0, 360.0])
    """With `distance_m`: range of the direction from the other object's middle, 0 = out of its front, counterclockwise
    as seen from above [deg]."""
    yaw_deg: NotNegative = 0.0
    """Largest deviation of the yaw from that of the other object or, with `facing`, from facing it [deg]."""
    height_m: list[NotNegative] = field(default_factory=lambda: [0.0, 0.0])
    """`beside` and `facing`: range of the height of the underside above the table [m]; it stands on a plinth."""
    margin_m: NotNegative = 0.005
    """Free space around the object [m]."""
    tries: Count = 100
    """Largest number of poses that are drawn; if none is free, the layout fails as `invalid_layout`."""

    def __post_init__(self) -> None:
        where = f"task.relations[{self.object}]"
        for key in ("center_m", "half_extent_m", "distance_m", "bearing_deg", "height_m"):
            value = getattr(self, key)
            if value is not None and len(value) != 2:
                raise ConfigError(f"{where}.{key} has {len(value)} values, expected 2.", key=f"task.relations.{key}")
            if key in ("distance_m", "bearing_deg", "height_m") and value is not None and value[0] > value[1]:
                raise ConfigError(
                    f"{where}.{key}={list(value)} must be low <= high. Swap them.", key=f"task.relations.{key}"
                )
        check_ranges(self, where)
        if isinstance(self.relation, RelationKind):
            self._check_keys(where)

    def _check_keys(self, where: str) -> None:
        stands_apart = self.relation in (RelationKind.beside, RelationKind.facing)
        if stands_apart and self.region is not None:
            raise ConfigError(
                f"{where}.region has no effect for relation={self.relation.value}. Expected it with `inside` or `on`. "
                "Remove it.",
                key="task.relations.region",
            )
        given = [key for key in ("center_m", "distance_m") if getattr(self, key) is not None]
        if stands_apart and len(given) != 1:
            raise ConfigError(
                f"{where} has {' and '.join(given) or 'neither center_m nor distance_m'}. Expected one of center_m and "
                f"distance_m for relation={self.relation.value}. {'Remove one' if given else 'Add one'}.",
                key="task.relations",
            )
        if not stands_apart and (self.distance_m is not None or max(self.height_m) > 0.0):
            key = "height_m" if self.distance_m is None else "distance_m"
            raise ConfigError(
                f"{where}.{key} has no effect for relation={self.relation.value}: the object stands in or on "
                f"'{self.of}'. Remove it.",
                key=f"task.relations.{key}",
            )


def order_relations(relations: Sequence[RelationCfg]) -> list[str]:
    """Returns the objects of relations, each after the object that it is placed relative to.

    Raises:
        ConfigError: The relations form a circle.
    """
    left = {entry.object: entry.of for entry in relations}
    found: list[str] = []
    while left:
        ready = [name for name, of in left.items() if of not in left]
        if not ready:
            circle = " -> ".join([*left, next(iter(left))])
            raise ConfigError(
                f"task.relations form a circle: {circle}. Expected one of these objects with an entry in "
                "task.regions. Give it one.",
                key="task.relations",
            )
        found.extend(ready)
        left = {name: of for name, of in left.items() if name not in ready}
    return found


_NAME = re.compile(r"[A-Za-z0-9_-]+\Z")
FULLY_OPEN = "full"
"""The value of `openness` that stands for the whole range."""


def check_openness(value: Any, *, key: str) -> None:
    """Checks how far a part is to be opened: a share of its range, or `full`.

    Raises:
        ConfigError: It is neither.
    """
    is_share = isinstance(value, int | float) and not isinstance(value, bool) and 0.0 < value <= 1.0
    if not is_share and value != FULLY_OPEN:
        raise ConfigError(
            f"{key}={value} is not how far a part can be opened. Expected a share of its range above 0 and at most 1, "
            f"such as 0.9, or '{FULLY_OPEN}'. Change it.",
            key=key,
        )


class GoalKind(Enum):
    """What is judged at the end of an episode: the joint of a part, or where a free object is."""

    moved = "moved"
    moved_fraction = "moved_fraction"
    open_fraction = "open_fraction"
    at_fraction = "at_fraction"
    within_closed = "within_closed"
    inside = "inside"
    on = "on"
    upright = "upright"
    lifted = "lifted"

    @property
    def condition(self) -> ConditionKind | None:
        """The condition on a free object; None: a condition on a joint."""
        return ConditionKind(self.value) if self.value in ConditionKind.__members__ else None


@dataclass
class RegionCfg:
    """Where an object is placed: a box of positions and a range of yaw about a nominal pose."""

    object: str = MISSING
    """Name of the object."""
    center_m: list[float] = field(default_factory=lambda: [0.7, 0.0])
    """Nominal x, y of the middle of the object's front, in the world frame [m]."""
    half_extent_m: list[NotNegative] = field(default_factory=lambda: [0.15, 0.15])
    """Largest deviation in x and y [m]."""
    yaw_deg: Annotated[float, Range(0.0, 180.0)] = 25.0
    """Largest deviation of the yaw from facing the robot [deg]."""
    height_m: list[float] = field(default_factory=lambda: [0.0, 0.08])
    """Range of the height of the object's underside above the table [m]; the object stands on a plinth."""

    def __post_init__(self) -> None:
        where = f"task.regions[{self.object}]"
        for key in ("center_m", "half_extent_m", "height_m"):
            count = len(getattr(self, key))
            if count != 2:
                raise ConfigError(f"{where}.{key} has {count} values, expected 2.", key=f"task.regions.{key}")
        check_ranges(self, where)
        if not 0.0 <= self.height_m[0] <= self.height_m[1]:
            raise ConfigError(
                f"{where}.height_m={list(self.height_m)} must be 0 <= low <= high. Swap or raise them.",
                key="task.regions.height_m",
            )


@dataclass
class OpennessCfg:
    """How far a part is open at episode start."""

    object: str = MISSING
    """Name of the object."""
    part: str = MISSING
    """Name of the part in its annotation."""
    range: list[float] = field(default_factory=lambda: [0.0, 0.0])
    """Range of the start opening, measured from closed in the opening direction [rad or m]."""

    def __post_init__(self) -> None:
        if len(self.range) != 2 or not 0.0 <= self.range[0] <= self.range[1]:
            raise ConfigError(
                f"task.openness[{self.object}.{self.part}].range={list(self.range)} must be two values, "
                "0 <= low <= high.",
                key="task.openness.range",
            )


@dataclass
class GoalCfg:
    """One condition on a joint or on a free object that must hold after settling."""

    object: str = MISSING
    """Name of the object."""
    part: str | None = None
    """Name of the part in its annotation; for conditions on a joint only."""
    kind: GoalKind = GoalKind.moved
    """`moved`: abs(s - s0) >= value; `moved_fraction`: that over the joint's range; `open_fraction`: the part is open
    by at least this share of the range; `at_fraction`: by this share, up to 0.03 of the range; `within_closed`:
    abs(s - closed) <= value. `inside`, `on`, `upright`, `lifted`: see
    `unlatch.objects.carrying_conditions.ConditionKind`."""
    value: float | None = None
    """Threshold [rad or m, or a share]; None: the default of `inside`, `on` and `upright`, which the others lack."""
    of: str | None = None
    """`inside` and `on`: the object in or on which the object must be; None: the table (`on`)."""
    region: str | None = None
    """`inside` and `on`: the region of `of`, such as `drawer` or `top`."""

    def __post_init__(self) -> None:
        if isinstance(self.kind, GoalKind):
            self._check_keys()
        kind = self.kind.condition if isinstance(self.kind, GoalKind) else None
        if self.value is None and kind in DEFAULT_VALUES:
            self.value = DEFAULT_VALUES[kind]
        if self.value is None and self.object != MISSING:
            raise ConfigError(
                f"task.goal[{self.object}].value is missing. Expected a number. Give it in the YAML.", key="task.goal"
            )
        highest = 1.0 if self.kind in (GoalKind.moved_fraction, GoalKind.open_fraction, GoalKind.at_fraction) else 10.0
        if self.value is not None:
            check_range(f"task.goal[{self.object}.{self.part}].value", self.value, 0.0, highest, above=True)

    def _check_keys(self) -> None:
        places = self.kind in (GoalKind.inside, GoalKind.on)
        where = f"task.goal[{self.object}] with kind={self.kind.value}"
        if self.kind.condition is None and self.part is None and self.object != MISSING:
            raise ConfigError(
                f"{where} lacks `part`. Expected the part whose joint is judged. Add it.", key="task.goal"
            )
        if self.kind.condition is not None and self.part is not None:
            raise ConfigError(
                f"{where} has part={self.part}, but it speaks of the whole object. Remove part.", key="task.goal"
            )
        if not places and (self.of is not None or self.region is not None):
            raise ConfigError(
                f"{where} has `of` or `region`, which only `inside` and `on` have. Remove them.", key="task.goal"
            )
        if (self.kind is GoalKind.inside or self.region is not None) and self.of is None:
            raise ConfigError(f"{where} lacks `of`. Expected the object that it is in. Add it.", key="task.goal")

    @property
    def threshold(self) -> float:
        """The value [rad or m, or a share]."""
        return math.nan if self.value is None else self.value

    @property
    def condition(self) -> ObjectCondition | None:
        """The condition on a free object; None: it is one on a joint."""
        kind = self.kind.condition
        return None if kind is None else ObjectCondition(kind, self.object, self.threshold, self.of, self.region)


@dataclass
class DerivedTaskCfg:
    """The parts of a task that are derived in each episode, once its object is known."""

    skill: str = MISSING
    """The skill that the task is for: `open`, `close` or `rotate`."""
    part: str | None = None
    """The part of the episode's object that it acts on; None = the first one of its annotation."""
    openness: Any = None
    """How far `open` opens the part: a share of its range, or `full`; None = as far as one sweep of an arm leads it."""

    def __post_init__(self) -> None:
        if self.openness is None:
            return
        check_openness(self.openness, key="task.derived.openness")
        if self.skill != "open":
            raise ConfigError(
                f"task.derived.openness={self.openness} asks how far a part is opened, and skill={self.skill} does "
                "not open it. Expected skill: open beside it. Change or remove one of them.",
                key="task.derived.openness",
            )


@dataclass
class TaskCfg:
    """A task."""

    name: str = MISSING
    """Name of the task."""
    summary: str = ""
    """One line for `unlatch list tasks`."""
    regions: list[RegionCfg] = field(default_factory=list)
    """Where each object is placed."""
    relations: list[RelationCfg] = field(default_factory=list)
    """Where objects are placed in, on or beside another one."""
    openness: list[OpennessCfg] = field(default_factory=list)
    """How far parts are open at the start."""
    goal: list[GoalCfg] = field(default_factory=list)
    """Conditions that must all hold at the end."""
    language: list[str] = field(default_factory=list)
    """Phrasings; `{object}`, `{part}` and `{side}` are filled in."""
    settle_s: Annotated[float, Range(0.1, 60.0, unit="seconds")] = 0.5
    """How long the scene must stay unchanged after the last command [s]."""
    max_duration_s: Annotated[float, Range(1.0, 3600.0, unit="seconds")] = 40.0
    """Simulated time after which an episode is a `timeout` [s]."""
    derived: DerivedTaskCfg | None = None
    """If set, missing regions, start openings, goals and phrasings of the episode's object are derived."""

    def __post_init__(self) -> None:
        if self.name != MISSING and not _NAME.match(self.name):
            raise ConfigError(
                f"task.name='{self.name}' names the data set's folder. Expected letters, digits, '_', '-'. Rename it.",
                key="task.name",
            )
        check_ranges(self, "task")
