"""The way of an arm to given joints: a plan with one transit, or why there is none."""

from dataclasses import replace

import numpy as np
import pytest

from unlatch.solver.joint_transit import plan_to_joints
from unlatch.solver.plan import PlanBudget

FRAME_S = 1 / 30


def wall(q, s, gripper, allowed):
    """Something stands where joint 1 is about 0, unless joint 2 is well back."""
    return ("panda_link4", "post") if abs(q[0]) < 0.3 and q[1] > -0.9 else None


def at_goal(q, s, gripper, allowed):
    return ("panda_hand", "door") if q[0] > 0.9 else None


@pytest.fixture
def plan(arm, toy_checker):
    start, goal = arm.q_home.copy(), arm.q_home.copy()
    start[0], goal[0] = -1.0, 1.0

    def make(hit=lambda *_: None, *, seed=0, budget=None, pace=1.0):
        return plan_to_joints(
            start,
            goal,
            toy_checker(hit),
            np.random.default_rng(seed),
            arm=arm,
            frame_s=FRAME_S,
            gripper_m=0.04,
            budget=budget or PlanBudget(),
            pace=pace,
        )

    return make


@pytest.mark.parametrize("hit", [lambda *_: None, wall], ids=["free", "around a post"])
def test_the_transit_leads_from_rest_to_rest_between_the_ends(plan, arm, hit):
    found = plan(hit)
    assert found.found
    assert [each.label for each in found.keyframes] == ["current", "goal"]
    assert "contact" not in repr(found)
    (transit,) = found.segments
    assert transit.kind == "transit"
    np.testing.assert_array_equal(transit.q[[0, -1]], [each.q for each in found.keyframes])
    speeds = np.abs(np.diff(transit.q, axis=0)) / FRAME_S
    assert (speeds < arm.max_velocity).all()
    assert speeds[[0, -1]].max() < 0.2 * speeds.max()
    assert found.margin_rad == pytest.approx(np.minimum(transit.q - arm.q_lower, arm.q_upper - transit.q).min())
    assert all(hit(q, None, None, None) is None for q in transit.q)


def test_a_slower_pace_takes_longer(plan):
    assert len(plan(pace=0.5).segments[0]) > 1.5 * len(plan().segments[0])


def test_an_end_that_is_blocked_is_named(plan):
    refused = plan(at_goal)
    assert (refused.found, refused.segments) == (False, ())
    assert refused.diagnosis.code == "motion_blocked"
    assert refused.diagnosis.evidence["pair"] == ["panda_hand", "door"]
    assert "the end of the motion collides: panda_hand and door" in refused.diagnosis.message


def test_the_queries_count_as_work_of_the_budget(plan):
    budget = PlanBudget()
    spent = budget.meter.spent
    found = plan(wall, budget=budget)
    assert budget.meter.spent - spent == found.counts["queries"] > 0


def test_without_variety_the_seed_does_not_matter(plan):
    budget = replace(PlanBudget(), variety=0.0)
    first, second = (plan(wall, seed=seed, budget=budget).segments[0].q for seed in (1, 2))
    np.testing.assert_array_equal(first, second)
