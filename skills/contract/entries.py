"""Entries of `skills` that a chain treats in a way of their own: a hold, and the way home.

Whoever plans, checks or describes a chain knows these entries, but need not load the skills themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.missing_value import MISSING
from unlatch.skills.contract.config import SkillCfg


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
