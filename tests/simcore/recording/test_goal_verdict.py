"""The goal of an episode, judged from records of six actions whose door moves as each test says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.broken_rules import (
    BrokenRule,
    JudgedSkill,
    broken_goal_rules,
    check_conditions,
    goal_value,
    recompute_goal_frame,
)
from unlatch.simcore.recording.episode import EpisodeRecord

DOOR = "objects.kitchen.oven.joint_positions"
SKILL = {
    "name": "open",
    "object": "kitchen.oven",
    "joint_index": 1,
    "success_mode": "abs",
    "success_threshold": 0.5,
    "s0": 0.0,
    "s_closed": 0.0,
    "s_open": 2.0,
    "frame_start": 0,
    "frame_end": 6,
    "finger_contact_required": False,
    "collision_valid_enabled": False,
    "process_valid_enabled": False,
    "finger_force_limit_n": 140.0,
}
OPEN = {"object": "kitchen.oven", "part": "door", "joint_index": 1, "kind": "moved", "value": 0.5}


def make(door: list[float], **changes: Any) -> EpisodeRecord:
    """Returns a record whose door has these seven positions; the episode settles from frame 4 to frame 6."""
    arrays = {"time": np.arange(7) / 30.0, DOOR: np.stack([np.zeros(7), np.array(door)], axis=1)}
    fields: dict[str, Any] = {
        "skills": [dict(SKILL)],
        "goal": {"conditions": [dict(OPEN)]},
        "settle": {"frame_start": 4, "frame_end": 6, "max_change": 0.02},
        "arrays": arrays,
    }
    return EpisodeRecord(number=4, seed=0, success=True, **{**fields, **changes})


def judge(record: EpisodeRecord) -> list[BrokenRule]:
    return list(broken_goal_rules(record, [JudgedSkill.read(record, n) for n in range(len(record.skills))]))


OPENS = [0.0, 0.2, 0.4, 0.6, 0.6, 0.6, 0.6]


class TestConditions:
    def test_a_goal_that_holds_and_lasts_breaks_no_rule(self):
        assert judge(make(OPENS)) == []

    def test_a_condition_that_does_not_hold_when_settling_begins_is_not_reached(self):
        held = {"object": "kitchen.oven", "joint_index": 0, "kind": "within_closed", "value": 0.1}
        limits = {"s_closed": 0.0, "s_open": 2.0}
        record = make(
            [0.0, 0.1, 0.2, 0.3, 0.4, 0.4, 0.4], goal={"conditions": [{**held, **limits}, {**OPEN, "value": 1}]}
        )
        label = {"condition": 1, "object": "kitchen.oven", "part": "door"}
        evidence = {**label, "kind": "moved", "wanted": 1.0, "reached": 0.4}
        (rule,) = judge(record)
        assert rule == BrokenRule(4, "not_reached", evidence)
        assert type(rule.evidence["wanted"]) is float

    def test_a_condition_that_does_not_last_is_unsettled(self):
        record = make([0.0, 0.2, 0.4, 0.6, 0.505, 0.5, 0.495])
        label = {"condition": 0, "object": "kitchen.oven", "part": "door"}
        evidence = {**label, "kind": "moved", "wanted": 0.5, "reached": 0.495, "at_start": 0.505}
        assert judge(record) == [BrokenRule(6, "unsettled", evidence)]

    def test_a_condition_on_no_part_says_so(self):
        record = make([0.0] * 7, goal={"conditions": [{k: v for k, v in OPEN.items() if k != "part"}]})
        assert judge(record)[0].evidence["part"] is None

    def test_a_record_without_skills_and_goal_is_not_reached(self):
        record = make(OPENS, skills=[], goal={})
        assert judge(record) == [BrokenRule(6, "not_reached", {"reason": "the record names no skill and no goal"})]

    @pytest.mark.parametrize("changes", [{"skills": []}, {"goal": {}}])
    def test_a_goal_or_a_skill_alone_is_judged(self, changes: dict[str, Any]):
        assert judge(make(OPENS, **changes)) == []

    def test_a_record_without_settling_is_unsettled(self):
        assert judge(make(OPENS, settle=None)) == [BrokenRule(6, "unsettled", {"reason": "the record has no settling"})]


SWINGS = [0.0, 0.2, 0.4, 0.6, 0.6, 0.64, 0.67]


class TestSettling:
    def test_a_joint_that_moves_is_unsettled_at_the_first_frame_above_the_allowed_change(self):
        (rule,) = judge(make(SWINGS))
        assert (rule.frame, rule.code) == (5, "unsettled")
        assert rule.evidence == {
            "object": "kitchen.oven",
            "joint_index": 1,
            "change": pytest.approx(0.07),
            "allowed": 0.02,
        }

    def test_the_last_frame_of_settling_counts(self):
        assert [rule.frame for rule in judge(make([*OPENS[:6], 0.63]))] == [6]

    def test_motion_after_settling_and_before_it_does_not_count(self):
        record = make([0.0, 0.3, 0.5, 0.6, 0.6, 0.6, 0.9], settle={"frame_start": 3, "frame_end": 5, "max_change": 0.0})
        assert judge(record) == []

    @pytest.mark.parametrize(
        ("max_changes", "n_broken"), [({"kitchen.oven.1": 0.08}, 0), ({"kitchen.oven.0": 0.08}, 1)]
    )
    def test_a_joint_with_a_limit_of_its_own_may_move_that_far(self, max_changes: dict[str, float], n_broken: int):
        settle = {"frame_start": 4, "frame_end": 6, "max_change": 0.02, "max_changes": max_changes}
        assert len(judge(make(SWINGS, settle=settle))) == n_broken

    def test_the_joint_of_a_skill_must_rest_without_a_condition_too(self):
        assert [rule.frame for rule in judge(make(SWINGS, goal={}))] == [5]

    def test_the_joint_of_a_skill_that_is_not_judged_by_a_joint_may_move(self):
        record = make(SWINGS, goal={}, skills=[{**SKILL, "success_mode": None}])
        assert judge(record) == []

    def test_a_joint_on_which_several_act_is_named_once(self):
        assert len(judge(make(SWINGS, skills=[dict(SKILL), dict(SKILL)]))) == 1


class TestGoalValue:
    @pytest.mark.parametrize(
        ("kind", "value", "frame", "measured", "holds"),
        [
            ("moved", 0.5, 3, 0.5, True),
            ("moved", 0.5, 2, 0.25, False),
            ("moved_fraction", 0.25, 3, 0.25, True),
            ("moved_fraction", 0.26, 3, 0.25, False),
            ("open_fraction", 0.125, 2, 0.125, True),
            ("open_fraction", 0.126, 2, 0.125, False),
            ("within_closed", 0.25, 2, 0.25, True),
            ("within_closed", 0.24, 2, 0.25, False),
        ],
    )
    def test_each_kind_at_its_edge(self, kind: str, value: float, frame: int, measured: float, holds: bool):
        record = make([1.0, 1.0, 0.75, 0.5, 0.5, 0.5, 0.5])
        condition = {**OPEN, "kind": kind, "value": value, "s_closed": 0.5, "s_open": 2.5}
        assert goal_value(record, condition, frame) == (measured, holds)

    def test_a_joint_that_opens_towards_negative_positions_has_the_same_range(self):
        condition = {**OPEN, "kind": "moved_fraction", "value": 0.25, "s_closed": 0.5, "s_open": -1.5}
        assert goal_value(make([0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), condition, 6) == (0.25, True)

    def test_a_part_that_moves_past_closed_is_not_open(self):
        condition = {**OPEN, "kind": "open_fraction", "value": 0.25, "s_closed": 0.5, "s_open": -1.5}
        assert goal_value(make([0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]), condition, 3) == (0.25, True)
        assert goal_value(make([0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]), condition, 6) == (-0.25, False)

    def test_another_kind_is_refused(self):
        with pytest.raises(RecordingError) as caught:
            goal_value(make(OPENS), {**OPEN, "kind": "turned"}, 6)
        assert caught.value.message == (
            "A goal condition has kind 'turned', expected moved, moved_fraction, open_fraction or within_closed. The "
            "record is damaged or of a newer version."
        )
        assert caught.value.values == {"kind": "turned"}

    @pytest.mark.parametrize(("s_closed", "s_open"), [(0.0, 2.0), (2.0, 0.0), (-2.0, 0.0)])
    def test_open_is_counted_from_closed_wherever_zero_is(self, s_closed: float, s_open: float):
        condition = {**OPEN, "kind": "open_fraction", "value": 0.25, "s_closed": s_closed, "s_open": s_open}
        record = make([s_closed] * 3 + [0.75 * s_closed + 0.25 * s_open] * 4)
        assert goal_value(record, condition, 6) == (0.25, True)

    @pytest.mark.parametrize("kind", ["moved_fraction", "open_fraction"])
    def test_a_range_that_is_empty_is_refused(self, kind: str):
        condition = {**OPEN, "kind": kind, "s_closed": 0.5, "s_open": 0.5}
        with pytest.raises(RecordingError, match=r"^s_open equals s_closed \(0\.5\) in \{'object': 'kitchen\.oven'"):
            goal_value(make(OPENS), condition, 6)

    @pytest.mark.parametrize("own", [{}, {"s_closed": 0.5}, {"s_open": 1.5}])
    def test_limits_are_those_of_a_skill_on_the_joint_if_the_condition_lacks_one(self, own: dict[str, float]):
        other = {**SKILL, "joint_index": 0, "s_closed": 7.0, "s_open": 8.0}
        elsewhere = {**SKILL, "object": "tap", "s_closed": 7.0, "s_open": 8.0}
        record = make(OPENS, skills=[{"name": "look"}, other, elsewhere, dict(SKILL)])
        assert goal_value(record, {**OPEN, "kind": "moved_fraction", "value": 0.1, **own}, 6) == (0.3, True)

    def test_a_condition_on_a_joint_of_no_skill_needs_limits_of_its_own(self):
        condition = {**OPEN, "kind": "within_closed", "joint_index": 0}
        with pytest.raises(RecordingError) as caught:
            goal_value(make(OPENS), condition, 6)
        assert caught.value.message == (
            "Goal on 'kitchen.oven' joint 0 needs s_closed and s_open; neither it nor a skill on that joint has them. "
            "Record them with the goal."
        )
        assert caught.value.values == {"condition": condition}


class TestCheckConditions:
    @pytest.mark.parametrize(
        ("key", "value", "expected"),
        [
            ("object", 1, "str"),
            ("joint_index", 1.0, "int"),
            ("joint_index", True, "int"),
            ("kind", None, "str"),
            ("value", "0.5", "a finite number"),
        ],
    )
    def test_a_value_of_another_type_is_refused(self, key: str, value: Any, expected: str):
        record = make(OPENS, goal={"conditions": [dict(OPEN), {**OPEN, key: value}]})
        with pytest.raises(RecordingError) as caught:
            check_conditions(record)
        assert caught.value.message == (
            f"{key}={value!r} in entry 1 of the goal of episode 4, expected {expected}. The record is incomplete."
        )

    @pytest.mark.parametrize(
        "goal", [{}, {"conditions": [{**OPEN, "value": 1}]}, {"conditions": [{**OPEN, "value": 0.5}]}]
    )
    def test_a_goal_may_be_empty_and_its_value_a_whole_number(self, goal: dict[str, Any]):
        check_conditions(make(OPENS, goal=goal))


class TestGoalOfPolicy:
    """The goal of a policy's episode is reached once the door has been where it must be for two frames."""

    def make(self, door: list[float], **changes: Any) -> EpisodeRecord:
        goal = {
            "conditions": [dict(OPEN)],
            "hold_frames": 2,
            "chain_length": 1,
            "max_changes": {"kitchen.oven.1": 0.25},
        }
        return make(door, **{"settle": None, "goal": goal, **changes})

    @pytest.mark.parametrize(
        ("door", "frame"),
        [
            ([0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5], None),  # it was there, and has not moved
            ([0.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5], 3),
            ([0.0, 0.0, 0.0, 0.5, 0.5, 0.5, 0.5], 5),
            ([0.0, 0.0, 0.0, 0.0, 0.5, 0.5, 0.5], 6),
            ([0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.5], None),
            ([0.0, 0.5, 0.5, 0.25, 0.5, 0.5, 0.5], 4),  # it holds at both ends of the rest
            ([0.0, 0.5, 1.0, 0.5, 1.0, 1.0, 1.0], 6),  # it moves on, further than it may
            ([0.0, 0.5, 0.75, 0.5, 1.0, 1.5, 2.0], 3),  # it moves as far as it may
            ([0.0, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75], None),  # it goes on in small steps
            ([0.0, 0.5, 0.5, 0.5, 2.0, 2.0, 2.0], 3),  # what comes later does not count
            ([0.0, 0.5, 1.0, 0.5, 0.0, 0.0, 0.0], None),
        ],
    )
    def test_it_is_the_first_frame_at_the_end_of_a_rest(self, door: list[float], frame: int | None):
        assert recompute_goal_frame(self.make(door)) == frame

    def test_the_rest_begins_with_the_skill_that_began_last(self):
        early = {**SKILL, "name": "hold", "success_mode": None}
        late = {**SKILL, "frame_start": 3}
        record = self.make([0.0, *[0.5] * 6], skills=[late, early])
        assert recompute_goal_frame(record) == 5

    def test_a_skill_must_have_reached_its_threshold_by_its_own_end(self):
        short = {**SKILL, "success_threshold": 0.75, "frame_end": 3}
        door = [0.0, 0.5, 0.75, 0.5, 0.5, 0.5, 0.5]
        assert recompute_goal_frame(self.make(door, skills=[short])) is None
        assert recompute_goal_frame(self.make(door, skills=[{**short, "frame_end": 2}])) == 3

    def test_the_goal_may_ask_more_than_the_skill(self):
        record = self.make([0.0, 0.5, 0.5, 0.5, 0.75, 0.75, 0.75])
        record.goal["conditions"][0]["value"] = 0.75
        assert recompute_goal_frame(record) == 6

    def test_of_several_attempts_at_a_skill_the_last_one_counts(self):
        first = {**SKILL, "entry": 0, "attempt": 0, "frame_end": 1, "broken_off": True}
        again = {**SKILL, "entry": 0, "attempt": 1, "frame_start": 2}
        door = [0.0, 0.2, 0.5, 0.5, 0.5, 0.5, 0.5]
        assert recompute_goal_frame(self.make(door, skills=[first, again])) == 4

    def test_attempts_at_one_skill_are_one_of_the_chain(self):
        skills = [{**SKILL, "entry": 0, "attempt": 0}, {**SKILL, "entry": 0, "attempt": 1}]
        record = self.make([0.0, *[0.5] * 6], skills=skills)
        record.goal["chain_length"] = 2
        assert recompute_goal_frame(record) is None
        assert recompute_goal_frame(self.make([0.0, *[0.5] * 6], skills=skills)) == 3

    def test_entries_without_a_place_are_skills_of_their_own(self):
        record = self.make([0.0, *[0.5] * 6], skills=[dict(SKILL), dict(SKILL)])
        record.goal["chain_length"] = 2
        assert recompute_goal_frame(record) == 3

    def test_a_skill_that_never_began_is_missing(self):
        record = self.make([0.0, *[0.5] * 6], skills=[dict(SKILL), {**SKILL, "frame_start": None, "frame_end": None}])
        record.goal["chain_length"] = 2
        assert recompute_goal_frame(record) is None

    def test_a_record_without_arrays_reached_nothing(self):
        assert recompute_goal_frame(self.make(OPENS, arrays={})) is None

    @pytest.mark.parametrize(
        ("key", "value", "expected"),
        [("hold_frames", 2.0, "int"), ("chain_length", None, "int"), ("max_changes", [], "dict")],
    )
    def test_a_value_of_another_type_is_refused(self, key: str, value: Any, expected: str):
        record = self.make(OPENS)
        record.goal[key] = value
        with pytest.raises(RecordingError) as caught:
            recompute_goal_frame(record)
        assert caught.value.message == (
            f"{key}={value!r} in the goal of episode 4, expected {expected}. The record is incomplete."
        )
