"""The rule of success: its limits, which the judge and the verdict share, and its keys in a record."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording import success_rules
from unlatch.simcore.recording.success_rules import SuccessRule, check_type

ENTRY = {
    "success_mode": "abs",
    "success_threshold": 0.7,
    "finger_contact_required": True,
    "collision_valid_enabled": True,
    "process_valid_enabled": False,
    "contact_force_threshold_n": 1.5,
    "finger_force_limit_n": 140.0,
}
RULE = SuccessRule("abs", 0.7, True, True, False, 1.5, 140.0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("INITIAL_S", 0.16),
        ("MAX_JOINT_SPEED", 5.0),
        ("MOVING_STEP", 1e-4),
        ("MIN_CONTACT_SHARE", 0.8),
        ("MAX_SETTLE_CHANGE_RAD", 0.02),
        ("MAX_SETTLE_CHANGE_M", 0.005),
        ("FORBIDDEN_VIEWS", ("fingers_base", "forbid_collision", "environment")),
        ("OBJECT_VIEWS", ("furniture", "other_objects")),
        ("BYSTANDER_VIEW", "other_objects"),
        ("HOLD_PHASE", 8),
        ("MAX_AWAY_FROM_HOME", 0.03),
        ("MAX_SPEED_AT_HOME", float(np.float32(0.05))),
    ],
)
def test_a_limit_is_the_one_that_results_are_published_with(name: str, value: Any):
    assert getattr(success_rules, name) == value


class TestEntry:
    def test_a_rule_is_written_as_keys_of_an_entry(self):
        assert RULE.to_entry() == ENTRY

    def test_only_a_rule_that_holds_has_the_key_holds(self):
        holds = SuccessRule(None, None, False, True, True, 1.0, 90.0, holds=True)
        assert holds.to_entry()["holds"] is True
        assert holds.to_entry()["success_mode"] is None

    def test_only_a_rule_that_goes_home_has_the_key_goes_home(self):
        rule = SuccessRule(None, None, False, True, True, 1.0, 90.0, goes_home=True)
        entry = rule.to_entry()
        assert (entry["goes_home"], "holds" in entry) == (True, False)
        assert SuccessRule.from_entry(entry, where="entry 0") == rule

    @pytest.mark.parametrize("threshold_n", [0.0, 30.0, 30])
    def test_a_rule_for_objects_is_a_key_of_the_entry(self, threshold_n: float):
        rule = replace(RULE, scene_force_threshold_n=threshold_n)
        assert rule.to_entry() == {**ENTRY, "scene_force_threshold_n": threshold_n}
        assert SuccessRule.from_entry(rule.to_entry(), where="entry 0") == rule

    @pytest.mark.parametrize(("value", "goes"), [(True, True), (False, False), (1, False), ("yes", False)])
    def test_only_true_says_that_a_skill_goes_home(self, value: Any, goes: bool):
        assert SuccessRule.from_entry({**ENTRY, "goes_home": value}, where="entry 0").goes_home is goes

    def test_a_rule_is_read_from_an_entry(self):
        assert SuccessRule.from_entry(ENTRY, where="entry 0") == RULE

    def test_other_keys_of_the_entry_are_free(self):
        assert SuccessRule.from_entry({**ENTRY, "name": "open", "s0": None}, where="entry 0") == RULE

    @pytest.mark.parametrize(("value", "holds"), [(True, True), (False, False), (1, False), ("yes", False)])
    def test_only_true_says_that_a_skill_holds(self, value: Any, holds: bool):
        assert SuccessRule.from_entry({**ENTRY, "holds": value}, where="entry 0").holds is holds

    def test_whole_numbers_of_forces_become_floats(self):
        rule = SuccessRule.from_entry({**ENTRY, "contact_force_threshold_n": 2, "finger_force_limit_n": 90}, where="e")
        assert (type(rule.contact_force_threshold_n), type(rule.finger_force_limit_n)) == (float, float)
        assert (rule.contact_force_threshold_n, rule.finger_force_limit_n) == (2.0, 90.0)

    def test_a_skill_that_is_not_judged_by_a_joint_needs_no_threshold(self):
        entry = {key: value for key, value in ENTRY.items() if not key.startswith("success_")}
        rule = SuccessRule.from_entry(entry, where="entry 0")
        assert (rule.success_mode, rule.success_threshold) == (None, None)

    def test_a_skill_without_the_collision_rule_needs_no_threshold_of_force(self):
        entry = {**ENTRY, "collision_valid_enabled": False}
        del entry["contact_force_threshold_n"]
        assert SuccessRule.from_entry(entry, where="entry 0").contact_force_threshold_n == math.inf
        entry["contact_force_threshold_n"] = 3.0
        assert SuccessRule.from_entry(entry, where="entry 0").contact_force_threshold_n == 3.0

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
    def test_a_value_of_another_type_is_refused(self, key: str, value: Any, expected: str):
        with pytest.raises(RecordingError) as caught:
            SuccessRule.from_entry({**ENTRY, key: value}, where="entry 2 of the skills")
        assert caught.value.message == (
            f"{key}={value!r} in entry 2 of the skills, expected {expected}. The record is incomplete."
        )
        assert caught.value.values == {"key": key}

    @pytest.mark.parametrize("key", ["success_threshold", "contact_force_threshold_n", "finger_force_limit_n"])
    def test_limits_may_be_whole_or_decimal_numbers(self, key: str):
        for value in (2, 2.5):
            assert getattr(SuccessRule.from_entry({**ENTRY, key: value}, where="entry 0"), key) == value


class TestCheckType:
    @pytest.mark.parametrize(
        ("value", "types"), [("a", (str,)), (1, (int,)), (1, (int, float)), (0.5, (int, float)), (True, (bool,))]
    )
    def test_a_value_of_one_of_the_types_is_accepted(self, value: Any, types: tuple[type, ...]):
        check_type({"key": value}, "key", *types, where="entry 0")

    @pytest.mark.parametrize(
        ("value", "types", "expected"),
        [
            (True, (int,), "int"),
            (False, (int, float), "a finite number"),
            (math.nan, (int, float), "a finite number"),
            (math.inf, (float,), "a finite number"),
            (0.5, (int,), "int"),
            (1, (bool,), "bool"),
            (None, (str, int), "str or int"),
        ],
    )
    def test_another_value_is_refused(self, value: Any, types: tuple[type, ...], expected: str):
        with pytest.raises(RecordingError) as caught:
            check_type({"key": value}, "key", *types, where="entry 0")
        assert caught.value.message == f"key={value!r} in entry 0, expected {expected}. The record is incomplete."

    @pytest.mark.parametrize("entry", [None, "open", ["key"], 3])
    def test_an_entry_that_is_no_map_is_refused(self, entry: Any):
        with pytest.raises(RecordingError) as caught:
            check_type(entry, "key", str, where="entry 0 of the skills")
        assert caught.value.message == (
            f"{entry!r} is entry 0 of the skills, expected a map. The record is incomplete."
        )
        assert caught.value.values == {"where": "entry 0 of the skills"}
