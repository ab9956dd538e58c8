"""Free motion between two configurations: the straight joint line, or OMPL's RRT-Connect where it is blocked.

Budgets are counts of collision queries, never seconds; the planner is built anew with a seed from the caller's
generator, so that a plan is a function of its inputs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from solver.collision import Collision, CollisionChecker, describe
from solver.scene import ArmModel

Array = np.ndarray

RESOLUTION_RAD = 0.05
"""Largest joint distance (norm) between two collision queries along an edge [rad]."""
_BLEND_RAD = 0.3
"""Distance from a corner at which its rounding begins [rad]."""
_BLENDS = 4
"""Roundings of a corner that are tried, each 0.4 times as wide as the last."""
_SHORTCUTS = 40
_STUB_RAD = 0.05
"""Corners nearer to each other are made one where that is free [rad]."""


@dataclass(frozen=True)
class MotionResult:
    """A free motion, or why there is none."""

    found: bool
    q: Array
    """(W, n) path from start to goal [rad]; empty where none was found.

    Every configuration on the straight lines between its rows is within half of `RESOLUTION_RAD` of one that was
    checked and found free.
    """
    method: str
    """`straight`, `rrt_connect` or `none`."""
    queries: int
    """Collision queries used."""
    blocked_by: Collision | None = None
    """What the straight line runs into, also where a way around it was found."""
    reason: str = ""
    """Why there is no motion."""


@dataclass
class _Space:
    """The checker at one state of the object and the gripper, with a budget."""

    checker: CollisionChecker
    s: float | None
    gripper: float | None
    budget: int
    queries: int = 0

    def collision(self, q: Array) -> Collision | None:
        self.queries += 1
        return self.checker.first_collision(q, s=self.s, gripper=self.gripper)

    @property
    def spent(self) -> bool:
        return self.queries >= self.budget

    def edge(self, start: Array, end: Array) -> Collision | None:
        """The first collision found strictly between two configurations, halves first."""
        for q in _between(start, end):
            hit = self.collision(q)
            if hit is not None:
                return hit
        return None


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
) -> MotionResult:
    """Plans a free motion.

    Args:
        q_start: (n,) joints at the start [rad].
        q_goal: (n,) joints at the end [rad].
        checker: Collision checker in the state that holds during this motion; None = nothing is in the way.
        arm: Its joint limits bound the search.
        rng: Seeds the planner.
        s: Joint position of the object [rad or m].
        gripper: Opening between the pads [m].
        max_queries: Budget of collision queries; what was begun is checked to its end, and stubs are cut beyond it.
        straight_only: Whether to give up where the straight line is blocked.
    """
    start, goal = np.asarray(q_start, dtype=float), np.asarray(q_goal, dtype=float)
    straight = np.vstack([start, goal])
    if checker is None:
        return MotionResult(True, straight, "straight", 0)
    space = _Space(checker, s, gripper, max_queries)
    for q, name in ((goal, "end"), (start, "start")):
        hit = space.collision(q)
        if hit is not None:
            return _none(space, hit, f"the {name} of the motion collides: {describe(hit)}")
    hit = space.edge(start, goal)
    if hit is None:
        return MotionResult(True, straight, "straight", space.queries)
    if straight_only:
        return _none(space, hit, f"the straight way is blocked by {describe(hit)}")
    corners = _rrt_connect(start, goal, space, arm, seed=int(rng.integers(1, 2**31 - 1)))
    if corners is None:
        return _none(space, hit, f"no way around {describe(hit)} in {space.queries} collision queries")
    corners = _shortcut(corners, space, rng)
    path = _rounded_path(corners, space)
    return MotionResult(True, path, "rrt_connect", space.queries, blocked_by=hit)


def _none(space: _Space, hit: Collision, reason: str) -> MotionResult:
    return MotionResult(False, np.empty((0, 0)), "none", space.queries, blocked_by=hit, reason=reason)


def _between(start: Array, end: Array) -> Array:
    """(K, n) inner points of an edge, spread first: an early hit saves the others."""
    count = math.ceil(float(np.linalg.norm(end - start)) / RESOLUTION_RAD)
    if count < 2:
        return np.empty((0, len(start)))
    order = sorted(range(1, count), key=lambda i: (-((i & -i).bit_length()), i))
    fractions = np.array(order, dtype=float)[:, None] / count
    inner: Array = start + fractions * (end - start)
    return inner


def _rrt_connect(start: Array, goal: Array, space: _Space, arm: ArmModel, *, seed: int) -> list[Array] | None:
    from ompl import base, geometric
    from ompl import util as ompl_util

    ompl_util.setLogLevel(ompl_util.LogLevel.LOG_NONE)  # it warns at each reseed, and reports each solve
    ompl_util.RNG.setSeed(seed)
    n = arm.n_q
    bounds = base.RealVectorBounds(n)
    low, high = np.minimum(arm.q_lower, np.minimum(start, goal)), np.maximum(arm.q_upper, np.maximum(start, goal))
    for i in range(n):
        bounds.setLow(i, float(low[i]))
        bounds.setHigh(i, float(high[i]))
    states = base.RealVectorStateSpace(n)
    states.setBounds(bounds)
    information = base.SpaceInformation(states)

    def is_free(state: object) -> bool:
        # out of budget: nothing is free any more, and the termination condition below ends the search
        return not space.spent and space.collision(np.array([state[i] for i in range(n)])) is None  # type: ignore[index]

    information.setStateValidityChecker(is_free)
    information.setStateValidityCheckingResolution(RESOLUTION_RAD / float(np.linalg.norm(high - low)))
    information.setup()
    problem = base.ProblemDefinition(information)
    first, last = states.allocState(), states.allocState()
    for i in range(n):
        first[i], last[i] = float(start[i]), float(goal[i])
    problem.setStartAndGoalStates(first, last)
    planner = geometric.RRTConnect(information)
    planner.setRange(0.6)
    planner.setProblemDefinition(problem)
    planner.setup()
    planner.solve(base.PlannerTerminationCondition(lambda: space.spent))
    if space.spent or not problem.hasExactSolution():
        return None
    path = problem.getSolutionPath()
    corners = [np.array([state[i] for i in range(n)]) for state in path.getStates()]
    corners[0], corners[-1] = start, goal
    return corners


def _shortcut(corners: list[Array], space: _Space, rng: np.random.Generator) -> list[Array]:
    """Replaces stretches by straight edges where those are free."""
    path = list(corners)
    for _ in range(_SHORTCUTS):
        if len(path) <= 2 or space.spent:
            break
        i, j = sorted(rng.choice(len(path) - 1, 2, replace=False).tolist())
        a, b = float(rng.uniform()), float(rng.uniform())
        first = path[i] + a * (path[i + 1] - path[i])
        second = path[j] + b * (path[j + 1] - path[j])
        if space.edge(first, second) is None and space.collision(first) is None and space.collision(second) is None:
            path = [*path[: i + 1], first, second, *path[j + 1 :]]
            path = [q for k, q in enumerate(path) if k == 0 or float(np.linalg.norm(q - path[k - 1])) > 1e-6]
            path[0], path[-1] = corners[0], corners[-1]  # a point next to an end may have taken its place
    k = 1
    while k < len(path) - 1:
        # a stub bends the timed path so sharply that the arm all but stops: worth a look beyond the budget
        stub = min(float(np.linalg.norm(path[k] - path[i])) for i in (k - 1, k + 1)) < _STUB_RAD
        if (stub or not space.spent) and space.edge(path[k - 1], path[k + 1]) is None:
            del path[k]
        else:
            k += 1
    return path


def _rounded_path(corners: list[Array], space: _Space) -> Array:
    """The path with rounded corners, dense: each by the widest arc that is free, or sharp, as it was checked.

    The straight stretches are parts of edges that were checked, and so are the sharp corners: a budget that is spent
    costs roundness only.
    """
    points = [corners[0]]
    for before, corner, after in zip(corners[:-2], corners[1:-1], corners[2:], strict=True):
        arc = _free_arc(before, corner, after, space)
        _line_to(points, arc[0])
        points.extend(arc[1:])
    _line_to(points, corners[-1])
    return np.array(points)


def _free_arc(before: Array, corner: Array, after: Array, space: _Space) -> Array:
    """(K, n) points that replace a corner: every one and, at the resolution, everything between them is free."""
    blend = _BLEND_RAD
    for _ in range(_BLENDS):
        if space.spent:
            break
        arc = _arc(before, corner, after, blend)
        if all(space.collision(q) is None for q in arc) and all(space.edge(a, b) is None for a, b in pairwise(arc)):
            return arc
        blend *= 0.4
    return corner[None]


def _arc(before: Array, corner: Array, after: Array, blend: float) -> Array:
    """(K, n) points of a parabola (quadratic Bezier curve) that begins and ends `blend` before and after a corner."""
    to_before, to_after = before - corner, after - corner
    near, far = float(np.linalg.norm(to_before)), float(np.linalg.norm(to_after))
    length = min(blend, 0.45 * near, 0.45 * far)
    if length < 1e-6:
        return corner[None]
    first, last = corner + to_before / near * length, corner + to_after / far * length
    t = np.linspace(0.0, 1.0, 6)[:, None]
    return (1 - t) ** 2 * first + 2 * t * (1 - t) * corner + t * t * last


def _line_to(points: list[Array], end: Array) -> None:
    start = points[-1]
    count = max(1, math.ceil(float(np.linalg.norm(end - start)) / 0.1))
    points.extend(start + k / count * (end - start) for k in range(1, count))
    points.append(end)
