"""`unlatch completion`: the words, their cache, and the scripts in real shells."""

import json
import os
import shutil
import sys
from pathlib import Path

import pexpect
import pytest

from unlatch.configs.group_files import option_names
from unlatch.robots.catalog import ROBOTS
from unlatch.simcore.cache import CACHE_VARIABLE
from unlatch.workflows.cli.shell_text import CACHE_FILE, SHELLS, load_catalog
from unlatch.workflows.cli.shell_text import complete as complete_from


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CACHE_VARIABLE, str(folder))
        yield folder


def complete(words: list[str]) -> list[str]:
    return complete_from(words, load_catalog())


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("col", ["collect"]),
        ("no_such ", []),
        ("plan task=open_box,close_d", ["task=open_box,close_drawer"]),
        ("collect epis", ["episodes="]),
        ("collect worl", ["world."]),  # keys part by part
        ("collect episodes=3 epis", []),  # it is given
        ("collect worker", ["workers="]),
        ("collect live=t", ["live=true"]),
        ("collect scenery=ki", ["scenery=kitchen"]),
        ("collect retry=c", ["retry=changed"]),
        ("export data format=le", ["format=lerobot"]),
        ("collect episodes=", []),
        ("collect --con", ["--config-dir"]),
        ("list ta", ["tasks"]),
        ("config open_mi", ["open_microwave"]),
        ("collect object=./m", []),
    ],
)
def test_words_are_completed(words, completed):
    assert complete(words.split(" ")) == completed


def test_tasks_robots_and_keys_are_those_of_the_catalogs():
    assert complete(["collect", "task="]) == [f"task={name}" for name in option_names("task")]
    assert {f"robot={name}" for name in ROBOTS.names()} <= set(complete(["collect", "robot="]))
    assert "world.solver_iterations=" in complete(["collect", "world.so"])


def test_names_in_the_users_folder_are_completed(tmp_path):
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "open_mine.yaml").write_text("")
    assert complete(["collect", "--config-dir", str(tmp_path), "task=open_mine"]) == ["task=open_mine"]
    assert complete(["collect", f"--config-dir={tmp_path}", "task=open_mine"]) == ["task=open_mine"]
    assert complete(["collect", "task=open_mine"]) == []


def test_the_cache_is_read_and_is_made_anew_when_a_source_changes(cache):
    complete(["collect", ""])
    file = cache / CACHE_FILE
    kept = json.loads(file.read_text())
    kept["commands"]["from_the_cache"] = {}
    file.write_text(json.dumps(kept))
    assert complete(["from_"]) == ["from_the_cache"]
    kept["sources"][min(kept["sources"])] = 1
    file.write_text(json.dumps(kept))
    assert complete(["from_"]) == []
    file.write_text("{")
    assert complete(["colle"]) == ["collect"]


START = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "--interactive"],
}
READ = {
    "bash": "source <(unlatch completion bash)",
    "zsh": "autoload -Uz compinit; compinit -u -D; source <(unlatch completion zsh)",
    "fish": "unlatch completion fish | source",
}


@pytest.mark.e2e
@pytest.mark.parametrize("shell", SHELLS)
def test_tab_completes_in_a_real_shell(shell, tmp_path, monkeypatch):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "unlatch").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m unlatch "$@"\n')
    (tmp_path / "unlatch").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "my_file.urdf").write_text("")
    complete(["collect", ""])  # fills the cache
    cwd = Path.cwd()
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(cwd), *filter(None, [os.environ.get("PYTHONPATH")])]))
    terminal = pexpect.spawn(START[shell][0], START[shell][1:], cwd=str(tmp_path), encoding="utf-8", timeout=20)
    terminal.setwinsize(50, 200)
    terminal.sendline(f"{READ[shell]}; echo re''ady")
    terminal.expect("ready")
    for typed, expected in {
        "unlatch colle\t": "unlatch collect ",
        "unlatch collect task=open_micro\t": "unlatch collect task=open_microwave ",
        "unlatch collect worl\t": "unlatch collect world.",
        "unlatch collect object=./my_\t": "unlatch collect object=./my_file.urdf",
    }.items():
        terminal.send(typed)
        terminal.expect_exact(expected.removeprefix(typed.rstrip("\t")))
        terminal.sendcontrol("u")
    terminal.close(force=True)
