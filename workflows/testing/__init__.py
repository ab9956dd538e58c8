"""Contract checks for authors of plugins; a broken contract raises an `AssertionError` that names it."""

from unlatch.workflows.testing.exporter import check_exporter
from unlatch.workflows.testing.generator import check_object
from unlatch.workflows.testing.robot import check_robot
from unlatch.workflows.testing.sensor import check_sensor
from unlatch.workflows.testing.skill import SkillReport, check_skill
from unlatch.workflows.testing.task import check_task
from unlatch.workflows.testing.term import check_term

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
