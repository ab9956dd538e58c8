"""Counts, times and failures that the stages of one plan share."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from unlatch.solver.planning.clearance import StageFailure
from unlatch.solver.planning.furthest_reached import FurthestReached

_STAGES = ("goal", "path", "collision", "transit", "timing")
_COUNTS = ("starts", "goals", "candidates", "rescues", "queries", "noise_draws")


class PlanLog:
    """Collects what the stages of one plan count, time and report."""

    def __init__(self) -> None:
        self.timings_ms = dict.fromkeys(_STAGES, 0.0)
        """Time by stage [ms]."""
        self.counts = dict.fromkeys(_COUNTS, 0)
        """How much was tried."""
        self.notices: list[str] = []
        """Messages for the user of a plan that was found."""
        self.furthest_reached = FurthestReached()
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
        """Notes why a candidate failed, and how far it came inside the stage."""
        self.furthest_reached.add(StageFailure(stage, message, evidence), progress=progress)

    def is_free(self, failure: StageFailure | None) -> bool:
        """Returns whether a check found no failure; notes the failure that it found."""
        if failure is not None:
            self.furthest_reached.add(failure)
        return failure is None
