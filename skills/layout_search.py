"""The entry `artpreplan` of a task file: it asks for a search over layouts before the episode begins.

A layout is one draw of the poses of the objects, their openings, and the start joints of the arms. The search takes the
first layout, or the best of several, in which every skill of the chain has a plan. `unlatch.workflows.episode` runs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from unlatch.simcore.errors import check_range
from unlatch.simcore.ranges import Range
from unlatch.skills.config import SkillCfg
from unlatch.skills.context import Failure
from unlatch.skills.skill import Skill

MAX_CANDIDATES = 1000


@dataclass
class LayoutSearchCfg(SkillCfg):
    """What the search tries. The entry is the first one of the chain; its name in a task file is `artpreplan`."""

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


def layout_search_of(skills: Sequence[SkillCfg]) -> LayoutSearchCfg | None:
    """Returns the search over layouts that a chain of skills asks for; None if it asks for none."""
    first = skills[0] if skills else None
    return first if isinstance(first, LayoutSearchCfg) else None


class LayoutSearchSkill(Skill):
    """Has no frames and moves nothing: the search is over when this skill begins."""

    cfg_type: ClassVar[type[SkillCfg]] = LayoutSearchCfg
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
