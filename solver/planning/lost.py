"""Paths that were lost on the way, with all that it takes to say later where exactly they end and why."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from unlatch.simcore.geometry import Pose
from unlatch.solver.diagnosis.path_end import PathEnd, holds_at, path_end
from unlatch.solver.path.path_solver import PathSolution
from unlatch.solver.path.waypoints import Grasp, Waypoints, on_part, on_poses, part_motions
from unlatch.solver.planning.clearance import Blocked, Clearance
from unlatch.solver.scene import ArmModel, PlanningScene

Array = np.ndarray


class Lost(Protocol):
    """A path that ended early."""

    @property
    def share(self) -> float:
        """How much of the way the search came, 0 to 1."""
        ...

    def blocked(self) -> Blocked:
        """In the words of the search alone; costs nothing."""
        ...

    def explained(self) -> Blocked:
        """The same with the exact end and what stops it there; some 20 solves."""
        ...


@dataclass(frozen=True)
class LostPath:
    """A path along the joint of the part."""

    arm: ArmModel
    """The arm."""
    scene: PlanningScene
    """The object at the start."""
    path: PathSolution
    """The path."""
    grasp: Grasp
    """How the part is led."""
    target_s: float
    """Where it was to be led [rad or m]."""

    @property
    def share(self) -> float:
        """See `Lost`."""
        s0 = self.scene.s
        return (self.path.reached_s - s0) / (self.target_s - s0) if self.target_s != s0 else 0.0

    def blocked(self) -> Blocked:
        """See `Lost`."""
        s = self.path.reached_s
        return Blocked("path", f"{self._led_to(s)}, then {self.path.reason}", self._evidence(s, self.path.reason))

    def explained(self) -> Blocked:
        """See `Lost`."""
        found = _end(self.arm, self._rows_at, self.path, self.scene.s)
        if found is None:
            return self.blocked()
        reason = _reason(found)
        evidence = {
            **self._evidence(found.reached, reason),
            **_of_end(found),
            "slip": self.grasp.slip.name,
        }
        return Blocked("path", f"{self._led_to(found.reached)}, {reason}", evidence)

    def _evidence(self, s: float, reason: str) -> dict[str, Any]:
        return {
            "s0": self.scene.s,
            "reached_s": s,
            "target_s": self.target_s,
            "unit": _unit(self.scene),
            "reason": reason,
        }

    def _led_to(self, s: float) -> str:
        return f"{_led(self.scene, s, self.target_s)} (hand {self.grasp.slip.name} on the part)"

    def _rows_at(self, s: float) -> Waypoints:
        R0, p0 = self.arm.kinematics.fk_batch(self.path.q[:1])
        moves = part_motions(self.scene, np.array([self.scene.s, s]))
        return on_part(self.arm, self.scene, R0[0], p0[0], *moves, self.grasp)


@dataclass(frozen=True)
class LostPoses:
    """A path of the hand through poses: the approach, listed motions, the step back."""

    arm: ArmModel
    """The arm."""
    path: PathSolution
    """The path; its `s` counts the poses."""
    poses: Sequence[Pose]
    """What it was to go through, base frame."""
    stage: str
    """Stage of the plan."""
    what: str
    """What the hand cannot do, such as `the hand cannot step back to the pre-grasp`."""
    tilt_rad: float = 0.0
    """How far the approach axis may leave that of the poses [rad]."""
    s: Array | None = None
    """(N,) positions of the part at the poses, where they move it [rad or m]."""
    unit: str = "rad"
    """Of these."""

    @property
    def share(self) -> float:
        """See `Lost`."""
        return self.path.reached_s / max(1, len(self.poses) - 1)

    def blocked(self) -> Blocked:
        """See `Lost`."""
        reason = self.path.reason
        return Blocked(self.stage, f"{self.what}: {reason}", self._evidence(self.path.reached_s, reason))

    def explained(self) -> Blocked:
        """See `Lost`."""
        found = _end(self.arm, self._rows_at, self.path, 0.0)
        if found is None:
            return self.blocked()
        reason = _reason(found)
        evidence = self._evidence(found.reached, reason)
        far = f"it gets {evidence['reached_m']:.3f} of {evidence['way_m']:.3f} m far"
        if self.s is not None:
            at = float(np.interp(found.reached, np.arange(len(self.s)), self.s))
            far = f"the part gets to {at:.3f} of {self.s[-1]:.3f} {self.unit}"
            evidence.update(reached_s=at, target_s=float(self.s[-1]))
        return Blocked(self.stage, f"{self.what}: {far}, {reason}", {**evidence, **_of_end(found)})

    def _evidence(self, count: float, reason: str) -> dict[str, Any]:
        p = np.array([pose.p for pose in self.poses])  # (N, 3)
        along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(p, axis=0), axis=1))])
        reached = float(np.interp(count, np.arange(len(along)), along))
        return {"reached_m": reached, "way_m": float(along[-1]), "reason": reason}

    def _rows_at(self, s: float) -> Waypoints:
        rows = on_poses(self.arm, self.poses, tilt_rad=self.tilt_rad)
        i = min(int(s), len(self.poses) - 2)

        def between(values: Array) -> Array:
            blend: Array = (1.0 - (s - i)) * values[i] + (s - i) * values[i + 1]
            return blend[None]

        def turned(values: Array) -> Array:
            blend = between(values)
            return blend / float(np.linalg.norm(blend))

        return replace(rows, points=between(rows.points), held=turned(rows.held), approach=turned(rows.approach))


@dataclass(frozen=True)
class LostToCollision:
    """A path along the joint of the part on which something is in the way."""

    clearance: Clearance
    """The checks, with their checker still in the scene that was planned in."""
    scene: PlanningScene
    """The object at the start."""
    path: PathSolution
    """The path."""
    hit: Blocked
    """A collision somewhere on it."""

    @property
    def share(self) -> float:
        """See `Lost`: it was found to its end; where it collides first is not known before it is explained."""
        return 1.0

    def blocked(self) -> Blocked:
        """See `Lost`."""
        return self.hit

    def explained(self) -> Blocked:
        """See `Lost`: the first waypoint with a collision, one query each."""
        q, s = self.path.q, self.path.s
        for k in range(1, len(s)):
            hit = self.clearance.follow(q[k - 1 : k + 1], s[k - 1 : k + 1])
            if hit is not None:
                pair = hit.evidence["pair"]
                evidence = {
                    **hit.evidence,
                    "s0": float(s[0]),
                    "reached_s": float(s[k - 1]),
                    "target_s": float(s[-1]),
                    "unit": _unit(self.scene),
                }
                message = f"{_led(self.scene, float(s[k - 1]), float(s[-1]))}, then {pair[0]} meets {pair[1]}"
                return Blocked(hit.stage, message, evidence)
        return self.hit


def _unit(scene: PlanningScene) -> str:
    return "m" if scene.joint.prismatic else "rad"


def _led(scene: PlanningScene, s: float, target: float) -> str:
    """How far the part is led, in its unit and in degrees."""
    way = f"the part can be led from {scene.s:.3f} to {s:.3f} of {target:.3f} {_unit(scene)} only"
    degrees = [f"{math.degrees(v):.1f}" for v in (scene.s, s, target)]
    return way if scene.joint.prismatic else f"{way} ({degrees[0]} to {degrees[1]} of {degrees[2]} degrees)"


def _end(arm: ArmModel, rows_at: Callable[[float], Waypoints], path: PathSolution, s_start: float) -> PathEnd | None:
    """The exact end of a path, led on from its last waypoint that holds exactly."""
    last = int(np.argmin(np.abs(path.s - path.reached_s)))
    while last > 0 and not holds_at(arm, rows_at(float(path.s[last])), path.q[last]):
        last -= 1
    start, step = float(path.s[last]) if last else s_start, float(np.abs(np.diff(path.s)).max(initial=0.0))
    if step == 0.0:
        return None
    return path_end(arm, rows_at, path.q[last], start, float(path.s[-1]), step)


def _reason(end: PathEnd) -> str:
    *first, last = end.stopped_by
    return f"stopped by {', '.join(first)} and {last}" if first else f"stopped by {last}"


def _of_end(end: PathEnd) -> dict[str, Any]:
    return {
        "stopped_by": list(end.stopped_by),
        "stopped_by_kinds": list(end.kinds),
        "q": [float(v) for v in end.q],
    }
