"""YAML files and functions of other distributions make tasks and robots: found, listed, refused where they clash."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.distribution import install
from unlatch.configs.composition import Request, compose_config
from unlatch.configs.config_files import TASKS, broken_plugin_folders, plugin_folders
from unlatch.configs.group_files import option_names, yaml_files
from unlatch.configs.json_schema import task_schema
from unlatch.robots.catalog import ROBOTS
from unlatch.simcore.errors import ConfigError, DuplicateEntryError, PluginError
from unlatch.workflows.commands.information import config_command, list_robots, list_tasks
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.schema import CollectCfg

TASK = """# @package _global_
defaults:
  - open_drawer
task: {name: %s, summary: of another distribution}
"""


def compose(*overrides: str, config_dirs: tuple[str, ...] = ()) -> Any:
    return compose_config("collect", CollectCfg, Request(list(overrides), list(config_dirs)))


def write_task(folder: Path, name: str, text: str = TASK) -> str:
    """Writes the YAML file of a task below a folder; returns the folder for `--config-dir`."""
    (folder / "task").mkdir(parents=True, exist_ok=True)
    (folder / "task" / f"{name}.yaml").write_text(text.replace("%s", name))
    return str(folder)


@pytest.fixture
def with_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Installs a distribution with YAML files of tasks."""

    def make(name: str, *tasks: str, body: str = "", package: str | None = None) -> None:
        for task in tasks:
            write_task(tmp_path / name / name / "yamls", task)
        (tmp_path / name / name).mkdir(parents=True, exist_ok=True)
        (tmp_path / name / name / "__init__.py").write_text(body)
        install(tmp_path / name, name, "configs", monkeypatch, **{name: package or f"{name}.yamls"})

    return make


@pytest.mark.slow
def test_files_of_another_distribution_are_found_and_listed(with_files: Callable[..., None]):
    with_files("other_tasks", "pull_gently")
    assert [folder.origin for folder in plugin_folders()] == ["other_tasks"]
    assert "pull_gently" in option_names("task")
    assert any(name == "pull_gently" and "of another distribution" in summary for name, summary in list_tasks())
    assert compose("task=pull_gently").task.name == "pull_gently"


@pytest.mark.parametrize(
    ("distributions", "message"),
    [
        (["first_tasks pull", "second_tasks pull"], r"in first_tasks and in second_tasks"),
        (["hiding_tasks open_drawer"], r"task/open_drawer\.yaml exists twice: in unlatch and in hiding_"),
    ],
)
def test_two_files_of_one_name_are_refused_with_both_origins(
    with_files: Callable[..., None], distributions: list[str], message: str
):
    for words in distributions:
        with_files(*words.split())
    with pytest.raises(DuplicateEntryError, match=message):
        yaml_files("task")


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"body": "raise RuntimeError('no licence')"}, "RuntimeError: no licence"),
        ({"package": "broken_tasks.not_there"}, "there is no package 'broken_tasks.not_there'"),
        ({"package": "module_that_is_not_there.configs"}, "ModuleNotFoundError"),
    ],
)
def test_a_broken_one_stops_only_who_asks_for_its_files(
    with_files: Callable[..., None], changes: dict[str, str], what: str
):
    with_files("broken_tasks", "pull_gently", **changes)
    assert compose("task=open_drawer").task.name == "open_drawer"
    assert len(broken_plugin_folders()) == 1
    with pytest.raises(ConfigError, match=r"Unknown task 'pull_gently'.* Left out: broken_tasks: .*" + what):
        compose("task=pull_gently")


def test_a_file_of_ones_own_cannot_hide_behind_ours(tmp_path: Path):
    folder = write_task(tmp_path, "open_drawer")
    with pytest.raises(ConfigError, match=r"open_drawer\.yaml has the name of a file that comes with Unlatch") as e:
        compose("task=open_drawer", config_dirs=(folder,))
    assert "task=my_open_drawer" in e.value.message


def test_the_folder_of_one_kind_of_files_is_refused_with_the_one_that_is_meant(tmp_path: Path):
    folder = write_task(tmp_path / "mine", "pull_gently")
    with pytest.raises(ConfigError, match=rf"Use --config-dir {folder}$"):
        yaml_files("task", [f"{folder}/task"])
    assert "pull_gently" in yaml_files("task", [folder])


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
def with_functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Installs a distribution whose functions make tasks or robots: `with_functions(pull="raises")`."""
    modules: list[str] = []

    def put(*, dist: str = "their_tasks", group: str = "tasks", requires: str = "unlatch>=0.1", **points: str) -> None:
        (tmp_path / dist).mkdir()
        (tmp_path / dist / f"{dist}.py").write_text(MODULE)
        targets = {name: f"{dist}:{target}" for name, target in points.items()}
        metadata = f"Summary: pulls\nRequires-Dist: {requires}\n"
        install(tmp_path / dist, dist, group, monkeypatch, metadata=metadata, **targets)
        modules.append(dist)
        for catalog in (TASKS, ROBOTS):
            monkeypatch.setattr(catalog, "_all", None)

    yield put
    for catalog in (TASKS, ROBOTS):
        catalog._all = None
    for module in modules:
        sys.modules.pop(module, None)


def test_a_task_made_in_python_is_used_like_a_file(with_functions: Callable[..., None]):
    with_functions(pull="pull", counted="computed")
    cfg = load("pull", "task.regions.0.yaw_deg=5")
    assert (cfg.task.name, cfg.task.settle_s, cfg.robot.base_height_m) == ("pull", 1.0, 0.05)
    assert (cfg.task.regions[0].yaw_deg, cfg.skills[0].name) == (5.0, "open")
    cfg = load("counted")  # its numbers are NumPy's
    assert (cfg.seed, cfg.skills[0].contact_force_threshold_n) == (3, 5.0)


def test_it_is_listed_completed_by_editors_and_not_imported_for_that(with_functions: Callable[..., None]):
    with_functions(pull="a_function_that_is_not_there")
    assert "pull" in option_names("task")
    assert ("pull", "pulls (from their_tasks)") in list_tasks()
    assert "pull" in str(task_schema()["properties"]["defaults"])
    assert "their_tasks" not in sys.modules


def test_a_file_may_build_on_it(with_functions: Callable[..., None], tmp_path: Path):
    with_functions(pull="pull")
    text = "# @package _global_\ndefaults: [pull, _self_]\ntask: {name: mine}\n"
    cfg = compose("task=mine", config_dirs=(write_task(tmp_path / "mine", "mine", text),))
    assert (cfg.task.name, cfg.task.settle_s) == ("mine", 1.0)


def test_its_values_have_it_for_their_origin(with_functions: Callable[..., None], capsys: pytest.CaptureFixture[str]):
    with_functions(pull="pull")
    assert config_command(["pull"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[lines.index("task.name: pull") - 1] == "# their_tasks:pull (their_tasks)"


@pytest.mark.parametrize(
    ("target", "error", "message"),
    [
        ("not_there", PluginError, r"'pull' of their_tasks cannot be loaded from '.*:not_there': AttributeError"),
        ("raises", PluginError, r"'pull' of their_tasks cannot be made by '.*:raises': RuntimeError: no licence"),
        ("a_list", PluginError, r"'pull' of their_tasks, 'their_tasks:a_list', returns list\. Expected a Mapping"),
        ("with_path", PluginError, r"'pull' of .*, contains a \w*Path in 'task\.name'\. Expected values of YAML"),
        ("with_number", PluginError, r"contains the key 1 in 'task'\. Expected values of YAML"),
        ("misspelt", ConfigError, r"task\.settle is unknown.*settle_s.*\(in task/pull of their_tasks, their_t"),
        ("with_resolver", ConfigError, r"task\.summary=.* calls a resolver"),  # nothing of it is run by the reader
    ],
)
def test_a_broken_one_is_named_and_stops_only_who_asks_for_it(
    with_functions: Callable[..., None], target: str, error: type[Exception], message: str
):
    with_functions(pull=target)
    assert compose("task=open_drawer").task.name == "open_drawer"
    with pytest.raises(error, match=message):
        load("pull")


def test_one_made_for_another_version_is_named(with_functions: Callable[..., None]):
    with_functions(requires="unlatch>=99", pull="pull")
    with pytest.raises(PluginError, match=r"'pull' of their_tasks was made for unlatch >=99"):
        compose("task=pull")


def test_the_name_of_a_file_or_of_another_one_is_refused_with_both_origins(with_functions: Callable[..., None]):
    with_functions(open_drawer="pull", pull="pull")
    message = r"task/open_drawer\.yaml in unlatch, and their_tasks:pull in their_ta"
    with pytest.raises(DuplicateEntryError, match=message):
        compose("task=open_drawer")
    with_functions(dist="other_tasks", pull="pull")
    with pytest.raises(DuplicateEntryError, match=r"other_tasks.*their_tasks|their_tasks.*other_tasks"):
        compose("task=pull")


def test_a_file_of_ones_own_cannot_hide_behind_it(with_functions: Callable[..., None], tmp_path: Path):
    with_functions(pull="pull")
    with pytest.raises(ConfigError, match=r"pull\.yaml has the name of a task of their_tasks and would not be read"):
        compose("task=pull", config_dirs=(write_task(tmp_path / "mine", "pull"),))


def test_a_robot_made_in_python_needs_no_file(with_functions: Callable[..., None]):
    with_functions(group="robots", tall_panda="arm")
    assert "tall_panda" in option_names("robot")
    assert compose("task=open_drawer", "robot=tall_panda").robot.base_height_m == 0.1


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("raises", r"The robot 'odd' of their_tasks cannot be made by 'their_tasks:raises': RuntimeError: no licence"),
        ("no_robot", r"The robot 'odd' of their_tasks, 'their_tasks:no_robot', returns int\. Expected a RobotCfg"),
    ],
)
def test_a_broken_robot_is_named_and_stops_only_who_asks_for_it(
    with_functions: Callable[..., None], target: str, message: str
):
    with_functions(group="robots", odd=target)
    assert "odd" in dict(list_robots())
    assert compose("task=open_drawer").robot.name == "franka_panda"
    with pytest.raises(PluginError, match=message):
        compose("task=open_drawer", "robot=odd")
