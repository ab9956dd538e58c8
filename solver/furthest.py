"""Remembers the candidate that came furthest, for the diagnosis of a plan that does not exist."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from solver.clearance import Blocked
from solver.diagnosis import Diagnosis
from solver.path import PathSolution
from solver.path_end import PathEnd, path_end, path_evidence
from solver.path_rows import Grasp, Waypoints, on_part, part_motions
from solver.scene import ArmModel, PlanningScene

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


@dataclass(frozen=True)
class LostPath:
    """A path of the part that was lost, with all that it takes to say later where and why."""

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
    def unit(self) -> str:
        """Of the part's joint."""
        return "m" if self.scene.joint.prismatic else "rad"

    @property
    def share(self) -> float:
        """How much of the way the search came."""
        s0 = self.scene.s
        return (self.path.reached_s - s0) / (self.target_s - s0) if self.target_s != s0 else 0.0

    def blocked(self) -> Blocked:
        """In the words of the search alone."""
        s0, reached = self.scene.s, self.path.reached_s
        return Blocked(
            "path",
            f"{self._led_to(reached)}, then {self.path.reason}",
            {"s0": s0, "reached_s": reached, "target_s": self.target_s, "unit": self.unit, "reason": self.path.reason},
        )

    def explained(self) -> Blocked:
        """The same with the exact end and what stops it there."""
        last = int(np.argmin(np.abs(self.path.s - self.path.reached_s)))
        rest = self.path.s[last + 1 :]
        plain = self.blocked()
        if len(rest) == 0:
            return plain
        end = path_end(self.arm, self._rows_at, self.path.q[last], float(self.path.s[last]), rest.tolist())
        if end is None:
            evidence = {**plain.evidence, "reached_by_elastic": self.target_s}
            return Blocked("path", f"{plain.message} (a slower search can lead it on)", evidence)
        evidence = {
            **path_evidence(end, s0=self.scene.s, target_s=self.target_s, unit=self.unit),
            "reason": f"stopped by {' and '.join(end.stopped_by)}",
            "slip": self.grasp.slip.mode.value,
        }
        return Blocked("path", f"{self._led_to(end.reached)}, stopped by {_what(end)}", evidence)

    def _led_to(self, s: float) -> str:
        s0, target, mode = self.scene.s, self.target_s, self.grasp.slip.mode.value
        way = f"the part can be led from {s0:.3f} to {s:.3f} of {target:.3f} {self.unit} only"
        degrees = (
            ""
            if self.unit == "m"
            else f" ({math.degrees(s0):.1f} to {math.degrees(s):.1f} of {math.degrees(target):.1f} degrees)"
        )
        return f"{way}{degrees} (hand {mode} on the part)"

    def _rows_at(self, s: float) -> Waypoints:
        R0, p0 = self.arm.kinematics.fk_batch(self.path.q[:1])
        moves = part_motions(self.scene, np.array([self.scene.s, s]))
        return on_part(self.arm, self.scene, R0[0], p0[0], *moves, self.grasp)


def _what(end: PathEnd) -> str:
    return " and ".join(end.stopped_by)


class Furthest:
    """Takes every failure of a candidate and keeps that of the one that came furthest."""

    def __init__(self) -> None:
        self._kept = Blocked("goal", "")
        self._lost: LostPath | None = None
        self._progress = -1.0
        self._tally: Counter[str] = Counter()

    def add(self, blocked: Blocked, *, progress: float = 0.0, lost: LostPath | None = None) -> None:
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

    def add_path(self, lost: LostPath) -> float:
        """Takes notice of a path that was lost; returns the share of the way that it went."""
        self.add(lost.blocked(), progress=lost.share, lost=lost)
        return lost.share

    def diagnosis(self, goals: int) -> Diagnosis:
        """Why no goal could be carried out.

        Args:
            goals: How many goals met the constraints.
        """
        kept = self._kept if self._lost is None else self._lost.explained()
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
