"""The rule of success: its limits, which the judge and the verdict share, and its keys in a record."""

import math
from dataclasses import replace

import numpy as np
import pytest

from tests.simcore.refusals import refused
from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording import success_rules
from unlatch.simcore.recording.success_rules import SuccessRule, check_type

RULE = SuccessRule("abs", 0.7, True, True, False, 1.5, 140.0)
ENTRY = {
    "success_mode": "abs",
    "success_threshold": 0.7,
    "finger_contact_required": True,
    "collision_valid_enabled": True,
    "process_valid_enabled": False,
    "contact_force_threshold_n": 1.5,
    "finger_force_limit_n": 140.0,
}
LIMITS = {
    "INITIAL_S": 0.16,
    "MAX_JOINT_SPEED": 5.0,
    "MOVING_STEP": 1e-4,
    "MIN_CONTACT_SHARE": 0.8,
    "MAX_SETTLE_CHANGE_RAD": 0.02,
    "MAX_SETTLE_CHANGE_M": 0.005,
    "FORBIDDEN_VIEWS": ("fingers_base", "forbid_collision", "environment"),
    "OBJECT_VIEWS": ("furniture", "other_objects"),
    "BYSTANDER_VIEW": "other_objects",
    "HOLD_PHASE": 8,
    "MAX_AWAY_FROM_HOME": 0.03,
    "MAX_SPEED_AT_HOME": float(np.float32(0.05)),
}


def read(**changes):
    return SuccessRule.from_entry({**ENTRY, **changes}, where="entry 2 of the skills")


def test_limits_are_those_that_results_are_published_with():
    assert {name: getattr(success_rules, name) for name in LIMITS} == LIMITS


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"success_mode": None, "success_threshold": None},
        {"holds": True},
        {"goes_home": True},
        {"scene_force_threshold_n": 0.0},
        {"scene_force_threshold_n": 30.0},
        {"scene_force_threshold_n": 30},
    ],
)
def test_a_rule_is_written_to_an_entry_and_read_from_it_whatever_else_the_entry_has(changes):
    rule = replace(RULE, **changes)
    assert rule.to_entry() == {**ENTRY, **changes}
    assert read(**changes, name="open", s0=None) == rule


@pytest.mark.parametrize("key", ["holds", "goes_home"])
@pytest.mark.parametrize(("value", "said"), [(True, True), (False, False), (1, False), ("yes", False)])
def test_only_true_says_that_a_skill_holds_or_goes_home(key, value, said):
    assert getattr(read(**{key: value}), key) is said


@pytest.mark.parametrize(
    ("key", "kind"),
    [("success_threshold", int), ("contact_force_threshold_n", float), ("finger_force_limit_n", float)],
)
def test_limits_may_be_whole_or_decimal_numbers_and_forces_become_decimal(key, kind):
    assert getattr(read(**{key: 2.5}), key) == 2.5
    found = getattr(read(**{key: 2}), key)
    assert (found, type(found)) == (2, kind)


def test_a_rule_that_does_not_judge_a_value_needs_no_threshold_of_it():
    entry = {key: value for key, value in ENTRY.items() if not key.startswith("success_")}
    rule = SuccessRule.from_entry(entry, where="entry 0")
    assert (rule.success_mode, rule.success_threshold) == (None, None)
    entry = {**ENTRY, "collision_valid_enabled": False}
    assert SuccessRule.from_entry(entry, where="entry 0").contact_force_threshold_n == 1.5
    del entry["contact_force_threshold_n"]
    assert SuccessRule.from_entry(entry, where="entry 0").contact_force_threshold_n == math.inf


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("success_mode", 3, "str"),
        ("success_threshold", None, "a finite number"),
        ("finger_contact_required", 1, "bool"),
        ("collision_valid_enabled", None, "bool"),
        ("process_valid_enabled", "yes", "bool"),
        ("contact_force_threshold_n", "1.5", "a finite number"),
        ("finger_force_limit_n", True, "a finite number"),
        ("scene_force_threshold_n", None, "a finite number"),
    ],
)
def test_a_value_of_another_type_is_refused(key, value, expected):
    message = f"{key}={value!r} in entry 2 of the skills, expected {expected}. The record is incomplete."
    with refused(RecordingError, message, key=key):
        read(**{key: value})


NUMBER = (int, float)


@pytest.mark.parametrize(("value", "types"), [("a", (str,)), (1, (int,)), (1, NUMBER), (0.5, NUMBER), (True, (bool,))])
def test_a_value_of_one_of_the_types_is_accepted(value, types):
    check_type({"key": value}, "key", *types, where="entry 0")


@pytest.mark.parametrize(
    ("value", "types", "expected"),
    [
        (True, (int,), "int"),
        (False, NUMBER, "a finite number"),
        (math.nan, NUMBER, "a finite number"),
        (math.inf, (float,), "a finite number"),
        (0.5, (int,), "int"),
        (1, (bool,), "bool"),
        (None, (str, int), "str or int"),
    ],
)
def test_a_value_of_none_of_the_types_is_refused(value, types, expected):
    with refused(RecordingError, f"key={value!r} in entry 0, expected {expected}. The record is incomplete."):
        check_type({"key": value}, "key", *types, where="entry 0")


@pytest.mark.parametrize("entry", [None, "open", ["key"], 3])
def test_an_entry_that_is_no_map_is_refused(entry):
    message = f"{entry!r} is entry 0 of the skills, expected a map. The record is incomplete."
    with refused(RecordingError, message, where="entry 0 of the skills"):
        check_type(entry, "key", str, where="entry 0 of the skills")
