"""Asks for a search for a layout in which the whole chain of skills can be planned."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from unlatch.skills.contract.config import SkillCfg
from unlatch.skills.contract.entries import ArtPreplanCfg
from unlatch.skills.contract.failure import Failure
from unlatch.skills.contract.skill import Skill


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
