"""The limits of the rule of success, which the judge and the verdict share."""

from __future__ import annotations

import pytest

from unlatch.simcore.recording import success_rules


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MAX_JOINT_SPEED", 5.0),
        ("MOVING_STEP", 1e-4),
        ("MIN_CONTACT_SHARE", 0.8),
        ("MAX_SETTLE_CHANGE_RAD", 0.02),
        ("MAX_SETTLE_CHANGE_M", 0.005),
    ],
)
def test_a_limit_is_the_one_that_results_are_published_with(name: str, value: float):
    assert getattr(success_rules, name) == value
