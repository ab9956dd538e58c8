"""`unlatch config`, `list` and `schema`, and what commands import when they start."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from unlatch.command_table import main
from unlatch.configs.json_schema import task_schema
from unlatch.workflows.cli import terminal as console
from unlatch.workflows.commands.information import LISTS

ROOT = Path(__file__).resolve().parents[3]
OWN_FOLDER = ROOT / "examples" / "configs"
XARM = "unlatch/robots/descriptions/xarm6.yaml"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "origins"),
    [
        (
            ["open_drawer", "robot=xarm6", "seed=3", "skills.0.planner_setting.success_threshold=0.5",
             "object.held_out=0.3"],
            {
                "task.name": ("open_drawer", "configs/task/open_drawer.yaml"),
                "object.category": ("drawer", "unlatch/objects/procedural/drawer.py"),
                "object.held_out": ("0.3", "command line"),
                "robot.name": ("xarm6", XARM),
                "robot.arms.0.home_std": (None, XARM),
                "task.settle_s": ("0.5", "default"),
                "seed": ("3", "command line"),
                "skills.0.planner_setting.success_threshold": ("0.5", "command line"),
                "skills.0.part": ("drawer", "configs/task/open_drawer.yaml"),
            },
        ),
        (
            ["open_microwave_gently", "--config-dir", str(OWN_FOLDER)],
            {
                "task.name": ("open_microwave_gently", str(OWN_FOLDER / "task" / "open_microwave_gently.yaml")),
                "task.regions.0.yaw_deg": (None, "configs/task/open_microwave.yaml"),
            },
        ),
        (
            ["object=oven", "skill=open"],
            {
                "task.name": ("open_oven", "derived"),
                "object.category": ("oven", "unlatch/objects/procedural/appliances.py"),
            },
        ),
    ],
    ids=["shipped", "file of the user", "derived"],
)  # fmt: skip
def test_config_prints_every_value_with_its_origin(arguments, origins, capsys):
    assert main(["config", *arguments]) == 0
    found, origin = {}, ""
    for line in capsys.readouterr().out.splitlines():
        if line.startswith("# "):
            origin = line[2:]
        else:
            key, _, value = line.partition(": ")
            found[key] = (value, origin)
    for key, (value, origin) in origins.items():
        assert found[key] == (found[key][0] if value is None else value, origin), key


@pytest.mark.slow
def test_config_lists_the_keys_in_which_two_tasks_differ(capsys):
    assert main(["config", "open_drawer", "diff=close_drawer"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "task.name: open_drawer | close_drawer" in lines
    assert "skills.0.name: open | close" in lines
    assert not [line for line in lines if line.startswith(("object.", "robot.", "world."))]
    assert main(["config", "open_drawer", "diff=open_drawer"]) == 0
    assert capsys.readouterr().out == ""


def test_list_alone_says_what_can_be_listed(capsys):
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [*LISTS, "data"]
    assert all(len(line.split()) > 2 for line in lines)


@pytest.mark.parametrize(("command", "word", "meant"), [("list", "dat", "data"), ("bench", "succes", "success")])
def test_a_misspelt_word_is_told_with_the_name_that_is_near_and_what_to_do(command, word, meant, capsys):
    assert main([command, word]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert f"{command} '{word}' is unknown. Did you mean '{meant}'? Known: " in said
    assert said.endswith(f"{meant}. Name one of them.")


@pytest.mark.parametrize(("name", "width"), [*((name, 40) for name in LISTS), ("tasks", 80), ("tasks", 200)])
def test_a_list_fits_the_terminal_and_keeps_its_columns(name, width, monkeypatch, capsys):
    monkeypatch.setattr(console, "terminal_width", lambda _stream=None: width)
    assert main(["list", name]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    assert not any(line.endswith(" ") for line in lines)


def test_long_names_stand_in_lines_of_their_own(monkeypatch, capsys):
    monkeypatch.setattr(console, "terminal_width", lambda _stream=None: 30)
    console.print_row("a/path/of/many/folders", "what lies there", width=22)
    console.print_row("short", "one", width=22)
    assert capsys.readouterr().out == f"a/path/of/many/folders\n    what lies there\n{'short':<22}  one\n"


@pytest.mark.parametrize(("what", "count"), [("experiments", 6), *((name, None) for name in LISTS)])
def test_without_a_terminal_each_entry_is_one_line(what, count, capsys):
    assert main(["list", what]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines
    assert all(len(line.split("  ", 1)) == 2 for line in lines), lines
    assert count is None or len(lines) == count


def test_the_schema_is_written_or_printed(tmp_path, capsys):
    file = tmp_path / "task.schema.json"
    assert main(["schema", f"out={file}"]) == 0
    assert json.loads(file.read_text()) == task_schema()
    assert str(file) in capsys.readouterr().out
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == task_schema()


LATER = ("av.video", "scipy.interpolate", "scipy.spatial", "trimesh.base", "urllib.request")
"""Together 0.4 s, and needed by a plan, a picture or the conversion of a mesh only."""
NO_HYDRA = ("hydra", "omegaconf", "rich", "ompl.base", "packaging.requirements", "PIL.Image")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("commands.collect", LATER),
        ("commands.check", ("hydra", "scipy.spatial")),
        ("commands.images", ("hydra", "omegaconf", "scipy.spatial")),
        ("runs.runner", NO_HYDRA),
    ],
)
def test_a_command_starts_without_what_only_later_work_needs(module, names):
    code = f"import sys, unlatch.workflows.{module}; print([name for name in {names} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
