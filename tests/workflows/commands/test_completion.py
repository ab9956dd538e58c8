"""`unlatch completion`: the words, and the scripts in real shells."""

import os
import shutil
import sys
from functools import cache
from pathlib import Path

import pexpect
import pytest

from unlatch.configs.group_files import option_names
from unlatch.robots.catalog import ROBOTS
from unlatch.workflows.cli.shell_text import SHELLS, make_catalog
from unlatch.workflows.cli.shell_text import complete as complete_from

catalog = cache(make_catalog)


def complete(words: list[str]) -> list[str]:
    return complete_from(words, catalog())


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
