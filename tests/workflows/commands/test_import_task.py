"""`unlatch import` writes tasks, and commands that read tasks point to it."""

from dataclasses import replace
from pathlib import Path

import pytest

from unlatch import command_table
from unlatch.robots.catalog import load_robot
from unlatch.robots.changed_models import distribution_file
from unlatch.workflows.assets.new_robot import urdf_reference, yaml_text

DATA = Path(__file__).parents[2] / "data"
XARM = distribution_file("pybullet", "pybullet_data/xarm/xarm6_with_gripper.urdf", where="the test")
ONE_ARM = DATA / "peer_tasks" / "open_then_close.yaml"


@pytest.mark.slow
def test_a_written_task_can_be_checked(tmp_path, capsys):
    out = tmp_path / "mine"
    assert command_table.main(["import", str(ONE_ARM), f"out={out}", "name=theirs", "settings=derived"]) == 0
    said = capsys.readouterr().out.splitlines()
    # what is read comes first, then what has no counterpart, then where the task is
    counterparts = ["no counterpart" in line for line in said[:-4]]
    assert counterparts == sorted(counterparts)
    assert said[-4].startswith(f"task: {out}/task/theirs.yaml, ")
    assert said[-3] == f"next: unlatch check task=theirs --config-dir {out}"
    assert command_table.main(["check", "task=theirs", "--config-dir", str(out)]) == 0
    assert "theirs: microwave_0, franka_panda: artpreplan, open door, close door" in capsys.readouterr().out
    assert command_table.main(["import", str(ONE_ARM), f"out={out}", "name=theirs"]) == 2
    assert "theirs.yaml exists already. Expected a new file. Add force=true" in capsys.readouterr().err


@pytest.mark.slow
def test_a_task_is_imported_for_a_robot_of_the_user_that_lies_in_a_folder_robot(tmp_path, run_command, assert_refused):
    elsewhere, robot = tmp_path / "mine" / "my_arm.yaml", tmp_path / "mine" / "robot" / "my_arm.yaml"
    robot.parent.mkdir(parents=True)
    for file in (elsewhere, robot):
        own = replace(load_robot("xarm6"), name="my_arm", urdf=urdf_reference(XARM))
        file.write_text(yaml_text(own), encoding="utf-8")
    assert_refused("import", ONE_ARM, f"robot={elsewhere}", text="is not in a folder 'robot'", folder=tmp_path)
    out = tmp_path / "imported"
    code, said, _ = run_command("import", ONE_ARM, f"robot={robot}", f"out={out}")
    own = f"--config-dir {out} --config-dir {tmp_path / 'mine'}"
    assert (code, said.splitlines()[-3]) == (0, f"next: unlatch check task=open_then_close {own}")
    code, said, _ = run_command("check", "task=open_then_close", *own.split())
    assert (code, "open_then_close: microwave_0, my_arm: artpreplan, open door, close door" in said) == (0, True)


def test_the_path_of_an_own_task_is_told_how_to_give_it(assert_refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text("task: {name: mine}\n")
    assert_refused("plan", "task=mine.yaml", text="write task=NAME --config-dir FOLDER", folder=tmp_path)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("collect", "peer_tasks/open_then_close"),
        pytest.param("plan", "peer_settings/gensim2_open", marks=pytest.mark.slow),
        pytest.param("evaluate", "peer_tasks/open_then_close", marks=pytest.mark.slow),
        pytest.param("preview", "peer_settings/gensim2_open", marks=pytest.mark.slow),
    ],
)
def test_a_pasted_file_of_another_system_is_told_to_import(command, name, assert_refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine" / "task").mkdir(parents=True)
    file = tmp_path / "mine" / "task" / "pasted.yaml"
    file.write_text((DATA / f"{name}.yaml").read_text())
    text = f"Convert it first: unlatch import {file}"
    more = ["policy=random"] if command == "evaluate" else []
    assert_refused(command, "task=pasted", "--config-dir", str(tmp_path / "mine"), *more, text=text, folder=tmp_path)
    assert_refused(command, f"task={file}", *more, text=text, folder=tmp_path)


def test_checking_a_whole_task_of_another_system_points_to_the_import(capsys):
    command_table.main(["check", str(ONE_ARM)])
    assert f"To turn it into a task: unlatch import {ONE_ARM}" in capsys.readouterr().err
