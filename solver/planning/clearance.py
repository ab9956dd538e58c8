"""Collision checks of a plan: at contact, on the approach, while the part moves, and on the retreat."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unlatch.simcore.geometry import Pose
from unlatch.solver.collision import Collision, CollisionChecker
from unlatch.solver.planning.motion import RESOLUTION_RAD

Array = np.ndarray

_TOUCH_M = 0.038
"""Within this distance of the contact pose the fingers may touch the part: a bar is still between them."""


@dataclass(frozen=True)
class StageFailure:
    """Why a candidate failed in one stage of the plan."""

    stage: str
    message: str
    """In words: where, and which two links."""
    evidence: dict[str, Any] = field(default_factory=dict)
    """The pair, its distance, where, and the joint position."""


class Clearance:
    """Collision checks of one planning problem; each stops at the first hit."""

    def __init__(
        self,
        checker: CollisionChecker | None,
        *,
        contact_links: Sequence[str],
        s0: float,
        gripper_m: float,
        held_gripper_m: float,
    ) -> None:
        """Stores the checker (None = no obstacles), the links that the fingers may touch from contact on, the joint
        position s0 of the part before it moves [rad or m], and the openings of the free and the holding gripper.
        """
        self.queries = 0
        self._checker = checker
        self._contact_links = contact_links
        self._s0 = s0
        self._gripper_m = gripper_m
        self._held_gripper_m = held_gripper_m

    def contact(self, q: Array) -> StageFailure | None:
        """Checks the contact pose at joints q (n,) [rad]."""
        with self._contact_allowed():
            return self._check("contact", "at contact", q, self._s0, self._gripper_m)

    def approach(self, q: Array, poses: Sequence[Pose]) -> StageFailure | None:
        """Checks the approach, joints (A, n) [rad] and hand poses, base frame, from the contact pose (not checked) back
        to the farthest pre-grasp.
        """
        apart = np.array([_pose_distance(T, poses[0]) for T in poses])
        return self._check_backwards("approach", "on the approach", q, apart, self._s0)

    def reach(self, q: Array) -> StageFailure | None:
        """Checks the joints (R, n) [rad] from the goal (not checked) to a later contact pose; the fingers may touch the
        part.
        """
        with self._contact_allowed():
            for share, q_here in _ordered_points(q, reversed_order=False):
                del share
                where = "on the way from the goal to contact"
                blocked = self._check("approach", where, q_here, self._s0, self._gripper_m)
                if blocked is not None:
                    return blocked
        return None

    def follow(self, q: Array, s: Array) -> StageFailure | None:
        """Checks the joints (W, n) [rad] while the part moves through positions (W,) [rad or m]; the first row, at
        contact, is not checked.
        """
        count = len(q)
        waypoints = [(float(i), q[i]) for i in sorted(range(1, count), key=lambda k: (-_spread(k, count), k))]
        with self._contact_allowed():
            for at, q_here in [*waypoints, *_inner(q)]:
                s_here = float(np.interp(at, np.arange(count), s))
                where = f"while the part moves, at joint position {s_here:.3f}"
                blocked = self._check("follow", where, q_here, s_here, self._held_gripper_m)
                if blocked is not None:
                    return blocked
        return None

    def retreat(self, q: Array, poses: Sequence[Pose], s: float) -> StageFailure | None:
        """Checks the retreat, joints (R, n) [rad] and hand poses, base frame, from where the part was left at position
        s [rad or m] (not checked).
        """
        apart = np.array([_pose_distance(T, poses[0]) for T in poses])
        return self._check_backwards("retreat", "on the retreat", q, apart, s)

    def _check_backwards(self, stage: str, where: str, q: Array, apart: Array, s: float) -> StageFailure | None:
        """Checks a path that starts at contact, its far end first; near contact the fingers may touch the part."""
        for at, q_here in _ordered_points(q, reversed_order=True):
            near = float(np.interp(at, np.arange(len(apart)), apart)) <= _TOUCH_M
            with self._contact_allowed() if near else nullcontext():
                blocked = self._check(stage, where, q_here, s, self._gripper_m)
            if blocked is not None:
                return blocked
        return None

    def _contact_allowed(self) -> Any:
        return nullcontext() if self._checker is None else self._checker.allow(self._contact_links)

    def _check(self, stage: str, where: str, q: Array, s: float, gripper: float) -> StageFailure | None:
        if self._checker is None:
            return None
        self.queries += 1
        hit = self._checker.first_collision(q, s=s, gripper=gripper)
        if hit is None:
            return None
        return StageFailure(stage, f"{where} {hit.link_a} meets {hit.link_b}", collision_evidence(hit, s=s))


def collision_evidence(hit: Collision, *, s: float) -> dict[str, Any]:
    """Returns a collision as plain values, with the joint position of the part [rad or m]."""
    return {
        "pair": [hit.link_a, hit.link_b],
        "distance_m": float(hit.distance_m),
        "where": [float(v) for v in hit.where],
        "s": s,
    }


def _ordered_points(q: Array, *, reversed_order: bool) -> list[tuple[float, Array]]:
    """Returns the waypoints after the first, then points between them, each with its fractional row number."""
    rows = range(1, len(q))
    return [(float(i), q[i]) for i in (reversed(rows) if reversed_order else rows)] + _inner(q)


def _inner(q: Array) -> list[tuple[float, Array]]:
    """Configurations between waypoints, so many that neighbours are at most `RESOLUTION_RAD` apart."""
    inner = []
    for i in range(len(q) - 1):
        count = math.ceil(float(np.linalg.norm(q[i + 1] - q[i])) / RESOLUTION_RAD - 1e-9)
        inner += [(i + k / count, q[i] + k / count * (q[i + 1] - q[i])) for k in range(1, count)]
    return inner


def _pose_distance(a: Pose, b: Pose) -> float:
    return float(np.linalg.norm(a.p - b.p))


def _spread(k: int, count: int) -> int:
    """The end first, then the halves: an early hit saves the other queries."""
    return 64 if k == count - 1 else (k & -k).bit_length()
