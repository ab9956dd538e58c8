"""How far a part has come, and whether that is far enough: the one meaning of `success_mode` for all skills."""

from __future__ import annotations

from dataclasses import dataclass

from unlatch.objects.annotation import Openness
from unlatch.solver.settings.setting import SuccessMode


@dataclass(frozen=True)
class Displacement:
    """A joint position against a threshold."""

    mode: SuccessMode
    """What is compared."""
    value: float
    """What the mode looks at [rad or m, or a share of the joint's range]."""
    threshold: float
    """What it is compared with, in the same unit."""

    @classmethod
    def of(cls, mode: SuccessMode, *, s: float, s0: float, openness: Openness, threshold: float) -> Displacement:
        """Measures a joint position.

        Args:
            mode: How the displacement is judged.
            s: Position of the joint now [rad or m].
            s0: Position when the skill began [rad or m].
            openness: Its closed and open positions.
            threshold: `success_threshold` of the setting.
        """
        span = openness.open - openness.closed
        if mode is SuccessMode.zero:
            value = abs(s - openness.closed)
        elif mode is SuccessMode.normal:
            value = (s - s0) if span >= 0.0 else (s0 - s)
        elif mode is SuccessMode.fraction:
            value = abs(s - s0) / abs(span)
        else:
            value = abs(s - s0)
        return cls(mode, value, threshold)

    @property
    def enough(self) -> bool:
        """Whether the joint is where it should be: near closed for `zero`, far from its start for the others."""
        return self.value <= self.threshold if self.mode is SuccessMode.zero else self.value >= self.threshold
