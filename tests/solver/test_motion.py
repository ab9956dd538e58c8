"""Free motion: straight where it can be, around an obstacle where it must, the same each time, within its budget."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree

from tests.solver.builders import ToyChecker, nothing_near, post
from unlatch.solver.joint_transit import plan_to_joints
from unlatch.solver.motion import plan_motion
from unlatch.solver.plan import PlanBudget
from unlatch.solver.scene import RESOLUTION_RAD
from unlatch.solver.timing import time_path

FRAME_S = 1 / 30


def ends_of(arm):
    return arm.q_home + np.array([[-1.0], [1.0]]) * np.eye(7)[0]


@pytest.fixture
def ends(arm):
    return ends_of(arm)


@pytest.fixture
def move(arm, ends):
    """Plans the motion between the ends, with something in the way where `hit` says so."""

    def plan(hit, seed=0, **more):
        return plan_motion(*ends, ToyChecker(hit), arm=arm, rng=np.random.default_rng(seed), **more)

    return plan


def test_nothing_in_the_way_is_a_straight_line(arm, ends, move):
    motion = move(nothing_near)
    assert (motion.found, motion.method) == (True, "straight")
    np.testing.assert_array_equal(motion.q, ends)
    assert plan_motion(*ends, None, arm=arm, rng=np.random.default_rng(0)).found


def test_the_way_around_is_free_along_every_edge(arm, ends, move):
    motion = move(post)
    assert (motion.found, motion.method, motion.blocked_by.link_b) == (True, "rrt_connect", "post")
    np.testing.assert_array_equal(motion.q[[0, -1]], ends)
    assert all(post(q) is None for q in motion.q)
    # the timed spline may cut a corner by less than the resolution of the search
    samples, _ = time_path(motion.q, arm, dt=FRAME_S)
    assert [q for q in samples if abs(q[0]) < 0.27 and q[1] > -0.87] == []


def test_the_way_around_is_shortened(move, monkeypatch):
    def length(seed):
        return float(np.linalg.norm(np.diff(move(post, seed).q, axis=0), axis=1).sum())

    short = [length(seed) for seed in range(8)]
    monkeypatch.setattr("unlatch.solver.motion_search._shortcut_path", lambda corners, space, rng: corners)
    searched = [length(seed) for seed in range(8)]
    assert all(a <= b + 1e-9 for a, b in zip(short, searched, strict=True)), (short, searched)
    assert np.median(short) < 0.8 * np.median(searched), (short, searched)


def test_the_same_seed_gives_the_same_way_and_another_seed_another(move):
    first, other, again = (move(post, seed).q.tobytes() for seed in (3, 4, 3))
    assert first == again != other


def test_no_way_ends_within_the_budget_and_names_the_pair(move):
    motion = move(lambda q, *_: ("panda_hand", "shelf") if abs(q[0]) < 0.2 else None, max_queries=500)
    assert not motion.found
    assert motion.reason.startswith("no way around panda_hand and shelf (-10.0 mm) in ")
    assert motion.queries <= 520
    straight = move(post, straight_only=True)
    assert not straight.found
    assert straight.reason.startswith("the straight way is blocked by panda_link4 and post")
    assert straight.queries < 10


# how deep a configuration lies inside an obstacle [rad]; negative outside
OBSTACLES = {
    "post": lambda q: 0.5 - float(np.abs(q[:2] - [0.0, -0.5]).max()),
    "two slots": lambda q: max(min(0.08 - abs(q[0] + 0.35), q[1] + 0.9), min(0.08 - abs(q[0] - 0.35), -0.6 - q[1])),
    "ball": lambda q: 0.6 - float(np.linalg.norm(q[:3] - [0.0, -0.785, 0.0])),
}


def planned_among(name, arm, *, seed, max_queries):
    """A motion around an obstacle, and every configuration that was found free."""
    free = []

    def hit(q, *_):
        inside = OBSTACLES[name](q) > 0.0
        if not inside:
            free.append(q.copy())
        return ("panda_hand", name) if inside else None

    rng = np.random.default_rng(seed)
    return plan_motion(*ends_of(arm), ToyChecker(hit), arm=arm, rng=rng, max_queries=max_queries), free


def assert_path_was_checked(name, motion, free, ends):
    np.testing.assert_array_equal(motion.q[[0, -1]], ends)
    # the straight lines between its rows, ten times finer than they were checked
    counts = [2 + math.ceil(10.0 * np.linalg.norm(b - a) / RESOLUTION_RAD) for a, b in pairwise(motion.q)]
    samples = np.vstack([np.linspace(a, b, n) for (a, b), n in zip(pairwise(motion.q), counts, strict=True)])
    gap, depth = float(cKDTree(np.array(free)).query(samples)[0].max()), max(OBSTACLES[name](q) for q in samples)
    # checked every RESOLUTION_RAD: nothing is further than half of it from a free configuration, or deeper inside
    assert gap <= 0.5 * RESOLUTION_RAD + 1e-9, f"{gap:.4f} rad from what was checked, {depth:.4f} rad inside '{name}'"
    assert depth <= 0.5 * RESOLUTION_RAD


@pytest.mark.parametrize("name", OBSTACLES)
@pytest.mark.parametrize("spare", [4000, -10, -40])
def test_a_path_is_checked_even_if_the_budget_ends_during_smoothing(name, spare, arm, ends):
    needed = planned_among(name, arm, seed=1, max_queries=6000)[0].queries
    # the first search, for a way with room, has half of the budget
    motion, free = planned_among(name, arm, seed=1, max_queries=2 * (needed + spare))
    assert motion.found
    assert_path_was_checked(name, motion, free, ends)


@pytest.mark.slow
@pytest.mark.property
@settings(max_examples=120)
@given(st.sampled_from(sorted(OBSTACLES)), st.integers(0, 10_000), st.integers(50, 3000))
def test_a_path_is_checked_for_any_seed_and_budget(arm, name, seed, max_queries):
    motion, free = planned_among(name, arm, seed=seed, max_queries=max_queries)
    if motion.found:
        assert_path_was_checked(name, motion, free, ends_of(arm))
        assert len(time_path(motion.q, arm, dt=FRAME_S)[0]) < 300  # ten seconds: no corner all but stops the arm
    # what was begun is checked to its end, and stubs are cut; each way that is found is shortened
    assert motion.queries <= max_queries + 300 + 3 * 1500


@pytest.fixture
def transit(arm, ends):
    """Plans the way of the arm to given joints: a plan with one transit, or why there is none."""

    def make(hit=nothing_near, *, seed=0, budget=None, **more):
        given = {"arm": arm, "frame_s": FRAME_S, "gripper_m": 0.04, "budget": budget or PlanBudget(), **more}
        return plan_to_joints(*ends, ToyChecker(hit), np.random.default_rng(seed), **given)

    return make


def thicker(hit):
    """The same obstacle with a margin of 0.02 rad in the first two joints: a way is checked at steps only."""
    shifts = 0.02 * np.array([[x, y] + [0.0] * 5 for x in (-1, 0, 1) for y in (-1, 0, 1)])
    return lambda q, *state: next((names for shift in shifts if (names := hit(q + shift, *state))), None)


@pytest.mark.parametrize("hit", [nothing_near, post], ids=["free", "around a post"])
def test_a_transit_leads_from_rest_to_rest_between_the_ends_and_counts_its_queries(transit, arm, hit):
    budget = PlanBudget()
    found = transit(thicker(hit), budget=budget)
    assert found.found
    assert [each.label for each in found.keyframes] == ["current", "goal"]
    assert "contact" not in repr(found)
    (segment,) = found.segments
    assert segment.kind == "transit"
    np.testing.assert_array_equal(segment.q[[0, -1]], [each.q for each in found.keyframes])
    speeds = np.abs(np.diff(segment.q, axis=0)) / FRAME_S
    assert (speeds < arm.max_velocity).all()
    assert speeds[[0, -1]].max() < 0.2 * speeds.max()
    assert found.margin_rad == pytest.approx(np.minimum(segment.q - arm.q_lower, arm.q_upper - segment.q).min())
    assert all(hit(q) is None for q in segment.q)
    assert budget.meter.spent == found.counts["queries"] > 0


def test_a_slower_pace_takes_longer(transit):
    assert len(transit(pace=0.5).segments[0]) > 1.5 * len(transit().segments[0])


def test_an_end_that_is_blocked_is_named(transit):
    refused = transit(lambda q, *_: ("panda_hand", "door") if q[0] > 0.9 else None)
    assert (refused.found, refused.segments, refused.diagnosis.code) == (False, (), "motion_blocked")
    assert refused.diagnosis.evidence["pair"] == ["panda_hand", "door"]
    assert "the end of the motion collides: panda_hand and door (-10.0 mm)" in refused.diagnosis.message


@pytest.mark.slow
def test_without_variety_the_seed_does_not_matter(transit):
    budget = replace(PlanBudget(), variety=0.0)
    first, second = (transit(post, seed=seed, budget=budget).segments[0].q for seed in (1, 2))
    np.testing.assert_array_equal(first, second)
