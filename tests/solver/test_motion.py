"""Free motion: straight where it can be, around an obstacle where it must, the same each time, within its budget."""

import numpy as np
import pytest

from solver.motion import plan_motion
from solver.timing import time_path


def wall(q, s, gripper, allowed):
    """Something stands where joint 1 is about 0, unless joint 2 is well back."""
    return ("panda_link4", "post") if abs(q[0]) < 0.3 and q[1] > -0.9 else None


@pytest.fixture
def ends(arm):
    start, goal = arm.q_home.copy(), arm.q_home.copy()
    start[0], goal[0] = -1.0, 1.0
    return start, goal


def test_nothing_in_the_way_is_a_straight_line(arm, ends, toy_checker):
    motion = plan_motion(*ends, toy_checker(lambda *_: None), arm=arm, rng=np.random.default_rng(0))
    assert motion.found
    assert motion.method == "straight"
    np.testing.assert_array_equal(motion.q, ends)


def test_without_a_checker_nothing_is_in_the_way(arm, ends):
    assert plan_motion(*ends, None, arm=arm, rng=np.random.default_rng(0)).found


def test_the_way_around_is_free_along_every_edge(arm, ends, toy_checker):
    checker = toy_checker(wall)
    motion = plan_motion(*ends, checker, arm=arm, rng=np.random.default_rng(0))
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


def test_the_same_seed_gives_the_same_way_and_another_seed_another(arm, ends, toy_checker):
    ways = [
        plan_motion(*ends, toy_checker(wall), arm=arm, rng=np.random.default_rng(seed)).q.tobytes()
        for seed in (3, 4, 3)
    ]
    assert ways[0] == ways[2]
    assert ways[0] != ways[1]


def test_no_way_ends_within_the_budget_and_names_the_pair(arm, ends, toy_checker):
    checker = toy_checker(lambda q, *_: ("panda_hand", "shelf") if abs(q[0]) < 0.2 else None)
    motion = plan_motion(*ends, checker, arm=arm, rng=np.random.default_rng(0), max_queries=500)
    assert not motion.found
    assert motion.reason.startswith("no way around panda_hand and shelf (-10.0 mm) in ")
    assert checker.queries <= 520


def test_a_colliding_end_is_named(arm, ends, toy_checker):
    checker = toy_checker(lambda q, *_: ("panda_hand", "door") if q[0] > 0.9 else None)
    motion = plan_motion(*ends, checker, arm=arm, rng=np.random.default_rng(0))
    assert motion.reason == "the end of the motion collides: panda_hand and door (-10.0 mm)"


def test_straight_only_gives_up_where_it_is_blocked(arm, ends, toy_checker):
    checker = toy_checker(wall)
    motion = plan_motion(*ends, checker, arm=arm, rng=np.random.default_rng(0), straight_only=True)
    assert not motion.found
    assert motion.reason.startswith("the straight way is blocked by panda_link4 and post")
    assert checker.queries < 10
