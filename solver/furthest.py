"""Remembers the candidate that came furthest, for the diagnosis of a plan that does not exist."""

from __future__ import annotations

from collections import Counter
from typing import Any

from solver.clearance import Blocked
from solver.diagnosis import Diagnosis

STAGES = ("goal", "contact", "path", "approach", "follow", "retreat", "transit")
"""In the order in which a candidate passes them."""
_CODES = {
    "goal": "plan_infeasible",
    "contact": "plan_infeasible",
    "path": "path_infeasible",
    "follow": "path_infeasible",
    "retreat": "path_infeasible",
    "approach": "motion_blocked",
    "transit": "motion_blocked",
}


class Furthest:
    """Takes every failure of a candidate and keeps that of the one that came furthest."""

    def __init__(self) -> None:
        self._kept = Blocked("goal", "")
        self._progress = -1.0
        self._tally: Counter[str] = Counter()

    def add(self, blocked: Blocked, *, progress: float = 0.0) -> None:
        """Takes notice of a failure.

        Args:
            blocked: What ended the candidate.
            progress: How far it came inside its stage; the larger is kept.
        """
        pair = blocked.evidence.get("pair")
        self._tally[f"{blocked.stage}: {pair[0]} and {pair[1]}" if pair is not None else blocked.stage] += 1
        if (STAGES.index(blocked.stage), progress) > (STAGES.index(self._kept.stage), self._progress):
            self._kept, self._progress = blocked, progress

    def diagnosis(self, goals: int) -> Diagnosis:
        """Why no goal could be carried out.

        Args:
            goals: How many goals met the constraints.
        """
        kept = self._kept
        evidence: dict[str, Any] = {"stage": kept.stage, "goals": goals, "ended_at": dict(self._tally)}
        return Diagnosis(
            _CODES[kept.stage],
            f"{goals} goals meet the constraints, but none can be carried out; the one that came furthest: "
            f"{kept.message}.",
            {**evidence, **kept.evidence},
        )
