"""The configuration of a search for a layout; nothing of the engine is imported here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from unlatch.simcore.errors import ConfigError
from unlatch.skills.contract.config import SkillCfg

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
