"""The verdict from the record alone: its code, the numbers behind it, and what the configuration demands."""

import numpy as np
import pytest

from tests.simcore.recording.builders import (
    BASE,
    ENVIRONMENT,
    FORBIDDEN,
    GRIPPER,
    NOT_RUN,
    SETTLES,
    SPEED,
    SUSTAINED,
    TARGETS,
    TOUCH,
    Q,
    T,
    attempt,
    make_record,
    never_began,
    stopped,
)
from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.check import check_record
from unlatch.simcore.recording.episode_fields import SKILL_FIELDS
from unlatch.simcore.recording.episode_structure import CLOCK, RECORD, Field
from unlatch.simcore.recording.index import EpisodeSummary, parse_line
from unlatch.simcore.recording.success_rules import FAILURE_CODES
from unlatch.simcore.recording.verdict import (
    ABORT_CODES,
    ABSENT,
    POSSIBLE,
    RECORDED,
    Criteria,
    Verdict,
    contradicts_success,
    recompute_success,
    undetermined,
)

LABEL = {"skill": 0, "name": "open"}
ALL = ...
ABOVE_1_N, ABOVE_140_N = np.nextafter(1.0, 2.0), np.nextafter(140.0, 141.0)
STAYS = {ALL: 0.0}
"""A door that is never opened, and fingers that never touch it."""


def fail(code, evidence, *skills):
    return Verdict(success=False, code=code, evidence=evidence, skills=skills)


def judge(record, **criteria):
    verdict = recompute_success(record, Criteria(**criteria) if criteria else None)
    assert verdict.success == (verdict.code is None)
    return verdict


def test_a_clean_attempt_is_a_success():
    assert judge(make_record()) == Verdict(success=True, code=None, evidence={}, skills=(True,))


def test_the_verdict_does_not_read_what_the_record_claims():
    assert judge(make_record(success=False, code="collision")).success
    assert judge(attempt(door=STAYS)).code == "not_reached"


@pytest.mark.parametrize(
    ("record", "code", "evidence", "skills"),
    [
        (attempt(rows={BASE: {7: 1.5}}), "collision", {"frame": 8, "force_n": 1.5}, (False,)),
        (attempt(rows={FORBIDDEN: {7: 1.5}}), "collision", {"frame": 8, "force_n": 1.5}, (False,)),
        (attempt(rows={ENVIRONMENT: {7: ABOVE_1_N}}), "collision", {"view": "panda.environment"}, (False,)),
        (attempt(rows={ENVIRONMENT: {7: 1.0}}), None, {}, (True,)),
        (attempt(rows={ENVIRONMENT: {1: 9.0}, SUSTAINED: {1: 150.0}}), None, {}, (True,)),  # before the first skill
        (attempt(rows={ENVIRONMENT: {18: 9.0}}), "collision", {"frame": 19}, (True,)),  # while the scene settles
        (attempt(rows={SUSTAINED: {9: 140.0}}), None, {}, (True,)),
        (attempt(rows={SUSTAINED: {9: ABOVE_140_N}}), "overload", {"hand": "panda.left"}, (False,)),
        (attempt(rows={SUSTAINED.replace("sustained", "max"): {ALL: 500.0}}), None, {}, (True,)),  # for a short time
        (attempt(rows={SUSTAINED: {18: 150.0}}), "overload", {"frame": 19}, (True,)),
        (attempt(rows={SUSTAINED: {16: 150.0}, TOUCH: STAYS}), "overload", {}, (False,)),
        (attempt(rows={SUSTAINED: {16: 150.0}, BASE: {16: 1.5}}), "collision", {}, (False,)),  # in the same frame
        (attempt(rows={"speeds.microwave.max": {9: 5.1}}), "overspeed", {"body": "microwave", "frame": 10}, (False,)),
        (attempt(rows={TOUCH: {ALL: 0.0, 0: 5.0, 1: 5.0, 17: 5.0, 18: 5.0}}), "grasp_missed", {}, (False,)),
        (attempt(rows={TOUCH: {5: 0.0, 6: 0.0, 7: 0.0}}), "slipped", {"contact_share": 0.7}, (False,)),
        (attempt(door={17: 0.69}), "not_reached", {"frame": 17}, (False,)),  # at its own end
        (attempt({"success_mode": None, "object": None}), None, {}, (True,)),
        (attempt(goal={"value": 0.79}, door={18: 0.795, 19: 0.79, 20: 0.785}), "unsettled", {"frame": 20}, (True,)),
        (attempt(door={18: 0.83}), "unsettled", {"frame": 18, "change": pytest.approx(0.03)}, (True,)),
        (make_record(settle=None), "unsettled", {}, (True,)),
        (make_record(skills=[], goal={}), "not_reached", {}, ()),
    ],
)
def test_each_rule_gives_its_code_and_evidence_from_its_edge_on(record, code, evidence, skills):
    verdict = judge(record)
    assert (verdict.code, verdict.skills) == (code, skills)
    assert {key: verdict.evidence[key] for key in evidence} == evidence


@pytest.mark.parametrize(("s0", "code"), [(0.0, None), (0.05, "not_reached"), (-5.0, "not_reached")])
def test_displacement_is_from_the_start_that_the_record_names_if_the_states_have_it(s0, code):
    record = attempt({"success_threshold": 0.8, "s0": s0}, door={0: 0.05})  # it came to rest before frame 2
    assert judge(record).code == code


class TestConditionOfAPlugin:
    """No record shows whether a plugin's own condition was met."""

    @staticmethod
    def failed(**rows):
        return stopped("not_reached", skill={"success": False}, rows=rows)

    def test_a_recorded_failure_is_believed(self):
        evidence = {"frame": 17, **LABEL, "reason": "a condition of the skill's own class"}
        assert judge(self.failed(), own_conditions=(0,)) == fail("not_reached", evidence, False)

    def test_an_earlier_broken_rule_comes_first(self):
        assert judge(attempt(door=STAYS), own_conditions=(0,)).code == "not_reached"
        assert judge(self.failed(**{FORBIDDEN: {7: 9.0}}), own_conditions=(0,)).code == "collision"


class TestValuesThatAreNotFinite:
    @pytest.mark.parametrize(
        ("key", "place", "frame"), [(Q, (6, 2), 6), (Q, (0, 0), 0), (TARGETS, (6, 2), 7), (ENVIRONMENT, 6, 7)]
    )
    def test_a_state_has_its_own_frame_and_a_row_that_of_the_state_after_it(self, key, place, frame):
        assert judge(attempt(rows={key: {place: np.nan}})) == fail("diverged", {"frame": frame, "key": key}, True)


class TestMovingTargets:
    """The targets of arm and gripper must rest while the scene settles, from frame 17 to 20, where criteria say so."""

    @pytest.fixture
    def record(self):
        made = make_record()
        made.arrays[TARGETS][10:] = made.arrays[TARGETS][10]
        return made

    @pytest.mark.parametrize("key", [TARGETS, GRIPPER])
    @pytest.mark.parametrize("frame", [18, 19])
    def test_a_change_is_unsettled_in_the_state_before_it(self, record, key, frame):
        record.arrays[key][frame:] += 1e-3
        evidence = {"frame": frame, "key": key, "reason": "targets change"}
        assert judge(record, targets_rest=True) == fail("unsettled", evidence, True)
        assert judge(record).success

    @pytest.mark.parametrize("sign", [1, -1])
    def test_one_joint_is_enough_in_either_direction(self, record, sign):
        record.arrays[TARGETS][18:, 6] += sign * 1e-9
        assert judge(record, targets_rest=True).code == "unsettled"

    def test_other_arrays_of_actions_and_targets_of_states_may_change(self, record):
        record.arrays["actions.panda.left.ee_target_position"][18:] += 1.0
        record.arrays["robots.panda.left.gripper_target"][18:] += 1.0
        record.arrays["labels.panda.left.joint_targets"] = np.arange(20.0)[:, None]
        assert judge(record, targets_rest=True).success

    def test_settling_must_be_recorded_and_within_the_episode(self, record):
        record.settle = None
        evidence = {"frame": T, "reason": "the record has no settling"}
        assert judge(record, targets_rest=True) == fail("unsettled", evidence, True)
        for key in ("frame_start", "frame_end"):
            record.settle = {**SETTLES, key: 21}
            with pytest.raises(RecordingError, match=rf"^'{key}' is 21, expected a state frame from 0 to 20"):
                judge(record, targets_rest=True)


class TestTime:
    @pytest.mark.parametrize(
        ("frames", "frame", "result"),
        [(18.5, 19, True), (18, 19, True), (16.5, 17, None), (20, None, True), (30, None, True)],
    )
    def test_a_timeout_has_the_first_frame_after_the_limit_and_a_skill_that_ends_later_no_result(
        self, frames, frame, result
    ):
        verdict = judge(make_record(), max_duration_s=frames / 30)
        if frame is None:
            assert verdict.success
        else:
            assert verdict == fail("timeout", {"frame": frame, "allowed_s": frames / 30}, result)

    def test_the_time_does_not_count_before_a_skill_has_begun_and_one_is_enough(self):
        verdict = judge(attempt(NOT_RUN), max_duration_s=0.1)
        assert verdict == fail("not_reached", {"frame": T, **LABEL, "reason": "the skill never ran"}, None)
        record = make_record()
        record.skills.append({**record.skills[0], **NOT_RUN})
        assert judge(record, max_duration_s=0.1).code == "timeout"

    def test_a_timeout_is_believed_only_without_a_time_limit(self):
        record = stopped("timeout", {"frame": 10}, skill={"frame_end": 10, "s_end": 0.4, "success": False})
        assert judge(record).code == "timeout"
        assert judge(record, max_duration_s=0.3).code == "timeout"
        assert judge(record, max_duration_s=5.0).code == "not_reached"


class TestAborts:
    @pytest.mark.parametrize("code", sorted(ABORT_CODES))
    def test_codes_that_arrays_cannot_show_are_taken_from_the_record(self, code):
        record = stopped(code, {"wanted": 3.0}, skill={"frame_end": T, "success": False}, door=STAYS)
        assert judge(record) == fail(code, {"frame": T, "wanted": 3.0}, None)

    @pytest.mark.parametrize("code", ["invalid_layout", "plan_infeasible", "error"])
    def test_an_attempt_that_never_began_has_no_arrays(self, code):
        assert judge(never_began(code)).code == code

    @pytest.mark.parametrize("code", sorted(FAILURE_CODES.keys() - ABORT_CODES))
    def test_codes_that_arrays_show_are_not_believed(self, code):
        assert judge(make_record(success=False, code=code)).success

    @pytest.mark.parametrize(("stated", "frame"), [(0, 0), (20, 20), (21, 20), (-1, 20), (True, 20), (None, 20)])
    def test_an_abort_has_the_frame_of_its_evidence_or_else_the_last(self, stated, frame):
        found = judge(stopped("motion_blocked", {"frame": stated, "joint": 3}))
        assert (found.code, found.evidence["joint"]) == ("motion_blocked", 3)
        assert found.skills == ((True,) if frame == 20 else (None,))

    def test_the_goal_is_judged_unless_the_attempt_was_stopped_or_broke_a_rule_before_it_settled(self):
        hits = {FORBIDDEN: {18: 9.0}}
        assert judge(attempt(goal={"value": 5.0}, success=False, code="error", evidence={"frame": T})).code == "error"
        assert judge(attempt(goal={"value": 5.0}, rows=hits)).code == "not_reached"  # at frame 17
        assert judge(attempt(goal={"value": 5.0}, rows=hits, settle=None)).code == "collision"


class TestSkills:
    @pytest.mark.parametrize(("row", "result"), [(16, False), (17, True)])
    def test_a_rule_that_broke_in_its_last_frame_fails_a_skill_and_one_that_broke_later_does_not(self, row, result):
        assert judge(attempt(rows={FORBIDDEN: {row: 9.0}})).skills == (result,)

    @pytest.mark.parametrize(("row", "code"), [(9, "overspeed"), (8, "collision")])
    def test_the_earliest_violation_wins_and_at_one_frame_the_first_in_the_list(self, row, code):
        assert judge(attempt(rows={SPEED: {8: 9.0}, FORBIDDEN: {row: 9.0}})).code == code

    def test_the_first_skill_of_a_chain_that_fails_gives_the_code(self):
        record = attempt({"frame_end": 10, "success_threshold": 0.3})
        closes = {"name": "close", "success_mode": "zero", "success_threshold": 0.05, "finger_contact_required": False}
        record.skills.append({**record.skills[0], **closes, "frame_start": 17, "frame_end": 19})
        verdict = judge(record)
        assert (verdict.code, verdict.evidence["skill"], verdict.skills) == ("not_reached", 1, (True, False))

    def test_every_skill_of_the_chain_must_have_begun(self):
        evidence = {"frame": T, "reason": "skills of the chain that began: 1, expected 2"}
        assert judge(make_record(), chain_length=1).success
        assert judge(make_record(), chain_length=2) == fail("not_reached", evidence, True)


class TestAttempts:
    """The door is lost at frame 10 (0.4 of 0.8 rad) and led on from there by a second attempt at the skill."""

    @pytest.fixture
    def record(self):
        made = attempt({"entry": 0}, door={10: 0.4})
        failed = {"broken_off": True, "frame_end": 10, "s_end": 0.4, "success": False, "code": "slipped"}
        again = {**made.skills[0], "attempt": 1, "broken_off": False, "frame_start": 10}
        made.skills = [{**made.skills[0], "attempt": 0, **failed, "message": "lost"}, again]
        made.arrays["skills.index"][10:] = 1
        return made

    def test_a_skill_that_succeeds_at_its_second_attempt_is_a_success_and_one_of_the_chain(self, record):
        assert (judge(record).success, judge(record).skills) == (True, (None, True))
        assert check_record(record) == []
        assert judge(record, chain_length=1).success
        reason = judge(record, chain_length=2).evidence["reason"]
        assert reason == "skills of the chain that began: 1, expected 2"

    @pytest.mark.parametrize(("threshold", "code"), [(0.79, None), (0.81, "not_reached")])
    def test_the_displacement_counts_from_the_start_of_the_first_attempt(self, record, threshold, code):
        record.skills[1]["success_threshold"] = threshold  # 0.8 rad in all, 0.4 rad in the second attempt
        assert judge(record).code == code

    def test_a_broken_off_attempt_is_not_judged_by_its_end_but_by_its_forces_also_on_the_way_back(self, record):
        record.arrays[TOUCH][2:10] = 0.0  # the first attempt never touched the door
        assert judge(record).success
        record.skills[0]["frame_end"] = 7
        record.arrays[FORBIDDEN][8] = 9.0
        assert (judge(record).code, judge(record).evidence["skill"]) == ("collision", 0)

    def test_an_attempt_that_was_broken_off_and_not_repeated_is_named(self, record):
        del record.skills[1]
        evidence = {"frame": 10, **LABEL, "reason": "broken off and not attempted again"}
        assert judge(record) == fail("not_reached", evidence, None)
        assert judge(attempt({"broken_off": True})).success  # without attempts the goal judges

    def test_the_summary_counts_replans_and_leaves_them_out_where_there_are_none(self, record):
        summary, plain = EpisodeSummary.of(record, b""), EpisodeSummary.of(make_record(), b"")
        assert (summary.replans, plain.replans) == (1, 0)
        assert b"replans" not in plain.line()
        assert parse_line(summary.line()) == summary


class TestContradiction:
    """An attempt that was stopped although it had succeeded contradicts itself."""

    @pytest.mark.parametrize(
        ("record", "settles", "contradicts"),
        [
            (stopped("error", {"frame": T}), SETTLES, True),
            (stopped("plan_infeasible"), SETTLES, True),
            (stopped("error"), {}, False),  # the criteria do not know when it settles
            (stopped("collision"), SETTLES, False),  # arrays show it
            (stopped("motion_blocked"), SETTLES, False),  # in the very frame of the success
            (never_began("plan_infeasible"), SETTLES, False),
        ],
    )
    def test_a_check_names_it(self, record, settles, contradicts):
        criteria = Criteria(success_settle=settles)
        assert contradicts_success(record, criteria) is contradicts
        said = f"it was stopped with code '{record.code}', but every rule of success holds at its end."
        assert (said in check_record(record, lambda _: criteria)) == contradicts
        assert said not in check_record(record)


def states(**stated):
    """Returns what an entry of `skills` must state; its other keys are free."""
    return {**dict.fromkeys(SKILL_FIELDS, POSSIBLE), **stated}


def differences(statements, record=None, **criteria):
    return list(Criteria(statements, **criteria).differences(record or make_record()))


CONDITIONS = "[{'object': 'microwave', 'part': 'door', 'joint_index': 1, 'kind': 'moved', 'value': 0.7}]"


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        ({"seed": 1000}, []),
        ({"skills": [states(s_open=1.7)]}, ["skills[0].s_open is 1.6 in the record, expected 1.7"]),
        (
            {"skills": [states(collision_valid_enabled=1)]},
            ["skills[0].collision_valid_enabled is True in the record, expected 1"],
        ),
        ({"skills": [states(part=ABSENT)]}, ["skills[0].part is 'door' in the record, expected nothing"]),
        ({"skills": [states(arm="left")]}, ["skills[0].arm is nothing in the record, expected 'left'"]),
        ({"skills": [states(arm=RECORDED)]}, ["skills[0].arm is nothing in the record, expected a value"]),
        ({"assets": {}}, ["assets.microwave is 'ab12' in the record, expected nothing"]),
        ({"language": ["a", "b"]}, ["language is ['open the microwave'] in the record, expected ['a', 'b']"]),
        (
            {"settle": dict(SETTLES), "goal": {"conditions": []}},
            [f"goal.conditions is {CONDITIONS} in the record, expected []"],
        ),
    ],
)
def test_a_statement_that_differs_is_named(statements, said):
    assert differences(statements) == [f"{text} by the configuration." for text in said]


def test_every_key_beside_those_of_a_map_is_named_in_order():
    record = make_record(assets={"microwave": "ab12", "oven": "cd", "kettle": "ef"})
    assert differences({"assets": {"microwave": "ab12"}}, record) == [
        "assets.kettle is 'ef' in the record, expected nothing by the configuration.",
        "assets.oven is 'cd' in the record, expected nothing by the configuration.",
    ]


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({"value": ABSENT}, "layout.value is None in the record, expected nothing"),
        ({"other": None, "value": POSSIBLE}, "layout.other is nothing in the record, expected None"),
    ],
)
def test_a_key_that_must_be_absent_differs_from_one_whose_value_is_null(stated, said):
    assert differences({"layout": stated}, make_record(layout={"value": None})) == [f"{said} by the configuration."]


@pytest.mark.parametrize(("n", "shown"), [(158, "x" * 158 + "'"), (159, "x" * 156 + "...")])
def test_a_value_of_more_than_160_characters_is_cut_to_160(n, shown):
    (said,) = differences({"layout": {"value": 0}}, make_record(layout={"value": "x" * n}))
    assert said == f"layout.value is '{shown} in the record, expected 0 by the configuration."


@pytest.mark.parametrize(
    ("tolerance", "recorded", "expected", "is_same"),
    [
        # by type and exactly
        (0.0, "left", "right", False),
        (0.0, None, 0, False),
        (0.0, 1, "1", False),
        (0.0, 0.5, 0.5000000000000001, False),
        (0.0, 1 << 62, (1 << 62) + 1, False),
        (0.0, np.float64(0.5), 0.5, True),
        (0.0, 1, {"a": 1}, False),
        (0.0, [1, 2], [1], False),
        (0.0, [1], (1,), True),
        # floats of another machine within a tolerance, absolute and relative; integers are exact
        (1e-9, 0.0, 0.9e-9, True),
        (1e-9, 0.0, 1.1e-9, False),
        (1e-9, 1e6, 1e6 + 0.9e-3, True),
        (1e-9, 1e6, 1e6 + 1.1e-3, False),
        (1e-9, 1 << 62, (1 << 62) + 1, False),
        (1e-9, 1.0 + 0.9e-9, 1, False),
        (1e-9, 1.0, "1.0", False),
        (1e-6, 1e6, 1e6 + 1.1, False),
    ],
)
def test_a_value_is_compared_by_its_type_and_within_the_tolerance_of_the_criteria(
    tolerance, recorded, expected, is_same
):
    record = make_record(layout={"value": recorded})
    assert bool(differences({"layout": {"value": expected}}, record, tolerance=tolerance)) != is_same


def test_keys_that_the_configuration_does_not_determine_may_have_any_value():
    table = {
        "seed": Field(int, "by the configuration"),
        "share": Field(float, "by the arrays", RECORD),
        "time_ms": Field(float, "by the clock", CLOCK, optional=True),
    }
    assert undetermined(table) == {"share": RECORDED, "time_ms": POSSIBLE}


@pytest.mark.parametrize(
    ("recorded", "derived", "merged"),
    [
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 3, "c": RECORDED}}, {"a": {"b": 3, "c": 2}}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 3}}, {"a": {"b": 3}}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": ABSENT, "c": POSSIBLE, "d": POSSIBLE}}, {"a": {"c": 2}}),
        ({"a": [{"b": 1, "c": 2}, 5]}, {"a": [{"b": 3, "c": POSSIBLE}, 6]}, {"a": [{"b": 3, "c": 2}, 6]}),
        ({"a": [1, 2]}, {"a": [{"b": 3}]}, {"a": [{"b": 3}]}),  # of another length
        ({"a": {"b": 1}}, {"a": 7}, {"a": 7}),
        ({"a": [7]}, {"a": 3}, {"a": 3}),
    ],
)
def test_derived_values_replace_recorded_ones_and_free_keys_stay(recorded, derived, merged):
    record = make_record(layout=recorded)
    assert Criteria({"layout": derived}).apply_to(record).layout == merged
    assert record.layout == recorded


def test_a_verdict_is_computed_with_the_derived_threshold():
    criteria = Criteria({"skills": [states(success_threshold=1.5)]})
    assert recompute_success(make_record(), criteria).code == "not_reached"
    assert [text[:40] for text in check_record(make_record(), lambda _: criteria)] == [
        "skills[0].success_threshold is 0.7 in th",
        "success is True (code None) in the recor",
        "skill 0 (open) has success=True in the r",
    ]
