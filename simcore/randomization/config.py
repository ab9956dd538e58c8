"""The YAML form of a randomization; no engine is imported to read it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from omegaconf import MISSING

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.randomization.distractors import DistractorsCfg
from unlatch.simcore.randomization.perception import PerceptionCfg
from unlatch.simcore.randomization.rule_cfg import RuleCfg
from unlatch.simcore.sim.properties.tendon_cfg import TendonCfg


@dataclass
class ViewCfg:
    """A view of some joints and links of a body, or one with tendons."""

    name: str = MISSING
    """Name that rules use."""
    body: str = MISSING
    """The robot, an object or the table."""
    joints: list[str] | None = None
    """Joints that are viewed; null: all that move."""
    links: list[str] | None = None
    """Links that are viewed; null: all."""
    tendons: list[TendonCfg] = field(default_factory=list)
    """Fixed tendons over joints of the body."""


@dataclass
class RandomizationCfg:
    """What varies beyond the layout of the task."""

    name: str = "none"
    """Name of the file; `none` has no rules."""
    views: list[ViewCfg] = field(default_factory=list)
    """Views beside those of the whole robot, each object, the table and the plinths, which are there by name."""
    rules: list[RuleCfg] = field(default_factory=list)
    """What is randomized, in the order of firing."""
    perception: PerceptionCfg = field(default_factory=PerceptionCfg)
    """How well the planner is told where objects are."""
    distractors: DistractorsCfg = field(default_factory=DistractorsCfg)
    """What stands about and is only seen."""
    source: str | None = field(default=None, metadata={"key": "from"})
    """An episode, DATA:NUMBER or its folder, whose applied values are applied again in place of drawn ones."""
    recorded: Any = None
    """Those values; they are read from `from` and kept with a data set."""

    def __post_init__(self) -> None:
        if (self.source is not None or self.recorded is not None) and self._drawn:
            raise ConfigError(
                f"randomization.from='{self.source}' has rules beside it (randomization={self.name}). Expected one of "
                "the two: the recorded values are applied by the recorded rules. Set randomization=none.",
                key="randomization.from",
            )

    @property
    def _drawn(self) -> bool:
        """Whether it has anything to draw."""
        return bool(self.rules) or self.perception.active or self.distractors.active

    @property
    def active(self) -> bool:
        """Whether anything varies."""
        return self._drawn or bool(self.views) or self.source is not None or self.recorded is not None

    def to_dict(self) -> dict[str, Any]:
        """As in a YAML, without what says nothing."""
        content: dict[str, Any] = {"name": self.name}
        if self.views:
            content["views"] = [vars(view) for view in self.views]
        if self.rules:
            content["rules"] = [vars(rule) for rule in self.rules]
        if self.perception.active:
            content["perception"] = self.perception.to_dict()
        if self.distractors.active:
            content["distractors"] = vars(self.distractors)
        if self.source is not None:
            content["from"] = self.source
        if self.recorded is not None:
            content["recorded"] = self.recorded
        return content
