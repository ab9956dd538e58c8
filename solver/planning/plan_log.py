"""What a plan keeps count of while it is made: queries and starts, times by stage, and what ended each candidate."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from unlatch.solver.planning.clearance import Blocked
from unlatch.solver.planning.furthest import Furthest

_STAGES = ("goal", "path", "collision", "transit", "timing")
_COUNTS = ("starts", "goals", "candidates", "rescues", "queries", "noise_draws")


class PlanLog:
    """Shared by the stages of one plan."""

    def __init__(self) -> None:
        self.timings_ms = dict.fromkeys(_STAGES, 0.0)
        """Time by stage [ms]."""
        self.counts = dict.fromkeys(_COUNTS, 0)
        """How much was tried."""
        self.notices: list[str] = []
        """What the user should know although the plan was found."""
        self.furthest = Furthest()
        """The failure of the candidate that came furthest."""

    @contextmanager
    def clock(self, stage: str) -> Iterator[None]:
        """Adds the time of a block to a stage."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.timings_ms[stage] += 1e3 * (time.perf_counter() - began)

    def fail(self, stage: str, message: str, evidence: dict[str, Any], *, progress: float = 0.0) -> None:
        """Notes what ended a candidate.

        Args:
            stage: Where.
            message: In words.
            evidence: As plain values.
            progress: How far the candidate came inside the stage.
        """
        self.furthest.add(Blocked(stage, message, evidence), progress=progress)

    def free(self, blocked: Blocked | None) -> bool:
        """Whether a check found nothing in the way; notes what it found."""
        if blocked is not None:
            self.furthest.add(blocked)
        return blocked is None
