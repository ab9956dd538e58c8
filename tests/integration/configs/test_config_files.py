"""YAML files of other distributions are found and listed; two of one name are refused; broken ones are named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from unlatch.configs.composition import Request, compose_config
from unlatch.configs.config_files import broken_plugin_folders, option_names, plugin_folders, yaml_files
from unlatch.simcore.errors import ConfigError, DuplicateEntryError
from unlatch.workflows.commands.information import list_tasks
from unlatch.workflows.runs.schema import CollectCfg

Install = Callable[..., Path]

TASK = """# @package _global_
defaults:
  - open_drawer
task: {name: %s, summary: of another distribution}
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Puts a distribution with YAML files onto the path."""

    def make(name: str, tasks: list[str], *, body: str = "", package: str | None = None) -> Path:
        place = tmp_path / name
        info = place / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[unlatch.configs]\n{name} = {package or name + '.yamls'}\n")
        folder = place / name / "yamls" / "task"
        folder.mkdir(parents=True)
        (place / name / "__init__.py").write_text(body)
        for task in tasks:
            (folder / f"{task}.yaml").write_text(TASK % task)
        monkeypatch.syspath_prepend(str(place))
        return place

    return make


@pytest.mark.slow
def test_files_of_another_distribution_are_found_and_listed(install: Install):
    install("other_tasks", ["pull_gently"])
    assert [folder.origin for folder in plugin_folders()] == ["other_tasks"]
    assert "pull_gently" in option_names("task")
    assert any(name == "pull_gently" and "of another distribution" in summary for name, summary in list_tasks())
    cfg = compose_config("collect", CollectCfg, Request(["task=pull_gently"]))
    assert cfg.task.name == "pull_gently"


def test_two_files_of_one_name_are_refused_with_both_origins(install: Install):
    install("first_tasks", ["pull_gently"])
    install("second_tasks", ["pull_gently"])
    with pytest.raises(DuplicateEntryError, match=r"in first_tasks and in second_tasks"):
        yaml_files("task")


def test_a_file_with_the_name_of_ours_is_refused(install: Install):
    install("hiding_tasks", ["open_drawer"])
    with pytest.raises(DuplicateEntryError, match=r"task/open_drawer\.yaml exists twice: in unlatch and in hiding_"):
        option_names("task")


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"body": "raise RuntimeError('no licence')"}, "RuntimeError: no licence"),
        ({"package": "broken_tasks.not_there"}, "there is no package 'broken_tasks.not_there'"),
        ({"package": "module_that_is_not_there.configs"}, "ModuleNotFoundError"),
    ],
)
def test_a_broken_one_stops_only_who_asks_for_its_files(install: Install, changes: dict[str, str], what: str):
    install("broken_tasks", ["pull_gently"], **changes)
    assert compose_config("collect", CollectCfg, Request(["task=open_drawer"])).task.name == "open_drawer"
    assert len(broken_plugin_folders()) == 1
    with pytest.raises(ConfigError, match=r"Unknown task 'pull_gently'.* Left out: broken_tasks: .*" + what):
        compose_config("collect", CollectCfg, Request(["task=pull_gently"]))


def test_a_file_of_ones_own_cannot_hide_behind_ours(tmp_path: Path):
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "open_drawer.yaml").write_text(TASK % "mine")
    with pytest.raises(ConfigError, match=r"open_drawer\.yaml has the name of a file that comes with Unlatch") as e:
        compose_config("collect", CollectCfg, Request(["task=open_drawer"], [str(tmp_path)]))
    assert "task=my_open_drawer" in e.value.message


def test_the_folder_of_one_kind_of_files_is_refused_with_the_one_that_is_meant(tmp_path: Path):
    folder = tmp_path / "mine" / "task"
    folder.mkdir(parents=True)
    (folder / "pull_gently.yaml").write_text(TASK % "pull_gently")
    with pytest.raises(ConfigError, match=rf"Use --config-dir {folder.parent}$"):
        yaml_files("task", [str(folder)])
    assert "pull_gently" in yaml_files("task", [str(folder.parent)])
