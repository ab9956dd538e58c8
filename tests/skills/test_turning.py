"""Splitting a turn: the whole is tried first, then shares of what is left, each from where the last one ended."""

import numpy as np
import pytest

from unlatch.objects.annotation import PartKind
from unlatch.simcore.geometry import Pose
from unlatch.skills.grasping import needs_turns
from unlatch.skills.turning import plan_turns
from unlatch.solver.diagnosis import Diagnosis
from unlatch.solver.plan import LEAST_TURN_RAD, MOST_TURNS, Keyframe, KeyframePlan, Segment

HERE = Pose.identity()


def motion(s, q, to):
    """A plan that leaves every joint of the arm where the part is."""
    segment = Segment("retreat", np.array([q, np.full(7, to)]), None, HERE)
    work = {"counts": {"goals": 3}, "timings_ms": {"total": 2.0}, "margin_rad": abs(to)}
    return KeyframePlan(True, (Keyframe(HERE, q, "current", s),), 0, (segment,), **work)


def refusal(s, q, stage="path"):
    diagnosis = Diagnosis("path_infeasible", "the wrist ends", {"stage": stage})
    work = {"counts": {"goals": 5}, "timings_ms": {"total": 1.0}}
    return KeyframePlan(False, (Keyframe(HERE, q, "current", s),), diagnosis=diagnosis, **work)


class Hand:
    """A planner of turns whose hand goes where `reaches(strategy, from, to)`; it notes what it was asked."""

    def __init__(self, reaches, stage=lambda strategy, s: "path"):
        self.reaches, self.stage, self.asked = reaches, stage, []

    def __call__(self, strategy, s, q, to):
        self.asked.append((strategy, s, float(q[0]), to))
        return motion(s, q, to) if self.reaches(strategy, s, to) else refusal(s, q, self.stage(strategy, s))

    def turn(self, target_s, s=0.0, strategies=("knob",), **more):
        self.asked.clear()
        return plan_turns(self, list(strategies), s=s, q=np.zeros(7), target_s=target_s, **more)


def wrist(reach):
    """A hand that turns by so much at most [rad]."""
    return Hand(lambda _, s, to: abs(to - s) <= reach + 1e-9)


def ranges(plan):
    return [(turn.s_from, turn.s_to) for turn in plan.turns]


@pytest.mark.parametrize(("s", "target"), [(0.2, 1.7), (0.0, 0.05), (0.4, 0.4)], ids=["in reach", "short", "there"])
def test_an_angle_within_reach_of_the_wrist_is_one_turn(s, target):
    hand = wrist(2.0)
    plan = hand.turn(target, s=s)
    assert plan.found
    assert ranges(plan) == [(s, target)]
    assert hand.asked == [("knob", s, 0.0, target)]
    assert plan.notices == ()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_beyond_the_wrist_each_turn_begins_where_the_last_one_ended(sign):
    hand = wrist(1.0)
    plan = hand.turn(sign * 2.4)
    assert plan.found
    assert np.allclose(ranges(plan), sign * np.array([(0.0, 0.8), (0.8, 1.6), (1.6, 2.4)]))
    # the arm comes from the end of the step back, and the part stands where it was left
    assert all(q == s for _, s, q, _ in hand.asked)
    assert plan.turns[-1].s_to == sign * 2.4
    assert [turn.tries for turn in plan.turns] == [3, 2, 1]
    assert len(plan.segments) == len(plan.keyframes) == 3
    # the work of what was refused counts too
    assert plan.counts == {"goals": 3 * 3 + 3 * 5}
    assert plan.timings_ms == {"total": 3 * 2.0 + 3 * 1.0}


def test_the_record_says_how_many_turns_and_from_where_to_where():
    plan, same = wrist(1.0).turn(2.0), {"strategy": "knob", "slip": None}
    assert plan.to_dict()["turns"] == [
        {"s_from": 0.0, "s_to": 1.0, "tries": 2, "margin_rad": 1.0, **same},
        {"s_from": 1.0, "s_to": 2.0, "tries": 1, "margin_rad": 2.0, **same},
    ]
    assert plan.notices == ("The part is turned in 2 turns: 0.000 to 1.000, 1.000 to 2.000 rad.",)
    assert plan.margin_rad == 1.0


def test_a_turn_that_does_not_plan_is_the_diagnosis():
    plan = Hand(lambda _, s, to: s == 0.0 and to <= 1.0).turn(2.0)
    assert not plan.found
    assert plan.diagnosis.message == "Turn 2, from 1.000 to 2.000 rad: the wrist ends"
    assert plan.diagnosis.evidence["turns"] == 1
    assert ranges(plan) == [(0.0, 1.0)]
    hand = wrist(0.01)
    assert hand.turn(1.0).diagnosis.message == "the wrist ends"  # that of the first turn stands as it is
    assert min(to - s for _, s, _, to in hand.asked) >= LEAST_TURN_RAD


def test_no_smaller_angle_is_tried_if_the_hand_cannot_grasp_the_part():
    hand = Hand(lambda *_: False, lambda *_: "goal")
    assert not hand.turn(1.0).found
    assert len(hand.asked) == 1


def test_a_part_that_needs_too_many_turns_is_given_up():
    plan = wrist(0.2).turn(1.95)
    assert not plan.found
    assert len(plan.turns) == MOST_TURNS
    assert plan.diagnosis.message.startswith(f"After {MOST_TURNS} turns the part would stand at 1.")


def test_each_turn_uses_the_strategy_that_goes_furthest():
    # across as far as 1 rad, along from there on; beyond, no hand can take the part across
    def stage(strategy, s):
        return "goal" if strategy == "across" and s >= 1.0 else "path"

    hand = Hand(lambda strategy, s, to: stage(strategy, s) == "path" and (to <= 1.0) == (strategy == "across"), stage)
    plan = hand.turn(2.0, strategies=("across", "along"))
    assert ranges(plan) == [(0.0, 2.0)]
    assert plan.turns[0].strategy == "along"
    assert not hand.turn(2.0, strategies=("across",)).found
    assert hand.asked[-1][:2] == ("across", 1.0)  # once: where no goal is found, no smaller angle is tried
    reaches = hand.reaches
    hand.reaches = lambda strategy, s, to: reaches(strategy, s, to) and not (strategy == "along" and s < 1.0)
    plan = hand.turn(2.0, strategies=("across", "along"))
    assert [(turn.s_from, turn.s_to, turn.strategy) for turn in plan.turns] == [
        (0.0, 1.0, "across"),
        (1.0, 2.0, "along"),
    ]


def test_no_turn_is_smaller_than_the_caller_wants_unless_less_is_left():
    hand = wrist(0.5)
    assert not hand.turn(2.0, least_rad=0.8).found
    assert [to for *_, to in hand.asked] == [2.0, 1.0]
    assert hand.turn(0.4, least_rad=0.8).found


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
