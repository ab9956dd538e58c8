"""The YAML form of a randomization."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import radians
from typing import TYPE_CHECKING, Annotated, Any

from unlatch.simcore.errors import MISSING, ConfigError, unknown_name
from unlatch.simcore.ranges import Count, Range, Ranged, check_ranges
from unlatch.simcore.sim.joint_mechanisms import TendonCfg

if TYPE_CHECKING:
    from unlatch.simcore.randomization.distribution import Distribution

MOST_DISTRACTORS = 50
"""Largest number of distractors in one episode."""
_SMALLEST_M, _LARGEST_M = 0.01, 0.5


@dataclass
class DistractorsCfg:
    """Number and size of distractors, which are only visible. Bodies with contacts are `objects` of a task."""

    least: int = 0
    """Least number of distractors."""
    most: int = 0
    """Largest number of distractors; 0: none."""
    size_m: list[float] = field(default_factory=lambda: [0.05, 0.2])
    """Smallest and largest size [m]."""

    def __post_init__(self) -> None:
        if not 0 <= self.least <= self.most <= MOST_DISTRACTORS:
            raise ConfigError(
                f"distractors.least={self.least} and most={self.most} are out of range. Expected 0 <= least <= most <= "
                f"{MOST_DISTRACTORS}. Change them.",
                key="distractors.most",
            )
        if len(self.size_m) != 2 or not _SMALLEST_M <= self.size_m[0] <= self.size_m[1] <= _LARGEST_M:
            raise ConfigError(
                f"distractors.size_m={self.size_m} is out of range. Expected smallest and largest size, {_SMALLEST_M} "
                f"to {_LARGEST_M}. Change it.",
                key="distractors.size_m",
            )

    @property
    def active(self) -> bool:
        """Whether there can be any."""
        return self.most > 0


@dataclass
class ContentsCfg(Ranged, where="contents"):
    """Number of things in each drawer and on each shelf behind a door; they are only visible."""

    least: Annotated[int, Range(0, 12)] = 0
    """Least number of things, at most `most`."""
    most: Annotated[int, Range(0, 12)] = 0
    """Largest number of things; 0: none."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.least > self.most:
            raise ConfigError(
                f"contents.least={self.least} and most={self.most} contradict each other. Expected least <= most. "
                "Change them.",
                key="contents.most",
            )


@dataclass
class PerceptionCfg(Ranged, where="perception"):
    """Standard deviations of the pose estimate errors of every object; success is judged on the true poses."""

    position_std_m: Annotated[float, Range(0.0, 0.5)] = 0.0
    """Of each coordinate of an object's position [m]."""
    orientation_std_deg: Annotated[float, Range(0.0, 90.0)] = 0.0
    """Of its roll, pitch and yaw [degrees]."""
    keypoint_std_m: Annotated[float, Range(0.0, 0.5)] = 0.0
    """Of each coordinate of each keypoint, in addition to the object's error [m]."""

    joint_std: Annotated[float, Range(0.0, 0.5)] = 0.0
    """Of the position of each of its joints [rad, or m of sliding joints]."""

    @property
    def active(self) -> bool:
        """Whether there are any errors."""
        return any(getattr(self, key) > 0.0 for key in vars(self))

    def to_dict(self) -> dict[str, float]:
        """Returns the content of its YAML, without a `joint_std` of 0."""
        return {key: value for key, value in vars(self).items() if key != "joint_std" or value != 0.0}

    def rules(self, objects: Sequence[str]) -> list[RuleCfg]:
        """Returns the rules that draw the errors of the named objects: one draw per object and episode."""
        stds = {
            "seen_position": self.position_std_m,
            "seen_orientation": radians(self.orientation_std_deg),
            "seen_keypoints": self.keypoint_std_m,
            "seen_joints": self.joint_std,
        }
        return [
            RuleCfg(view=name, attribute=attribute, distribution={"type": "normal", "mean": 0.0, "std": std})
            for name in objects
            for attribute, std in stds.items()
            if std > 0.0
        ]


GATES = ("on_env_reset", "on_interval")
OPERATIONS = ("direct", "additive", "scaling")
_MAX_INTERVAL = 1_000_000


@dataclass
class RuleCfg:
    """One rule: how and when one attribute of one view is randomized."""

    view: str = MISSING
    """`simulation_context`, the robot, an object, `table`, or an entry of `views`."""
    attribute: str = MISSING
    """Attribute of the view, as in docs/randomization.md."""
    distribution: Any = MISSING
    """A map with `type` and its parameters, or a number or list of numbers as a constant."""
    operation: str = "direct"
    """`direct`, `additive` or `scaling`."""
    gate: str = "on_env_reset"
    """`on_env_reset` or `on_interval`."""
    interval: int | None = None
    """Control steps between two firings of `on_interval`."""
    num_buckets: Count | None = None
    """Number of evenly spaced values for `material_properties`."""

    def __post_init__(self) -> None:
        for key, known in (("operation", OPERATIONS), ("gate", GATES)):
            value = getattr(self, key)
            if value not in known:
                raise unknown_name(value, f"a known {key}", where=f"rule.{key}", known=known)
        if self.gate == "on_interval" and (self.interval is None or not 1 <= self.interval <= _MAX_INTERVAL):
            raise ConfigError(
                f"rule.interval={self.interval} is out of range. Expected 1 to {_MAX_INTERVAL} control steps under "
                "gate on_interval. Give it.",
                key="rule.interval",
            )
        if self.gate == "on_env_reset" and self.interval is not None:
            raise ConfigError(
                f"rule.interval={self.interval} has no effect under gate on_env_reset. Set gate: on_interval, or "
                "remove it.",
                key="rule.interval",
            )
        check_ranges(self, "rule")
        if self.distribution != MISSING:
            self.make_distribution()

    def make_distribution(self) -> Distribution:
        """Makes the distribution of the rule.

        Raises:
            ConfigError: Its type or a parameter is unknown, missing or out of range.
        """
        from unlatch.simcore.randomization.distribution import read_distribution

        return read_distribution(self.distribution, "rule.distribution")


@dataclass
class ViewCfg:
    """A view of some joints and links of a body, or a view with tendons."""

    name: str = MISSING
    """Name that rules use."""
    body: str = MISSING
    """The robot, an object or the table."""
    joints: list[str] | None = None
    """Joints of the view; null: all movable ones."""
    links: list[str] | None = None
    """Links of the view; null: all."""
    tendons: list[TendonCfg] = field(default_factory=list)
    """Fixed tendons over joints of the body."""


@dataclass
class RandomizationCfg:
    """The randomization of everything beyond the layout of the task."""

    name: str = "none"
    """Name of the file; `none` has no rules."""
    views: list[ViewCfg] = field(default_factory=list)
    """Further views; the robot, each object, the table and the plinths have views by their names."""
    rules: list[RuleCfg] = field(default_factory=list)
    """The rules, in the order of firing."""
    perception: PerceptionCfg = field(default_factory=PerceptionCfg)
    """Errors of the planner's pose estimates."""
    distractors: DistractorsCfg = field(default_factory=DistractorsCfg)
    """Visible bodies without physics."""
    contents: ContentsCfg = field(default_factory=ContentsCfg)
    """Visible things in drawers and behind doors."""
    source: str | None = field(default=None, metadata={"key": "from"})
    """An episode (DATA:NUMBER or its folder) whose recorded values are applied in place of drawn ones."""
    recorded: Any = None
    """The values of that episode; they are read from `from` and stored with a data set."""

    def __post_init__(self) -> None:
        if (self.source is not None or self.recorded is not None) and self._draws_anything:
            raise ConfigError(
                f"randomization.from='{self.source}' is given together with rules (randomization={self.name}). "
                "Expected one of the two: the recorded values come with rules of their own. Set randomization=none.",
                key="randomization.from",
            )

    @property
    def _draws_anything(self) -> bool:
        return bool(self.rules) or self.perception.active or self.distractors.active or self.contents.most > 0

    @property
    def active(self) -> bool:
        """Whether anything varies."""
        return self._draws_anything or bool(self.views) or self.source is not None or self.recorded is not None

    def to_dict(self) -> dict[str, Any]:
        """Returns the content of its YAML, without empty entries."""
        content: dict[str, Any] = {
            "name": self.name,
            "views": [vars(view) for view in self.views] or None,
            "rules": [vars(rule) for rule in self.rules] or None,
            "perception": self.perception.to_dict() if self.perception.active else None,
            "distractors": vars(self.distractors) if self.distractors.active else None,
            "contents": vars(self.contents) if self.contents.most else None,
            "from": self.source,
            "recorded": self.recorded,
        }
        return {key: value for key, value in content.items() if value is not None}


@dataclass(frozen=True)
class VisualDraw:
    """Visual rules that are drawn anew for a recorded episode, in place of its recorded visuals."""

    cfg: RandomizationCfg
    """A randomization; only its visual rules, distractors and contents are used."""
    seed: int
    """Seed of the draws; the seed of the episode gives the same draws as the episode itself."""
