"""Checks that authors of plugins run on what they wrote; a broken promise is an `AssertionError` that says which."""

from workflows.testing.exporter import check_exporter
from workflows.testing.generator import check_object
from workflows.testing.robot import check_robot
from workflows.testing.sensor import check_sensor
from workflows.testing.skill import SkillReport, check_skill
from workflows.testing.task import check_task
from workflows.testing.term import check_term

__all__ = [
    "SkillReport",
    "check_exporter",
    "check_object",
    "check_robot",
    "check_sensor",
    "check_skill",
    "check_task",
    "check_term",
]
