"""Counts, times and failures that the stages of one plan share, and paths that end early, with the data from which
their exact end and its reason are worked out later.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from unlatch.simcore.geometry import Pose
from unlatch.solver.motion import Clearance, StageFailure
from unlatch.solver.path_solver import PathSolution
from unlatch.solver.scene import ArmModel, Array, PlanningScene
from unlatch.solver.waypoints import Grasp, Waypoints, part_motions, part_waypoints, pose_waypoints

if TYPE_CHECKING:
    from unlatch.solver.diagnosis import Diagnosis
    from unlatch.solver.explanation import PathEnd


class FailedPath(Protocol):
    """A path that ended early."""

    @property
    def share(self) -> float:
        """Share of the path that the search covered, 0 to 1."""

    def failure(self) -> StageFailure:
        """Returns the failure as the search found it; needs no solve."""

    def explain(self) -> StageFailure:
        """Returns the failure with the exact end and what stops the hand there; needs some 20 solves."""


@dataclass(frozen=True)
class FailedPartPath:
    """A path along the joint of the part."""

    arm: ArmModel
    scene: PlanningScene
    """The object at the start."""
    path: PathSolution
    grasp: Grasp
    """How the hand leads the part."""
    target_s: float
    """Joint position at the end of the whole path [rad or m]."""

    @property
    def share(self) -> float:
        """See `FailedPath`."""
        s0 = self.scene.s
        return (self.path.reached_s - s0) / (self.target_s - s0) if self.target_s != s0 else 0.0

    def failure(self) -> StageFailure:
        """See `FailedPath`."""
        s = self.path.reached_s
        return StageFailure(
            "path", f"{self._describe_path(s)}, then {self.path.reason}", self._build_evidence(s, self.path.reason)
        )

    def explain(self) -> StageFailure:
        """See `FailedPath`."""
        found = _find_end(self.arm, self._waypoints_at, self.path, self.scene.s)
        if found is None:
            return self.failure()
        reason = _describe_end(found)
        evidence = {**self._build_evidence(found.reached, reason), **_end_evidence(found), "slip": self.grasp.slip.name}
        return StageFailure("path", f"{self._describe_path(found.reached)}, {reason}", evidence)

    def _build_evidence(self, s: float, reason: str) -> dict[str, Any]:
        return {
            "s0": self.scene.s,
            "reached_s": s,
            "target_s": self.target_s,
            "unit": self.scene.joint.unit,
            "reason": reason,
        }

    def _describe_path(self, s: float) -> str:
        return f"{_describe_progress(self.scene, s, self.target_s)} (hand {self.grasp.slip.name} on the part)"

    def _waypoints_at(self, s: float) -> Waypoints:
        R0, p0 = self.arm.kinematics.fk_batch(self.path.q[:1])
        moves = part_motions(self.scene, np.array([self.scene.s, s]))
        return part_waypoints(self.arm, self.scene, R0[0], p0[0], *moves, self.grasp)


@dataclass(frozen=True)
class FailedPosePath:
    """A path of the hand through poses: the approach, listed motions, the step back."""

    arm: ArmModel
    path: PathSolution
    """The path; its `s` counts the poses."""
    poses: Sequence[Pose]
    """Poses of the whole path, base frame."""
    stage: str
    what: str
    """What fails, such as `the hand cannot step back to the pre-grasp`."""
    tilt_rad: float = 0.0
    """Largest angle between the approach axis and that of the poses [rad]."""
    s: Array | None = None
    """(N,) joint positions of the part at the poses, if they move it [rad or m]."""
    unit: str = "rad"
    """Unit of `s`."""

    @property
    def share(self) -> float:
        """See `FailedPath`."""
        return self.path.reached_s / max(1, len(self.poses) - 1)

    def failure(self) -> StageFailure:
        """See `FailedPath`."""
        reason = self.path.reason
        return StageFailure(self.stage, f"{self.what}: {reason}", self._build_evidence(self.path.reached_s, reason))

    def explain(self) -> StageFailure:
        """See `FailedPath`."""
        found = _find_end(self.arm, self._waypoints_at, self.path, 0.0)
        if found is None:
            return self.failure()
        reason = _describe_end(found)
        evidence = self._build_evidence(found.reached, reason)
        far = f"it gets {evidence['reached_m']:.3f} of {evidence['way_m']:.3f} m far"
        if self.s is not None:
            at = float(np.interp(found.reached, np.arange(len(self.s)), self.s))
            far = f"the part gets to {at:.3f} of {self.s[-1]:.3f} {self.unit}"
            evidence.update(reached_s=at, target_s=float(self.s[-1]))
        return StageFailure(self.stage, f"{self.what}: {far}, {reason}", {**evidence, **_end_evidence(found)})

    def _build_evidence(self, count: float, reason: str) -> dict[str, Any]:
        p = np.array([pose.p for pose in self.poses])  # (N, 3)
        along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(p, axis=0), axis=1))])
        reached = float(np.interp(count, np.arange(len(along)), along))
        return {"reached_m": reached, "way_m": float(along[-1]), "reason": reason}

    def _waypoints_at(self, s: float) -> Waypoints:
        rows = pose_waypoints(self.arm, self.poses, tilt_rad=self.tilt_rad)
        i = min(int(s), len(self.poses) - 2)

        def between(values: Array) -> Array:
            blend: Array = (1.0 - (s - i)) * values[i] + (s - i) * values[i + 1]
            return blend[None]

        def turned(values: Array) -> Array:
            blend = between(values)
            return blend / float(np.linalg.norm(blend))

        return replace(rows, points=between(rows.points), held=turned(rows.held), approach=turned(rows.approach))


@dataclass(frozen=True)
class CollidingPath:
    """A path along the joint of the part that collides."""

    clearance: Clearance
    """The collision checks, still in the scene of the plan."""
    scene: PlanningScene
    """The object at the start."""
    path: PathSolution
    hit: StageFailure
    """A collision somewhere on it."""

    @property
    def share(self) -> float:
        """See `FailedPath`: the path reaches its end; `explain` finds the first collision."""
        return 1.0

    def failure(self) -> StageFailure:
        """See `FailedPath`."""
        return self.hit

    def explain(self) -> StageFailure:
        """See `FailedPath`: finds the first waypoint with a collision, one query each."""
        q, s = self.path.q, self.path.s
        for k in range(1, len(s)):
            hit = self.clearance.check_follow(q[k - 1 : k + 1], s[k - 1 : k + 1])
            if hit is not None:
                pair = hit.evidence["pair"]
                evidence = {
                    **hit.evidence,
                    "s0": float(s[0]),
                    "reached_s": float(s[k - 1]),
                    "target_s": float(s[-1]),
                    "unit": self.scene.joint.unit,
                }
                progress = _describe_progress(self.scene, float(s[k - 1]), float(s[-1]))
                return StageFailure(hit.stage, f"{progress}, then {pair[0]} meets {pair[1]}", evidence)
        return self.hit


def _describe_progress(scene: PlanningScene, s: float, target: float) -> str:
    """Returns how far the part can be led, in its unit and in degrees."""
    reached = f"the part can be led from {scene.s:.3f} to {s:.3f} of {target:.3f} {scene.joint.unit} only"
    degrees = [f"{math.degrees(v):.1f}" for v in (scene.s, s, target)]
    return reached if scene.joint.prismatic else f"{reached} ({degrees[0]} to {degrees[1]} of {degrees[2]} degrees)"


def _find_end(
    arm: ArmModel, waypoint_at: Callable[[float], Waypoints], path: PathSolution, s_start: float
) -> PathEnd | None:
    """Returns the exact end of a path, continued from its last waypoint that holds exactly."""
    from unlatch.solver.explanation import holds_at, path_end  # seldom needed

    last = int(np.argmin(np.abs(path.s - path.reached_s)))
    while last > 0 and not holds_at(arm, waypoint_at(float(path.s[last])), path.q[last]):
        last -= 1
    start, step = float(path.s[last]) if last else s_start, float(np.abs(np.diff(path.s)).max(initial=0.0))
    if step == 0.0:
        return None
    return path_end(arm, waypoint_at, path.q[last], start, float(path.s[-1]), step)


def _describe_end(end: PathEnd) -> str:
    *first, last = end.stopped_by
    return f"stopped by {', '.join(first)} and {last}" if first else f"stopped by {last}"


def _end_evidence(end: PathEnd) -> dict[str, Any]:
    return {
        "stopped_by": list(end.stopped_by),
        "stopped_by_kinds": list(end.kinds),
        "q": [float(v) for v in end.q],
    }


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
    """Collects what the stages of one plan count, time and report."""

    def __init__(self) -> None:
        self.timings_ms = dict.fromkeys(_TIMED, 0.0)
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
        """Notes why a candidate failed; `progress` is how far it came inside the stage."""
        self.furthest_reached.add(StageFailure(stage, message, evidence), progress=progress)

    def is_free(self, failure: StageFailure | None) -> bool:
        """Returns whether a check found no failure; notes the failure that it found."""
        if failure is not None:
            self.furthest_reached.add(failure)
        return failure is None


class FurthestReached:
    """Takes the failure of every candidate and keeps that of the one that came furthest."""

    def __init__(self) -> None:
        self._failure = StageFailure("goal", "")
        self._path: FailedPath | None = None
        self._progress = -1.0
        self._tally: Counter[str] = Counter()

    def add(self, failure: StageFailure, *, progress: float = 0.0, path: FailedPath | None = None) -> None:
        """Takes the failure of a candidate, its progress inside the stage, and the path that failed, if one did."""
        pair = failure.evidence.get("pair")
        self._tally[f"{failure.stage}: {pair[0]} and {pair[1]}" if pair is not None else failure.stage] += 1
        if (STAGES.index(failure.stage), progress) > (STAGES.index(self._failure.stage), self._progress):
            self._failure, self._progress, self._path = failure, progress, path

    def add_failed_path(self, path: FailedPath) -> float:
        """Takes a path that failed; returns the share of the path that holds.

        Within one stage, a path that collides counts as further than a path that is not found.
        """
        self.add(path.failure(), progress=path.share - 1.0, path=path)
        return path.share

    @property
    def message(self) -> str:
        """Why the candidate that came furthest failed; empty if none did."""
        place = _describe_collision_place(self._failure.evidence)
        return f"{self._failure.message}. {place}" if place else self._failure.message

    def diagnosis(self, goals: int, *, explain: bool = True) -> Diagnosis:
        """Returns why none of the goals leads to a plan.

        With `explain` it works out where exactly a failed path ends, in some 20 solves.
        """
        from unlatch.solver.diagnosis import Diagnosis, compose_message

        failure = self._path.explain() if explain and self._path is not None else self._failure
        evidence: dict[str, Any] = {"stage": failure.stage, "goals": goals, "ended_at": dict(self._tally)}
        code, advice = _FAILURES[failure.stage]
        place = _describe_collision_place(failure.evidence)
        met = (
            "1 goal meets the constraints and cannot" if goals == 1 else f"{goals} goals meet the constraints; none can"
        )
        message = compose_message(
            f"No motion was found: {failure.message}.",
            advice,
            [f"{met} be carried out; this one came furthest.", *([f"{place}."] if place else [])],
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
