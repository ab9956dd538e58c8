"""The rules that one skill broke, from records of six actions in which everything else is as it must be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.broken_rules import (
    BrokenRule,
    JudgedSkill,
    broken_skill_rules,
    is_threshold_met,
    measure_displacement,
    missed_threshold,
    share_of_range,
)
from unlatch.simcore.recording.episode import EpisodeRecord

DOOR = "objects.oven.joint_positions"
TOUCH = "contacts.panda.left.oven.fingers_link.force_max_n"
BASE = "contacts.panda.left.oven.fingers_base.force_max_n"
OTHER_TOUCH = "contacts.panda.right.oven.fingers_link.force_max_n"
OTHER_BASE = "contacts.panda.right.oven.fingers_base.force_max_n"
SUSTAINED = "contacts.panda.left.fingers.force_sustained_n"
SPEED = "speeds.panda.max"
OPENS = [0.0, 0.0, 0.25, 0.5, 0.75, 1.0, 1.0]
NEVER = 7
AT_HOME = float(np.float32(0.05))
"""The largest speed at home [rad/s]: that of a record, which has 32 bits."""
"""A limit behind the last frame: the attempt was not stopped."""


def entry(**changes: Any) -> dict[str, Any]:
    """Returns a skill that runs from frame 1 to frame 5 and turns the door by at least 1 rad."""
    own = {"name": "open", "object": "oven", "part": "door", "joint_index": 0, "frame_start": 1, "frame_end": 5}
    joint = {"success_mode": "abs", "success_threshold": 1.0, "s0": 0.0, "s_closed": 0.0, "s_open": 2.0}
    rule = {
        "finger_contact_required": True,
        "collision_valid_enabled": True,
        "process_valid_enabled": True,
        "contact_force_threshold_n": 1.5,
        "finger_force_limit_n": 140.0,
    }
    return {**own, **joint, **rule, **changes}


def make(*skills: dict[str, Any], door: list[float] | None = None, **arrays: list[Any]) -> EpisodeRecord:
    """Returns a record of skills; the fingers are on the door in each of the rows 1 to 4, in which it moves."""
    given = {
        "time": np.arange(7) / 30.0,
        DOOR: np.stack([np.array(door or OPENS), np.zeros(7)], axis=1),
        TOUCH: np.array([0.0, 5.0, 5.0, 5.0, 5.0, 0.0]),
        **{key: np.zeros(6) for key in (BASE, SUSTAINED, SPEED)},
    }
    given |= {key: np.array(values) for key, values in arrays.items()}
    return EpisodeRecord(number=4, seed=0, success=True, skills=list(skills) or [entry()], arrays=given)


def judge(record: EpisodeRecord, index: int = 0, *, limit: int = NEVER) -> list[BrokenRule]:
    skills = [JudgedSkill.read(record, n) for n in range(len(record.skills))]
    return list(broken_skill_rules(skills[index], skills, limit=limit))


LABEL = {"skill": 0, "name": "open"}


class TestForcesAndSpeeds:
    def test_a_skill_that_keeps_every_rule_broke_none(self):
        assert judge(make()) == []

    def test_a_collision_has_its_view_its_force_and_the_threshold(self):
        record = make(**{BASE: [0.0, 0.0, 7.0, 9.0, 0.0, 0.0]})
        evidence = {**LABEL, "view": "panda.left.oven.fingers_base", "force_n": 7.0, "threshold_n": 1.5}
        assert judge(record) == [BrokenRule(3, "collision", evidence)]

    def test_an_overload_has_its_hand_its_force_and_the_limit(self):
        record = make(**{SUSTAINED: [0.0, 0.0, 0.0, 150.0, 160.0, 0.0]})
        evidence = {**LABEL, "hand": "panda.left", "force_n": 150.0, "limit_n": 140.0}
        assert judge(record) == [BrokenRule(4, "overload", evidence)]

    def test_an_overspeed_has_its_body_its_speed_and_the_limit(self):
        record = make(**{SPEED: [0.0, 6.0, 7.0, 0.0, 0.0, 0.0]})
        evidence = {**LABEL, "body": "panda", "speed": 6.0, "limit": 5.0}
        assert judge(record) == [BrokenRule(2, "overspeed", evidence)]

    def test_the_first_of_several_bodies_and_views_is_named(self):
        other = "speeds.oven.max"
        record = make(**{SPEED: [0.0, 0.0, 9.0, 0.0, 0.0, 0.0], other: [0.0, 0.0, 0.0, 9.0, 0.0, 0.0]})
        record.arrays |= {
            BASE: np.array([0.0, 0.0, 0.0, 0.0, 9.0, 0.0]),
            "contacts.panda.environment.force_max_n": np.array([0.0, 0.0, 0.0, 9.0, 0.0, 0.0]),
            SUSTAINED: np.array([0.0, 0.0, 0.0, 0.0, 900.0, 0.0]),
            "contacts.panda.right.fingers.force_sustained_n": np.array([0.0, 900.0, 0.0, 0.0, 0.0, 0.0]),
        }
        assert [(rule.code, rule.frame) for rule in judge(record)] == [
            ("collision", 4),
            ("overload", 2),
            ("overspeed", 3),
        ]

    @pytest.mark.parametrize(("key", "rule"), [(BASE, "collision_valid_enabled"), (SPEED, "process_valid_enabled")])
    def test_a_rule_that_is_off_is_not_judged(self, key: str, rule: str):
        loud = [0.0, 0.0, 99.0, 0.0, 0.0, 0.0]
        assert len(judge(make(**{key: loud}))) == 1
        assert judge(make(entry(**{rule: False}), **{key: loud})) == []

    def test_rows_before_the_skill_do_not_count_and_those_after_it_do(self):
        assert judge(make(**{BASE: [9.0, 0.0, 0.0, 0.0, 0.0, 0.0]})) == []
        assert [rule.frame for rule in judge(make(**{BASE: [9.0, 0.0, 0.0, 0.0, 0.0, 9.0]}))] == [6]

    def test_rows_of_the_next_skill_belong_to_it(self):
        first = entry(frame_end=2, success_threshold=0.25)
        second = entry(frame_start=3, name="turn")
        late = make(first, second, **{BASE: [0.0, 0.0, 0.0, 9.0, 0.0, 0.0]})
        assert judge(late, 0) == []
        assert judge(late, 1)[0].evidence["skill"] == 1
        between = make(first, second, **{BASE: [0.0, 0.0, 9.0, 0.0, 0.0, 0.0]})
        assert [rule.frame for rule in judge(between, 0)] == [3]
        assert judge(between, 1) == []

    def test_rows_belong_to_the_last_skill_that_ran(self):
        idle = entry(frame_start=None, frame_end=None)
        record = make(entry(), idle, **{BASE: [0.0, 0.0, 0.0, 0.0, 0.0, 9.0]})
        assert [rule.frame for rule in judge(record, 0)] == [6]
        assert judge(record, 1) == []

    def test_a_skill_of_the_other_arm_takes_no_row_and_has_views_of_its_own(self):
        left = entry(arm="left", stage=0)
        right = entry(arm="right", stage=0, frame_start=2, name="hold")
        record = make(left, right, **{BASE: [0.0, 0.0, 0.0, 9.0, 0.0, 0.0], OTHER_TOUCH: [5.0] * 6})
        assert [rule.frame for rule in judge(record, 0)] == [4]
        assert judge(record, 1) == []

    def test_a_skill_of_a_later_stage_takes_the_rows_of_both_arms(self):
        left = entry(arm="left", stage=0, frame_end=2, success_threshold=0.25)
        right = entry(arm="right", stage=1, frame_start=3)
        record = make(left, right, **{BASE: [0.0, 0.0, 0.0, 9.0, 0.0, 0.0], OTHER_TOUCH: [5.0] * 6})
        assert judge(record, 0) == []
        assert [rule.frame for rule in judge(record, 1)] == [4]


class TestWhichConditionsAreJudged:
    LOST = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

    def test_a_skill_that_never_ran_is_not_judged(self):
        assert judge(make(entry(frame_start=None, frame_end=None), **{BASE: [9.0] * 6})) == []

    def test_a_skill_that_broke_a_rule_while_it_ran_is_not_judged_by_its_end(self):
        record = make(**{TOUCH: list(self.LOST), SPEED: [0.0, 0.0, 0.0, 0.0, 9.0, 0.0]})
        assert [rule.code for rule in judge(record)] == ["overspeed"]

    def test_a_skill_is_judged_by_its_end_where_the_rule_broke_later(self):
        record = make(**{TOUCH: list(self.LOST), SPEED: [0.0, 0.0, 0.0, 0.0, 0.0, 9.0]})
        assert [rule.code for rule in judge(record)] == ["overspeed", "grasp_missed"]

    def test_a_skill_that_was_broken_off_is_not_judged_by_its_end(self):
        assert judge(make(entry(broken_off=True), **{TOUCH: list(self.LOST)})) == []
        assert len(judge(make(entry(broken_off=False), **{TOUCH: list(self.LOST)}))) == 1

    @pytest.mark.parametrize(("limit", "codes"), [(6, ["grasp_missed"]), (5, []), (4, [])])
    def test_a_skill_that_ends_where_the_attempt_was_stopped_is_not_judged_by_its_end(
        self, limit: int, codes: list[str]
    ):
        assert [rule.code for rule in judge(make(**{TOUCH: list(self.LOST)}), limit=limit)] == codes

    @pytest.mark.parametrize(
        ("changes", "limit", "is_judged"),
        [
            ({}, 6, True),
            ({}, 5, False),
            ({"broken_off": True}, 6, False),
            ({"frame_start": None, "frame_end": None}, 6, False),
            ({"frame_start": None, "frame_end": None, "broken_off": True}, 6, False),
        ],
    )
    def test_an_end_is_judged_where_a_skill_came_to_it_by_itself(
        self, changes: dict[str, Any], limit: int, is_judged: bool
    ):
        assert JudgedSkill.read(make(entry(**changes)), 0).end_is_judged(limit) is is_judged

    def test_a_skill_that_moves_no_part_is_not_judged_by_its_end(self):
        assert judge(make(entry(success_mode=None), **{TOUCH: list(self.LOST)}, door=[0.0] * 7)) == []

    def test_contact_is_not_judged_where_the_rule_does_not_ask_for_it(self):
        assert judge(make(entry(finger_contact_required=False), **{TOUCH: list(self.LOST)})) == []


class TestContact:
    def test_fingers_that_never_touch_missed_the_grasp(self):
        record = make(**{TOUCH: [5.0, 0.0, 0.0, 0.0, 0.0, 5.0]})
        assert judge(record) == [BrokenRule(5, "grasp_missed", {**LABEL, "contact_frames": 0, "moving_frames": 4})]

    def test_fingers_that_touch_too_seldom_slipped(self):
        record = make(**{TOUCH: [0.0, 5.0, 0.0, 5.0, 5.0, 0.0]})
        numbers = {"contact_share": 0.75, "wanted": 0.8, "moving_frames": 4}
        assert judge(record) == [BrokenRule(5, "slipped", {**LABEL, **numbers})]

    def test_touching_in_four_of_five_moving_rows_is_enough(self):
        door = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.0]
        record = make(entry(frame_start=0), door=door, **{TOUCH: [0.0, 5.0, 5.0, 5.0, 5.0, 0.0]})
        assert judge(record) == []

    @pytest.mark.parametrize(("step", "codes"), [(1e-4, []), (1.1e-4, ["slipped"])])
    def test_a_part_moves_where_it_changes_by_more_than_the_least_step(self, step: float, codes: list[str]):
        """The door creeps while no finger is on it; 1 of 2 moving rows with contact would not be enough."""
        door = [0.0, 0.0, step, step, step, 1.0, 1.0]
        record = make(door=door, **{TOUCH: [0.0, 0.0, 0.0, 0.0, 5.0, 0.0]})
        assert [rule.code for rule in judge(record)] == codes

    def test_a_part_that_does_not_move_needs_one_touch(self):
        record = make(entry(success_threshold=0.0), door=[0.0] * 7, **{TOUCH: [0.0, 0.0, 0.0, 5.0, 0.0, 0.0]})
        assert judge(record) == []

    def test_a_skill_that_moves_a_joint_is_judged_by_its_motion_whatever_else_must_hold(self):
        stands = {"object": "can", "kind": "lifted", "value": 0.0}
        record = make(entry(conditions=[stands]), **{"objects.can.root_position": [[0.0, 0.0, 0.1]] * 7})
        assert judge(record) == []

    def test_only_contact_in_moving_rows_counts_for_the_share(self):
        door = [0.0, 0.0, 0.0, 0.0, 0.5, 1.0, 1.0]
        record = make(door=door, **{TOUCH: [0.0, 5.0, 5.0, 0.0, 0.0, 0.0]})
        assert judge(record)[0].evidence["contact_share"] == 0.0


class TestHold:
    """The left arm holds the oven while the right arm turns its second joint."""

    PHASE = "skills.left.phase"

    def make(self, phases: list[int], touch: list[float], knob: list[float] | None = None) -> EpisodeRecord:
        hold = entry(name="hold", arm="left", stage=0, success_mode=None, finger_contact_required=False, holds=True)
        turn = entry(name="turn", arm="right", stage=0, part="knob", joint_index=1)
        record = make(hold, turn, **{self.PHASE: phases, TOUCH: touch, OTHER_TOUCH: [5.0] * 6})
        record.arrays[DOOR][:, 1] = knob or [0.0, 0.0, 0.0, 0.5, 1.0, 1.0, 1.0]
        return record

    HELD = (0, 0, 8, 8, 8, 0, 0)
    """Rows 1 to 3, whose later states these are."""

    def test_a_part_that_is_held_while_the_other_moves_breaks_no_rule(self):
        assert judge(self.make(list(self.HELD), [0.0, 5.0, 5.0, 5.0, 0.0, 0.0])) == []

    def test_a_skill_that_never_held_missed_the_grasp(self):
        record = self.make([8, 8, 0, 0, 0, 0, 8], [5.0] * 6, [0.0] * 7)
        assert judge(record) == [BrokenRule(5, "grasp_missed", {"skill": 0, "name": "hold", "hold_frames": 0})]

    def test_fingers_that_leave_the_link_while_they_hold_slipped_in_this_frame(self):
        record = self.make(list(self.HELD), [0.0, 5.0, 0.0, 0.0, 0.0, 0.0])
        assert judge(record) == [BrokenRule(3, "slipped", {"skill": 0, "name": "hold", "frames_lost": 2})]

    def test_a_part_that_moves_while_nothing_is_held_slipped_in_this_frame(self):
        record = self.make([0, 0, 8, 0, 0, 0, 0], [5.0] * 6, [0.0, 0.0, 0.0, 0.0, 0.5, 1.0, 1.0])
        numbers = {"part": "knob", "frames_moved_alone": 2}
        assert judge(record) == [BrokenRule(4, "slipped", {"skill": 0, "name": "hold", **numbers})]

    def test_a_part_that_moves_after_the_hold_has_ended_does_not_count(self):
        record = self.make([0, 0, 8, 8, 8, 8, 8], [5.0] * 6, [0.0, 0.5, 0.5, 0.5, 0.5, 0.5, 1.0])
        assert judge(record) == []

    @pytest.mark.parametrize("changes", [{"stage": 1}, {"frame_start": None, "frame_end": None}])
    def test_only_a_concurrent_skill_that_ran_needs_the_hold(self, changes: dict[str, Any]):
        record = self.make([0, 0, 8, 0, 0, 0, 0], [5.0] * 6)
        assert len(judge(record)) == 1
        record.skills[1] |= changes
        assert judge(record) == []

    def test_the_hold_is_judged_where_the_attempt_was_stopped_too(self):
        record = self.make(list(self.HELD), [0.0] * 6)
        assert [rule.code for rule in judge(record, limit=1)] == ["slipped"]


class TestHome:
    """An arm with two joints that is away in the frames 1 to 4, and back at its home in frame 5."""

    Q, DQ = "robots.panda.left.joint_positions", "robots.panda.left.joint_velocities"

    def record(self, away: float, speed: float, *skills: dict[str, Any], **arrays: Any) -> EpisodeRecord:
        q, dq = np.zeros((7, 2)), np.zeros((7, 2))
        q[1:5], dq[1:5], q[:, 0] = 1.0, 0.9, 0.4
        q[5, 1], dq[5, 0] = away, speed
        q[6], dq[6] = 1.0, 1.0  # what comes after the skill does not matter
        rule = {"success_mode": None, "finger_contact_required": False, "goes_home": True}
        return make(*(skills or [entry(name="home", **rule)]), **{self.Q: q, self.DQ: dq, **arrays})

    @pytest.mark.parametrize(("away", "speed"), [(0.0, 0.0), (0.03, AT_HOME), (-0.03, -AT_HOME)])
    def test_an_arm_that_is_back_and_stands_still_broke_no_rule(self, away: float, speed: float):
        assert judge(self.record(away, speed)) == []

    @pytest.mark.parametrize(("away", "speed"), [(0.031, 0.0), (-0.031, 0.0), (0.0, 0.051), (0.0, -0.051)])
    def test_an_arm_that_is_away_or_moves_has_not_reached_its_home(self, away: float, speed: float):
        evidence = {"skill": 0, "name": "home", "away": abs(away), "speed": abs(speed)}
        assert judge(self.record(away, speed)) == [BrokenRule(5, "not_reached", evidence)]

    def test_an_attempt_that_was_stopped_before_is_not_judged(self):
        assert judge(self.record(1.0, 1.0), limit=5) == []

    def test_a_skill_without_the_key_may_end_anywhere(self):
        assert judge(self.record(1.0, 1.0, entry(success_mode=None, finger_contact_required=False))) == []

    def test_the_object_beside_it_must_rest_while_the_scene_settles(self):
        assert JudgedSkill.read(self.record(0.0, 0.0), 0).is_judged

    def test_of_several_arms_its_own_is_judged(self):
        home = entry(name="home", arm="right", success_mode=None, finger_contact_required=False, goes_home=True)
        right = {
            "robots.panda.right.joint_positions": np.zeros((7, 2)),
            self.DQ.replace("left", "right"): np.ones((7, 2)),
        }
        (broken,) = judge(self.record(1.0, 0.0, home, **right))
        assert (broken.evidence["away"], broken.evidence["speed"]) == (0.0, 1.0)

    def test_a_record_of_several_arms_must_name_the_arm(self):
        record = self.record(0.0, 0.0, **{self.Q.replace("left", "right"): np.zeros((7, 2))})
        with pytest.raises(RecordingError, match=r"Episode 4 has 2 arrays 'robots\.\*\.\*\.joint_positions'"):
            judge(record)

    def test_joints_of_the_gripper_and_of_objects_are_no_joints_of_the_arm(self):
        others = {
            "robots.panda.left.gripper_joint_positions": np.ones((7, 2)),
            "objects.can.joint_positions": np.ones((7, 2)),
        }
        assert judge(self.record(0.0, 0.0, **others)) == []

    def test_joints_without_columns_are_refused(self):
        with pytest.raises(RecordingError, match=r"Episode 4 has 1 arrays"):
            judge(self.record(0.0, 0.0, **{self.Q: np.zeros(7)}))

    @pytest.mark.parametrize("key", ["joint_positions", "joint_velocities"])
    @pytest.mark.parametrize(("named", "arm"), [({}, "*"), ({"arm": "left"}, "left")])
    def test_a_record_without_the_joints_of_the_arm_is_incomplete(self, key: str, named: dict[str, str], arm: str):
        rule = {"success_mode": None, "finger_contact_required": False, "goes_home": True}
        record = self.record(0.0, 0.0, entry(name="home", **rule, **named))
        del record.arrays[f"robots.panda.left.{key}"]
        with pytest.raises(RecordingError) as caught:
            judge(record)
        assert caught.value.message == (
            f"Episode 4 has 0 arrays 'robots.*.{arm}.{key}', and the verdict of a skill that goes home needs one. "
            "The record is incomplete."
        )
        assert caught.value.values == {"key": f"robots.*.{arm}.{key}"}


class TestThreshold:
    @pytest.mark.parametrize(
        ("mode", "frame", "measured"),
        [("abs", 4, 0.75), ("dis_to_init", 4, 0.75), ("normal", 4, -0.75), ("zero", 4, 0.25), ("fraction", 4, 0.375)],
    )
    def test_each_mode_measures_the_displacement_in_its_own_way(self, mode: str, frame: int, measured: float):
        record = make(entry(success_mode=mode, s_closed=0.5, s_open=-1.5), door=OPENS)
        assert measure_displacement(JudgedSkill.read(record, 0), frame) == (measured, 1.0)

    @pytest.mark.parametrize(
        ("mode", "threshold", "is_met"),
        [("abs", 0.75, True), ("abs", 0.76, False), ("zero", 0.75, True), ("zero", 0.74, False)],
    )
    def test_a_threshold_is_met_at_its_edge(self, mode: str, threshold: float, is_met: bool):
        skill = JudgedSkill.read(make(entry(success_mode=mode, success_threshold=threshold)), 0)
        assert is_threshold_met(skill, 4) is is_met

    def test_a_missed_threshold_has_the_numbers_behind_it(self):
        door = [0.5, 0.0, 0.25, 0.5, 0.5, 0.75, 0.0]
        record = make(entry(success_threshold=2), door=door)
        numbers = {"mode": "abs", "reached": 0.75, "wanted": 2.0, "s0": 0.0, "s_end": 0.75}
        assert list(missed_threshold(JudgedSkill.read(record, 0))) == [
            BrokenRule(5, "not_reached", {**LABEL, **numbers})
        ]

    @pytest.mark.parametrize(
        ("s_closed", "s_open", "measured"), [(0.5, 2.0, 0.75), (2.0, 0.5, -0.75), (-2.0, -0.5, 0.75)]
    )
    def test_the_mode_normal_counts_towards_open_wherever_zero_is(
        self, s_closed: float, s_open: float, measured: float
    ):
        record = make(entry(success_mode="normal", s_closed=s_closed, s_open=s_open))
        assert measure_displacement(JudgedSkill.read(record, 0), 4) == (measured, 1.0)

    def test_a_threshold_that_is_met_breaks_no_rule(self):
        assert list(missed_threshold(JudgedSkill.read(make(), 0))) == []

    def test_an_unknown_mode_is_refused(self):
        skill = JudgedSkill.read(make(entry(), entry(success_mode="sideways")), 1)
        with pytest.raises(RecordingError) as caught:
            measure_displacement(skill, 4)
        assert caught.value.message == (
            "Skill 1 has success_mode 'sideways', expected abs, normal, zero, dis_to_init or fraction. "
            "The record is damaged or of a newer version."
        )
        assert caught.value.values == {"success_mode": "sideways"}

    @pytest.mark.parametrize("key", ["s_closed", "s_open"])
    def test_a_limit_of_the_joint_that_is_missing_is_refused(self, key: str):
        skill = JudgedSkill.read(make(entry(**{key: None})), 0)
        with pytest.raises(RecordingError, match=rf"^'{key}' is None, expected a finite number"):
            measure_displacement(skill, 4)

    @pytest.mark.parametrize(("s_closed", "s_open"), [(0.5, 2.5), (2.5, 0.5), (-0.5, 1.5)])
    def test_a_share_is_of_the_range_whatever_its_direction(self, s_closed: float, s_open: float):
        assert share_of_range(0.5, s_closed, s_open, {}) == 0.25

    def test_an_empty_range_is_refused(self):
        with pytest.raises(RecordingError) as caught:
            share_of_range(0.5, 1.5, 1.5, LABEL)
        assert caught.value.message == (
            "s_open equals s_closed (1.5) in {'skill': 0, 'name': 'open'}: the range is empty. The record is damaged."
        )
        assert caught.value.values == {"s_open": 1.5}


class TestRead:
    @pytest.mark.parametrize(
        ("key", "value", "expected"),
        [("name", None, "str"), ("entry", "0", "int"), ("object", 3, "str"), ("joint_index", 0.0, "int")],
    )
    def test_a_key_of_another_type_is_refused(self, key: str, value: Any, expected: str):
        record = make(entry(), entry(**{key: value}))
        with pytest.raises(RecordingError) as caught:
            JudgedSkill.read(record, 1)
        assert caught.value.message == (
            f"{key}={value!r} in entry 1 of the skills of episode 4, expected {expected}. The record is incomplete."
        )

    def test_an_error_of_the_rule_names_the_entry(self):
        record = make(entry(), entry(finger_force_limit_n=None))
        with pytest.raises(RecordingError, match="in entry 1 of the skills of episode 4, expected a finite number"):
            JudgedSkill.read(record, 1)

    def test_a_skill_that_moves_no_part_needs_no_joint(self):
        skill = JudgedSkill.read(make(entry(success_mode=None, object=None, joint_index=None)), 0)
        assert (skill.index, skill.rule.success_mode) == (0, None)

    @pytest.mark.parametrize(
        ("later", "is_repeated"),
        [
            ([], False),
            ([{"entry": 0, "attempt": 1}], True),
            ([{"entry": 0, "attempt": 2}], False),
            ([{"entry": 1, "attempt": 1}], False),
            ([{"entry": 1, "attempt": 0}, {"entry": 0, "attempt": 1}], True),
        ],
    )
    def test_an_attempt_is_repeated_by_a_later_entry_of_the_same_skill(
        self, later: list[dict[str, int]], is_repeated: bool
    ):
        earlier = entry(entry=0, attempt=1)
        record = make(earlier, entry(entry=0, attempt=0), *[entry(**changes) for changes in later])
        assert JudgedSkill.read(record, 1).is_repeated is is_repeated

    def test_a_skill_without_attempts_is_not_repeated(self):
        assert JudgedSkill.read(make(entry(), entry(attempt=1)), 0).is_repeated is False
