"""Entries of `skills` that a chain treats in a way of their own: a search for a layout, a hold, and the way home.

Whoever plans, checks or describes a chain knows these entries, but need not load the skills themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from unlatch.simcore.errors import ConfigError, check_range
from unlatch.simcore.missing_value import MISSING
from unlatch.simcore.ranges import Range
from unlatch.skills.contract.config import SkillCfg

MAX_LAYOUTS = 1000
"""Largest number of layouts that a search may try."""


@dataclass
class ArtPreplanCfg(SkillCfg):
    """Entry of `artpreplan`, first in the chain: it searches for a layout in which all later skills have a plan."""

    acts: ClassVar[bool] = False

    candidates: Annotated[int, Range(1, MAX_LAYOUTS)] = 16
    """Largest number of layouts tried: object poses in their regions, openings, and start joints of the arms."""
    best_of: int = 1
    """Number of layouts with a plan to compare; the one with the largest margin to the joint limits is taken."""
    planner_setting: Any = None
    """Always None: the entries that follow have the planner settings."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(f"skills[{self.name}].best_of", self.best_of, 1, self.candidates)


@dataclass
class HoldCfg(SkillCfg):
    """Entry of `hold`: the hand holds a fixed handle of the object, while another arm moves `part`."""

    handle: str = MISSING
    """Name of the handle in the object's annotation: `left_handle` or `right_handle` of a pot."""


@dataclass
class HomeCfg(SkillCfg):
    """An entry of `home`: `objects` names what the hand holds or stands beside."""

    needs_objects: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.planner_setting.derived or self.strategies:
            raise ConfigError(
                "skills[home].planner_setting and strategies have no effect: the home of the arm is that of the robot. "
                "Remove them.",
                key="planner_setting",
            )
