"""Search for a layout in which the whole chain of skills plans; nothing is executed by it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from simcore.errors import ConfigError
from skills.config import SkillCfg
from skills.failure import Failure
from skills.skill import Skill

MAX_CANDIDATES = 1000


@dataclass
class ArtPreplanCfg(SkillCfg):
    """Entry of `artpreplan`: first in the chain; it searches for all skills that follow."""

    candidates: int = 16
    """Layouts that are tried at most: object poses in their regions, openings, and start joints of the arms."""
    best_of: int = 1
    """Layouts that plan among which the one with the most room to the joint limits is taken; 1 = the first."""
    planner_setting: Any = None
    """None: what is planned stands in the entries that follow."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.candidates <= MAX_CANDIDATES:
            raise ConfigError(
                f"skills[{self.name}].candidates={self.candidates} is out of range. Expected 1 to {MAX_CANDIDATES}.",
                key="candidates",
            )
        if not 1 <= self.best_of <= self.candidates:
            raise ConfigError(
                f"skills[{self.name}].best_of={self.best_of} is out of range. Expected 1 to candidates "
                f"({self.candidates}).",
                key="best_of",
            )


@dataclass
class PreplanReport:
    """What came of the candidates."""

    tried: int = 0
    """How many were tried."""
    chosen: int | None = None
    """Number of the one that was taken; None where none plans."""
    margin_rad: float | None = None
    """Smallest distance of a joint to its limit while a part is led, in that one [rad]."""
    strategies: dict[int, str] = field(default_factory=dict)
    """The way in which each skill plans there, by its index in the chain."""
    failures: list[dict[str, Any]] = field(default_factory=list)
    """Of each that failed: `candidate`, `skill` (index; -1: the layout itself), `name`, `code`, `message`."""

    def counts(self) -> dict[str, int]:
        """Failures by `skill index code`, the most frequent first."""
        found = Counter(_label(item) for item in self.failures)
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    def counts_text(self) -> str:
        """`1 open: path_infeasible 3, layout: invalid_layout 1`, or `none`."""
        return ", ".join(f"{label} {count}" for label, count in self.counts().items()) or "none"

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values, for the record."""
        return {
            "tried": self.tried,
            "chosen": self.chosen,
            "margin_rad": self.margin_rad,
            "strategies": {str(index): name for index, name in self.strategies.items()},
            "counts": self.counts(),
            "failures": [dict(item) for item in self.failures],
        }


class ArtPreplan(Skill):
    """The entry of a chain that stands for the search.

    The search itself is made before the episode begins, where a layout can still be changed (`workflows.preplan`); by
    the time that this skill is asked, it is over. It moves nothing and has no frames.
    """

    cfg_type: ClassVar[type[SkillCfg]] = ArtPreplanCfg
    executes: ClassVar[bool] = False

    def plan(self, rng: np.random.Generator) -> bool:
        """Nothing is left to plan."""
        return True

    def is_ready(self) -> bool:
        """True: nothing is to be carried out."""
        return True

    def shortfall(self) -> Failure | None:
        """None: an episode without a layout that plans has not begun."""
        return None

    def _on_frame(self) -> None:
        """It has no frames."""


def _label(item: Mapping[str, Any]) -> str:
    where = "layout" if item["skill"] < 0 else f"{item['skill']} {item['name']}"
    return f"{where}: {item['code']}"
