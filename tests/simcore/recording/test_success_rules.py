"""The rule of success: its limits, which the judge and the verdict share, and its keys in a record."""

from dataclasses import replace

import numpy as np
import pytest

from unlatch.simcore.recording import success_rules
from unlatch.simcore.recording.success_rules import SuccessRule

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
    return SuccessRule.from_entry({**ENTRY, **changes})


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
