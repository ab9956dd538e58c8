"""Paths that end early, with the data from which their exact end and its reason are worked out later."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unlatch.simcore.geometry import Pose
from unlatch.solver.motion import Clearance, StageFailure
from unlatch.solver.path_solver import PathSolution
from unlatch.solver.scene import ArmModel, Array, PlanningScene
from unlatch.solver.waypoints import Grasp, Waypoints, part_motions, part_waypoints, pose_waypoints

if TYPE_CHECKING:
    from unlatch.solver.explanation import PathEnd


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
        evidence = {**self._build_evidence(found.reached, found.reason), **found.to_dict()}
        message = f"{self._describe_path(found.reached)}, {found.reason}"
        return StageFailure("path", message, {**evidence, "slip": self.grasp.slip.name})

    def _build_evidence(self, s: float, reason: str) -> dict[str, Any]:
        return {**_progress(self.scene, self.scene.s, s, self.target_s), "reason": reason}

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
        evidence = self._build_evidence(found.reached, found.reason)
        far = f"it gets {evidence['reached_m']:.3f} of {evidence['way_m']:.3f} m far"
        if self.s is not None:
            at = float(np.interp(found.reached, np.arange(len(self.s)), self.s))
            far = f"the part gets to {at:.3f} of {self.s[-1]:.3f} {self.unit}"
            evidence.update(reached_s=at, target_s=float(self.s[-1]))
        return StageFailure(self.stage, f"{self.what}: {far}, {found.reason}", {**evidence, **found.to_dict()})

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
                pair, reached, target = hit.evidence["pair"], float(s[k - 1]), float(s[-1])
                evidence = {**hit.evidence, **_progress(self.scene, float(s[0]), reached, target)}
                progress = _describe_progress(self.scene, reached, target)
                return StageFailure(hit.stage, f"{progress}, then {pair[0]} meets {pair[1]}", evidence)
        return self.hit


def _progress(scene: PlanningScene, start: float, reached: float, target: float) -> dict[str, Any]:
    """Returns how far the part, or what frees it, can be led, as evidence [rad or m]."""
    way = scene.at(start).joint.progress(reached, target)
    return {"what": way.what, "s0": way.start, "reached_s": way.reached, "target_s": way.target, "unit": way.unit}


def _describe_progress(scene: PlanningScene, s: float, target: float) -> str:
    """Returns how far the part can be led, in its unit and in degrees."""
    what, *places, unit = scene.joint.progress(s, target)
    start, at, end = (f"{place:.3f}" for place in places)
    words = f"{what} can be led from {start} to {at} of {end} {unit} only"
    degrees = [f"{math.degrees(place):.1f}" for place in places]
    return words if unit == "m" else f"{words} ({degrees[0]} to {degrees[1]} of {degrees[2]} degrees)"


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
