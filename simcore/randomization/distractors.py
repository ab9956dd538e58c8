"""Things that stand about on the table and are only seen, as numbers of a configuration."""

from __future__ import annotations

from dataclasses import dataclass, field

from unlatch.simcore.errors import ConfigError

MOST_DISTRACTORS = 50
"""Most of them in one episode."""
_SMALLEST_M, _LARGEST_M = 0.01, 0.5


@dataclass
class DistractorsCfg:
    """How many, and how large; they have no part in the physics. Things to be met are `objects` of a task."""

    least: int = 0
    """At least so many are drawn."""
    most: int = 0
    """At most so many; 0: none."""
    size_m: list[float] = field(default_factory=lambda: [0.05, 0.2])
    """Smallest and largest size [m]."""

    def __post_init__(self) -> None:
        if not 0 <= self.least <= self.most <= MOST_DISTRACTORS:
            raise ConfigError(
                f"distractors.least={self.least} and most={self.most} are out of range. Expected 0 <= least <= most <= "
                f"{MOST_DISTRACTORS}. Change them.",
                key="distractors.most",
            )
        if len(self.size_m) != 2 or not _SMALLEST_M <= self.size_m[0] <= self.size_m[1] <= _LARGEST_M:
            raise ConfigError(
                f"distractors.size_m={self.size_m} is out of range. Expected smallest and largest size, {_SMALLEST_M} "
                f"to {_LARGEST_M}. Change it.",
                key="distractors.size_m",
            )

    @property
    def active(self) -> bool:
        """Whether there may be any."""
        return self.most > 0
