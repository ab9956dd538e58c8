"""Free motions between joints, and the collision checks of every stage of a plan."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from unlatch.simcore.geometry import Pose
from unlatch.solver.plan import Carrying, PlanRequest
from unlatch.solver.scene import (
    RESOLUTION_RAD,
    ArmModel,
    Array,
    CarryingChecker,
    CheckedSpace,
    Collision,
    CollisionChecker,
    JointGeometry,
    describe_collision,
    sample_path,
)

LEAST_CLEARANCE_M = 0.0025
"""Smallest clearance of a timed motion [m]."""


@dataclass(frozen=True)
class MotionResult:
    """A free motion, or why there is none."""

    found: bool
    q: Array
    """(W, n) path from start to goal [rad]; empty where none was found.

    Every configuration on the straight lines between its rows is within half of `RESOLUTION_RAD` of one that was
    checked and found free; where anything is near, within half of `FINE_RESOLUTION_RAD`.
    """
    method: str
    """`straight`, `via`, `rrt_connect` or `none`."""
    queries: int
    """Collision queries used."""
    blocked_by: Collision | None = None
    """What the straight line collides with, even if a path around it is found."""
    reason: str = ""
    """Why no motion is found."""


def plan_motion(
    q_start: Array,
    q_goal: Array,
    checker: CollisionChecker | None,
    *,
    arm: ArmModel,
    rng: np.random.Generator,
    s: float | None = None,
    gripper: float | None = None,
    max_queries: int = 6000,
    straight_only: bool = False,
    detours: Iterable[Array] = (),
    vias: Iterable[Array] = (),
) -> MotionResult:
    """Plans a free motion: through one of `detours`, else straight, else through one of `vias`, else by a search.

    Args:
        q_start: (n,) joints at the start [rad].
        q_goal: (n,) joints at the end [rad].
        checker: Collision checker in the state during this motion; None = no obstacles.
        arm: Its joint limits bound the search.
        rng: Seeds the planner.
        s: Joint position of the object [rad or m].
        gripper: Opening between the pads [m].
        max_queries: Budget of collision queries. Each search with clearance gets half of what is left. Checks that have
            started finish beyond it.
        straight_only: Whether to stop if neither the straight line nor a way through one of `vias` is free.
        detours: Joints (n,) to go through even if the straight line is free, the preferred ones first [rad].
        vias: The same, but only where the straight line is blocked.
    """
    start, goal = np.asarray(q_start, dtype=float), np.asarray(q_goal, dtype=float)
    straight = np.vstack([start, goal])
    if checker is None:
        return MotionResult(True, straight, "straight", 0)
    space = CheckedSpace(checker, s, gripper, max_queries)
    for q, name in ((goal, "end"), (start, "start")):
        hit = space.check(q)
        if hit is not None:
            return _no_motion(space, hit, f"the {name} of the motion collides: {describe_collision(hit)}")
    if detours != ():
        from unlatch.solver.motion_search import find_bent_path

        bent = find_bent_path(start, detours, goal, space)
        if bent is not None:
            return MotionResult(True, bent, "via", space.queries)
    hit = space.check_edge(start, goal) or space.check_closely(straight)
    if hit is None:
        return MotionResult(True, straight, "straight", space.queries)
    from unlatch.solver.motion_search import find_bent_path, plan_around

    bent = find_bent_path(start, vias, goal, space)
    if bent is not None:
        return MotionResult(True, bent, "via", space.queries, blocked_by=hit)
    if straight_only:
        return _no_motion(space, hit, f"the straight way is blocked by {describe_collision(hit)}")
    around = plan_around(start, goal, space, arm, rng)
    if around is not None:
        return MotionResult(True, around, "rrt_connect", space.queries, blocked_by=hit)
    return _no_motion(space, hit, f"no way around {describe_collision(hit)} in {space.queries} collision queries")


def is_timed_motion_clear(
    samples: Array,
    checker: CollisionChecker | None,
    *,
    s: float | None,
    gripper: float | None,
    clearance_m: float = LEAST_CLEARANCE_M,
) -> tuple[bool, int]:
    """Returns whether timed joints (T, n) [rad] keep clear of everything, and the number of collision queries.

    The joints move in straight lines from sample to sample; s and gripper are as in `plan_motion`.
    """
    if checker is None:
        return True, 0
    points = sample_path(samples, RESOLUTION_RAD)
    hits = (checker.deepest_collision(q, s=s, gripper=gripper, clearance_m=clearance_m) for q in points)
    for number, hit in enumerate(hits):
        if hit is not None:
            return False, number + 1
    return True, len(points)


def _no_motion(space: CheckedSpace, hit: Collision, reason: str) -> MotionResult:
    return MotionResult(False, np.empty((0, 0)), "none", space.queries, blocked_by=hit, reason=reason)


_TOUCH_M = 0.038
"""Within this distance of the contact pose the fingers may touch the part, since a bar is between them [m]."""


@dataclass(frozen=True)
class StageFailure:
    """Why a candidate failed in one stage of the plan."""

    stage: str
    message: str
    """The reason in words; for a collision, where it is and between which two links."""
    evidence: dict[str, Any] = field(default_factory=dict)
    """Numbers and names behind the message; for a collision the pair, its distance, where, and the joint position."""


@dataclass
class Clearance:
    """Collision checks of one planning problem; each stops at the first hit."""

    checker: CollisionChecker | None
    """Collision checker; None = no obstacles."""
    contact_links: Sequence[str]
    """Links that the fingers may touch from contact on."""
    s0: float
    """Joint position of the part before it moves [rad or m]."""
    gripper_m: float
    """Opening of the gripper while it holds nothing [m]."""
    held_gripper_m: float
    """Opening of the gripper while it holds the part [m]."""
    released_gripper_m: float | None = None
    """Opening of the gripper on the retreat [m]; None = `gripper_m`."""
    carrying: Carrying | None = None
    """When the hand carries a free object; from the start on, the checker is in `carried_by_hand` already."""
    joint: JointGeometry | None = None
    """The joint of the part, which tells a message what moves; None = the part."""
    queries: int = 0
    """Collision queries so far."""

    def check_contact(self, q: Array) -> StageFailure | None:
        """Checks the contact pose at joints q (n,) [rad]."""
        with self._contact_allowed():
            return self._check("contact", "at contact", q, self.s0, self.gripper_m)

    def check_approach(self, q: Array, poses: Sequence[Pose]) -> StageFailure | None:
        """Checks the approach, joints (A, n) [rad] and hand poses, base frame.

        Both begin at the contact pose (not checked) and end at the farthest pre-grasp.
        """
        return self._check_backwards("approach", "on the approach", q, poses, self.s0)

    def check_reach(self, q: Array) -> StageFailure | None:
        """Checks the joints (R, n) [rad] from the goal (not checked) to a later contact pose.

        The fingers may touch the part.
        """
        where, points = "on the way from the goal to contact", [*q[1:], *(inner for _, inner in _list_inner_poses(q))]
        with self._contact_allowed():
            return _first_failure(self._check("approach", where, each, self.s0, self.gripper_m) for each in points)

    def check_follow(self, q: Array, s: Array) -> StageFailure | None:
        """Checks the joints (W, n) [rad] while the part moves through positions (W,) [rad or m].

        The first row, at contact, is not checked.
        """
        count = len(q)
        waypoints = [(float(i), q[i]) for i in sorted(range(1, count), key=lambda k: (-_bisection_rank(k, count), k))]

        def check(at: float, q_here: Array) -> StageFailure | None:
            s_here = float(np.interp(at, np.arange(count), s))
            hit = self._check("follow", "", q_here, s_here, self.held_gripper_m)
            if hit is None:
                return None
            what, place = self._find_moving(s_here, s)
            message = f"while {what} moves, at joint position {place:.3f}{hit.message}"
            return replace(hit, message=message, evidence={**hit.evidence, "what": what, "reached_s": place})

        with self._contact_allowed(), self._carried(Carrying.taken, q[0]):
            return _first_failure(check(at, q_here) for at, q_here in [*waypoints, *_list_inner_poses(q)])

    def check_retreat(self, q: Array, poses: Sequence[Pose], s: float) -> StageFailure | None:
        """Checks the retreat, joints (R, n) [rad] and hand poses, base frame, away from contact (not checked).

        The part stays at position s [rad or m].
        """
        with self._carried(Carrying.put, q[0]):
            return self._check_backwards("retreat", "on the retreat", q, poses, s, gripper=self.released_gripper_m)

    def _check_backwards(
        self, stage: str, where: str, q: Array, poses: Sequence[Pose], s: float, *, gripper: float | None = None
    ) -> StageFailure | None:
        """Checks a path that starts at contact, its far end first; near contact the fingers may touch the part."""
        distances = [float(np.linalg.norm(T.p - poses[0].p)) for T in poses]

        def check(at: float, q_here: Array) -> StageFailure | None:
            near = float(np.interp(at, np.arange(len(distances)), distances)) <= _TOUCH_M
            with self._contact_allowed() if near else nullcontext():
                return self._check(stage, where, q_here, s, self.gripper_m if gripper is None else gripper)

        waypoints = [(float(i), q[i]) for i in reversed(range(1, len(q)))]
        return _first_failure(check(at, q_here) for at, q_here in [*waypoints, *_list_inner_poses(q)])

    def _carried(self, when: Carrying, q: Array) -> Any:
        """Returns a context in which the object is taken or put down at joints q (n,) [rad], if it is so then."""
        checker = self.checker
        if self.carrying is not when or not isinstance(checker, CarryingChecker):
            return nullcontext()
        return checker.carried_from(q) if when is Carrying.taken else checker.released_at(q)

    def _contact_allowed(self) -> Any:
        return nullcontext() if self.checker is None else self.checker.allow(self.contact_links)

    def _find_moving(self, s_here: float, s: Array) -> tuple[str, float]:
        """Returns what moves at a place of a way (W,), and its joint position there [rad or m]."""
        if self.joint is None:
            return "the part", s_here
        way = self.joint.progress(s_here, float(s[-1]))
        return way.what, way.reached

    def _check(self, stage: str, where: str, q: Array, s: float, gripper: float) -> StageFailure | None:
        if self.checker is None:
            return None
        self.queries += 1
        hit = self.checker.deepest_collision(q, s=s, gripper=gripper)
        if hit is None:
            return None
        return StageFailure(stage, f"{where} {hit.link_a} meets {hit.link_b}", collision_evidence(hit, s=s))


def carried_by_hand(request: PlanRequest, checker: CollisionChecker | None) -> AbstractContextManager[object]:
    """Returns a context in which the object that the hand has at the start of a request moves with it."""
    if request.carrying in (Carrying.put, Carrying.throughout) and isinstance(checker, CarryingChecker):
        return checker.carried_from(request.q_current, max_tilt_rad=request.carried_tilt_rad)
    return nullcontext()


def collision_evidence(hit: Collision, *, s: float) -> dict[str, Any]:
    """Returns a collision as plain values, with the place on the way of the part [rad or m]."""
    return {
        "pair": [hit.link_a, hit.link_b],
        "distance_m": float(hit.distance_m),
        "where": [float(v) for v in hit.where],
        "s": s,
    }


def _first_failure(checks: Iterable[StageFailure | None]) -> StageFailure | None:
    """Returns the first failure; the checks after it are not made."""
    return next((failure for failure in checks if failure is not None), None)


def _list_inner_poses(q: Array) -> list[tuple[float, Array]]:
    """Returns points between the waypoints (W, n), each with its fractional row number.

    There are so many that neighbours are at most `RESOLUTION_RAD` apart.
    """
    inner = []
    for i in range(len(q) - 1):
        count = math.ceil(float(np.linalg.norm(q[i + 1] - q[i])) / RESOLUTION_RAD - 1e-9)
        inner += [(i + k / count, q[i] + k / count * (q[i + 1] - q[i])) for k in range(1, count)]
    return inner


def _bisection_rank(k: int, count: int) -> int:
    """Returns the rank of row k; higher ranks are checked first: the end, the middle, the quarters, and so on."""
    return 64 if k == count - 1 else (k & -k).bit_length()
