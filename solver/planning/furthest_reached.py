"""Keeps the failure of the candidate that came furthest, for the diagnosis of a plan that is not found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from unlatch.solver.diagnosis.diagnosis import Diagnosis
from unlatch.solver.planning.clearance import StageFailure
from unlatch.solver.planning.failed_path import FailedPath

STAGES = ("goal", "contact", "path", "approach", "follow", "retreat", "transit")
"""The stages of a plan, in the order in which a candidate passes them."""
_CODES = {
    "goal": "plan_infeasible",
    "contact": "plan_infeasible",
    "path": "path_infeasible",
    "follow": "path_infeasible",
    "retreat": "path_infeasible",
    "approach": "motion_blocked",
    "transit": "motion_blocked",
}


class FurthestReached:
    """Takes the failure of every candidate and keeps that of the one that came furthest."""

    def __init__(self) -> None:
        self._failure = StageFailure("goal", "")
        self._path: FailedPath | None = None
        self._progress = -1.0
        self._tally: Counter[str] = Counter()

    def add(self, failure: StageFailure, *, progress: float = 0.0, path: FailedPath | None = None) -> None:
        """Takes the failure of a candidate, how far it came inside its stage, and the path that failed, if one did."""
        pair = failure.evidence.get("pair")
        self._tally[f"{failure.stage}: {pair[0]} and {pair[1]}" if pair is not None else failure.stage] += 1
        if (STAGES.index(failure.stage), progress) > (STAGES.index(self._failure.stage), self._progress):
            self._failure, self._progress, self._path = failure, progress, path

    def add_failed_path(self, path: FailedPath) -> float:
        """Takes a path that failed; returns the share of the path that holds.

        Within one stage, a path that fails counts as less far than a path that is found but collides.
        """
        self.add(path.failure(), progress=path.share - 1.0, path=path)
        return path.share

    def diagnosis(self, goals: int, *, explain: bool = True) -> Diagnosis:
        """Returns why none of the goals leads to a plan; `explain` works out the exact end of a failed path (some 20
        solves).
        """
        failure = self._path.explain() if explain and self._path is not None else self._failure
        evidence: dict[str, Any] = {"stage": failure.stage, "goals": goals, "ended_at": dict(self._tally)}
        met = "1 goal meets" if goals == 1 else f"{goals} goals meet"
        return Diagnosis(
            _CODES[failure.stage],
            f"{met} the constraints, but none can be carried out; the one that came furthest: "
            f"{failure.message}{_describe_collision_place(failure.evidence)}.",
            {**evidence, **failure.evidence},
        )


def _describe_collision_place(evidence: Mapping[str, Any]) -> str:
    """Returns how deep a collision is and where, for a message."""
    if "pair" not in evidence:
        return ""
    distance = 1e3 * float(evidence["distance_m"])
    depth = f"{-distance:.1f} mm deep" if distance < 0.0 else f"{distance:.1f} mm apart, which is too near"
    point = ", ".join(f"{v:.3f}" for v in evidence["where"])
    return f"; they are {depth} at [{point}] m (world frame)"
