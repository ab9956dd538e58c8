"""What a record must state, and verdicts by criteria that are not its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from unlatch.simcore.recording.check import check_record
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.episode_fields import SKILL_FIELDS
from unlatch.simcore.recording.episode_structure import CLOCK, RECORD, Field
from unlatch.simcore.recording.verdict import ABSENT, POSSIBLE, RECORDED, Criteria, recompute_success, undetermined

Make = Callable[..., EpisodeRecord]
TARGETS = "actions.panda.left.joint_targets"


def entry(**stated: Any) -> dict[str, Any]:
    """Returns what an entry of `skills` must state; its other keys are free."""
    return {**dict.fromkeys(SKILL_FIELDS, POSSIBLE), **stated}


@pytest.fixture
def still(make_record: Make) -> EpisodeRecord:
    """A record whose arms have the same targets while the scene settles, in frames 17 to 20."""
    record = make_record()
    record.arrays[TARGETS][17:] = record.arrays[TARGETS][17]
    return record


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        ({"seed": 1000}, []),
        ({"seed": 7}, ["seed is 1000 in the record, expected 7 by the configuration."]),
        ({"skills": [entry(s_open=1.6)]}, []),
        (
            {"skills": [entry(s_open=1.7)]},
            ["skills[0].s_open is 1.6 in the record, expected 1.7 by the configuration."],
        ),
        (
            {"skills": [entry(collision_valid_enabled=1)]},
            ["skills[0].collision_valid_enabled is True in the record, expected 1 by the configuration."],
        ),
        ({"skills": [entry(holds=ABSENT, success=RECORDED)]}, []),
        (
            {"skills": [entry(part=ABSENT)]},
            ["skills[0].part is 'door' in the record, expected nothing by the configuration."],
        ),
        (
            {"skills": [entry(arm="left")]},
            ["skills[0].arm is nothing in the record, expected 'left' by the configuration."],
        ),
        (
            {"skills": [entry(arm=RECORDED)]},
            ["skills[0].arm is nothing in the record, expected a value by the configuration."],
        ),
        (
            {"assets": {}},
            ["assets.microwave is 'ab12' in the record, expected nothing by the configuration."],
        ),
        (
            {"language": ["a", "b"]},
            ["language is ['open the microwave'] in the record, expected ['a', 'b'] by the configuration."],
        ),
        (
            {"settle": {"frame_start": 17, "frame_end": 20, "max_change": 0.02}, "goal": {"conditions": []}},
            [
                "goal.conditions is [{'object': 'microwave', 'part': 'door', 'joint_index': 1, 'kind': 'moved', "
                "'value': 0.7}] in the record, expected [] by the configuration."
            ],
        ),
    ],
)
def test_a_statement_that_differs_is_named(make_record: Make, statements: dict[str, Any], said: list[str]):
    assert list(Criteria(statements).differences(make_record())) == said


def test_derived_statements_replace_those_of_the_record(make_record: Make):
    statements = {"skills": [entry(success_threshold=1.5, part=ABSENT)], "assets": {"oven": "cd"}}
    record = make_record()
    found = Criteria(statements).apply_to(record)
    assert found.skills[0] == {**{k: v for k, v in record.skills[0].items() if k != "part"}, "success_threshold": 1.5}
    assert found.assets == {"oven": "cd"}
    assert record.skills[0]["success_threshold"] == 0.7


def test_a_verdict_is_computed_with_the_derived_threshold(make_record: Make):
    record = make_record()
    assert recompute_success(record).success
    criteria = Criteria({"skills": [entry(success_threshold=1.5)]})
    assert recompute_success(record, criteria).code == "not_reached"
    assert [text[:40] for text in check_record(record, lambda _: criteria)] == [
        "skills[0].success_threshold is 0.7 in th",
        "success is True (code None) in the recor",
        "skill 0 (open) has success=True in the r",
    ]


def test_targets_must_rest_only_where_the_criteria_say_so(still: EpisodeRecord):
    rests = Criteria(targets_rest=True)
    assert recompute_success(still, rests).success
    still.arrays[TARGETS][19, 2] += 1e-3
    assert recompute_success(still).success
    verdict = recompute_success(still, rests)
    assert (verdict.code, verdict.evidence["frame"], verdict.evidence["key"]) == ("unsettled", 19, TARGETS)


@pytest.mark.parametrize(("allowed_s", "frame"), [(0.6, 19), (20 / 30, None), (1.0, None)])
def test_an_episode_that_took_too_long_is_a_timeout(make_record: Make, allowed_s: float, frame: int | None):
    verdict = recompute_success(make_record(), Criteria(max_duration_s=allowed_s))
    assert (verdict.code, verdict.evidence.get("frame")) == (None if frame is None else "timeout", frame)


def test_a_timeout_is_believed_only_without_a_time_limit(make_record: Make):
    record = make_record(success=False, code="timeout", settle=None, evidence={"frame": 10})
    record.skills[0].update(frame_end=10, s_end=0.4, success=False)
    assert recompute_success(record).code == "timeout"
    assert recompute_success(record, Criteria(max_duration_s=0.3)).code == "timeout"
    assert recompute_success(record, Criteria(max_duration_s=5.0)).code == "not_reached"


def test_every_skill_of_the_chain_must_have_begun(make_record: Make):
    assert recompute_success(make_record(), Criteria(chain_length=1)).success
    verdict = recompute_success(make_record(), Criteria(chain_length=2))
    assert (verdict.code, verdict.evidence["frame"]) == ("not_reached", 20)
    assert verdict.evidence["reason"] == "skills of the chain that began: 1, expected 2"


@pytest.mark.parametrize(
    ("code", "is_problem"), [("error", True), ("slipped", True), ("plan_infeasible", True), ("motion_blocked", False)]
)
def test_an_attempt_that_was_stopped_although_it_had_succeeded_is_a_problem(
    make_record: Make, code: str, is_problem: bool
):
    criteria = Criteria(success_settle={"frame_start": 17, "frame_end": 20, "max_change": 0.02})
    record = make_record(success=False, code=code, settle=None)
    said = f"it was stopped with code '{code}', but every rule of success holds at its end."
    assert (said in check_record(record, lambda _: criteria)) == is_problem
    assert said not in check_record(record)
    record.arrays["objects.microwave.joint_positions"][-1, 1] = np.float64(0.3)
    assert said not in check_record(record, lambda _: criteria)


@pytest.mark.parametrize(
    ("recorded", "expected", "is_same"),
    [
        ("left", "left", True),
        ("left", "right", False),
        (None, None, True),
        (None, 0, False),
        (1, "1", False),
        ("1", 1, False),
        (True, True, True),
        (0.5, 0.5000000000000001, False),
        (1 << 62, (1 << 62) + 1, False),
        (2, 2.0, True),
        (np.float64(0.5), 0.5, True),
        ({"a": 1}, 1, False),
        (1, {"a": 1}, False),
        ([1], 1, False),
        (1, [1], False),
        ([1, 2], [1], False),
        ([1], (1,), True),
    ],
)
def test_a_value_is_compared_by_its_type_and_exactly(make_record: Make, recorded: Any, expected: Any, is_same: bool):
    record = make_record(layout={"value": recorded})
    assert bool(list(Criteria({"layout": {"value": expected}}).differences(record))) != is_same


@pytest.mark.parametrize(
    ("recorded", "expected", "is_same"),
    [
        (0.0, 0.9e-9, True),  # the absolute tolerance
        (0.0, 1.1e-9, False),
        (1e6, 1e6 + 0.9e-3, True),  # the relative tolerance
        (1e6, 1e6 + 1.1e-3, False),
        ([1e6], [1e6 + 0.9e-3], True),
        (1 << 62, (1 << 62) + 1, False),  # integers are exact
        (1.0 + 0.9e-9, 1, False),
        (1, 1.0 + 0.9e-9, False),
        (1.0, "1.0", False),
    ],
)
def test_floats_of_another_machine_are_compared_within_a_tolerance(
    make_record: Make, recorded: Any, expected: Any, is_same: bool
):
    criteria = Criteria({"layout": {"value": expected}}, tolerance=1e-9)
    assert bool(list(criteria.differences(make_record(layout={"value": recorded})))) != is_same


@pytest.mark.parametrize(("expected", "is_same"), [(1e6 + 0.9, True), (1e6 + 1.1, False)])
def test_the_tolerance_is_that_of_the_criteria(make_record: Make, expected: float, is_same: bool):
    criteria = Criteria({"layout": {"value": expected}}, tolerance=1e-6)
    assert bool(list(criteria.differences(make_record(layout={"value": 1e6})))) != is_same


def test_keys_that_the_configuration_does_not_determine_may_have_any_value():
    table = {
        "seed": Field(int, "by the configuration"),
        "share": Field(float, "by the arrays", RECORD),
        "time_ms": Field(float, "by the clock", CLOCK, optional=True),
    }
    assert undetermined(table) == {"share": RECORDED, "time_ms": POSSIBLE}


def test_a_key_that_must_be_absent_differs_from_one_whose_value_is_null(make_record: Make):
    record = make_record(layout={"value": None})
    assert list(Criteria({"layout": {"value": ABSENT}}).differences(record)) == [
        "layout.value is None in the record, expected nothing by the configuration."
    ]
    assert list(Criteria({"layout": {"other": None, "value": POSSIBLE}}).differences(record)) == [
        "layout.other is nothing in the record, expected None by the configuration."
    ]


def test_every_key_beside_those_of_a_map_is_named_in_order(make_record: Make):
    record = make_record(assets={"microwave": "ab12", "oven": "cd", "kettle": "ef"})
    assert list(Criteria({"assets": {"microwave": "ab12"}}).differences(record)) == [
        "assets.kettle is 'ef' in the record, expected nothing by the configuration.",
        "assets.oven is 'cd' in the record, expected nothing by the configuration.",
    ]


@pytest.mark.parametrize(("n", "shown"), [(158, "x" * 158 + "'"), (159, "x" * 156 + "...")])
def test_a_value_of_more_than_160_characters_is_cut_to_160(make_record: Make, n: int, shown: str):
    record = make_record(layout={"value": "x" * n})
    (said,) = Criteria({"layout": {"value": 0}}).differences(record)
    assert said == f"layout.value is '{shown} in the record, expected 0 by the configuration."


@pytest.mark.parametrize(
    ("recorded", "derived", "merged"),
    [
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 3, "c": RECORDED}}, {"a": {"b": 3, "c": 2}}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 3}}, {"a": {"b": 3}}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": ABSENT, "c": POSSIBLE, "d": POSSIBLE}}, {"a": {"c": 2}}),
        ({"a": [{"b": 1, "c": 2}, 5]}, {"a": [{"b": 3, "c": POSSIBLE}, 6]}, {"a": [{"b": 3, "c": 2}, 6]}),
        ({"a": [1, 2]}, {"a": [{"b": 3}]}, {"a": [{"b": 3}]}),  # of another length
        ({"a": 7}, {"a": {"b": 3}}, {"a": {"b": 3}}),
        ({"a": {"b": 1}}, {"a": 7}, {"a": 7}),
        ({"a": 7}, {"a": [3]}, {"a": [3]}),
        ({"a": [7]}, {"a": 3}, {"a": 3}),
        ({"a": 7}, {"b": 3}, {"b": 3}),
    ],
)
def test_derived_values_replace_recorded_ones_and_free_keys_stay(
    make_record: Make, recorded: dict[str, Any], derived: dict[str, Any], merged: dict[str, Any]
):
    assert Criteria({"layout": derived}).apply_to(make_record(layout=recorded)).layout == merged
