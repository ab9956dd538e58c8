"""`unlatch check` tests the recorded configuration by the rules of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from unlatch import command_table
from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.workflows.runs.header import header_of
from unlatch.workflows.runs.loading import load


def data_set(folder: Path, *overrides: str) -> str:
    DataSet.create_or_resume(folder, header=header_of(load("open_microwave", *overrides))).close()
    return str(folder)


def test_a_robot_inside_its_limits_has_no_problems(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert command_table.main(["check", data_set(tmp_path / "x", "robot.arms.0.gripper.grip_force_n=40")]) == 0
    assert "0 episodes, all whole, every verdict agrees" in capsys.readouterr().out


def test_a_folder_above_data_sets_names_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    data_set(tmp_path / "sweep" / "a")
    data_set(tmp_path / "sweep" / "b")
    assert command_table.main(["check", str(tmp_path / "sweep")]) == 2
    said = capsys.readouterr().err
    assert "is not a data set, but has 2 below it" in said
    assert f"{tmp_path / 'sweep' / 'a'}, {tmp_path / 'sweep' / 'b'}" in said


def test_a_robot_beyond_its_makers_limits_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = data_set(
        tmp_path / "x", "robot.arms.0.gripper.friction=5", "robot.arms.0.gripper.max_force_n=5000", "world.record_hz=20"
    )
    assert command_table.main(["check", folder]) == 1
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 3
    assert (
        "dataset.json: config.robot.arms[0].gripper.max_force_n=5000 goes beyond the maker's limit of 70 N" in said[0]
    )
    assert "dataset.json: config.robot.arms[0].gripper.friction=5 times the 0.8 of objects is 4" in said[1]
    assert "times the 0.6 of furniture is 3" in said[2]


def test_a_data_set_without_a_configuration_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    DataSet.create_or_resume(tmp_path / "x", header={}).close()
    assert command_table.main(["check", str(tmp_path / "x")]) == 1
    assert "has no configuration in its header" in capsys.readouterr().out


def test_planner_settings_of_yaml_files_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    peers = Path(__file__).resolve().parents[2] / "data" / "peer_settings"
    files = [str(peers / "gensim2_rigid.yaml"), str(peers / "interndata_task.yaml")]
    assert command_table.main(["check", *files]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith(f"{files[0]}: planner_setting.success_threshold: missing, read as success_mode fraction")
    assert said[1] == f"{files[0]}: 1 of 1 planner settings can be read, 1 lines rewritten or dropped"
    assert said[-1].startswith(f"{files[1]}: 3 of 3 planner settings can be read")

    (tmp_path / "bad.yaml").write_text("planner_setting: {success_treshold: 1}\n", encoding="utf-8")
    assert command_table.main(["check", str(tmp_path / "bad.yaml"), files[0]]) == 1
    said = capsys.readouterr().out.splitlines()
    assert "planner_setting.success_treshold is unknown. Did you mean 'success_threshold'" in said[0]
    assert said[1].endswith("0 of 1 planner settings can be read, 0 lines rewritten or dropped")
