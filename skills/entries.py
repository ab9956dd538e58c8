"""Entries of `skills` that a chain treats in a way of their own, a hold and the way home, and the settings of
disturbances. Whoever plans, checks or describes a chain knows these entries, but need not load the skills.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from unlatch.simcore.errors import MISSING, ConfigError
from unlatch.simcore.ranges import Fraction, Range, check_ranges
from unlatch.skills.config import SkillCfg


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


@dataclass
class DisturbCfg:
    """How far the executed joint targets leave the plan: a YAML file of the group `disturb`.

    The noise of each joint is an Ornstein-Uhlenbeck process, smoothed twice (see `SmoothNoise`). It is 0 where the hand
    stands at the part, and fades in and out before and after.
    """

    name: str = "none"
    """Name of this set of values."""
    free_rad: Annotated[float, Range(0.0, 0.2)] = 0.0
    """Standard deviation of each joint in transit, approach and retreat [rad]."""
    follow_rad: Annotated[float, Range(0.0, 0.05)] = 0.0
    """Standard deviation of each joint while the part is led [rad]."""
    correlation_s: Annotated[float, Range(0.05, 10.0)] = 0.5
    """Correlation time of the noise [s]: as long as a chunk of 16 actions of a policy, whose errors last as long."""
    fade_s: Annotated[float, Range(0.0, 5.0)] = 0.5
    """Time in which the noise fades in and out [s]."""

    nudge_probability: Fraction = 0.0
    """Probability with which the part is pushed while the hand is on its way to it, so that the plan is out of date."""

    def __post_init__(self) -> None:
        check_ranges(self, "disturb")

    @property
    def moves_targets(self) -> bool:
        """Whether executed targets leave the plan."""
        return self.free_rad > 0.0 or self.follow_rad > 0.0
