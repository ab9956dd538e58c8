"""What counts as success: how far the joint of a part has moved, compared as `success_mode` says, for all skills."""

from __future__ import annotations

from dataclasses import dataclass

from unlatch.objects.annotation import Openness
from unlatch.solver.settings.setting import SuccessMode


@dataclass(frozen=True)
class Displacement:
    """A measured displacement of a joint and its threshold."""

    mode: SuccessMode
    value: float
    """The displacement since the skill began [rad or m]; for `fraction` as a share of the way from closed to open, and
    for `zero` the distance that is left to closed [rad or m]."""
    threshold: float
    """What `value` is compared with, in the same unit."""

    @classmethod
    def of(cls, mode: SuccessMode, *, s: float, s0: float, openness: Openness, threshold: float) -> Displacement:
        """Measures the displacement of a joint at s that was at s0 when the skill began [rad or m]."""
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
        """Whether the threshold is met: near closed for `zero`, far from the start for the others."""
        return self.value <= self.threshold if self.mode is SuccessMode.zero else self.value >= self.threshold
