"""`unlatch new robot`: what is measured of a URDF, and a robot without Python."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from unlatch import command_table
from unlatch.robots.catalog import load_robot
from unlatch.robots.checks import limit_problems
from unlatch.robots.description import RobotCfg
from unlatch.robots.hands import find_arm_chains, measure_hand, read_mimics
from unlatch.robots.models import distribution_file, model_path
from unlatch.simcore.errors import AssetError
from unlatch.simcore.urdf.reader import read_urdf
from unlatch.workflows.assets.new_robot import urdf_reference
from unlatch.workflows.runs.loading import load

XARM = distribution_file("pybullet", "pybullet_data/xarm/xarm6_with_gripper.urdf", where="the test")


def test_the_hand_of_the_panda_is_measured_as_its_description_has_it():
    model = read_urdf(model_path("franka_panda"))
    (chain,) = find_arm_chains(model, model_path("franka_panda"))
    (arm,) = load_robot("franka_panda").arms
    assert (chain.base_link, chain.ee_link, list(chain.joints)) == (arm.base_link, arm.ee_link, arm.joints)
    hand = measure_hand(model, chain, read_mimics(model_path("franka_panda")))
    assert set(hand.finger_links) == set(arm.gripper.finger_links)
    assert hand.widths_m[-1] == pytest.approx(arm.gripper.max_width_m, abs=1e-3)
    assert hand.opens_evenly
    for name in ("tool_head", "tool_side"):
        np.testing.assert_allclose(np.abs(hand.keypoints[name]), np.abs(arm.keypoints[name]), atol=2e-3)


def test_a_linkage_is_measured_as_it_moves():
    model, follows = read_urdf(XARM), read_mimics(XARM)
    (chain,) = find_arm_chains(model, XARM)
    (arm,) = load_robot("xarm6").arms
    assert (chain.base_link, chain.ee_link, list(chain.joints)) == (arm.base_link, arm.ee_link, arm.joints)
    assert chain.finger_joints[0] == "drive_joint"
    assert set(chain.finger_joints[1:]) == set(follows)
    hand = measure_hand(model, chain, follows)
    assert set(hand.finger_links) == set(arm.gripper.finger_links)
    assert not hand.opens_evenly
    drives = np.linspace(hand.closed[0], hand.opened[0], len(hand.widths_m))
    openings_m = 2.0 * (0.035 + 0.035465 * np.cos(drives) - 0.042039 * np.sin(drives) - 0.026)  # as in xarm6.yaml
    assert hand.widths_m == pytest.approx(openings_m, abs=5e-4)
    np.testing.assert_allclose(hand.keypoints["tool_head"], arm.keypoints["tool_head"], atol=2e-3)


@pytest.mark.slow
def test_an_arm_without_fingers_is_refused_with_what_is_missing(tmp_path, assert_refused):
    path = distribution_file("pybullet", "pybullet_data/xarm/xarm6_robot.urdf", where="the test")
    text = "has no arm with a gripper that moves. Expected a chain of at least 5 joints"
    assert_refused("new", "robot", path, f"out={tmp_path}", text=text, folder=tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["new", "robot"], "unlatch: new got 'robot', expected `robot` and a URDF, then key=value."),
        (["new", "robot", "x", "y"], "unlatch: new got 'robot x y', expected `robot` and a URDF"),
        (["new", "robot", "no.urdf"], "no.urdf: the file cannot be read"),
        (["new", "robot", str(XARM), "name=1x"], "unlatch: name='1x' cannot name a robot."),
    ],
)
def test_a_mistake_is_one_line(arguments, message, tmp_path, assert_refused):
    assert_refused(*arguments, text=message, folder=tmp_path)


@pytest.mark.slow
def test_a_urdf_of_a_distribution_is_named_by_it(tmp_path):
    assert urdf_reference(XARM) == "distribution://pybullet/pybullet_data/xarm/xarm6_with_gripper.urdf"
    assert urdf_reference(tmp_path / "a.urdf") == str(tmp_path / "a.urdf")


def test_a_stated_model_that_is_not_there_is_named(tmp_path):
    robot = RobotCfg(name="mine", arms=load_robot("xarm6").arms, urdf=str(tmp_path / "no.urdf"))
    with pytest.raises(
        AssetError, match=r"robot\.urdf of 'mine'='.*no\.urdf' is not a file\. Expected the path of a URDF"
    ):
        model_path(robot)


@pytest.mark.slow
def test_limits_of_a_robot_without_a_data_sheet_are_its_models():
    robot = RobotCfg(name="mine", arms=load_robot("xarm6").arms, urdf=urdf_reference(XARM))
    assert list(limit_problems(robot, object_friction=0.8)) == []
    robot.arms[0].max_velocity[2] = 4.0
    (problem,) = limit_problems(robot, object_friction=0.8)
    assert str(problem).startswith(
        "robot.arms[0].max_velocity[2]=4 of joint3 goes beyond the model's limit of 3.14 rad/s. Expected a value"
    )


EXAMPLES = "cmeel.prefix/share/example-robot-data/robots"


def example(path: str) -> Path:
    """A URDF of the extra `robots`, which no description here was made from."""
    return distribution_file("example-robot-data", f"{EXAMPLES}/{path}", where="the test")


@pytest.mark.parametrize(
    ("path", "ee_links", "joints", "widest_m"),
    [
        ("pr2_description/urdf/pr2.urdf", {"l_gripper_palm_link", "r_gripper_palm_link"}, 6, 0.09),
        ("tiago_pro_description/robots/tiago_pro.urdf", {"gripper_left_base_link", "gripper_right_base_link"}, 6, 0.08),
        ("alex_description/urdf/alex_sake_hands.urdf", {"LeftSakePalmLink", "RightSakePalmLink"}, 2, 0.037),
    ],
)
def test_both_arms_of_a_torso_are_found_with_their_hands(path, ee_links, joints, widest_m):
    urdf = example(path)
    model, follows = read_urdf(urdf), read_mimics(urdf)
    chains = find_arm_chains(model, urdf)
    assert {chain.ee_link for chain in chains} == ee_links
    for chain in chains:
        hand = measure_hand(model, chain, follows)
        assert (len(chain.joints), len(chain.finger_joints), len(hand.finger_links)) == (7, joints, 2)
        assert hand.widths_m[-1] == pytest.approx(widest_m, abs=3e-3)
        # they open all the way: what swings on when it is wide open is left out
        assert np.diff(hand.widths_m)[-1] > 1e-3


def test_fingers_that_do_not_open_are_refused():
    urdf = example("romeo_description/urdf/romeo.urdf")
    model = read_urdf(urdf)
    chain = find_arm_chains(model, urdf)[0]
    with pytest.raises(AssetError, match=r"'l_wrist' open by 0\.\d mm, expected at least 10 mm"):
        measure_hand(model, chain, read_mimics(urdf))


@pytest.mark.slow
def test_what_is_written_is_a_robot_that_collects(tmp_path, capsys):
    assert command_table.main(["new", "robot", str(XARM), "name=mine", f"out={tmp_path}"]) == 0
    assert "reaches" in capsys.readouterr().out
    assert (tmp_path / "robot" / "mine.png").stat().st_size > 10_000
    assert load("open_drawer", "robot=mine", config_dirs=[tmp_path]).robot.urdf == urdf_reference(XARM)
    arguments = ["task=open_drawer", "robot=mine", "--config-dir", str(tmp_path), "episodes=2", "seed=1", "pictures=0"]
    assert command_table.main(["collect", *arguments, "executor=serial", f"out={tmp_path / 'data'}"]) == 0
    assert "2/2" in capsys.readouterr().out
    assert command_table.main(["new", "robot", str(XARM), "name=mine", f"out={tmp_path}"]) == 2
    assert "mine.yaml exists already" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(find_spec("airo_models") is None, reason="the gripper is in airo-models, of the extra 'robots'")
def test_an_arm_without_a_gripper_gets_one_and_opens_a_drawer(tmp_path, run_command):
    urdf = distribution_file("pybullet", "pybullet_data/kuka_iiwa/model.urdf", where="the test")
    code, out, _ = run_command("new", "robot", urdf, "name=iiwa", "gripper=robotiq_2f85", f"out={tmp_path}")
    assert code == 0
    assert "robotiq_2f85 on lbr_iiwa_link_7: at (0, 0, 45) mm, along +z" in out
    assert "look up in the data sheet: max_acceleration, armature, stiffness\n" in out
    (arm,) = load("open_drawer", "robot=iiwa", config_dirs=[tmp_path]).robot.arms
    assert arm.gripper == load_robot("ur5e").arms[0].gripper
    assert not set(arm.forbidden_links) & set(arm.gripper.finger_links)
    options = ["--config-dir", str(tmp_path), "episodes=2", "seed=1", "pictures=0", "executor=serial"]
    code, out, _ = run_command("collect", "task=open_drawer", "robot=iiwa", *options, f"out={tmp_path / 'data'}")
    assert (code, "2/2" in out) == (0, True)
    code, out, _ = run_command("check", tmp_path / "robot" / "iiwa.yaml")
    assert (code, "the robot fits its model" in out) == (0, True)


def test_the_urdf_of_the_arm_is_not_replaced_by_one_with_a_gripper(tmp_path, assert_refused):
    source = distribution_file("pybullet", "pybullet_data/kuka_iiwa/model.urdf", where="the test")
    urdf = tmp_path / "robot" / "iiwa.urdf"
    urdf.parent.mkdir()
    urdf.write_text(source.read_text().replace('filename="', f'filename="{source.parent}/'))
    before = urdf.read_bytes()
    arguments = ["new", "robot", urdf, "name=iiwa", "gripper=robotiq_2f85", f"out={tmp_path}", "force=true"]
    assert_refused(*arguments, text="is the URDF of the arm itself. Expected another file", folder=tmp_path)
    assert urdf.read_bytes() == before


def test_after_an_error_the_urdf_of_an_earlier_robot_is_still_there(tmp_path, run_command, monkeypatch):
    urdf = distribution_file("pybullet", "pybullet_data/kuka_iiwa/model.urdf", where="the test")
    made = tmp_path / "robot" / "iiwa.urdf"

    def fail(*_: object, **__: object) -> None:
        raise AssetError("no arm")

    monkeypatch.setattr("unlatch.workflows.assets.new_robot.robot_from_urdf", fail)
    arguments = ["new", "robot", urdf, "name=iiwa", "gripper=robotiq_2f85", f"out={tmp_path}", "force=true"]
    assert run_command(*arguments)[0] == 2
    assert not made.exists()
    made.parent.mkdir(exist_ok=True)
    made.write_text("<robot/>")
    assert run_command(*arguments)[0] == 2
    assert made.read_text() == "<robot/>"
