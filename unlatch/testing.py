"""Checks for the tests of a plugin: a skill, an object or a task that keeps its contract."""

from unlatch.workflows.cli.multirun import load_configs
from unlatch.workflows.cli.terminal import CommandLine
from unlatch.workflows.testing.skills_and_tasks import check_object, check_skill, check_task

__all__ = ["CommandLine", "check_object", "check_skill", "check_task", "load_configs"]
