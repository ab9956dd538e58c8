"""Mistakes of the author of a skill are named with class, method, file and line."""

import re

import pytest

from unlatch.simcore.errors import SkillError
from unlatch.simcore.recording.success_rules import NO_FAILURES
from unlatch.skills.close import Close
from unlatch.skills.context import Failure

HERE = re.escape(__file__)


@pytest.mark.parametrize(
    ("method", "value", "expected"),
    [
        ("make_commands", None, "a list of ManipCommand. Does it lack a `return`?"),
        ("make_commands", ["close_gripper"], "a list of ManipCommand."),
        ("plan", None, "True or False. Does it lack a `return`?"),
        ("unmet_condition", True, "a Failure or None."),
    ],
)
def test_a_method_that_returns_something_else_is_named(method, value, expected):
    def overriding(self, *_):
        return value

    overriding.__name__ = method
    skill = type("Nudge", (Close,), {method: overriding})
    arguments = [] if method == "unmet_condition" else [None]
    message = f'^Nudge.{method} returned {re.escape(repr(value))}. Expected {re.escape(expected)} File "{HERE}", line '
    with pytest.raises(SkillError, match=message):
        getattr(skill, method)(object.__new__(skill), *arguments)


def test_what_fits_is_returned_as_it_is():
    failure = Failure("not_reached", "still open", 1.0)

    class Nudge(Close):
        def unmet_condition(self):
            return failure

    assert Nudge.unmet_condition(object.__new__(Nudge)) is failure


def test_other_parameters_are_refused_when_the_class_is_made():
    message = rf'make_commands has the parameters \(self\). Expected \(self, plan\), .* File "{HERE}", line \d+$'
    with pytest.raises(SkillError, match=message):

        class Nudge(Close):
            def make_commands(self):
                return []


def test_more_parameters_with_defaults_are_accepted():
    class Nudge(Close):
        def make_commands(self, plan, extra=0):
            return []

    assert Nudge.make_commands(object.__new__(Nudge), None) == []


def test_a_constructor_that_does_not_call_the_one_of_the_base_is_named():
    class Nudge(Close):
        def __init__(self, cfg, context):
            self.mine = 1

    with pytest.raises(SkillError, match=rf'does not call super\(\).__init__\(cfg, context\). .* File "{HERE}", line'):
        Nudge(None, None)


def test_a_condition_of_a_plugin_is_told_from_those_of_our_skills():
    class Nudge(Close):
        pass

    class Press(Close):
        def unmet_condition(self):
            return super().unmet_condition()

    assert [skill.has_own_condition() for skill in (Close, Nudge, Press)] == [False, False, True]


def test_an_unknown_failure_code_is_refused():
    with pytest.raises(
        SkillError, match=r"Unknown failure code 'slippd'. Did you mean 'slipped'\? Known: .*not_reached"
    ):
        Failure("slippd", "it slipped", 0.0)


def test_a_reason_to_plan_anew_that_is_no_failure_is_a_known_code():
    assert [Failure(code, "planned anew", 0.0).code for code in NO_FAILURES] == ["part_moved", "taken_over"]
