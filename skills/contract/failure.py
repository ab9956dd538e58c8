"""Why an attempt failed: one code, with numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from unlatch.simcore.errors import SkillError, close_matches
from unlatch.simcore.recording.codes import CODE_ORDER, NO_FAILURES
from unlatch.simcore.sim.world import WorldCfg


@dataclass(frozen=True)
class Failure:
    """One violated condition."""

    code: str
    message: str
    time_s: float
    """Simulated time at which it was violated [s]."""
    evidence: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.code not in CODE_ORDER and self.code not in NO_FAILURES:
            raise SkillError(
                f"Unknown failure code '{self.code}'.{close_matches(self.code, CODE_ORDER)} Known: "
                f"{', '.join(CODE_ORDER)}.",
                code=self.code,
            )

    def __repr__(self) -> str:
        return f"Failure({self.code} at {self.time_s:.2f} s: {self.message})"

    def to_evidence(self, rates: WorldCfg, *, last_frame: int) -> dict[str, Any]:
        """Returns the record's `evidence`; `last_frame` is the state frame at which the episode ended."""
        frame = math.ceil(self.time_s * rates.record_hz - 1e-6)
        return {
            "message": self.message,
            "time_s": self.time_s,
            "frame": min(frame, last_frame),
            **dict(self.evidence),
        }


def earliest(failures: list[Failure]) -> Failure | None:
    """The failure that happened first; at the same time the one whose code stands first in `FAILURE_CODES`."""
    return min(failures, key=lambda f: (f.time_s, CODE_ORDER[f.code]), default=None)
