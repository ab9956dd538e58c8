"""Catalogs are sorted, complete, and all of them can be imported; YAML files and catalogs name the same things."""

import importlib
import inspect
import pkgutil

import pytest
import yaml

import unlatch.skills
from unlatch.configs.config_files import TASKS, config_dir
from unlatch.configs.group_files import own_option_names
from unlatch.configs.user_files import read_robot_file
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.robots.catalog import DESCRIPTIONS, ROBOTS
from unlatch.robots.description import RobotCfg
from unlatch.simcore.catalogs import ANNOTATORS, EXPORTERS, RENDERERS
from unlatch.simcore.registry import Catalog
from unlatch.simcore.sim.sensors.config import SENSORS
from unlatch.skills.catalog import SKILLS
from unlatch.skills.skill import Skill
from unlatch.solver.term_kinds import COSTS, TERMS
from unlatch.workflows.runs.executors import EXECUTORS
from unlatch.workflows.viewing.viewers import VIEWERS

CATALOGS = {
    "skills": SKILLS,
    "robots": ROBOTS,
    "generators": GENERATORS,
    "sensors": SENSORS,
    "annotators": ANNOTATORS,
    "renderers": RENDERERS,
    "tasks": TASKS,
    "terms": TERMS,
    "costs": COSTS,
    "executors": EXECUTORS,
    "exporters": EXPORTERS,
    "viewers": VIEWERS,
}
NAMED_BY_NO_TASK = {"unlatch.skills.recovery:StepBack"}
"""Skills that another skill begins."""
ENTRIES = [(kind, name) for kind, catalog in CATALOGS.items() for name in catalog.own_names()]


@pytest.mark.parametrize("kind", CATALOGS)
def test_a_catalog_is_written_in_order(kind: str):
    names = list(CATALOGS[kind]._builtin)
    assert names == sorted(names)


@pytest.mark.parametrize(("kind", "name"), ENTRIES)
def test_an_entry_loads_and_says_what_it_is(kind: str, name: str):
    catalog: Catalog = CATALOGS[kind]
    assert callable(catalog.load(name))
    summary = catalog.entry(name).summary
    assert summary
    assert "\n" not in summary
    assert kind != "generators" or summary.startswith(("a ", "an "))


def test_every_skill_of_the_package_is_in_the_catalog():
    found = set()
    for info in pkgutil.iter_modules(unlatch.skills.__path__, "unlatch.skills."):
        module = importlib.import_module(info.name)
        for _, cls in inspect.getmembers(module, inspect.isclass):
            # to Python 3.10, a list[list[int]] is a class
            is_skill = isinstance(cls, type) and not hasattr(cls, "__origin__") and issubclass(cls, Skill)
            if is_skill and not inspect.isabstract(cls) and cls.__module__ == info.name:
                found.add(f"{info.name}:{cls.__name__}")
    assert found - NAMED_BY_NO_TASK == {SKILLS.entry(name).target for name in SKILLS.own_names()}


@pytest.mark.parametrize("name", ROBOTS.own_names())
def test_a_robot_is_named_as_in_the_catalog_and_is_read_as_a_users_file(name: str):
    robot = ROBOTS.load(name)()
    assert isinstance(robot, RobotCfg)
    assert robot.name == name
    assert name in own_option_names("robot")
    assert read_robot_file(DESCRIPTIONS / f"{name}.yaml") == robot


def test_executors_and_their_yaml_files_agree():
    assert own_option_names("executor") == EXECUTORS.own_names()


@pytest.mark.parametrize("name", own_option_names("task"))
def test_a_task_yaml_is_named_after_its_task_and_has_a_summary(name: str):
    text = (config_dir() / "task" / f"{name}.yaml").read_text(encoding="utf-8")
    content = yaml.safe_load(text)
    assert text.startswith("# @package _global_\n")
    assert content["task"]["name"] == name
    assert content["task"]["summary"]
    assert len(content["task"]["language"]) >= 3
    assert len(text.splitlines()) <= 45


@pytest.mark.parametrize("group", ["camera", "object", "planner", "randomization", "executor", "sensor", "experiment"])
def test_every_yaml_begins_with_a_line_that_says_what_it_is(group: str):
    package = "# @package _global_\n" if group == "experiment" else ""
    for path in sorted((config_dir() / group).glob("*.yaml")):
        assert path.read_text(encoding="utf-8").startswith(f"{package}# "), path.name
