"""What a verdict says besides its code: the frame and the numbers behind it, and the result of each skill."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.episode_fields import SKILL_FIELDS
from unlatch.simcore.recording.verdict import POSSIBLE, Criteria, Verdict, contradicts_success, recompute_success

Make = Callable[..., EpisodeRecord]
DOOR = "objects.microwave.joint_positions"
TOUCH = "contacts.panda.left.microwave.fingers_link.force_max_n"
FORBIDDEN = "contacts.panda.left.microwave.forbid_collision.force_max_n"
GRIPPER = "actions.panda.left.gripper_target"
TARGETS = "actions.panda.left.joint_targets"
LABEL = {"skill": 0, "name": "open"}


def fail(code: str, evidence: dict[str, Any], *skills: bool | None) -> Verdict:
    return Verdict(success=False, code=code, evidence=evidence, skills=skills)


class TestValuesThatAreNotFinite:
    @pytest.mark.parametrize(
        ("key", "place", "frame"),
        [
            ("robots.panda.left.joint_positions", (6, 2), 6),
            ("robots.panda.left.joint_positions", (0, 0), 0),
            ("actions.panda.left.joint_targets", (6, 2), 7),
            ("contacts.panda.environment.force_max_n", (6,), 7),
        ],
    )
    def test_a_state_has_its_own_frame_and_a_row_that_of_the_state_after_it(
        self, make_record: Make, key: str, place: tuple[int, ...], frame: int
    ):
        record = make_record()
        record.arrays[key][place] = np.nan
        assert recompute_success(record).evidence == {"frame": frame, "key": key}
        assert recompute_success(record).code == "diverged"

    def test_the_earliest_of_several_arrays_is_named(self, make_record: Make):
        record = make_record()
        record.arrays["robots.panda.left.ee_position"][9:, 1] = np.nan
        record.arrays["robots.panda.left.tcp_position"][5:, 1] = np.nan
        evidence = {"frame": 5, "key": "robots.panda.left.tcp_position"}
        assert recompute_success(record).evidence == evidence


class TestMovingTargets:
    RESTS = Criteria(targets_rest=True)

    @pytest.fixture
    def record(self, make_record: Make) -> EpisodeRecord:
        """The targets of the arm and of the gripper rest from action 10 on; the scene settles from frame 17 to 20."""
        made = make_record()
        for key in (TARGETS, GRIPPER):
            made.arrays[key] = made.arrays[key].copy()
            made.arrays[key][10:] = made.arrays[key][10]
        return made

    @pytest.mark.parametrize("key", [TARGETS, GRIPPER])
    @pytest.mark.parametrize("frame", [18, 19])
    def test_a_change_is_unsettled_in_the_state_before_it(self, record: EpisodeRecord, key: str, frame: int):
        record.arrays[key][frame:] += 1e-3
        evidence = {"frame": frame, "key": key, "reason": "targets change"}
        assert recompute_success(record, self.RESTS) == fail("unsettled", evidence, True)
        assert recompute_success(record).success

    @pytest.mark.parametrize("sign", [1, -1])
    def test_one_joint_is_enough_in_either_direction(self, record: EpisodeRecord, sign: int):
        record.arrays[TARGETS][18:, 6] += sign * 1e-9
        assert recompute_success(record, self.RESTS).code == "unsettled"

    def test_a_change_when_settling_begins_does_not_count(self, record: EpisodeRecord):
        record.arrays[TARGETS][17:] += 1.0
        assert recompute_success(record, self.RESTS).success

    def test_settling_may_end_before_the_record(self, record: EpisodeRecord):
        record.settle = {"frame_start": 16, "frame_end": 18, "max_change": 0.02}
        record.arrays[TARGETS][18:] += 1.0
        assert recompute_success(record, self.RESTS).success
        record.arrays[TARGETS][17:] += 1.0
        assert recompute_success(record, self.RESTS).evidence["frame"] == 17

    def test_other_arrays_of_actions_and_targets_of_states_may_change(self, record: EpisodeRecord):
        record.arrays["actions.panda.left.ee_target_position"][18:] += 1.0
        record.arrays["robots.panda.left.gripper_target"][18:] += 1.0
        record.arrays["labels.panda.left.joint_targets"] = np.arange(20.0)[:, None]
        assert recompute_success(record, self.RESTS).success

    def test_a_record_without_settling_is_unsettled_for_this_reason(self, record: EpisodeRecord):
        record.settle = None
        evidence = {"frame": 20, "reason": "the record has no settling"}
        assert recompute_success(record, self.RESTS) == fail("unsettled", evidence, True)

    @pytest.mark.parametrize("key", ["frame_start", "frame_end"])
    def test_a_frame_of_settling_outside_the_episode_is_refused(self, record: EpisodeRecord, key: str):
        record.settle = {"frame_start": 17, "frame_end": 20, "max_change": 0.02, key: 21}
        with pytest.raises(RecordingError, match=rf"^'{key}' is 21, expected a state frame from 0 to 20"):
            recompute_success(record, self.RESTS)


class TestTime:
    def test_a_timeout_has_the_first_frame_after_the_limit(self, make_record: Make):
        criteria = Criteria(max_duration_s=18.5 / 30)
        evidence = {"frame": 19, "allowed_s": 18.5 / 30}
        assert recompute_success(make_record(), criteria) == fail("timeout", evidence, True)

    def test_a_skill_that_ends_after_the_limit_is_not_judged(self, make_record: Make):
        verdict = recompute_success(make_record(), Criteria(max_duration_s=16.5 / 30))
        assert verdict == fail("timeout", {"frame": 17, "allowed_s": 16.5 / 30}, None)

    def test_the_time_does_not_count_before_a_skill_has_begun(self, make_record: Make):
        record = make_record()
        record.skills[0] |= {"frame_start": None, "frame_end": None}
        verdict = recompute_success(record, Criteria(max_duration_s=0.1))
        assert verdict == fail("not_reached", {"frame": 20, **LABEL, "reason": "the skill never ran"}, None)

    def test_one_skill_that_has_begun_is_enough(self, make_record: Make):
        record = make_record()
        record.skills.append({**record.skills[0], "frame_start": None, "frame_end": None})
        assert recompute_success(record, Criteria(max_duration_s=0.1)).code == "timeout"

    def test_a_record_without_times_has_no_timeout(self, make_record: Make):
        record = make_record()
        del record.arrays["time"]
        assert recompute_success(record, Criteria(max_duration_s=0.1)).success


class TestAborts:
    @pytest.mark.parametrize(
        ("stated", "frame"), [(0, 0), (12, 12), (20, 20), (21, 20), (-1, 20), (True, 20), ("12", 20), (None, 20)]
    )
    def test_an_abort_has_the_frame_of_its_evidence_or_else_the_last(self, make_record: Make, stated: Any, frame: int):
        record = make_record(success=False, code="motion_blocked", settle=None, evidence={"frame": stated, "joint": 3})
        found = recompute_success(record)
        assert (found.code, found.evidence["joint"]) == ("motion_blocked", 3)
        assert found.skills == ((True,) if frame == 20 else (None,))

    def test_the_first_frame_decides_between_two_aborts(self, make_record: Make):
        record = make_record(success=False, code="error", settle=None, evidence={"frame": 19})
        assert recompute_success(record, Criteria(max_duration_s=17.5 / 30)).code == "timeout"
        assert recompute_success(record, Criteria(max_duration_s=19.5 / 30)).code == "error"

    def test_the_goal_of_an_attempt_that_was_stopped_is_not_judged(self, make_record: Make):
        record = make_record(success=False, code="error", evidence={"frame": 20})
        record.goal["conditions"][0]["value"] = 5.0
        assert recompute_success(record).code == "error"

    def test_the_goal_of_an_attempt_that_broke_a_rule_is_judged_if_it_has_settled(self, make_record: Make):
        record = make_record()
        record.goal["conditions"][0]["value"] = 5.0
        record.arrays[FORBIDDEN][18] = 9.0
        assert recompute_success(record).code == "not_reached"  # at frame 17, before the collision
        record.settle = None
        assert recompute_success(record).code == "collision"


class TestSkills:
    def test_a_skill_that_ended_at_or_after_the_abort_has_no_result(self, make_record: Make):
        record = make_record(success=False, code="error", settle=None, evidence={"frame": 17})
        assert recompute_success(record).skills == (None,)
        record.evidence["frame"] = 18
        assert recompute_success(record).skills == (True,)

    def test_a_rule_that_broke_in_its_last_frame_fails_a_skill_and_one_that_broke_later_does_not(
        self, make_record: Make
    ):
        record = make_record()
        record.arrays[FORBIDDEN][16] = 9.0  # the state after this row is frame 17, at which it ends
        assert recompute_success(record).skills == (False,)
        record = make_record()
        record.arrays[FORBIDDEN][17] = 9.0
        assert recompute_success(record).skills == (True,)

    def test_an_attempt_that_was_broken_off_and_not_repeated_is_named(self, make_record: Make):
        record = make_record()
        record.skills[0] |= {"entry": 0, "attempt": 0, "broken_off": True}
        evidence = {"frame": 17, **LABEL, "reason": "broken off and not attempted again"}
        assert recompute_success(record) == fail("not_reached", evidence, None)

    def test_a_skill_that_was_broken_off_and_has_no_attempts_is_judged_by_the_goal(self, make_record: Make):
        record = make_record()
        record.skills[0] |= {"broken_off": True}
        assert recompute_success(record).success

    def test_a_missing_skill_of_the_chain_is_named(self, make_record: Make):
        evidence = {"frame": 20, "reason": "skills of the chain that began: 1, expected 2"}
        assert recompute_success(make_record(), Criteria(chain_length=2)) == fail("not_reached", evidence, True)

    def test_two_attempts_at_a_skill_are_one_of_the_chain(self, make_record: Make):
        record = make_record()
        again = {**record.skills[0], "entry": 0, "attempt": 1, "frame_start": 10}
        record.skills[0] |= {"entry": 0, "attempt": 0, "broken_off": True, "frame_end": 10}
        record.skills.append(again)
        assert recompute_success(record, Criteria(chain_length=1)).success
        reason = recompute_success(record, Criteria(chain_length=2)).evidence["reason"]
        assert reason == "skills of the chain that began: 1, expected 2"

    def test_entries_without_a_place_are_skills_of_their_own(self, make_record: Make):
        record = make_record()
        record.skills[0] |= {"success_threshold": 0.1, "frame_end": 10}
        record.skills.append({**record.skills[0], "frame_start": 10, "frame_end": 17})
        assert recompute_success(record, Criteria(chain_length=2)).success


SETTLE = {"frame_start": 17, "frame_end": 20, "max_change": 0.02}


class TestContradiction:
    def test_an_attempt_that_was_stopped_although_it_had_succeeded_contradicts_itself(self, make_record: Make):
        record = make_record(success=False, code="error", settle=None, evidence={"frame": 20})
        assert contradicts_success(record, Criteria(success_settle=SETTLE)) is True
        assert (record.code, record.settle) == ("error", None)

    def test_the_criteria_decide_whether_it_had_succeeded(self, make_record: Make):
        record = make_record(success=False, code="error", settle=None)
        entry = {**dict.fromkeys(SKILL_FIELDS, POSSIBLE), "success_threshold": 1.5}
        criteria = Criteria({"skills": [entry]}, success_settle=SETTLE)
        assert contradicts_success(record, criteria) is False

    @pytest.mark.parametrize("code", ["collision", "motion_blocked"])
    def test_codes_that_arrays_show_or_that_are_ambiguous_contradict_nothing(self, make_record: Make, code: str):
        record = make_record(success=False, code=code, settle=None)
        assert contradicts_success(record, Criteria(success_settle=SETTLE)) is False

    def test_a_success_and_a_record_without_arrays_contradict_nothing(self, make_record: Make):
        criteria = Criteria(success_settle=SETTLE)
        assert contradicts_success(make_record(), criteria) is False
        never = make_record(success=False, code="plan_infeasible", settle=None, arrays={}, skills=[], goal={})
        assert contradicts_success(never, criteria) is False

    def test_without_a_time_of_settling_nothing_is_contradicted(self, make_record: Make):
        stopped = make_record(success=False, code="error", settle=None)
        assert contradicts_success(stopped, Criteria()) is False
