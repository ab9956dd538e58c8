"""Splitting a turn: the whole is tried first, then shares of what is left, each from where the last one ended."""

import numpy as np
import pytest

from unlatch.objects.annotation import PartKind
from unlatch.simcore.geometry import Pose
from unlatch.skills.grasping import needs_turns
from unlatch.skills.turning import plan_turns
from unlatch.solver.diagnosis import Diagnosis
from unlatch.solver.plan import LEAST_TURN_RAD, MOST_TURNS, Keyframe, KeyframePlan, Segment

START = np.zeros(7)


def motion(s, q, to):
    """A plan that leaves every joint of the arm where the part is."""
    keyframe = Keyframe(Pose.identity(), q, "current", s)
    segment = Segment("retreat", np.array([q, np.full(7, to)]), None, Pose.identity())
    counts, timings = {"goals": 3}, {"total": 2.0}
    return KeyframePlan(True, (keyframe,), 0, (segment,), counts=counts, timings_ms=timings, margin_rad=abs(to))


def refusal(s, q, *, stage="path"):
    keyframe = Keyframe(Pose.identity(), q, "current", s)
    diagnosis = Diagnosis("path_infeasible", "the wrist ends", {"stage": stage})
    return KeyframePlan(False, (keyframe,), diagnosis=diagnosis, counts={"goals": 5}, timings_ms={"total": 1.0})


def wrist(reach):
    """A planner whose hand turns by so much at most [rad], and what it was asked: from, joints, to."""
    asked = []

    def plan(strategy, s, q, to):
        asked.append((s, float(q[0]), to))
        return motion(s, q, to) if abs(to - s) <= reach + 1e-9 else refusal(s, q)

    return plan, asked


def turned_ranges(plan):
    return [(turn.s_from, turn.s_to) for turn in plan.turns]


def test_an_angle_within_reach_of_the_wrist_is_one_turn():
    plan_turn, asked = wrist(2.0)
    plan = plan_turns(plan_turn, ["knob"], s=0.2, q=START, target_s=1.7)
    assert plan.found
    assert turned_ranges(plan) == [(0.2, 1.7)]
    assert asked == [(0.2, 0.0, 1.7)]
    assert plan.notices == ()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_beyond_the_wrist_each_turn_begins_where_the_last_one_ended(sign):
    plan_turn, asked = wrist(1.0)
    plan = plan_turns(plan_turn, ["knob"], s=0.0, q=START, target_s=sign * 2.4)
    assert plan.found
    assert np.allclose(turned_ranges(plan), sign * np.array([(0.0, 0.8), (0.8, 1.6), (1.6, 2.4)]))
    # the arm comes from the end of the step back, and the part stands where it was left
    assert all(q == s for s, q, _ in asked)
    assert plan.turns[-1].s_to == sign * 2.4
    assert [turn.tries for turn in plan.turns] == [3, 2, 1]
    assert len(plan.segments) == len(plan.keyframes) == 3
    # the work of what was refused counts too
    assert plan.counts == {"goals": 3 * 3 + 3 * 5}
    assert plan.timings_ms == {"total": 3 * 2.0 + 3 * 1.0}


def test_the_record_says_how_many_turns_and_from_where_to_where():
    plan_turn, _ = wrist(1.0)
    plan = plan_turns(plan_turn, ["knob"], s=0.0, q=START, target_s=2.0)
    assert plan.to_dict()["turns"] == [
        {"s_from": 0.0, "s_to": 1.0, "tries": 2, "strategy": "knob", "margin_rad": 1.0, "slip": None},
        {"s_from": 1.0, "s_to": 2.0, "tries": 1, "strategy": "knob", "margin_rad": 2.0, "slip": None},
    ]
    assert plan.notices == ("The part is turned in 2 turns: 0.000 to 1.000, 1.000 to 2.000 rad.",)
    assert plan.margin_rad == 1.0


def test_a_turn_that_does_not_plan_is_the_diagnosis():
    def plan_turn(strategy, s, q, to):
        return motion(s, q, to) if s == 0.0 and to <= 1.0 else refusal(s, q)

    plan = plan_turns(plan_turn, ["knob"], s=0.0, q=START, target_s=2.0)
    assert not plan.found
    assert plan.diagnosis is not None
    assert plan.diagnosis.message == "Turn 2, from 1.000 to 2.000 rad: the wrist ends"
    assert plan.diagnosis.evidence["turns"] == 1
    assert turned_ranges(plan) == [(0.0, 1.0)]


def test_the_diagnosis_of_the_first_turn_stands_as_it_is():
    plan_turn, asked = wrist(0.01)
    plan = plan_turns(plan_turn, ["knob"], s=0.0, q=START, target_s=1.0)
    assert plan.diagnosis is not None
    assert plan.diagnosis.message == "the wrist ends"
    assert min(to - s for s, _, to in asked) >= LEAST_TURN_RAD


def test_no_smaller_angle_is_tried_if_the_hand_cannot_grasp_the_part():
    asked = []

    def plan_turn(strategy, s, q, to):
        asked.append(to)
        return refusal(s, q, stage="goal")

    assert not plan_turns(plan_turn, ["knob"], s=0.0, q=START, target_s=1.0).found
    assert asked == [1.0]


def test_a_part_that_needs_too_many_turns_is_given_up():
    plan_turn, _ = wrist(0.2)
    plan = plan_turns(plan_turn, ["knob"], s=0.0, q=START, target_s=1.95)
    assert not plan.found
    assert len(plan.turns) == MOST_TURNS
    assert plan.diagnosis is not None
    assert plan.diagnosis.message.startswith(f"After {MOST_TURNS} turns the part would stand at 1.")


def test_a_short_way_is_tried_however_short():
    plan_turn, asked = wrist(1.0)
    assert plan_turns(plan_turn, ["knob"], s=0.0, q=START, target_s=0.05).found
    assert len(asked) == 1


def test_a_part_that_is_there_already_is_taken_and_let_go():
    plan_turn, _ = wrist(1.0)
    assert turned_ranges(plan_turns(plan_turn, ["knob"], s=0.4, q=START, target_s=0.4)) == [(0.4, 0.4)]


def test_each_turn_uses_the_strategy_that_goes_furthest():
    asked = []

    def plan_turn(strategy, s, q, to):
        """Across as far as 1 rad, along from there on; beyond, no hand can take the part across."""
        asked.append((strategy, s))
        if strategy == "across" and s >= 1.0:
            return refusal(s, q, stage="goal")
        return motion(s, q, to) if (to <= 1.0) == (strategy == "across") else refusal(s, q)

    plan = plan_turns(plan_turn, ["across", "along"], s=0.0, q=START, target_s=2.0)
    assert turned_ranges(plan) == [(0.0, 2.0)]
    assert plan.turns[0].strategy == "along"
    plan = plan_turns(plan_turn, ["across"], s=0.0, q=START, target_s=2.0)
    assert not plan.found
    assert asked[-1] == ("across", 1.0)  # once: where no goal is found, no smaller angle is tried

    def only_then(strategy, s, q, to):
        return refusal(s, q) if strategy == "along" and s < 1.0 else plan_turn(strategy, s, q, to)

    plan = plan_turns(only_then, ["across", "along"], s=0.0, q=START, target_s=2.0)
    assert [(turn.s_from, turn.s_to, turn.strategy) for turn in plan.turns] == [
        (0.0, 1.0, "across"),
        (1.0, 2.0, "along"),
    ]


def test_no_turn_is_smaller_than_the_caller_wants_unless_less_is_left():
    plan_turn, asked = wrist(0.5)
    plan = plan_turns(plan_turn, ["knob"], s=0.0, q=START, target_s=2.0, least_rad=0.8)
    assert not plan.found
    assert [to for _, _, to in asked] == [2.0, 1.0]
    plan_turn, asked = wrist(0.5)
    assert plan_turns(plan_turn, ["knob"], s=0.0, q=START, target_s=0.4, least_rad=0.8).found


@pytest.mark.parametrize(
    ("kind", "way_rad", "needs"),
    [
        (PartKind.knob, 5.0, True),
        (PartKind.lever, 1.3, True),
        (PartKind.knob, 0.75, False),  # the default of `open`
        (PartKind.hinge_vertical, 2.0, False),
        (PartKind.slider, 5.0, False),
    ],
)
def test_only_a_part_that_turns_far_in_the_hand_may_need_several_turns(kind, way_rad, needs):
    assert needs_turns(kind, way_rad) is needs
