"""The verdict from the record alone: one synthetic attempt for each way to fail, and the edges of each threshold."""

import numpy as np
import pytest

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.success_rules import FAILURE_CODES
from unlatch.simcore.recording.verdict import ABORT_CODES, Criteria, recompute_success

DOOR = "objects.microwave.joint_positions"
TOUCH = "contacts.panda.left.microwave.fingers_link.force_max_n"
BASE = "contacts.panda.left.microwave.fingers_base.force_max_n"
FORBIDDEN = "contacts.panda.left.microwave.forbid_collision.force_max_n"
SUSTAINED = "contacts.panda.left.fingers.force_sustained_n"
ENVIRONMENT = "contacts.panda.environment.force_max_n"


@pytest.fixture
def record(make_record):
    return make_record()


def code_of(record):
    verdict = recompute_success(record)
    assert verdict.success == (verdict.code is None)
    return verdict.code


def test_a_clean_attempt_is_a_success(record):
    verdict = recompute_success(record)
    assert (verdict.success, verdict.code, verdict.evidence, verdict.skills) == (True, None, {}, (True,))


def test_the_verdict_does_not_read_what_the_record_claims(make_record):
    claims_failure = make_record(success=False, code="collision")
    assert recompute_success(claims_failure).success
    claims_success = make_record()
    claims_success.arrays[DOOR][:, 1] = 0.0
    assert recompute_success(claims_success).code == "not_reached"


class TestConditionOfAPlugin:
    """No record shows whether a plugin's own condition was met."""

    OWN = Criteria(own_conditions=(0,))

    @pytest.fixture
    def failed(self, make_record):
        record = make_record(success=False, code="not_reached", settle=None)
        record.skills[0]["success"] = False
        return record

    def test_a_recorded_failure_is_believed(self, failed):
        verdict = recompute_success(failed, self.OWN)
        assert (verdict.success, verdict.code, verdict.skills) == (False, "not_reached", (False,))
        reason = "a condition of the skill's own class"
        assert verdict.evidence == {"frame": 17, "skill": 0, "name": "open", "reason": reason}

    def test_that_of_a_skill_without_one_is_not(self, failed):
        assert recompute_success(failed).code == "unsettled"
        assert recompute_success(failed, Criteria(own_conditions=(1,))).code == "unsettled"

    @pytest.mark.parametrize(("code", "success"), [("unsettled", False), ("not_reached", True)])
    def test_only_a_failure_with_this_code_is_believed(self, make_record, code, success):
        record = make_record(success=False, code=code)
        record.skills[0]["success"] = success
        assert recompute_success(record, self.OWN).success

    def test_a_recorded_success_is_judged(self, record):
        assert recompute_success(record, self.OWN).success
        record.arrays[DOOR][:, 1] = 0.0
        assert recompute_success(record, self.OWN).code == "not_reached"

    def test_an_earlier_broken_rule_comes_first(self, failed):
        failed.arrays[FORBIDDEN][7] = 9.0
        assert recompute_success(failed, self.OWN).code == "collision"


class TestCollision:
    @pytest.mark.parametrize("view", [BASE, FORBIDDEN, ENVIRONMENT])
    def test_a_force_above_the_threshold_is_a_collision(self, record, view):
        record.arrays[view][7] = 1.5
        verdict = recompute_success(record)
        assert verdict.code == "collision"
        assert verdict.evidence["force_n"] == 1.5
        assert verdict.evidence["frame"] == 8
        assert view == f"contacts.{verdict.evidence['view']}.force_max_n"
        assert verdict.skills == (False,)

    def test_a_force_at_the_threshold_is_no_collision(self, record):
        record.arrays[FORBIDDEN][7] = 1.0
        assert code_of(record) is None
        record.arrays[FORBIDDEN][7] = np.nextafter(1.0, 2.0)
        assert code_of(record) == "collision"

    def test_the_threshold_is_that_of_the_skill(self, record):
        record.arrays[FORBIDDEN][7] = 1.5
        record.skills[0]["contact_force_threshold_n"] = 2.0
        assert code_of(record) is None

    def test_fingers_on_the_moving_part_are_no_collision(self, record):
        record.arrays[TOUCH][:] = 50.0
        assert code_of(record) is None

    def test_it_is_not_judged_where_it_is_switched_off(self, record):
        record.arrays[FORBIDDEN][7] = 100.0
        record.skills[0]["collision_valid_enabled"] = False
        assert code_of(record) is None

    def test_it_counts_while_the_scene_settles_and_not_before_the_first_skill(self, record):
        record.arrays[ENVIRONMENT][1] = 9.0
        assert code_of(record) is None
        record.arrays[ENVIRONMENT][18] = 9.0
        verdict = recompute_success(record)
        assert (verdict.code, verdict.skills) == ("collision", (True,))


class TestOverload:
    def test_a_sustained_force_above_the_limit_is_an_overload(self, record):
        record.arrays[SUSTAINED][9] = 150.0
        verdict = recompute_success(record)
        evidence = {"frame": 10, "skill": 0, "name": "open", "hand": "panda.left", "force_n": 150.0, "limit_n": 140.0}
        assert (verdict.code, verdict.evidence, verdict.skills) == ("overload", evidence, (False,))

    def test_a_sustained_force_at_the_limit_is_no_overload(self, record):
        record.arrays[SUSTAINED][9] = 140.0
        assert code_of(record) is None
        record.arrays[SUSTAINED][9] = np.nextafter(140.0, 141.0)
        assert code_of(record) == "overload"

    def test_the_limit_is_that_of_the_skill(self, record):
        record.skills[0]["finger_force_limit_n"] = 5.0
        assert code_of(record) == "overload"

    def test_short_forces_are_not_judged(self, record):
        record.arrays["contacts.panda.left.fingers.force_max_n"][:] = 500.0
        record.arrays["contacts.panda.left.fingers.force_mean_n"][:] = 500.0
        assert code_of(record) is None

    def test_a_collision_in_the_same_frame_comes_first_and_a_lost_part_does_not(self, record):
        record.arrays[SUSTAINED][16] = 150.0
        record.arrays[TOUCH][:] = 0.0
        assert recompute_success(record).code == "overload"
        record.arrays[BASE][16] = 1.5
        assert recompute_success(record).code == "collision"

    def test_it_counts_while_the_scene_settles_and_not_before_the_first_skill(self, record):
        record.arrays[SUSTAINED][1] = 150.0
        assert code_of(record) is None
        record.arrays[SUSTAINED][18] = 150.0
        verdict = recompute_success(record)
        assert (verdict.code, verdict.skills) == ("overload", (True,))

    def test_each_skill_is_judged_by_the_fingers_of_its_own_arm(self, record):
        record.skills[0]["arm"] = "left"
        record.arrays["contacts.panda.right.fingers.force_sustained_n"] = np.full(20, 500.0)
        assert code_of(record) is None
        record.arrays[SUSTAINED][9] = 150.0
        assert recompute_success(record).evidence["hand"] == "panda.left"


class TestOverspeed:
    @pytest.mark.parametrize("body", ["panda", "microwave"])
    def test_a_joint_above_the_limit_is_an_overspeed(self, record, body):
        record.arrays[f"speeds.{body}.max"][9] = 5.1
        verdict = recompute_success(record)
        assert (verdict.code, verdict.evidence["body"], verdict.evidence["frame"]) == ("overspeed", body, 10)

    def test_a_joint_at_the_limit_is_no_overspeed(self, record):
        record.arrays["speeds.panda.max"][9] = 5.0
        assert code_of(record) is None

    def test_it_is_not_judged_where_it_is_switched_off(self, record):
        record.arrays["speeds.panda.max"][9] = 50.0
        record.skills[0]["process_valid_enabled"] = False
        assert code_of(record) is None


class TestFingerContact:
    def test_fingers_that_never_touch_missed_the_grasp(self, record):
        record.arrays[TOUCH][:] = 0.0
        assert code_of(record) == "grasp_missed"

    def test_contact_outside_the_skill_is_no_grasp(self, record):
        record.arrays[TOUCH][:] = 0.0
        record.arrays[TOUCH][[0, 1, 17, 18]] = 5.0
        assert code_of(record) == "grasp_missed"

    def test_eight_of_ten_moving_frames_are_enough_and_seven_are_not(self, record):
        record.arrays[TOUCH][[5, 6]] = 0.0
        assert code_of(record) is None
        record.arrays[TOUCH][7] = 0.0
        verdict = recompute_success(record)
        assert verdict.code == "slipped"
        assert verdict.evidence["contact_share"] == 0.7
        assert verdict.evidence["moving_frames"] == 10

    def test_frames_in_which_the_joint_creeps_do_not_count(self, record):
        record.arrays[DOOR][5:16, 1] = np.linspace(0.0, 0.8, 11)
        record.arrays[DOOR][2:6, 1] = [0.0, 0.9e-4, 1.8e-4, 2.7e-4]
        record.arrays[TOUCH][2:5] = 0.0
        record.skills[0]["s0"] = 0.0
        assert code_of(record) is None

    def test_the_smallest_force_is_contact(self, record):
        touched = record.arrays[TOUCH] > 0
        record.arrays[TOUCH][touched] = 1e-9
        assert code_of(record) is None

    @pytest.mark.parametrize("name", ["open", "close", "my_plugin"])
    def test_contact_is_not_needed_where_the_rule_of_the_skill_says_so(self, record, name):
        record.skills[0].update(name=name, finger_contact_required=False)
        record.arrays[TOUCH][:] = 0.0
        assert code_of(record) is None

    def test_contact_is_needed_where_the_rule_of_a_plugin_says_so(self, record):
        record.skills[0].update(name="my_plugin", finger_contact_required=True)
        record.arrays[TOUCH][:] = 0.0
        assert code_of(record) == "grasp_missed"


class TestThreshold:
    @pytest.mark.parametrize(
        ("mode", "threshold", "s0", "s_end", "s_open", "holds"),
        [
            ("abs", 0.8, 0.0, 0.8, 1.6, True),
            ("abs", 0.8, 0.0, -0.8, 1.6, True),
            ("abs", 0.8, 0.1, 0.8, 1.6, False),
            ("normal", 0.7, 0.0, 0.8, 1.6, True),
            ("normal", 0.7, 0.0, -0.8, 1.6, False),
            ("normal", 0.7, 0.0, -0.8, -1.6, True),  # a hinge that opens towards negative positions
            ("normal", 0.7, 0.0, 0.8, -1.6, False),
            ("zero", 0.08, 0.8, 0.08, 1.6, True),
            ("zero", 0.08, 0.8, -0.08, 1.6, True),
            ("zero", 0.08, 0.8, 0.0801, 1.6, False),
            ("dis_to_init", 0.5, 0.8, 0.3, 1.6, True),
            ("dis_to_init", 0.5, 0.8, 0.31, 1.6, False),
            ("fraction", 0.5, 0.0, 0.8, 1.6, True),
            ("fraction", 0.5, 0.0, -0.8, -1.6, True),
            ("fraction", 0.5, 0.0, 0.79, 1.6, False),
        ],
    )
    def test_each_mode_at_its_edge(self, record, mode, threshold, s0, s_end, s_open, holds):
        path = np.concatenate([np.full(5, s0), np.linspace(s0, s_end, 11), np.full(5, s_end)])
        record.arrays[DOOR][:, 1] = path
        record.goal = {"conditions": []}
        record.skills[0].update(success_mode=mode, success_threshold=threshold, s0=s0, s_end=s_end, s_open=s_open)
        assert code_of(record) == (None if holds else "not_reached")

    def test_evidence_has_reached_and_wanted(self, record):
        record.skills[0]["success_threshold"] = 0.9
        evidence = recompute_success(record).evidence
        assert (evidence["reached"], evidence["wanted"], evidence["frame"], evidence["skill"]) == (0.8, 0.9, 17, 0)

    def test_it_is_judged_at_the_skills_own_end(self, record):
        record.arrays[DOOR][17:, 1] = 0.69
        record.arrays[DOOR][18:, 1] = 0.8
        assert code_of(record) == "not_reached"

    def test_displacement_is_from_the_start_that_the_record_names_if_the_states_have_it(self, record):
        record.arrays[DOOR][0, 1] = 0.05  # the door came to rest before the skill began at frame 2
        record.arrays[DOOR][1:5, 1] = 0.0
        record.skills[0].update(success_threshold=0.8, s0=0.0)
        assert code_of(record) is None
        record.skills[0]["s0"] = 0.05
        assert code_of(record) == "not_reached"
        record.skills[0]["s0"] = -5.0  # no recorded position: measured from episode start
        assert code_of(record) == "not_reached"

    def test_a_fraction_of_no_range_is_refused(self, record):
        record.skills[0].update(success_mode="fraction", s_open=0.0)
        with pytest.raises(RecordingError, match="s_open equals s_closed"):
            recompute_success(record)

    def test_an_unknown_mode_is_refused(self, record):
        record.skills[0]["success_mode"] = "sideways"
        with pytest.raises(RecordingError, match="success_mode 'sideways', expected abs, normal, zero"):
            recompute_success(record)

    def test_a_skill_that_moves_nothing_is_not_judged_by_a_joint(self, record):
        record.skills[0].update(success_mode=None, object=None)
        assert code_of(record) is None


class TestGoalAndSettling:
    def test_a_goal_that_does_not_hold_when_settling_begins_is_not_reached(self, record):
        record.goal["conditions"][0]["value"] = 0.81
        verdict = recompute_success(record)
        assert (verdict.code, verdict.evidence["condition"], verdict.skills) == ("not_reached", 0, (True,))

    def test_a_goal_that_held_and_does_not_last_is_unsettled(self, record):
        record.arrays[DOOR][18:, 1] = [0.795, 0.79, 0.785]
        record.goal["conditions"][0]["value"] = 0.79
        verdict = recompute_success(record)
        assert (verdict.code, verdict.evidence["frame"]) == ("unsettled", 20)

    def test_a_joint_that_swings_and_comes_back_is_unsettled(self, record):
        record.arrays[DOOR][18, 1] = 0.83
        verdict = recompute_success(record)
        assert (verdict.code, verdict.evidence["frame"]) == ("unsettled", 18)
        assert verdict.evidence["change"] == pytest.approx(0.03)

    def test_a_joint_may_move_by_the_allowed_change(self, record):
        record.arrays[DOOR][17:, 1] = [0.8, 0.82, 0.78, 0.8]
        record.settle["max_change"] = 0.8 - 0.78
        assert code_of(record) is None

    def test_joints_that_no_skill_acts_on_may_move(self, record):
        record.arrays[DOOR][18:, 0] = 5.0
        assert code_of(record) is None

    def test_an_episode_without_settling_is_no_success(self, make_record):
        assert code_of(make_record(settle=None)) == "unsettled"

    @pytest.mark.parametrize(
        ("kind", "value", "holds"),
        [
            ("moved", 0.8, True),
            ("moved", 0.81, False),
            ("moved_fraction", 0.5, True),
            ("moved_fraction", 0.51, False),
            ("within_closed", 0.8, True),
            ("within_closed", 0.79, False),
        ],
    )
    def test_each_kind_of_goal_at_its_edge(self, record, kind, value, holds):
        record.goal["conditions"][0].update(kind=kind, value=value)
        assert code_of(record) == (None if holds else "not_reached")

    def test_limits_of_the_goal_itself_come_before_those_of_the_skill(self, record):
        record.goal["conditions"][0].update(kind="moved_fraction", value=0.5, s_closed=0.0, s_open=3.2)
        assert code_of(record) == "not_reached"

    def test_a_goal_on_a_joint_without_known_limits_is_refused(self, record):
        record.goal["conditions"][0].update(kind="moved_fraction", joint_index=0)
        with pytest.raises(RecordingError, match="needs s_closed and s_open"):
            recompute_success(record)

    def test_a_record_without_skills_and_goal_is_no_success(self, make_record):
        assert code_of(make_record(skills=[], goal={})) == "not_reached"

    def test_the_goal_alone_judges_an_episode_without_skills(self, make_record):
        assert code_of(make_record(skills=[])) is None


class TestBrokenOff:
    @pytest.mark.parametrize("code", sorted(ABORT_CODES))
    def test_codes_that_arrays_cannot_show_are_taken_from_the_record(self, make_record, code):
        record = make_record(success=False, code=code, settle=None, evidence={"wanted": 3.0})
        record.skills[0].update(frame_end=20, success=False)
        record.arrays[DOOR][:, 1] = 0.1
        verdict = recompute_success(record)
        assert (verdict.code, verdict.evidence["wanted"], verdict.skills) == (code, 3.0, (None,))

    @pytest.mark.parametrize("code", ["invalid_layout", "plan_infeasible", "error"])
    def test_an_attempt_that_never_began_has_no_arrays(self, make_record, code):
        record = make_record(success=False, code=code, skills=[], settle=None, arrays={})
        assert code_of(record) == code

    @pytest.mark.parametrize("code", sorted(FAILURE_CODES.keys() - ABORT_CODES))
    def test_codes_that_arrays_show_are_not_believed(self, make_record, code):
        assert recompute_success(make_record(success=False, code=code)).success

    def test_a_collision_before_the_abort_wins(self, make_record):
        record = make_record(success=False, code="timeout", settle=None, evidence={"frame": 15})
        record.arrays[FORBIDDEN][12] = 4.0
        assert code_of(record) == "collision"
        record.arrays[FORBIDDEN][:] = 0.0
        record.arrays[FORBIDDEN][16] = 4.0
        assert code_of(record) == "timeout"

    def test_values_that_are_not_finite_diverged(self, record):
        record.arrays["robots.panda.left.joint_positions"][6, 2] = np.nan
        verdict = recompute_success(record)
        assert (verdict.code, verdict.evidence["frame"]) == ("diverged", 6)


class TestOrder:
    def test_the_earliest_violation_wins(self, record):
        record.arrays["speeds.panda.max"][8] = 9.0
        record.arrays[FORBIDDEN][9] = 9.0
        assert code_of(record) == "overspeed"

    def test_at_one_frame_the_first_in_the_list_wins(self, record):
        record.arrays["speeds.panda.max"][8] = 9.0
        record.arrays[FORBIDDEN][8] = 9.0
        assert code_of(record) == "collision"

    def test_a_skill_that_was_stopped_for_overspeed_is_not_called_not_reached(self, make_record):
        record = make_record(success=False, code="overspeed", settle=None)
        record.skills[0].update(frame_end=20, success=False)
        record.arrays["speeds.panda.max"][19] = 9.0
        record.arrays[DOOR][:, 1] = 0.0
        verdict = recompute_success(record)
        assert (verdict.code, verdict.skills) == ("overspeed", (False,))

    def test_missing_the_grasp_explains_a_joint_that_did_not_move(self, record):
        record.arrays[TOUCH][:] = 0.0
        record.arrays[DOOR][:, 1] = 0.0
        assert code_of(record) == "grasp_missed"

    def test_the_first_skill_of_a_chain_that_fails_gives_the_code(self, record):
        second = {**record.skills[0], "frame_start": 17, "frame_end": 19, "success_mode": "zero", "name": "close"}
        record.skills[0].update(frame_end=10, success_threshold=0.3)
        record.skills.append({**second, "success_threshold": 0.05, "finger_contact_required": False})
        verdict = recompute_success(record)
        assert (verdict.code, verdict.evidence["skill"], verdict.skills) == ("not_reached", 1, (True, False))

    def test_each_row_belongs_to_the_skill_that_began_last(self, record):
        second = {**record.skills[0], "frame_start": 12, "collision_valid_enabled": False}
        record.skills[0].update(frame_end=10, success_threshold=0.3)
        record.skills.append(second)
        record.arrays[FORBIDDEN][12] = 9.0
        assert code_of(record) is None
        record.arrays[FORBIDDEN][11] = 9.0
        assert code_of(record) == "collision"

    def test_a_skill_that_never_ran_is_no_success(self, record):
        record.skills.append({**record.skills[0], "frame_start": None, "frame_end": None})
        verdict = recompute_success(record)
        assert (verdict.code, verdict.evidence["reason"], verdict.skills) == (
            "not_reached",
            "the skill never ran",
            (True, None),
        )


class TestIncomplete:
    @pytest.mark.parametrize(
        "key",
        [
            "success_threshold",
            "joint_index",
            "name",
            "collision_valid_enabled",
            "process_valid_enabled",
            "finger_contact_required",
            "contact_force_threshold_n",
            "finger_force_limit_n",
        ],
    )
    def test_a_skill_without_a_key_of_its_rule_is_refused(self, record, key):
        del record.skills[0][key]
        with pytest.raises(RecordingError, match=rf"{key}=None in entry 0 of the skills of episode 0, expected"):
            recompute_success(record)

    @pytest.mark.parametrize(("key", "value"), [("frame_end", 21), ("frame_end", True), ("frame_start", -1)])
    def test_a_frame_outside_the_episode_is_refused(self, record, key, value):
        record.skills[0][key] = value
        with pytest.raises(RecordingError, match=rf"'{key}' is {value}, expected a state frame from 0 to 20"):
            recompute_success(record)

    @pytest.mark.parametrize("suffix", [".force_max_n", ".force_sustained_n", ".max"])
    def test_a_record_without_contacts_or_speeds_is_refused(self, record, suffix):
        record.arrays = {k: a for k, a in record.arrays.items() if not k.endswith(suffix)}
        with pytest.raises(RecordingError, match="which its verdict needs"):
            recompute_success(record)

    def test_a_joint_that_is_not_recorded_is_refused(self, record):
        record.skills[0]["joint_index"] = 2
        with pytest.raises(RecordingError, match=r"has no column 2 of 'objects\.microwave\.joint_positions'"):
            recompute_success(record)

    def test_a_threshold_that_is_not_finite_is_refused(self, record):
        record.skills[0]["success_threshold"] = float("nan")
        with pytest.raises(RecordingError, match="success_threshold=nan in entry 0 of the skills of episode 0"):
            recompute_success(record)
