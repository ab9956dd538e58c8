"""`unlatch check` tests the recorded configuration by the rules of a run."""

from pathlib import Path

import pytest
import yaml

from unlatch.simcore.recording.data_set import DataSet
from unlatch.workflows.runs.code_versions import header_of
from unlatch.workflows.runs.loading import load


def data_set(folder: Path, *overrides: str) -> str:
    DataSet.create_or_resume(folder, header=header_of(load("open_microwave", *overrides))).close()
    return str(folder)


def test_a_robot_inside_its_limits_has_no_problems(tmp_path, run_command):
    code, out, _ = run_command("check", data_set(tmp_path / "x", "robot.arms.0.gripper.grip_force_n=40"))
    assert (code, "0 episodes, all whole, every verdict agrees" in out) == (0, True)


@pytest.mark.slow
def test_a_folder_above_data_sets_names_them(tmp_path, assert_refused):
    a, b = (data_set(tmp_path / "sweep" / name) for name in "ab")
    said = assert_refused("check", tmp_path / "sweep", text="is not a data set, but has 2 below it", folder=tmp_path)
    assert f"{a}, {b}" in said


def test_a_robot_beyond_its_makers_limits_is_reported(tmp_path, run_command):
    gripper = "robot.arms.0.gripper"
    folder = data_set(tmp_path / "x", f"{gripper}.friction=5", f"{gripper}.max_force_n=5000", "world.record_hz=20")
    code, out, _ = run_command("check", folder)
    said = out.splitlines()
    assert code == 1
    assert [line.startswith("not compared (") for line in said] == 3 * [False] + 3 * [True]
    stated = "dataset.json: config.robot.arms[0].gripper"
    assert f"{stated}.max_force_n=5000 goes beyond the maker's limit of 70 N" in said[0]
    assert f"{stated}.friction=5 times the 0.8 of objects is 4" in said[1]
    assert "times the 0.6 of furniture is 3" in said[2]


def test_a_data_set_without_a_configuration_is_reported(tmp_path, run_command):
    DataSet.create_or_resume(tmp_path / "x", header={}).close()
    code, out, _ = run_command("check", tmp_path / "x")
    assert (code, "has no configuration in its header" in out) == (1, True)


def test_planner_settings_of_yaml_files_are_read(tmp_path, run_command):
    peers = Path(__file__).resolve().parents[2] / "data" / "peer_settings"
    files = [str(peers / "gensim2_rigid.yaml"), str(peers / "interndata_task.yaml")]
    code, out, _ = run_command("check", *files)
    said = out.splitlines()
    assert code == 1
    assert said[0] == f"{files[0]}: planner_setting: origin gensim2"
    assert said[1].startswith(f"{files[0]}: planner_setting.success_threshold: missing, read as success_mode fraction")
    assert "no articulation skill can run this: planner_setting.category_name: RigidBody" in said[2]
    assert "'rigidbody_object_head' is a point of a rigid object" in said[3]
    summary = "1 of 1 planner settings can be read, 1 of them cannot be run, 1 lines rewritten or dropped"
    assert said[4] == f"{files[0]}: {summary}"
    assert said[-1].startswith(f"{files[1]}: 3 of 3 planner settings can be read")

    (tmp_path / "bad.yaml").write_text("planner_setting: {success_treshold: 1}\n", encoding="utf-8")
    code, out, _ = run_command("check", tmp_path / "bad.yaml", files[0])
    said = out.splitlines()
    assert code == 1
    assert "planner_setting.success_treshold is unknown. Did you mean 'success_threshold'" in said[0]
    assert said[1].endswith("0 of 1 planner settings can be read, 0 lines rewritten or dropped")


BLOCK = """
  success_threshold: 0.07
  constraint_list:
    - {name: fingers_contact_with_link0, keypoint_name: tool_head, target_keypoint_name: articulated_object_head,
       tolerance: 0.001}
  pre_actuation_motions: [[translate_x, -0.08]]
"""


def test_motions_for_another_hand_are_named(tmp_path, run_command):
    setting = yaml.safe_load(BLOCK)
    file = tmp_path / "pull.yaml"
    file.write_text(yaml.safe_dump({"planner_setting": setting}), encoding="utf-8")
    code, out, _ = run_command("check", file)
    assert code == 0
    assert "warning: planner_setting.pre_actuation_motions: they move the hand along x" in out
    assert "approaches along z" in out
    assert "add `hand: lift2`" in out
    file.write_text(yaml.safe_dump({"skills": [{"lift2": [{"left": [{"planner_setting": setting}]}]}]}))
    code, out, _ = run_command("check", file)
    assert (code, "origin interndata, hand lift2" in out, "warning" in out) == (0, True, False)


@pytest.mark.parametrize(
    ("kind", "target", "said"),
    [
        (
            "point2point",
            "articulated_object_inside",
            "'articulated_object_inside' is where a carried object is put down; open, close and rotate carry none.",
        ),
        (
            "point2point",
            "articulated_object_hed",
            "'articulated_object_hed' is no keypoint that every part has. Did you mean 'articulated_object_head'",
        ),
        ("point2orbit", "link_contact_point", "type='point2orbit_constraint' is not a constraint type"),
    ],
)
def test_invented_names_are_said_to_be_ones(kind, target, said, tmp_path, run_command):
    entry = {"type": f"{kind}_constraint", "keypoint_name": "tool_hed", "target_keypoint_name": target}
    setting = {"category_name": "Articulated", "constraint_list": [{**entry, "tolerance": 0.001}]}
    (tmp_path / "invented.yaml").write_text(yaml.safe_dump(setting), encoding="utf-8")
    code, out, _ = run_command("check", tmp_path / "invented.yaml")
    assert (code, said in out) == (1, True), out
    assert ("'tool_hed' is no keypoint of a hand. Did you mean 'tool_head'" in out) == (kind == "point2point")
