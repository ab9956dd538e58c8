"""Remembers the candidate that came furthest, for the diagnosis of a plan that does not exist."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from unlatch.solver.diagnosis.diagnosis import Diagnosis
from unlatch.solver.planning.clearance import Blocked
from unlatch.solver.planning.lost import Lost

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
        self._lost: Lost | None = None
        self._progress = -1.0
        self._tally: Counter[str] = Counter()

    def add(self, blocked: Blocked, *, progress: float = 0.0, lost: Lost | None = None) -> None:
        """Takes notice of a failure.

        Args:
            blocked: What ended the candidate.
            progress: How far it came inside its stage; the larger is kept.
            lost: Its path, where that ended it: explained if it is the one that came furthest.
        """
        pair = blocked.evidence.get("pair")
        self._tally[f"{blocked.stage}: {pair[0]} and {pair[1]}" if pair is not None else blocked.stage] += 1
        if (STAGES.index(blocked.stage), progress) > (STAGES.index(self._kept.stage), self._progress):
            self._kept, self._progress, self._lost = blocked, progress, lost

    def add_lost(self, lost: Lost) -> float:
        """Takes notice of a path that was lost; returns the share of the way that it went.

        In one stage a path that was lost comes less far than one that was found, but collides.
        """
        self.add(lost.blocked(), progress=lost.share - 1.0, lost=lost)
        return lost.share

    def diagnosis(self, goals: int, *, explain: bool = True) -> Diagnosis:
        """Why no goal could be carried out.

        Args:
            goals: How many goals met the constraints.
            explain: Whether the exact end of a lost path is worked out (some 20 solves).
        """
        kept = self._lost.explained() if explain and self._lost is not None else self._kept
        evidence: dict[str, Any] = {"stage": kept.stage, "goals": goals, "ended_at": dict(self._tally)}
        met = "1 goal meets" if goals == 1 else f"{goals} goals meet"
        return Diagnosis(
            _CODES[kept.stage],
            f"{met} the constraints, but none can be carried out; the one that came furthest: "
            f"{kept.message}{_where(kept.evidence)}.",
            {**evidence, **kept.evidence},
        )


def _where(evidence: Mapping[str, Any]) -> str:
    """How deep a collision is and where, for a message."""
    if "pair" not in evidence:
        return ""
    distance = 1e3 * float(evidence["distance_m"])
    depth = f"{-distance:.1f} mm deep" if distance < 0.0 else f"{distance:.1f} mm apart, which is too near"
    point = ", ".join(f"{v:.3f}" for v in evidence["where"])
    return f"; they are {depth} at [{point}] m (world frame)"
