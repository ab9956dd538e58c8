"""Free motions between joints, and the collision checks of every stage of a plan."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from itertools import pairwise, starmap
from typing import Any

import numpy as np

from unlatch.simcore.geometry import Pose
from unlatch.solver.plan import Carrying, PlanRequest
from unlatch.solver.scene import ArmModel, Array, CarryingChecker, Collision, CollisionChecker, describe_collision

RESOLUTION_RAD = 0.05
"""Largest joint distance (norm) between two collision queries along an edge [rad]."""
FINE_RESOLUTION_RAD = RESOLUTION_RAD / 4
"""The same near obstacles. At the coarse resolution a stretched arm moves its hand by up to 4 cm between queries; a
board is 15 mm thick."""
_NEAR_M = 0.018
"""If an obstacle is nearer than this to a checked configuration, the path around it is checked more finely [m]."""
_CLEARANCES_M = (0.012, 0.004)
"""Clearances that a path around an obstacle keeps if possible: a timed path swings out of its corners by up to 5 mrad
per joint, and the arm lags by half as much [m]."""
_LEAST_M = 0.0025
"""Smallest clearance of a timed motion [m]."""
_NO_CLEARANCE = ((None, RESOLUTION_RAD), (None, FINE_RESOLUTION_RAD))
_BLEND_RAD = 0.3
"""Distance from a corner at which its rounding starts [rad]."""
_BLENDS = 4
"""Number of roundings tried per corner, each 0.4 times as wide as the last."""
_ROW_SPACING_RAD = 0.1
"""Largest distance between two rows of a straight part of a path around obstacles [rad]."""
_SHORTCUTS = 40
_STUB_RAD = 0.05
"""Corners nearer than this are merged if the result is free [rad]."""


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


@dataclass
class _CheckedSpace:
    """The checker at one state of the object and the gripper, with a budget."""

    checker: CollisionChecker
    s: float | None
    gripper: float | None
    budget: int
    queries: int = 0
    resolution: float = RESOLUTION_RAD
    clearance_m: float | None = None

    def check(self, q: Array) -> Collision | None:
        self.queries += 1
        return self.checker.deepest_collision(q, s=self.s, gripper=self.gripper, clearance_m=self.clearance_m)

    @property
    def spent(self) -> bool:
        return self.queries >= self.budget

    def check_all(self, configurations: Iterable[Array]) -> Collision | None:
        """Returns the first collision; the configurations after it are not checked."""
        hits = (self.check(q) for q in configurations)
        return next((hit for hit in hits if hit is not None), None)

    def check_edge(self, start: Array, end: Array) -> Collision | None:
        """Returns the first collision strictly between two configurations, halves first."""
        return self.check_all(_inner_points(start, end, self.resolution))

    def check_closely(self, path: Array) -> Collision | None:
        """Returns the first collision between checked configurations of a free path, where obstacles are near."""
        if self.resolution <= FINE_RESOLUTION_RAD:
            return None
        points = _sample_path(path, self.resolution)
        near = [self._is_near(q) for q in points]
        edges = [edge for edge, about in zip(pairwise(points), pairwise(near), strict=True) if any(about)]
        return self.check_all(q for edge in edges for q in _inner_points(*edge, FINE_RESOLUTION_RAD))

    def _is_near(self, q: Array) -> bool:
        self.queries += 1
        return self.checker.deepest_collision(q, s=self.s, gripper=self.gripper, clearance_m=_NEAR_M) is not None


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
    space = _CheckedSpace(checker, s, gripper, max_queries)
    for q, name in ((goal, "end"), (start, "start")):
        hit = space.check(q)
        if hit is not None:
            return _no_motion(space, hit, f"the {name} of the motion collides: {describe_collision(hit)}")
    bent = _find_bent_path(start, detours, goal, space)
    if bent is not None:
        return MotionResult(True, bent, "via", space.queries)
    hit = space.check_edge(start, goal) or space.check_closely(straight)
    if hit is None:
        return MotionResult(True, straight, "straight", space.queries)
    bent = _find_bent_path(start, vias, goal, space)
    if bent is not None:
        return MotionResult(True, bent, "via", space.queries, blocked_by=hit)
    if straight_only:
        return _no_motion(space, hit, f"the straight way is blocked by {describe_collision(hit)}")
    around = _plan_around(start, goal, space, arm, rng)
    if around is not None:
        return MotionResult(True, around, "rrt_connect", space.queries, blocked_by=hit)
    return _no_motion(space, hit, f"no way around {describe_collision(hit)} in {space.queries} collision queries")


def _find_bent_path(start: Array, vias: Iterable[Array], goal: Array, space: _CheckedSpace) -> Array | None:
    """Returns a (W, n) path with clearance through the first of `vias` that allows one, its corner rounded."""
    space.clearance_m = _CLEARANCES_M[-1]
    for via in vias:
        corners = [start, np.asarray(via, dtype=float), goal]
        blocked = space.check_all(corners) or next(filter(None, starmap(space.check_edge, pairwise(corners))), None)
        if blocked is None:
            path = _round_corners(corners, space)
            if space.check_closely(path) is None:
                break
    else:
        path = None
    space.clearance_m = None
    return path


def is_timed_motion_clear(
    samples: Array, checker: CollisionChecker | None, *, s: float | None, gripper: float | None
) -> tuple[bool, int]:
    """Returns whether timed joints (T, n) [rad] keep clear of everything, and the number of collision queries.

    The joints move in straight lines from sample to sample; s and gripper are as in `plan_motion`.
    """
    if checker is None:
        return True, 0
    points = _sample_path(samples, RESOLUTION_RAD)
    hits = (checker.deepest_collision(q, s=s, gripper=gripper, clearance_m=_LEAST_M) for q in points)
    for number, hit in enumerate(hits):
        if hit is not None:
            return False, number + 1
    return True, len(points)


def _plan_around(
    start: Array, goal: Array, space: _CheckedSpace, arm: ArmModel, rng: np.random.Generator
) -> Array | None:
    """Returns a (W, n) path around the obstacle, with clearance if possible; None if there is none."""
    budget = space.budget
    for clearance_m, resolution in (*((clearance, RESOLUTION_RAD) for clearance in _CLEARANCES_M), *_NO_CLEARANCE):
        space.clearance_m, space.resolution = clearance_m, resolution
        if clearance_m is not None and space.check_all((start, goal)) is not None:
            continue
        space.budget = space.queries + (budget - space.queries) // (1 if clearance_m is None else 2)
        corners = _rrt_connect(start, goal, space, arm, seed=int(rng.integers(1, 2**31 - 1)))
        if corners is not None:
            path = _round_corners(_shortcut_path(corners, space, rng), space)
            if space.check_closely(path) is None:
                return path
    return None


def _no_motion(space: _CheckedSpace, hit: Collision, reason: str) -> MotionResult:
    return MotionResult(False, np.empty((0, 0)), "none", space.queries, blocked_by=hit, reason=reason)


def _inner_points(start: Array, end: Array, resolution: float) -> Array:
    """Returns (K, n) inner points of an edge, in bisection order: an early hit saves the others."""
    count = math.ceil(float(np.linalg.norm(end - start)) / resolution)
    if count < 2:
        return np.empty((0, len(start)))
    order = sorted(range(1, count), key=lambda i: (-((i & -i).bit_length()), i))
    fractions = np.array(order, dtype=float)[:, None] / count
    return start + fractions * (end - start)


def _sample_path(path: Array, resolution: float) -> list[Array]:
    """Returns the rows of a path, and between them as many points as the resolution requires, in order."""
    points = [path[0]]
    for start, end in pairwise(path):
        count = max(1, math.ceil(float(np.linalg.norm(end - start)) / resolution))
        points.extend(start + k / count * (end - start) for k in range(1, count + 1))
    return points


def _rrt_connect(start: Array, goal: Array, space: _CheckedSpace, arm: ArmModel, *, seed: int) -> list[Array] | None:
    import ompl

    ompl.util.setLogLevel(ompl.util.LogLevel.LOG_NONE)  # it warns at each reseed, and reports each solve
    ompl.util.RNG.setSeed(seed)
    n = arm.n_q
    bounds = ompl.base.RealVectorBounds(n)
    low, high = np.minimum(arm.q_lower, np.minimum(start, goal)), np.maximum(arm.q_upper, np.maximum(start, goal))
    for i in range(n):
        bounds.setLow(i, float(low[i]))
        bounds.setHigh(i, float(high[i]))
    states = ompl.base.RealVectorStateSpace(n)
    states.setBounds(bounds)
    information = ompl.base.SpaceInformation(states)

    def is_free(state: object) -> bool:
        # out of budget: nothing is free any more, and the termination condition below ends the search
        return not space.spent and space.check(np.array([state[i] for i in range(n)])) is None  # type: ignore[index]

    information.setStateValidityChecker(is_free)
    information.setStateValidityCheckingResolution(space.resolution / float(np.linalg.norm(high - low)))
    information.setup()
    problem = ompl.base.ProblemDefinition(information)
    first, last = states.allocState(), states.allocState()
    for i in range(n):
        first[i], last[i] = float(start[i]), float(goal[i])
    problem.setStartAndGoalStates(first, last)
    planner = ompl.geometric.RRTConnect(information)
    planner.setRange(0.6)
    planner.setProblemDefinition(problem)
    planner.setup()
    planner.solve(ompl.base.PlannerTerminationCondition(lambda: space.spent))
    if space.spent or not problem.hasExactSolution():
        return None
    path = problem.getSolutionPath()
    corners = [np.array([state[i] for i in range(n)]) for state in path.getStates()]
    corners[0], corners[-1] = start, goal
    return corners


def _shortcut_path(corners: list[Array], space: _CheckedSpace, rng: np.random.Generator) -> list[Array]:
    """Replaces parts of the path by straight edges that are free."""
    path = list(corners)
    for _ in range(_SHORTCUTS):
        if len(path) <= 2 or space.spent:
            break
        i, j = sorted(rng.choice(len(path) - 1, 2, replace=False).tolist())
        a, b = float(rng.uniform()), float(rng.uniform())
        first = path[i] + a * (path[i + 1] - path[i])
        second = path[j] + b * (path[j + 1] - path[j])
        if space.check_edge(first, second) is None and space.check(first) is None and space.check(second) is None:
            path = [*path[: i + 1], first, second, *path[j + 1 :]]
            path = [q for k, q in enumerate(path) if k == 0 or float(np.linalg.norm(q - path[k - 1])) > 1e-6]
            path[0], path[-1] = corners[0], corners[-1]  # the line above may have replaced an end by a point next to it
    k = 1
    while k < len(path) - 1:
        # at a short edge the timed path almost stops, so it is checked even if the budget is spent
        stub = min(float(np.linalg.norm(path[k] - path[i])) for i in (k - 1, k + 1)) < _STUB_RAD
        if (stub or not space.spent) and space.check_edge(path[k - 1], path[k + 1]) is None:
            del path[k]
        else:
            k += 1
    return path


def _round_corners(corners: list[Array], space: _CheckedSpace) -> Array:
    """Returns the dense path with each corner rounded by the widest free arc, or left sharp.

    Straight parts and sharp corners are already checked: if the budget is spent, the corners stay sharp.
    """
    points = [corners[0]]
    for before, corner, after in zip(corners[:-2], corners[1:-1], corners[2:], strict=True):
        arc = _free_arc(before, corner, after, space)
        points += [*_sample_path(np.array([points[-1], arc[0]]), _ROW_SPACING_RAD)[1:-1], *arc]
    points += [*_sample_path(np.array([points[-1], corners[-1]]), _ROW_SPACING_RAD)[1:-1], corners[-1]]
    return np.array(points)


def _free_arc(before: Array, corner: Array, after: Array, space: _CheckedSpace) -> Array:
    """Returns (K, n) points that replace a corner; they and the edges between them are free."""
    blend = _BLEND_RAD
    for _ in range(_BLENDS):
        if space.spent:
            break
        arc = _corner_arc(before, corner, after, blend)
        if space.check_all(arc) is None and all(space.check_edge(a, b) is None for a, b in pairwise(arc)):
            return arc
        blend *= 0.4
    return corner[None]


def _corner_arc(before: Array, corner: Array, after: Array, blend: float) -> Array:
    """Returns (K, n) points of a parabola (quadratic Bezier curve) from `blend` before to `blend` after a corner."""
    to_before, to_after = before - corner, after - corner
    near, far = float(np.linalg.norm(to_before)), float(np.linalg.norm(to_after))
    length = min(blend, 0.45 * near, 0.45 * far)
    if length < 1e-6:
        return corner[None]
    first, last = corner + to_before / near * length, corner + to_after / far * length
    t = np.linspace(0.0, 1.0, 6)[:, None]
    return (1 - t) ** 2 * first + 2 * t * (1 - t) * corner + t * t * last


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
        released_gripper_m: float | None = None,
        carrying: Carrying | None = None,
    ) -> None:
        """Prepares the checks.

        Args:
            checker: Collision checker; None = no obstacles.
            contact_links: Links that the fingers may touch from contact on.
            s0: Joint position of the part before it moves [rad or m].
            gripper_m: Opening of the gripper while it holds nothing [m].
            held_gripper_m: Opening of the gripper while it holds the part [m].
            released_gripper_m: Opening of the gripper on the retreat [m]; None = `gripper_m`.
            carrying: When the hand carries a free object. Where it does so from the start on, the checker is in
                `carried_by_hand` already.
        """
        self.queries = 0
        self._checker = checker
        self._contact_links = contact_links
        self._s0 = s0
        self._gripper_m = gripper_m
        self._held_gripper_m = held_gripper_m
        self._released_gripper_m = gripper_m if released_gripper_m is None else released_gripper_m
        self._carrying = carrying

    def check_contact(self, q: Array) -> StageFailure | None:
        """Checks the contact pose at joints q (n,) [rad]."""
        with self._contact_allowed():
            return self._check("contact", "at contact", q, self._s0, self._gripper_m)

    def check_approach(self, q: Array, poses: Sequence[Pose]) -> StageFailure | None:
        """Checks the approach, joints (A, n) [rad] and hand poses, base frame.

        Both begin at the contact pose (not checked) and end at the farthest pre-grasp.
        """
        return self._check_backwards("approach", "on the approach", q, poses, self._s0)

    def check_reach(self, q: Array) -> StageFailure | None:
        """Checks the joints (R, n) [rad] from the goal (not checked) to a later contact pose.

        The fingers may touch the part.
        """
        where, points = "on the way from the goal to contact", [*q[1:], *(inner for _, inner in _list_inner_poses(q))]
        with self._contact_allowed():
            return _first_failure(self._check("approach", where, each, self._s0, self._gripper_m) for each in points)

    def check_follow(self, q: Array, s: Array) -> StageFailure | None:
        """Checks the joints (W, n) [rad] while the part moves through positions (W,) [rad or m].

        The first row, at contact, is not checked.
        """
        count = len(q)
        waypoints = [(float(i), q[i]) for i in sorted(range(1, count), key=lambda k: (-_bisection_rank(k, count), k))]

        def check(at: float, q_here: Array) -> StageFailure | None:
            s_here = float(np.interp(at, np.arange(count), s))
            where = f"while the part moves, at joint position {s_here:.3f}"
            return self._check("follow", where, q_here, s_here, self._held_gripper_m)

        with self._contact_allowed(), self._taken(q[0]):
            return _first_failure(check(at, q_here) for at, q_here in [*waypoints, *_list_inner_poses(q)])

    def check_retreat(self, q: Array, poses: Sequence[Pose], s: float) -> StageFailure | None:
        """Checks the retreat, joints (R, n) [rad] and hand poses, base frame, away from contact (not checked).

        The part stays at position s [rad or m].
        """
        with self._put_down(q[0]):
            return self._check_backwards("retreat", "on the retreat", q, poses, s, gripper=self._released_gripper_m)

    def _check_backwards(
        self, stage: str, where: str, q: Array, poses: Sequence[Pose], s: float, *, gripper: float | None = None
    ) -> StageFailure | None:
        """Checks a path that starts at contact, its far end first; near contact the fingers may touch the part."""
        distances = [float(np.linalg.norm(T.p - poses[0].p)) for T in poses]

        def check(at: float, q_here: Array) -> StageFailure | None:
            near = float(np.interp(at, np.arange(len(distances)), distances)) <= _TOUCH_M
            with self._contact_allowed() if near else nullcontext():
                return self._check(stage, where, q_here, s, self._gripper_m if gripper is None else gripper)

        waypoints = [(float(i), q[i]) for i in reversed(range(1, len(q)))]
        return _first_failure(check(at, q_here) for at, q_here in [*waypoints, *_list_inner_poses(q)])

    def _taken(self, q: Array) -> Any:
        checker = self._checker
        if self._carrying is Carrying.taken and isinstance(checker, CarryingChecker):
            return checker.carried_from(q)
        return nullcontext()

    def _put_down(self, q: Array) -> Any:
        checker = self._checker
        if self._carrying is Carrying.put and isinstance(checker, CarryingChecker):
            return checker.released_at(q)
        return nullcontext()

    def _contact_allowed(self) -> Any:
        return nullcontext() if self._checker is None else self._checker.allow(self._contact_links)

    def _check(self, stage: str, where: str, q: Array, s: float, gripper: float) -> StageFailure | None:
        if self._checker is None:
            return None
        self.queries += 1
        hit = self._checker.deepest_collision(q, s=s, gripper=gripper)
        if hit is None:
            return None
        return StageFailure(stage, f"{where} {hit.link_a} meets {hit.link_b}", collision_evidence(hit, s=s))


def carried_by_hand(request: PlanRequest, checker: CollisionChecker | None) -> AbstractContextManager[object]:
    """Returns a context in which the object that the hand has at the start of a request moves with it."""
    if request.carrying in (Carrying.put, Carrying.throughout) and isinstance(checker, CarryingChecker):
        return checker.carried_from(request.q_current, max_tilt_rad=request.carried_tilt_rad)
    return nullcontext()


def collision_evidence(hit: Collision, *, s: float) -> dict[str, Any]:
    """Returns a collision as plain values, with the joint position of the part [rad or m]."""
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
