"""Asks for a search for a layout in which the whole chain of skills can be planned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from unlatch.simcore.errors import check_range
from unlatch.simcore.ranges import Range
from unlatch.skills.contract.config import SkillCfg
from unlatch.skills.contract.failure import Failure
from unlatch.skills.contract.skill import Skill

MAX_CANDIDATES = 1000


@dataclass
class ArtPreplanCfg(SkillCfg):
    """Entry of `artpreplan`, first in the chain: it searches for a layout in which all later skills have a plan."""

    acts: ClassVar[bool] = False

    candidates: Annotated[int, Range(1, MAX_CANDIDATES)] = 16
    """Largest number of layouts tried: object poses in their regions, openings, and start joints of the arms."""
    best_of: int = 1
    """Number of layouts with a plan to compare; the one with the largest margin to the joint limits is taken."""
    planner_setting: Any = None
    """Always None: the entries that follow have the planner settings."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(f"skills[{self.name}].best_of", self.best_of, 1, self.candidates)


class ArtPreplan(Skill):
    """Marks a chain whose layout is searched for; the skill itself moves nothing and has no frames.

    `unlatch.workflows.episode.layout_search` searches before the episode begins, while the layout can still change. The
    search is over when this skill begins.
    """

    cfg_type: ClassVar[type[SkillCfg]] = ArtPreplanCfg
    executes: ClassVar[bool] = False

    def plan(self, rng: np.random.Generator) -> bool:
        """Returns True: there is nothing to plan."""
        return True

    def is_ready(self) -> bool:
        """Returns True: there is nothing to carry out."""
        return True

    def unmet_condition(self) -> Failure | None:
        """Returns None: an episode begins only with a layout that has a plan."""
        return None
