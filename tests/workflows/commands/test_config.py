"""`unlatch config`: values with their origins, and differences."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from unlatch.workflows.commands.information import config_command as main

ROOT = Path(__file__).resolve().parents[3]


def listed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, tuple[str, str]]:
    """Value and origin by key."""
    assert main(arguments) == 0
    found, origin = {}, ""
    for line in capsys.readouterr().out.splitlines():
        if line.startswith("# "):
            origin = line[2:]
        else:
            key, _, value = line.partition(": ")
            found[key] = (value, origin)
    return found


@pytest.mark.slow
def test_every_value_has_its_origin(capsys: pytest.CaptureFixture[str]):
    found = listed(
        capsys,
        "open_drawer",
        "robot=xarm6",
        "seed=3",
        "skills.0.planner_setting.success_threshold=0.5",
        "object.held_out=0.3",
    )
    assert found["task.name"] == ("open_drawer", "configs/task/open_drawer.yaml")
    assert found["object.category"] == ("drawer", "unlatch/objects/procedural/drawer.py")
    assert found["object.held_out"] == ("0.3", "command line")
    assert found["robot.name"] == ("xarm6", "unlatch/robots/descriptions/xarm6.yaml")
    assert found["robot.arms.0.home_std"][1] == "unlatch/robots/descriptions/xarm6.yaml"
    assert found["task.settle_s"] == ("0.5", "default")
    assert found["seed"] == ("3", "command line")
    assert found["skills.0.planner_setting.success_threshold"] == ("0.5", "command line")
    assert found["skills.0.part"] == ("drawer", "configs/task/open_drawer.yaml")


@pytest.mark.slow
def test_a_users_own_file_is_named_with_its_path(capsys: pytest.CaptureFixture[str]):
    folder = ROOT / "examples" / "configs"
    found = listed(capsys, "open_microwave_gently", "--config-dir", str(folder))
    assert found["task.name"] == ("open_microwave_gently", str(folder / "task" / "open_microwave_gently.yaml"))
    assert found["task.regions.0.yaw_deg"][1] == "configs/task/open_microwave.yaml"


@pytest.mark.slow
def test_derived_values_have_their_origin(capsys: pytest.CaptureFixture[str]):
    found = listed(capsys, "object=oven", "skill=open")
    assert found["task.name"] == ("open_oven", "derived")
    assert found["object.category"] == ("oven", "unlatch/objects/procedural/appliances.py")


@pytest.mark.slow
def test_diff_lists_the_keys_in_which_two_tasks_differ(capsys: pytest.CaptureFixture[str]):
    assert main(["open_drawer", "diff=close_drawer"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "task.name: open_drawer | close_drawer" in lines
    assert "skills.0.name: open | close" in lines
    assert not [line for line in lines if line.startswith(("object.", "robot.", "world."))]
    assert main(["open_drawer", "diff=open_drawer"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "config got '', expected one task"),
        (["open_drawer", "close_drawer"], "config got 'open_drawer close_drawer', expected one task"),
        (["opn_drawer"], "Unknown task 'opn_drawer'. Did you mean 'open_drawer'"),
        (["open_drawer", "seeed=3"], "seeed is unknown. Did you mean 'seed'"),
        (["open_drawer", "diff=x"], "Unknown task 'x'."),
    ],
)
def test_wrong_input_is_one_line(
    arguments: list[str], message: str, tmp_path: Path, assert_refused: Callable[..., str]
):
    assert_refused("config", *arguments, text=message, folder=tmp_path)
