"""Free motion: straight where it can be, around an obstacle where it must, the same each time, within its budget."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree

from unlatch.solver.motion import RESOLUTION_RAD, plan_motion
from unlatch.solver.timing import time_path


def wall(q, s, gripper, allowed):
    """Something stands where joint 1 is about 0, unless joint 2 is well back."""
    return ("panda_link4", "post") if abs(q[0]) < 0.3 and q[1] > -0.9 else None


@pytest.fixture
def ends(arm):
    start, goal = arm.q_home.copy(), arm.q_home.copy()
    start[0], goal[0] = -1.0, 1.0
    return start, goal


@pytest.fixture
def move(arm, ends, toy_checker):
    """Plans the motion between the ends, with something in the way where `hit` says so."""

    def plan(hit, seed=0, **more):
        return plan_motion(*ends, toy_checker(hit), arm=arm, rng=np.random.default_rng(seed), **more)

    return plan


def test_nothing_in_the_way_is_a_straight_line(move, ends):
    motion = move(lambda *_: None)
    assert motion.found
    assert motion.method == "straight"
    np.testing.assert_array_equal(motion.q, ends)


def test_without_a_checker_nothing_is_in_the_way(arm, ends):
    assert plan_motion(*ends, None, arm=arm, rng=np.random.default_rng(0)).found


def test_the_way_around_is_free_along_every_edge(arm, ends, move):
    motion = move(wall)
    assert motion.found
    assert motion.method == "rrt_connect"
    assert motion.blocked_by.link_b == "post"
    np.testing.assert_array_equal(motion.q[0], ends[0])
    np.testing.assert_array_equal(motion.q[-1], ends[1])
    samples, _ = time_path(motion.q, arm, dt=1 / 30)
    assert all(wall(q, None, None, None) is None for q in motion.q)
    # the timed spline may cut a corner by less than the resolution of the search
    inside = [q for q in samples if abs(q[0]) < 0.27 and q[1] > -0.87]
    assert inside == []


def test_the_way_around_is_shortened(move, monkeypatch):
    def length(seed):
        return float(np.linalg.norm(np.diff(move(wall, seed).q, axis=0), axis=1).sum())

    short = [length(seed) for seed in range(8)]
    monkeypatch.setattr("unlatch.solver.motion._shortcut_path", lambda corners, space, rng: corners)
    searched = [length(seed) for seed in range(8)]
    assert all(a <= b + 1e-9 for a, b in zip(short, searched, strict=True)), (short, searched)
    assert np.median(short) < 0.8 * np.median(searched), (short, searched)


def test_the_same_seed_gives_the_same_way_and_another_seed_another(move):
    ways = [move(wall, seed).q.tobytes() for seed in (3, 4, 3)]
    assert ways[0] == ways[2]
    assert ways[0] != ways[1]


def test_no_way_ends_within_the_budget_and_names_the_pair(move):
    motion = move(lambda q, *_: ("panda_hand", "shelf") if abs(q[0]) < 0.2 else None, max_queries=500)
    assert not motion.found
    assert motion.reason.startswith("no way around panda_hand and shelf (-10.0 mm) in ")
    assert motion.queries <= 520


def test_a_colliding_end_is_named(move):
    motion = move(lambda q, *_: ("panda_hand", "door") if q[0] > 0.9 else None)
    assert motion.reason == "the end of the motion collides: panda_hand and door (-10.0 mm)"


def test_straight_only_fails_if_the_line_is_blocked(move):
    motion = move(wall, straight_only=True)
    assert not motion.found
    assert motion.reason.startswith("the straight way is blocked by panda_link4 and post")
    assert motion.queries < 10


# how deep a configuration lies inside an obstacle [rad]; negative outside
OBSTACLES = {
    "post": lambda q: 0.5 - float(np.abs(q[:2] - [0.0, -0.5]).max()),
    "two slots": lambda q: max(min(0.08 - abs(q[0] + 0.35), q[1] + 0.9), min(0.08 - abs(q[0] - 0.35), -0.6 - q[1])),
    "ball": lambda q: 0.6 - float(np.linalg.norm(q[:3] - [0.0, -0.785, 0.0])),
}


def planned_among(name, toy_checker, arm, ends, *, seed, max_queries):
    """A motion around an obstacle, and every configuration that was found free."""
    free = []

    def hit(q, *_):
        inside = OBSTACLES[name](q) > 0.0
        if not inside:
            free.append(q.copy())
        return ("panda_hand", name) if inside else None

    rng = np.random.default_rng(seed)
    return plan_motion(*ends, toy_checker(hit), arm=arm, rng=rng, max_queries=max_queries), free


def fine(path):
    """The straight lines between a path's rows, ten times finer than they were checked."""
    rows = [
        a + np.linspace(0.0, 1.0, 2 + math.ceil(10.0 * np.linalg.norm(b - a) / RESOLUTION_RAD))[:, None] * (b - a)
        for a, b in pairwise(path)
    ]
    return np.vstack(rows)


def assert_path_was_checked(name, motion, free, ends):
    np.testing.assert_array_equal(motion.q[0], ends[0])
    np.testing.assert_array_equal(motion.q[-1], ends[1])
    samples = fine(motion.q)
    gap = float(cKDTree(np.array(free)).query(samples)[0].max())
    depth = max(OBSTACLES[name](q) for q in samples)
    # checked every RESOLUTION_RAD: nothing is further than half of it from a free configuration, or deeper inside
    assert gap <= 0.5 * RESOLUTION_RAD + 1e-9, f"{gap:.4f} rad from what was checked, {depth:.4f} rad inside '{name}'"
    assert depth <= 0.5 * RESOLUTION_RAD


@pytest.mark.parametrize("name", OBSTACLES)
@pytest.mark.parametrize("spare", [4000, -10, -40])
def test_a_path_is_checked_even_if_the_budget_ends_during_smoothing(name, spare, arm, ends, toy_checker):
    needed = planned_among(name, toy_checker, arm, ends, seed=1, max_queries=6000)[0].queries
    # the first search, for a way with room, has half of the budget
    motion, free = planned_among(name, toy_checker, arm, ends, seed=1, max_queries=2 * (needed + spare))
    assert motion.found
    assert_path_was_checked(name, motion, free, ends)


@pytest.mark.slow
@pytest.mark.property
@settings(max_examples=120)
@given(st.sampled_from(sorted(OBSTACLES)), st.integers(0, 10_000), st.integers(50, 3000))
def test_a_path_is_checked_for_any_seed_and_budget(arm, toy_checker, name, seed, max_queries):
    ends = arm.q_home + np.array([[-1.0], [1.0]]) * np.eye(7)[0]
    motion, free = planned_among(name, toy_checker, arm, ends, seed=seed, max_queries=max_queries)
    if motion.found:
        assert_path_was_checked(name, motion, free, ends)
        assert len(time_path(motion.q, arm, dt=1 / 30)[0]) < 300  # ten seconds: no corner all but stops the arm
    assert motion.queries <= max_queries + 300  # what was begun is checked to its end, and stubs are cut
