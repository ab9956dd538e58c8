"""`unlatch new`: what is written is whole, and a mistake is one line."""

import ast
import importlib
import re
from pathlib import Path

import pytest
import yaml

from unlatch.workflows.commands.new import new_command as main
from unlatch.workflows.commands.objects import make_object_command as make_object
from unlatch.workflows.runs.loading import load


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("what", "files"), [("skill", 7), ("plugin", 9)])
def test_a_new_plugin_has_all_its_files(what, files, here, capsys):
    assert main([what, "tap_it"]) == 0
    written = [path for path in (here / "tap_it").rglob("*") if path.is_file()]
    assert len(written) == files
    for path in written:
        text = path.read_text()
        assert not re.search(r"@\w+@", text), path
        if path.suffix == ".py":
            ast.parse(text)
        elif path.suffix == ".yaml":
            yaml.safe_load(text)
    said = capsys.readouterr().out
    (task,) = (path.stem for path in written if path.parent.name == "task")
    assert f"unlatch collect task={task} episodes=4" in said


def test_the_generator_of_a_new_plugin_makes_objects(here, monkeypatch):
    assert main(["plugin", "tap_it"]) == 0
    monkeypatch.syspath_prepend(str(here / "tap_it"))
    block = importlib.import_module("unlatch_tap_it.block")
    first, again, other = (block.generate(seed, name="block") for seed in (1, 1, 2))
    assert list(first.articulation.parts) == ["slide"]
    assert first.parameters == again.parameters != other.parameters


@pytest.mark.slow
def test_a_new_task_composes(here):
    assert main(["task", "shut_it", "object=microwave", "skill=close", "part=door"]) == 0
    cfg = load("shut_it", config_dirs=["configs"])
    assert [entry.name for entry in cfg.skills] == ["artpreplan", "close"]
    assert cfg.object.name == "microwave"
    assert cfg.skills[1].part == "door"


def test_a_new_task_for_a_urdf_has_its_path_and_its_category(here):
    assert make_object(["washing_machine", "seed=3", "out=found"]) == 0
    assert main(["task", "open_found", "object=found/object.urdf"]) == 0
    found = load("open_found", config_dirs=["configs"]).object
    assert (found.name, found.category) == ("washing_machine", "washing_machine")
    assert found.root == str(here / "found" / "object.urdf")
