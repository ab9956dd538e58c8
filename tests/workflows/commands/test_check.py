"""`unlatch check` tests the recorded configuration by the rules of a run."""

from pathlib import Path

import pytest
import yaml

from unlatch import command_table
from unlatch.simcore.recording.data_set import DataSet
from unlatch.workflows.runs.code_versions import header_of
from unlatch.workflows.runs.loading import load


def data_set(folder: Path, *overrides: str) -> str:
    DataSet.create_or_resume(folder, header=header_of(load("open_microwave", *overrides))).close()
    return str(folder)


def test_a_robot_inside_its_limits_has_no_problems(tmp_path, capsys):
    assert command_table.main(["check", data_set(tmp_path / "x", "robot.arms.0.gripper.grip_force_n=40")]) == 0
    assert "0 episodes, all whole, every verdict agrees" in capsys.readouterr().out


@pytest.mark.slow
def test_a_folder_above_data_sets_names_them(tmp_path, capsys):
    data_set(tmp_path / "sweep" / "a")
    data_set(tmp_path / "sweep" / "b")
    assert command_table.main(["check", str(tmp_path / "sweep")]) == 2
    said = capsys.readouterr().err
    assert "is not a data set, but has 2 below it" in said
    assert f"{tmp_path / 'sweep' / 'a'}, {tmp_path / 'sweep' / 'b'}" in said


def test_a_robot_beyond_its_makers_limits_is_reported(tmp_path, capsys):
    folder = data_set(
        tmp_path / "x", "robot.arms.0.gripper.friction=5", "robot.arms.0.gripper.max_force_n=5000", "world.record_hz=20"
    )
    assert command_table.main(["check", folder]) == 1
    said = capsys.readouterr().out.splitlines()
    assert [line.startswith("not compared (") for line in said] == 3 * [False] + 3 * [True]
    assert (
        "dataset.json: config.robot.arms[0].gripper.max_force_n=5000 goes beyond the maker's limit of 70 N" in said[0]
    )
    assert "dataset.json: config.robot.arms[0].gripper.friction=5 times the 0.8 of objects is 4" in said[1]
    assert "times the 0.6 of furniture is 3" in said[2]


def test_a_data_set_without_a_configuration_is_reported(tmp_path, capsys):
    DataSet.create_or_resume(tmp_path / "x", header={}).close()
    assert command_table.main(["check", str(tmp_path / "x")]) == 1
    assert "has no configuration in its header" in capsys.readouterr().out


def test_planner_settings_of_yaml_files_are_read(tmp_path, capsys):
    peers = Path(__file__).resolve().parents[2] / "data" / "peer_settings"
    files = [str(peers / "gensim2_rigid.yaml"), str(peers / "interndata_task.yaml")]
    assert command_table.main(["check", *files]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"{files[0]}: planner_setting: origin gensim2"
    assert said[1].startswith(f"{files[0]}: planner_setting.success_threshold: missing, read as success_mode fraction")
    assert "no articulation skill can run this: planner_setting.category_name: RigidBody" in said[2]
    assert "'rigidbody_object_head' is a point of a rigid object" in said[3]
    summary = "1 of 1 planner settings can be read, 1 of them cannot be run, 1 lines rewritten or dropped"
    assert said[4] == f"{files[0]}: {summary}"
    assert said[-1].startswith(f"{files[1]}: 3 of 3 planner settings can be read")

    (tmp_path / "bad.yaml").write_text("planner_setting: {success_treshold: 1}\n", encoding="utf-8")
    assert command_table.main(["check", str(tmp_path / "bad.yaml"), files[0]]) == 1
    said = capsys.readouterr().out.splitlines()
    assert "planner_setting.success_treshold is unknown. Did you mean 'success_threshold'" in said[0]
    assert said[1].endswith("0 of 1 planner settings can be read, 0 lines rewritten or dropped")


def test_motions_for_another_hand_are_named(tmp_path, capsys):
    block = """
      success_threshold: 0.07
      constraint_list:
        - {name: fingers_contact_with_link0, keypoint_name: tool_head, target_keypoint_name: articulated_object_head,
           tolerance: 0.001}
      pre_actuation_motions: [[translate_x, -0.08]]
    """
    file = tmp_path / "pull.yaml"
    file.write_text(f"planner_setting:{block}", encoding="utf-8")
    assert command_table.main(["check", str(file)]) == 0
    said = capsys.readouterr().out
    assert "warning: planner_setting.pre_actuation_motions: they move the hand along x" in said
    assert "approaches along z" in said
    assert "add `hand: lift2`" in said

    file.write_text(f"skills: [{{lift2: [{{left: [{{planner_setting: {{{_flow(block)}}}}}]}}]}}]", encoding="utf-8")
    assert command_table.main(["check", str(file)]) == 0
    said = capsys.readouterr().out
    assert "origin interndata, hand lift2" in said
    assert "warning" not in said


def _flow(block: str) -> str:
    """Returns a block of the test above in YAML's flow style."""
    values = yaml.safe_load(block)
    return yaml.safe_dump(values, default_flow_style=True, width=10_000).strip().removeprefix("{").removesuffix("}")


def test_invented_names_are_said_to_be_ones(tmp_path, capsys):
    text = """
    category_name: Articulated
    constraint_list:
      - {type: point2point_constraint, keypoint_name: tool_hed, target_keypoint_name: TARGET, tolerance: 0.001}
    """
    file = tmp_path / "invented.yaml"
    for target, words in (
        ("articulated_object_inside", "is where a carried object is put down; open, close and rotate carry none."),
        ("articulated_object_hed", "is no keypoint that every part has. Did you mean 'articulated_object_head'"),
    ):
        file.write_text(text.replace("TARGET", target), encoding="utf-8")
        assert command_table.main(["check", str(file)]) == 1
        said = capsys.readouterr().out
        assert f"'{target}' {words}" in said
        assert "'tool_hed' is no keypoint of a hand. Did you mean 'tool_head'" in said
    file.write_text(
        text.replace("point2point", "point2orbit").replace("TARGET", "link_contact_point"), encoding="utf-8"
    )
    assert command_table.main(["check", str(file)]) == 1
    assert "type='point2orbit_constraint' is not a constraint type" in capsys.readouterr().out
