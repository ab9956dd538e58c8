"""Which values of a scene are changed by the rules of a configuration, so that its layout does not decide them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from unlatch.workflows.checks.expected_statements import POSES, randomizes


def make(
    rules: tuple[tuple[str, str], ...] = (), views: tuple[tuple[str, str], ...] = (), *, recorded: Any = None
) -> Any:
    """Returns a configuration with rules (view, attribute) and further views (name, body)."""
    randomization = SimpleNamespace(
        rules=[SimpleNamespace(view=view, attribute=attribute) for view, attribute in rules],
        views=[SimpleNamespace(name=name, body=body) for name, body in views],
        recorded=recorded,
    )
    return SimpleNamespace(randomization=randomization)


def test_a_configuration_without_rules_changes_nothing():
    assert randomizes(make(), "oven", *POSES) is False


@pytest.mark.parametrize(
    ("view", "attribute", "is_changed"),
    [
        ("oven", "position", True),
        ("oven", "orientation", True),
        ("oven", "mass", False),
        ("panda", "position", False),
        ("doors", "position", True),  # a view of the oven by another name
        ("arms", "position", False),  # a view of the robot by another name
    ],
)
@pytest.mark.parametrize("is_repeated", [False, True])
def test_a_rule_changes_an_attribute_of_the_body_of_its_view(view, attribute, is_changed, is_repeated):
    names = (("doors", "oven"), ("arms", "panda"))
    if is_repeated:  # the configuration repeats the values of a record, which has the rules
        recorded = {
            "views": [{"name": name, "body": body} for name, body in names],
            "rules": [{"view": view, "attribute": attribute}],
        }
        cfg = make(recorded=recorded)
    else:
        cfg = make(((view, attribute),), names)
    assert randomizes(cfg, "oven", *POSES) is is_changed


def test_each_rule_and_each_attribute_counts():
    cfg = make((("oven", "mass"), ("oven", "joint_positions")))
    assert randomizes(cfg, "oven", "joint_positions")
    assert randomizes(cfg, "oven", "position", "mass")
    assert not randomizes(cfg, "oven", "position")


@pytest.mark.parametrize("recorded", [{}, {"views": [{}], "rules": [{}]}, "DATA:3"])
def test_a_record_whose_rules_say_nothing_changes_nothing(recorded):
    assert randomizes(make(recorded=recorded), "oven", *POSES) is False
