"""What a verdict reads from a record, on records of three actions, and the errors that name what a record lacks."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import pytest

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.measurements import (
    concurrent_arms,
    first_attempt,
    forbidden_rows,
    hold_rows,
    interval_arrays,
    joint_positions,
    overload_rows,
    overspeed_rows,
    read_frame,
    read_number,
    start_position,
    touching_rows,
)
from unlatch.simcore.recording.success_rules import SuccessRule

ALL = slice(0, 3)
DOOR = "objects.oven.joint_positions"


def make(number: int = 4, skills: list[dict[str, Any]] | None = None, **arrays: list[Any]) -> EpisodeRecord:
    """Returns a record of three actions; `__` in the name of an array stands for a dot."""
    given = {key.replace("__", "."): np.array(values) for key, values in arrays.items()}
    return EpisodeRecord(
        number=number, seed=0, success=True, skills=skills or [], arrays={"time": np.zeros(4), **given}
    )


class TestConcurrentArms:
    CHAIN = (
        {"name": "hold", "arm": "left", "stage": 0},
        {"name": "open", "arm": "right", "stage": 0},
        {"name": "turn", "arm": "third", "stage": 1},
    )

    @pytest.mark.parametrize(("index", "arms"), [(0, {"right"}), (1, {"left"}), (2, set())])
    def test_they_are_the_other_arms_of_the_same_stage(self, index: int, arms: set[str]):
        record = make(skills=[dict(entry) for entry in self.CHAIN])
        assert concurrent_arms(record, self.CHAIN[index]) == arms

    def test_a_skill_without_a_stage_has_none(self):
        record = make(skills=[{"arm": "left"}, {"arm": "right"}])
        assert concurrent_arms(record, record.skills[0]) == set()


def rule(contact_n: float, scene_n: float | None = None) -> SuccessRule:
    return SuccessRule(None, None, False, True, True, contact_n, 140.0, scene_force_threshold_n=scene_n)


class TestForbiddenContacts:
    def test_the_first_contact_of_each_view_is_found_the_earliest_first(self):
        record = make(
            contacts__panda__left__oven__fingers_base__force_max_n=[0.0, 0.0, 3.0],
            contacts__panda__left__oven__forbid_collision__force_max_n=[0.0, 4.0, 9.0],
            contacts__panda__environment__force_max_n=[5.0, 0.0, 0.0],
            contacts__panda__left__oven__fingers_link__force_max_n=[8.0, 8.0, 8.0],
        )
        assert forbidden_rows(record, ALL, rule(1.0)) == [
            (0, "panda.environment", 5.0, 1.0),
            (1, "panda.left.oven.forbid_collision", 4.0, 1.0),
            (2, "panda.left.oven.fingers_base", 3.0, 1.0),
        ]
        assert forbidden_rows(record, ALL, rule(4.0)) == [
            (0, "panda.environment", 5.0, 4.0),
            (2, "panda.left.oven.forbid_collision", 9.0, 4.0),
        ]

    def test_rows_outside_the_range_are_not_searched(self):
        record = make(contacts__panda__environment__force_max_n=[5.0, 2.0, 7.0])
        assert forbidden_rows(record, slice(1, 3), rule(3.0)) == [(2, "panda.environment", 7.0, 3.0)]
        assert forbidden_rows(record, slice(1, 2), rule(3.0)) == []

    def test_views_of_skipped_arms_are_not_searched_and_those_of_the_robot_are(self):
        record = make(
            contacts__panda__left__oven__forbid_collision__force_max_n=[9.0, 0.0, 0.0],
            contacts__panda__right__oven__forbid_collision__force_max_n=[0.0, 9.0, 0.0],
            contacts__left__left__environment__force_max_n=[0.0, 0.0, 9.0],
        )
        found = forbidden_rows(record, ALL, rule(1.0), skipped_arms=frozenset({"left"}))
        assert found == [(1, "panda.right.oven.forbid_collision", 9.0, 1.0), (2, "left.left.environment", 9.0, 1.0)]


class TestForcesOnObjects:
    """A can and a drawer; the first skill begins at state 1, so row 0 says what they bear at rest."""

    SKILLS: ClassVar = [{"object": "drawer", "frame_start": 1}, {"object": "can", "frame_start": 3}]

    @staticmethod
    def make(skills: list[dict[str, Any]] = SKILLS, **views: list[float]) -> EpisodeRecord:
        """Returns a record of four actions in which an impact of 900 N is part of every row of a view."""
        given = {"can__furniture": [0.0] * 4, "can__other_objects": [0.0] * 4, **views}
        arrays = {f"contacts__{name}__force_sustained_n": values for name, values in given.items()}
        impacts = {name: [900.0 * (force_n > 0.0) for force_n in values] for name, values in given.items()}
        arrays |= {f"contacts__{name}__force_max_n": values for name, values in impacts.items()}
        return make(skills=skills, time=[0.0] * 5, contacts__panda__environment__force_max_n=[0.0] * 4, **arrays)

    def test_an_object_may_bear_the_threshold_more_than_at_rest(self):
        record = self.make(can__furniture=[3.0, 33.0, 33.5, 40.0])
        assert forbidden_rows(record, slice(1, None), rule(1.0, 30.0)) == [(2, "can.furniture", 33.5, 33.0)]
        assert forbidden_rows(record, slice(1, 2), rule(1.0, 30.0)) == []

    def test_without_the_rule_it_may_bear_any_force(self):
        assert forbidden_rows(self.make(can__other_objects=[0.0, 99.0, 99.0, 99.0]), ALL, rule(1.0)) == []

    def test_a_bystander_may_not_be_touched_until_a_skill_names_it(self):
        touched = [0.0, 0.0, 4.0, 4.0]
        found = forbidden_rows(self.make(can__other_objects=touched), slice(1, None), rule(1.0, 30.0))
        assert found == [(2, "can.other_objects", 900.0, 1.0)]
        assert forbidden_rows(self.make(can__other_objects=[0.0] * 3 + [4.0]), slice(1, None), rule(1.0, 30.0)) == []
        for key in ("object", "of"):
            skills = [{"object": "apple", "frame_start": 1, "conditions": [{"object": "apple", key: "can"}]}]
            assert forbidden_rows(self.make(skills, can__other_objects=touched), slice(1, None), rule(1.0, 30.0)) == []

    @pytest.mark.parametrize("last", [None, 4])
    def test_a_bystander_that_no_skill_names_may_not_be_touched_at_all(self, last: int | None):
        record = self.make([{"object": "drawer", "frame_start": 1}], can__other_objects=[0.0] * 3 + [4.0])
        assert forbidden_rows(record, slice(1, last), rule(1.0, 30.0)) == [(3, "can.other_objects", 900.0, 1.0)]
        assert forbidden_rows(record, slice(1, 3), rule(1.0, 30.0)) == []

    def test_without_a_frame_before_the_first_skill_no_object_bears_anything_at_rest(self):
        record = self.make([{"object": "drawer", "frame_start": 0}], can__other_objects=[0.0, 4.0, 0.0, 2.0])
        assert forbidden_rows(record, ALL, rule(1.0, 30.0)) == [(1, "can.other_objects", 900.0, 1.0)]

    def test_what_lies_in_a_drawer_at_rest_may_be_touched_by_it(self):
        record = self.make(can__other_objects=[2.0, 2.0, 5.0, 2.0])
        assert forbidden_rows(record, slice(1, None), rule(1.0, 30.0)) == []

    def test_a_record_without_the_arrays_cannot_be_judged(self):
        record = make(skills=self.SKILLS, contacts__panda__environment__force_max_n=[0.0] * 3)
        with pytest.raises(RecordingError, match=r"no array 'contacts\.\*\.furniture\.force_sustained_n'"):
            forbidden_rows(record, ALL, rule(1.0, 30.0))


class TestOverload:
    RECORD = make(
        contacts__panda__left__fingers__force_sustained_n=[0.0, 150.0, 160.0],
        contacts__panda__right__fingers__force_sustained_n=[170.0, 0.0, 0.0],
        contacts__panda__left__fingers__force_max_n=[900.0, 900.0, 900.0],
    )

    def test_the_first_row_of_each_hand_is_found_the_earliest_first(self):
        assert overload_rows(self.RECORD, {}, ALL, 140.0) == [(0, "panda.right", 170.0), (1, "panda.left", 150.0)]

    def test_a_skill_of_an_arm_is_judged_by_the_hand_of_this_arm(self):
        assert overload_rows(self.RECORD, {"arm": "left"}, ALL, 140.0) == [(1, "panda.left", 150.0)]
        assert overload_rows(self.RECORD, {"arm": "right"}, slice(1, 3), 140.0) == []


def test_the_first_overspeed_of_each_body_is_found_the_earliest_first():
    record = make(speeds__panda__max=[5.0, 5.1, 6.0], speeds__oven__max=[7.0, 0.0, 0.0], speeds__tap__max=[5.0] * 3)
    assert overspeed_rows(record, ALL) == [(0, "oven", 7.0), (1, "panda", 5.1)]


class TestHold:
    def test_rows_of_the_phase_hold_are_those_whose_later_state_has_it(self):
        record = make(skills__phase=[8, 8, 3, 8])
        assert hold_rows(record, {}, 0, 3).tolist() == [True, False, True]
        assert hold_rows(record, {}, 1, 2).tolist() == [False]

    def test_each_arm_has_phases_of_its_own(self):
        record = make(skills__phase=[0, 0, 0, 0], skills__left__phase=[0, 8, 8, 0])
        assert hold_rows(record, {"arm": "left"}, 0, 3).tolist() == [True, True, False]

    @pytest.mark.parametrize(("skill", "key"), [({}, "skills.phase"), ({"arm": "left"}, "skills.left.phase")])
    def test_a_record_without_phases_is_refused(self, skill: dict[str, Any], key: str):
        with pytest.raises(RecordingError) as caught:
            hold_rows(make(), skill, 0, 3)
        assert caught.value.message == (
            f"Episode 4 has no array '{key}', which the verdict of a hold needs. The record is incomplete."
        )
        assert caught.value.values == {"key": key}


class TestTouch:
    RECORD = make(
        contacts__panda__left__oven__fingers_link__force_max_n=[0.0, 1e-9, 0.0],
        contacts__panda__right__oven__fingers_link__force_max_n=[0.0, 0.0, 2.0],
        contacts__panda__left__tap__fingers_link__force_max_n=[5.0, 5.0, 5.0],
    )

    def test_a_touch_of_any_arm_counts_for_a_skill_without_an_arm(self):
        assert touching_rows(self.RECORD, {"object": "oven"}, 0, 3).tolist() == [False, True, True]
        assert touching_rows(self.RECORD, {"object": "oven"}, 1, 2).tolist() == [True]

    def test_a_touch_of_its_own_arm_counts_for_a_skill_with_an_arm(self):
        assert touching_rows(self.RECORD, {"object": "oven", "arm": "left"}, 0, 3).tolist() == [False, True, False]


class TestFirstAttempt:
    ENTRIES = (
        {"name": "a", "entry": 0, "attempt": 0},
        {"name": "b", "entry": 1, "attempt": 0},
        {"name": "c", "entry": 1, "attempt": 1},
        {"name": "d", "entry": 1, "attempt": 2},
    )

    @pytest.mark.parametrize(("index", "name"), [(0, "a"), (1, "b"), (2, "b"), (3, "b")])
    def test_it_has_the_same_place_in_the_chain(self, index: int, name: str):
        record = make(skills=[dict(entry) for entry in self.ENTRIES])
        assert first_attempt(record, record.skills[index])["name"] == name

    def test_a_skill_that_is_attempted_once_is_its_own_first_attempt(self):
        entry = {"name": "a"}
        assert first_attempt(make(skills=[{"name": "b", "attempt": 0}]), entry) is entry

    def test_an_attempt_without_a_first_one_is_refused(self):
        record = make(skills=[{"entry": 0, "attempt": 0}, {"entry": 1, "attempt": 2}])
        with pytest.raises(RecordingError) as caught:
            first_attempt(record, record.skills[1])
        assert caught.value.message == (
            "Episode 4 has attempt 2 at skill 1 of the chain and no attempt 0. The record is incomplete."
        )
        assert caught.value.values == {"entry": 1}


@pytest.mark.parametrize(("s0", "position"), [(0.3, 0.3), (0.1, 0.1), (0.2, 0.1), (None, 0.1)])
def test_a_skill_counts_from_its_first_frame_only_if_it_states_this_position(s0: float | None, position: float):
    assert start_position({"frame_start": 2, "s0": s0}, np.array([0.1, 0.2, 0.3, 0.4])) == position


class TestJointPositions:
    RECORD = make(objects__oven__joint_positions=[[0.0, 1.0], [0.1, 1.1], [0.2, 1.2], [0.3, 1.3]])

    @pytest.mark.parametrize(("column", "s"), [(0, [0.0, 0.1, 0.2, 0.3]), (1, [1.0, 1.1, 1.2, 1.3])])
    def test_they_are_a_column_of_the_joints_of_an_object(self, column: int, s: list[float]):
        assert joint_positions(self.RECORD, {"object": "oven", "joint_index": column}).tolist() == s

    @pytest.mark.parametrize("column", [-1, 2, "0", 0.0, None])
    def test_a_column_that_is_not_recorded_is_refused(self, column: Any):
        with pytest.raises(RecordingError) as caught:
            joint_positions(self.RECORD, {"object": "oven", "joint_index": column})
        assert caught.value.message == (
            f"Episode 4 has no column {column!r} of '{DOOR}', which its verdict needs. The record is incomplete."
        )
        assert caught.value.values == {"key": DOOR, "column": column}

    @pytest.mark.parametrize("record", [make(), make(objects__oven__joint_positions=[0.0, 0.1, 0.2, 0.3])])
    def test_an_array_that_is_missing_or_has_no_columns_is_refused(self, record: EpisodeRecord):
        with pytest.raises(RecordingError, match=f"has no column 0 of '{DOOR}'"):
            joint_positions(record, {"object": "oven", "joint_index": 0})


class TestIntervalArrays:
    def test_they_have_both_the_beginning_and_the_ending_and_are_sorted_by_key(self):
        record = make(
            speeds__panda__max=[1.0] * 3,
            speeds__oven__max=[2.0] * 3,
            speeds__oven__mean=[3.0] * 3,
            forces__oven__max=[4.0] * 3,
        )
        found = interval_arrays(record, "speeds.", ".max")
        assert [(key, array[0]) for key, array in found] == [("speeds.oven.max", 2.0), ("speeds.panda.max", 1.0)]

    def test_a_record_with_actions_and_without_such_an_array_is_refused(self):
        with pytest.raises(RecordingError) as caught:
            interval_arrays(make(), "speeds.", ".max")
        assert caught.value.message == (
            "Episode 4 has no array 'speeds.*.max', which its verdict needs. The record is incomplete."
        )
        assert caught.value.values == {"key": "speeds.*.max"}

    def test_a_record_without_actions_needs_none(self):
        assert interval_arrays(EpisodeRecord(number=0, seed=0, success=True), "speeds.", ".max") == []


class TestReadFrame:
    @pytest.mark.parametrize("frame", [0, 2, 3])
    def test_a_state_frame_of_the_episode_is_returned(self, frame: int):
        assert read_frame({"frame_end": frame}, "frame_end", 3) == frame

    @pytest.mark.parametrize("frame", [-1, 4, True, False, 1.0, "1", None])
    def test_anything_else_is_refused(self, frame: Any):
        with pytest.raises(RecordingError) as caught:
            read_frame({"frame_end": frame}, "frame_end", 3)
        assert caught.value.message == (
            f"'frame_end' is {frame!r}, expected a state frame from 0 to 3. The record is incomplete."
        )
        assert caught.value.values == {"key": "frame_end"}


class TestReadNumber:
    @pytest.mark.parametrize("value", [0, -2, 1.5])
    def test_a_finite_number_is_returned_as_a_float(self, value: float):
        found = read_number({"s_open": value}, "s_open")
        assert (found, type(found)) == (value, float)

    @pytest.mark.parametrize("value", [True, False, "1", None, math.nan, math.inf, -math.inf])
    def test_anything_else_is_refused(self, value: Any):
        with pytest.raises(RecordingError) as caught:
            read_number({"s_open": value}, "s_open")
        assert caught.value.message == f"'s_open' is {value!r}, expected a finite number. The record is incomplete."
        assert caught.value.values == {"key": "s_open"}
