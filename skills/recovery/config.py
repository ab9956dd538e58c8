"""How far executed targets leave the plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from unlatch.simcore.ranges import Fraction, Range, check_ranges


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
