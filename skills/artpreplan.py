"""Search for a layout in which the whole chain of skills plans; nothing is executed by it."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from unlatch.skills.artpreplan_cfg import ArtPreplanCfg
from unlatch.skills.contract.config import SkillCfg
from unlatch.skills.contract.failure import Failure
from unlatch.skills.contract.skill import Skill


class ArtPreplan(Skill):
    """The entry of a chain that stands for the search.

    `unlatch.workflows.episode.layout_search` searches before the episode begins, while the layout can still change. The
    search is over when this skill begins; it moves nothing and has no frames.
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
