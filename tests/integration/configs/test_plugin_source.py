"""Tasks and robots that functions of other distributions make: called when chosen, named when broken."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from unlatch.configs.composition import Request, compose_config
from unlatch.configs.config_files import TASKS, option_names
from unlatch.configs.json_schema import task_schema
from unlatch.robots.catalog import ROBOTS
from unlatch.simcore.errors import ConfigError, DuplicateEntryError, PluginError
from unlatch.workflows.commands.information import config_command, list_robots, list_tasks
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.schema import CollectCfg

Install = Callable[..., None]

MODULE = """
import dataclasses
import numpy as np
from pathlib import Path
from unlatch.robots.catalog import load_robot

def pull():
    return {
        "defaults": ["open_drawer", "_self_"],
        "task": {"name": "pull", "summary": "made in Python", "settle_s": 1.0},
        "robot": {"base_height_m": 0.05},
    }

def computed(): return {"defaults": ["open_drawer", "_self_"], "seed": np.int64(3), "skills": [
    {"name": "open", "objects": ["drawer"], "part": "drawer", "contact_force_threshold_n": np.linspace(0.0, 5.0, 2)[1]}
]}
def misspelt(): return {"defaults": ["open_drawer", "_self_"], "task": {"settle": 1.0}}
def with_path(): return {"task": {"name": Path("x")}}
def with_number(): return {"task": {1: "x"}}
def with_resolver(): return {"defaults": ["open_drawer", "_self_"], "task": {"summary": "${oc.env:HOME}"}}
def a_list(): return ["task"]
def raises(): raise RuntimeError("no licence")
def arm(): return dataclasses.replace(load_robot("franka_panda"), base_height_m=0.1)
def no_robot(): return 3
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Puts a distribution with entry points where Python finds it."""
    modules: list[str] = []

    def put(*, dist: str = "their_tasks", group: str = "tasks", requires: str = "unlatch>=0.1", **points: str) -> None:
        site = tmp_path / dist
        info = site / f"{dist}-1.0.dist-info"
        info.mkdir(parents=True)
        (site / f"{dist}.py").write_text(MODULE)
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {dist}\nVersion: 1.0\nSummary: pulls\nRequires-Dist: {requires}\n"
        )
        lines = "".join(f"{name} = {dist}:{target}\n" for name, target in points.items())
        (info / "entry_points.txt").write_text(f"[unlatch.{group}]\n{lines}")
        monkeypatch.syspath_prepend(str(site))
        modules.append(dist)
        for catalog in (TASKS, ROBOTS):
            monkeypatch.setattr(catalog, "_all", None)

    yield put
    for catalog in (TASKS, ROBOTS):
        catalog._all = None
    for module in modules:
        sys.modules.pop(module, None)


def compose(*overrides: str, config_dirs: tuple[str, ...] = ()) -> Any:
    return compose_config("collect", CollectCfg, Request(list(overrides), list(config_dirs)))


def test_a_task_made_in_python_is_used_like_a_file(install: Install):
    install(pull="pull")
    cfg = load("pull", "task.regions.0.yaw_deg=5")
    assert (cfg.task.name, cfg.task.settle_s, cfg.robot.base_height_m) == ("pull", 1.0, 0.05)
    assert cfg.task.regions[0].yaw_deg == 5.0
    assert cfg.skills[0].name == "open"


def test_its_numbers_may_be_numpys(install: Install):
    install(pull="computed")
    cfg = load("pull")
    assert (cfg.seed, cfg.skills[0].contact_force_threshold_n) == (3, 5.0)


def test_it_is_listed_completed_by_editors_and_not_imported_for_that(install: Install):
    install(pull="a_function_that_is_not_there")
    assert "pull" in option_names("task")
    assert ("pull", "pulls (from their_tasks)") in list_tasks()
    assert "pull" in str(task_schema()["properties"]["defaults"])
    assert "their_tasks" not in sys.modules


def test_a_file_may_build_on_it(install: Install, tmp_path: Path):
    install(pull="pull")
    (tmp_path / "mine" / "task").mkdir(parents=True)
    (tmp_path / "mine" / "task" / "mine.yaml").write_text(
        "# @package _global_\ndefaults: [pull, _self_]\ntask: {name: mine}\n"
    )
    cfg = compose("task=mine", config_dirs=(str(tmp_path / "mine"),))
    assert (cfg.task.name, cfg.task.settle_s) == ("mine", 1.0)


def test_its_values_have_it_for_their_origin(install: Install, capsys: pytest.CaptureFixture[str]):
    install(pull="pull")
    assert config_command(["pull"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[lines.index("task.name: pull") - 1] == "# their_tasks:pull (their_tasks)"


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("not_there", r"The task 'pull' of their_tasks cannot be loaded from 'their_tasks:not_there': AttributeError"),
        ("raises", r"The task 'pull' of their_tasks cannot be made by 'their_tasks:raises': RuntimeError: no licence"),
        ("a_list", r"The task 'pull' of their_tasks, 'their_tasks:a_list', returns list\. Expected a Mapping"),
        (
            "with_path",
            r"The task 'pull' of their_tasks, .*, contains a \w*Path in 'task\.name'\. Expected values of YAML",
        ),
        ("with_number", r"contains the key 1 in 'task'\. Expected values of YAML"),
    ],
)
def test_a_broken_one_is_named_and_stops_only_who_asks_for_it(install: Install, target: str, message: str):
    install(pull=target)
    assert compose("task=open_drawer").task.name == "open_drawer"
    with pytest.raises(PluginError, match=message):
        compose("task=pull")


def test_a_wrong_key_of_it_is_named_with_whose_it_is(install: Install):
    install(pull="misspelt")
    with pytest.raises(ConfigError, match=r"task\.settle is unknown.*settle_s.*\(in task/pull of their_tasks, their_t"):
        load("pull")


def test_nothing_in_it_is_run_by_the_configuration(install: Install):
    install(pull="with_resolver")
    with pytest.raises(ConfigError, match=r"task\.summary=.* calls a resolver"):
        load("pull")


def test_one_made_for_another_version_is_named(install: Install):
    install(requires="unlatch>=99", pull="pull")
    with pytest.raises(PluginError, match=r"'pull' of their_tasks was made for unlatch >=99"):
        compose("task=pull")


def test_the_name_of_a_file_is_refused_with_both_origins(install: Install):
    install(open_drawer="pull")
    with pytest.raises(
        DuplicateEntryError, match=r"task/open_drawer\.yaml in unlatch, and their_tasks:pull in their_ta"
    ):
        compose("task=open_drawer")


def test_two_of_one_name_are_refused_with_both_origins(install: Install):
    install(pull="pull")
    install(dist="other_tasks", pull="pull")
    with pytest.raises(DuplicateEntryError, match=r"other_tasks.*their_tasks|their_tasks.*other_tasks"):
        compose("task=pull")


def test_a_file_of_ones_own_cannot_hide_behind_it(install: Install, tmp_path: Path):
    install(pull="pull")
    (tmp_path / "mine" / "task").mkdir(parents=True)
    (tmp_path / "mine" / "task" / "pull.yaml").write_text("# @package _global_\ntask: {name: mine}\n")
    with pytest.raises(ConfigError, match=r"pull\.yaml has the name of a task of their_tasks and would not be read"):
        compose("task=pull", config_dirs=(str(tmp_path / "mine"),))


def test_a_robot_made_in_python_needs_no_file(install: Install):
    install(group="robots", tall_panda="arm")
    assert "tall_panda" in option_names("robot")
    assert compose("task=open_drawer", "robot=tall_panda").robot.base_height_m == 0.1


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("raises", r"The robot 'odd' of their_tasks cannot be made by 'their_tasks:raises': RuntimeError: no licence"),
        ("no_robot", r"The robot 'odd' of their_tasks, 'their_tasks:no_robot', returns int\. Expected a RobotCfg"),
    ],
)
def test_a_broken_robot_is_named_and_stops_only_who_asks_for_it(install: Install, target: str, message: str):
    install(group="robots", odd=target)
    assert "odd" in dict(list_robots())
    assert compose("task=open_drawer").robot.name == "franka_panda"
    with pytest.raises(PluginError, match=message):
        compose("task=open_drawer", "robot=odd")
