"""Counts, times and failures that the stages of one plan share."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from unlatch.solver.motion import StageFailure

if TYPE_CHECKING:
    from unlatch.solver.diagnosis import Diagnosis


class FailedPath(Protocol):
    """A path that ended early."""

    @property
    def share(self) -> float:
        """Share of the path that the search covered, 0 to 1."""

    def failure(self) -> StageFailure:
        """Returns the failure as the search found it; needs no solve."""

    def explain(self) -> StageFailure:
        """Returns the failure with the exact end and what stops the hand there; needs some 20 solves."""


_MOVE = "Move or turn the object"
_PATH_FAILURE = ("path_infeasible", f"{_MOVE}, or lead the part less far.")
_FAILURES = {
    "goal": ("plan_infeasible", "Make modify_actuation_motion or keypose_random_range smaller."),
    "contact": ("plan_infeasible", f"{_MOVE}, or let the constraints bring the hand from another side."),
    "path": _PATH_FAILURE,
    "approach": ("motion_blocked", f"{_MOVE}, or shorten pre_actuation_motions."),
    "follow": _PATH_FAILURE,
    "retreat": _PATH_FAILURE,
    "transit": ("motion_blocked", f"{_MOVE}, or what is in the way."),
}
"""Failure code of each stage of a plan, in the order in which a candidate passes them, and what to do where every
candidate fails at the stage or before it."""
STAGES = tuple(_FAILURES)
_TIMED = ("goal", "path", "collision", "transit", "timing")
_COUNTS = ("starts", "goals", "candidates", "rescues", "queries", "noise_draws", "explanations")


class PlanLog:
    """Collects what the stages of one plan count, time and report; of failures, that which came furthest."""

    def __init__(self) -> None:
        self.timings_ms = dict.fromkeys(_TIMED, 0.0)
        """Time by stage [ms]."""
        self.counts = dict.fromkeys(_COUNTS, 0)
        """How much was tried."""
        self.notices: list[str] = []
        """Messages for the user of a plan that was found."""
        self._failure, self._progress = StageFailure("goal", ""), -1.0
        self._path: FailedPath | None = None
        self._tally: Counter[str] = Counter()

    @contextmanager
    def clock(self, stage: str) -> Iterator[None]:
        """Adds the time of a block to a stage."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.timings_ms[stage] += 1e3 * (time.perf_counter() - began)

    def fail(self, failure: StageFailure, *, progress: float = 0.0, path: FailedPath | None = None) -> None:
        """Takes the failure of a candidate, its progress inside the stage, and the path that failed, if one did."""
        pair = failure.evidence.get("pair")
        self._tally[f"{failure.stage}: {pair[0]} and {pair[1]}" if pair is not None else failure.stage] += 1
        if (STAGES.index(failure.stage), progress) > (STAGES.index(self._failure.stage), self._progress):
            self._failure, self._progress, self._path = failure, progress, path

    def is_free(self, failure: StageFailure | None) -> bool:
        """Returns whether a check found no failure; takes the failure that it found."""
        if failure is not None:
            self.fail(failure)
        return failure is None

    def add_failed_path(self, path: FailedPath) -> float:
        """Takes a path that failed; returns the share of the path that holds.

        Within one stage, a path that collides counts as further than a path that is not found.
        """
        self.fail(path.failure(), progress=path.share - 1.0, path=path)
        return path.share

    @property
    def message(self) -> str:
        """Why the candidate that came furthest failed; empty if none did."""
        place = _describe_collision_place(self._failure.evidence)
        return f"{self._failure.message}. {place}" if place else self._failure.message

    def diagnosis(self, *, explain: bool = True) -> Diagnosis:
        """Returns why none of the goals leads to a plan.

        With `explain` it works out where exactly a failed path ends, in some 20 solves.
        """
        from unlatch.solver.diagnosis import Diagnosis, compose_message

        goals = self.counts["goals"]
        failure = self._path.explain() if explain and self._path is not None else self._failure
        evidence: dict[str, Any] = {"stage": failure.stage, "goals": goals, "ended_at": dict(self._tally)}
        code, advice = _FAILURES[failure.stage]
        place = _describe_collision_place(failure.evidence)
        met = (
            "1 goal meets the constraints and cannot" if goals == 1 else f"{goals} goals meet the constraints; none can"
        )
        message = compose_message(
            f"No motion was found: {failure.message or 'the search ended before one was tried'}.",
            advice,
            [f"{met} be carried out; this is why the one that came furthest cannot.", *([f"{place}."] if place else [])]
            if failure.message
            else [],
        )
        return Diagnosis(code, message, {**evidence, **failure.evidence})


def _describe_collision_place(evidence: Mapping[str, Any]) -> str:
    """Returns how deep a collision is and where, for a message."""
    from unlatch.solver.diagnosis import format_point

    if "pair" not in evidence:
        return ""
    distance = 1e3 * float(evidence["distance_m"])
    depth = f"{-distance:.1f} mm deep" if distance < 0.0 else f"{distance:.1f} mm apart, which is too near"
    return f"They are {depth} at {format_point(evidence['where'])} m (world frame)"
