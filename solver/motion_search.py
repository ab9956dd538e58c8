"""Ways around obstacles: through given joints, or found by a search; shortened, and with rounded corners."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise, starmap

import numpy as np

from unlatch.solver.scene import FINE_RESOLUTION_RAD, RESOLUTION_RAD, ArmModel, Array, CheckedSpace, sample_path

_CLEARANCES_M = (0.012, 0.004)
"""Clearances that a path around an obstacle keeps if possible: a timed path swings out of its corners by up to 5 mrad
per joint, and the arm lags by half as much [m]."""
_NO_CLEARANCE = ((None, RESOLUTION_RAD), (None, FINE_RESOLUTION_RAD))
_BLEND_RAD = 0.3
"""Distance from a corner at which its rounding starts [rad]."""
_BLENDS = 4
"""Number of roundings tried per corner, each 0.4 times as wide as the last."""
_ROW_SPACING_RAD = 0.1
"""Largest distance between two rows of a straight part of a path around obstacles [rad]."""
_SHORTCUTS = 160
"""Most shortcuts that are tried on a path."""
_FRUITLESS = 30
"""Number of shortcuts in a row that gain less than `_LEAST_GAIN` after which none is tried any more."""
_LEAST_GAIN = 0.005
"""Share of the length of a path."""
_SEARCHES = 3
"""Number of searches whose shortest way is taken: the first one may go around an obstacle on its far side."""
_SHORTENING = 1500
"""Least number of collision queries with which a way that was found is shortened."""
_DIRECT = 1.15
"""A way that is longer than the straight line by less than this factor is taken at once."""
_STUB_RAD = 0.05
"""Corners nearer than this are merged if the result is free [rad]."""


def find_bent_path(start: Array, vias: Iterable[Array], goal: Array, space: CheckedSpace) -> Array | None:
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


def plan_around(
    start: Array, goal: Array, space: CheckedSpace, arm: ArmModel, rng: np.random.Generator
) -> Array | None:
    """Returns a (W, n) path around the obstacle, with clearance if possible; None if there is none."""
    budget = space.budget
    for clearance_m, resolution in (*((clearance, RESOLUTION_RAD) for clearance in _CLEARANCES_M), *_NO_CLEARANCE):
        space.clearance_m, space.resolution = clearance_m, resolution
        if clearance_m is not None and space.check_all((start, goal)) is not None:
            continue
        space.budget = space.queries + (budget - space.queries) // (1 if clearance_m is None else 2)
        found = _find_ways(start, goal, space, arm, rng)
        for corners in sorted(found, key=_length):
            path = _round_corners(corners, space)
            # a way that keeps 12 mm at the samples of the search may come nearer between them, and is good all the same
            space.clearance_m = None if clearance_m is None else _CLEARANCES_M[-1]
            if space.check_closely(path) is None:
                return path
            space.clearance_m = clearance_m
    return None


def _find_ways(
    start: Array, goal: Array, space: CheckedSpace, arm: ArmModel, rng: np.random.Generator
) -> list[list[Array]]:
    """Returns the corners of shortened ways; if the first one is nearly straight, or the budget is spent, only that."""
    found: list[list[Array]] = []
    for _ in range(_SEARCHES):
        if found:
            space.budget = max(space.budget, space.queries + _SHORTENING)
        corners = _rrt_connect(start, goal, space, arm, seed=int(rng.integers(1, 2**31 - 1)))
        if corners is None:
            break
        space.budget = max(space.budget, space.queries + _SHORTENING)
        found.append(_shortcut_path(corners, space, rng))
        if space.spent or _length(found[-1]) <= _DIRECT * float(np.linalg.norm(goal - start)):
            break
    return found


def _length(path: list[Array]) -> float:
    return sum(float(np.linalg.norm(b - a)) for a, b in pairwise(path))


def _rrt_connect(start: Array, goal: Array, space: CheckedSpace, arm: ArmModel, *, seed: int) -> list[Array] | None:
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


def _shortcut_path(corners: list[Array], space: CheckedSpace, rng: np.random.Generator) -> list[Array]:
    """Replaces parts of the path by straight edges that are free."""
    path, fruitless = list(corners), 0
    for _ in range(_SHORTCUTS):
        if len(path) <= 2 or space.spent or fruitless >= _FRUITLESS:
            break
        along = np.concatenate([[0.0], np.cumsum([float(np.linalg.norm(b - a)) for a, b in pairwise(path)])])
        ends = np.sort(rng.uniform(0.0, along[-1], 2))
        i, j = np.minimum(np.searchsorted(along, ends, side="right") - 1, len(path) - 2).tolist()
        fruitless += 1
        if i == j:
            continue
        first, second = (
            path[k] + (at - along[k]) / (along[k + 1] - along[k]) * (path[k + 1] - path[k])
            for k, at in zip((i, j), ends.tolist(), strict=True)
        )
        gain = ends[1] - ends[0] - float(np.linalg.norm(second - first))
        if gain <= 0.0:
            continue
        if space.check_edge(first, second) is None and space.check(first) is None and space.check(second) is None:
            path = [*path[: i + 1], first, second, *path[j + 1 :]]
            path = [q for k, q in enumerate(path) if k == 0 or float(np.linalg.norm(q - path[k - 1])) > 1e-6]
            path[0], path[-1] = corners[0], corners[-1]  # the line above may have replaced an end by a point next to it
            fruitless = fruitless if gain < _LEAST_GAIN * along[-1] else 0
    k = 1
    while k < len(path) - 1:
        # at a short edge the timed path almost stops, so it is checked even if the budget is spent
        stub = min(float(np.linalg.norm(path[k] - path[i])) for i in (k - 1, k + 1)) < _STUB_RAD
        if (stub or not space.spent) and space.check_edge(path[k - 1], path[k + 1]) is None:
            del path[k]
        else:
            k += 1
    return path


def _round_corners(corners: list[Array], space: CheckedSpace) -> Array:
    """Returns the dense path with each corner rounded by the widest free arc, or left sharp.

    Straight parts and sharp corners are already checked: if the budget is spent, the corners stay sharp.
    """
    points = [corners[0]]
    for before, corner, after in zip(corners[:-2], corners[1:-1], corners[2:], strict=True):
        arc = _free_arc(before, corner, after, space)
        points += [*sample_path(np.array([points[-1], arc[0]]), _ROW_SPACING_RAD)[1:-1], *arc]
    points += [*sample_path(np.array([points[-1], corners[-1]]), _ROW_SPACING_RAD)[1:-1], corners[-1]]
    return np.array(points)


def _free_arc(before: Array, corner: Array, after: Array, space: CheckedSpace) -> Array:
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
