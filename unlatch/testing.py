"""Checks for the tests of a plugin: each one raises an `AssertionError` that names the rule which is broken.

    from unlatch.testing import check_object, check_skill

    def test_the_skill_keeps_its_contract():
        assert check_skill("press", "press_toaster", episodes=2).successes == 2

    def test_the_stapler_keeps_the_contract_of_a_generator():
        check_object("stapler", seeds=10)

`CommandLine` and `load_configs` read what the user of a command would type.
"""

from unlatch.workflows.cli.run_report import load_configs
from unlatch.workflows.cli.terminal import CommandLine
from unlatch.workflows.testing.contracts import (
    check_exporter,
    check_object,
    check_robot,
    check_sensor,
    check_skill,
    check_task,
    check_term,
)

__all__ = [
    "CommandLine",
    "check_exporter",
    "check_object",
    "check_robot",
    "check_sensor",
    "check_skill",
    "check_task",
    "check_term",
    "load_configs",
]
