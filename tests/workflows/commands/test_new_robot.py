"""`unlatch new robot`: what is measured of a URDF, and a robot without Python."""

import copy
import math
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import trimesh

from tests.robots.test_foreign_models import COUPLED, arm_mjcf, joints_above_base
from unlatch.configs.schema import hand_notices
from unlatch.robots import robot_from_urdf as robot_from_urdf_module
from unlatch.robots.catalog import load_robot
from unlatch.robots.changed_models import distribution_file
from unlatch.robots.checks import limit_problems
from unlatch.robots.description import RobotCfg
from unlatch.robots.hand_shape import describe_hand_frame
from unlatch.robots.hands import Chain, Hand, find_arm_chains, measure_hand, read_mimics
from unlatch.robots.models import model_path
from unlatch.robots.robot_from_urdf import robot_from_urdf
from unlatch.simcore.errors import AssetError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.urdf.reader import read_urdf
from unlatch.workflows.assets import new_robot as new_robot_module
from unlatch.workflows.assets.new_robot import (
    REACH,
    NewRobotCfg,
    free_swing,
    new_robot,
    open_hands,
    try_robot,
    urdf_reference,
    weak_hands,
    yaml_text,
)
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


def test_a_limit_that_is_no_number_is_named(tmp_path):
    path = tmp_path / "r.urdf"
    limit = '<parent link="a"/><child link="b"/><limit lower="-pi" upper="3"/>'
    path.write_text(
        f'<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="revolute">{limit}</joint></robot>'
    )
    with pytest.raises(AssetError, match=r"r\.urdf: joint 'j' has '-pi' where 1 finite number belong"):
        new_robot(path, NewRobotCfg(out=str(tmp_path)))


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


def two_drawers(folder: Path) -> list[str]:
    """Returns the words that collect two drawers with a robot that lies in a folder."""
    out = ["executor=serial", "pictures=0", f"out={folder / 'data'}"]
    return ["task=open_drawer", "--config-dir", str(folder), "episodes=2", "seed=1", *out]


@pytest.mark.slow
def test_what_is_written_is_a_robot_and_is_not_replaced(tmp_path, run_command):
    code, out, _ = run_command("new", "robot", XARM, "name=mine", f"out={tmp_path}")
    assert (code, "reaches" in out, "a copy of the file" in out) == (0, True, False)
    assert (tmp_path / "robot" / "mine.png").stat().st_size > 10_000
    assert load("open_drawer", "robot=mine", config_dirs=[tmp_path]).robot.urdf == urdf_reference(XARM)
    code, _, err = run_command("new", "robot", XARM, "name=mine", f"out={tmp_path}")
    assert (code, "mine.yaml exists already" in err) == (2, True)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("airo_models") is None, reason="the gripper is in airo-models, of the extra 'robots'")
def test_an_arm_without_a_gripper_gets_one_and_opens_a_drawer(tmp_path, run_command):
    code, out, _ = run_command("new", "robot", IIWA, *WITH_GRIPPER, f"out={tmp_path}")
    assert code == 0
    assert "robotiq_2f85 on lbr_iiwa_link_7: at (0, 0, 45) mm, along +z" in out
    assert "look up in the data sheet: max_acceleration, armature, stiffness\n" in out
    assert f"a copy of the file, changed or with what it leaves out: {tmp_path / 'robot' / 'iiwa.urdf'}\n" in out
    (arm,) = load("open_drawer", "robot=iiwa", config_dirs=[tmp_path]).robot.arms
    assert arm.gripper == load_robot("ur5e").arms[0].gripper
    assert not set(arm.forbidden_links) & set(arm.gripper.finger_links)
    code, out, _ = run_command("collect", "robot=iiwa", *two_drawers(tmp_path))
    assert (code, "2/2" in out) == (0, True)
    code, out, _ = run_command("check", tmp_path / "robot" / "iiwa.yaml")
    assert (code, "the robot fits its model" in out) == (0, True)


IIWA = distribution_file("pybullet", "pybullet_data/kuka_iiwa/model.urdf", where="the test")
WITH_GRIPPER = ["name=iiwa", "gripper=robotiq_2f85"]


def test_the_urdf_of_the_arm_is_not_replaced_by_one_with_a_gripper(tmp_path, assert_refused):
    urdf = tmp_path / "robot" / "iiwa.urdf"
    urdf.parent.mkdir()
    urdf.write_text(IIWA.read_text().replace('filename="', f'filename="{IIWA.parent}/'))
    before = urdf.read_bytes()
    text = "is the URDF of the arm itself. Expected another file"
    words = [*WITH_GRIPPER, f"out={tmp_path}", "force=true"]
    assert_refused("new", "robot", urdf, *words, text=text, folder=tmp_path)
    assert urdf.read_bytes() == before


@pytest.mark.parametrize("earlier", [None, "<robot/>"])
def test_after_an_error_the_urdf_of_an_earlier_robot_is_still_there(earlier, tmp_path, run_command, monkeypatch):
    made = tmp_path / "robot" / "iiwa.urdf"
    if earlier is not None:
        made.parent.mkdir()
        made.write_text(earlier)

    def fail(*_: object, **__: object) -> None:
        raise AssetError("no arm")

    monkeypatch.setattr("unlatch.workflows.assets.new_robot.robot_from_urdf", fail)
    assert run_command("new", "robot", IIWA, *WITH_GRIPPER, f"out={tmp_path}", "force=true")[0] == 2
    assert (made.read_text() if made.exists() else None) == earlier


ALONG_X = "0 -1.5707963 0"
"""Turns the frame of the hand so that its x points to the fingertips, as on ARX arms."""


def _link(name: str, size: str = "0.06 0.06 0.06", at: str = "0 0 0", mass_kg: float = 0.5) -> str:
    shape = f'<origin xyz="{at}"/><geometry><box size="{size}"/></geometry>'
    moment = mass_kg * 0.05**2
    return (
        f'<link name="{name}"><visual>{shape}</visual><collision>{shape}</collision><inertial><mass value="{mass_kg}"/>'
        f'<inertia ixx="{moment}" iyy="{moment}" izz="{moment}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )


def _joint(name: str, parent: str, child: str, at: str, axis: str, *, kind: str = "revolute", **more: str) -> str:
    limit = {"lower": "-2.9", "upper": "2.9", "effort": "60", "velocity": "2"}
    rpy, inner = more.pop("rpy", "0 0 0"), more.pop("inner", "")
    attributes = " ".join(f'{key}="{value}"' for key, value in {**limit, **more}.items())
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{at}" rpy="{rpy}"/><axis xyz="{axis}"/><limit {attributes}/>{inner}</joint>'
    )


CHAIN = [
    ("shoulder", "0 0 0.14", "0 0 1", "0.08 0.08 0.06", "0 0 0", 2.0),
    ("upper", "0 0 0.08", "0 1 0", "0.06 0.06 0.36", "0 0 0.2", 2.0),
    ("elbow", "0 0 0.42", "0 1 0", "0.05 0.05 0.2", "0 0 0.14", 1.5),
    ("wrist_1", "0 0 0.30", "0 0 1", "0.05 0.05 0.04", "0 0 0", 0.6),
    ("wrist_2", "0 0 0.06", "0 1 0", "0.05 0.05 0.04", "0 0 0.02", 0.4),
]
"""The links of an arm: name, place and axis of its joint, size and middle of its box, and its mass [kg]."""
LIFT = {"kind": "prismatic", "lower": "0", "upper": "0.3", "effort": "800", "velocity": "0.2"}
SLIDE = {"kind": "prismatic", "lower": "0", "upper": "0.04", "effort": "40", "velocity": "0.2"}


def arm_urdf(*, lift: bool = False, along_x: bool = True, mimic: bool = True, spaced: bool = False) -> str:
    """Returns a URDF of boxes: an arm of six joints that reaches 0.9 m, with two sliding fingers.

    Args:
        lift: Whether the arm stands on a carriage that a column lifts by 0.3 m.
        along_x: Whether the hand's frame approaches along x; else along z.
        mimic: Whether the second finger's joint mimics the first one's; else it has a motor of its own.
        spaced: Whether joints and links have names with spaces, dots and slashes.
    """

    def named(name: str) -> str:
        return name.replace("_", "/") + ".left arm" if spaced else name

    def joint(name: str, parent: str, child: str, at: str, axis: str, **more: str) -> str:
        return _joint(named(name), named(parent), named(child), at, axis, **more)

    def along(value: float) -> list[str]:
        return [f"{value}", "0", "0"] if along_x else ["0", "0", f"{value}"]

    def box(width: float, length: float) -> str:
        return f"{length} {width} 0.03" if along_x else f"0.03 {width} {length}"

    parts = [_link(named("base"), "0.2 0.2 0.1", "0 0 0.05", 20.0)]
    if lift:
        parts += [_link(named("carriage"), "0.12 0.12 0.04", "0 0 -0.02", 3.0)]
        parts += [joint("lift", "base", "carriage", "0 0 0.15", "0 0 1", **LIFT)]
    parent = "carriage" if lift else "base"
    for number, (name, at, axis, size, middle, mass_kg) in enumerate(CHAIN, start=1):
        parts += [_link(named(name), size, middle, mass_kg), joint(f"joint_{number}", parent, name, at, axis)]
        parent = name
    rpy = ALONG_X if along_x else "0 0 0"
    parts += [joint("joint_6", "wrist_2", "hand", "0 0 0.08", " ".join(along(1)), rpy=rpy)]
    parts += [_link(named("hand"), box(0.12, 0.04), " ".join(along(0.02)), 0.4)]
    for side, sign in (("a", 1.0), ("b", -1.0)):
        parts += [_link(named(f"finger_{side}"), box(0.012, 0.07), " ".join(along(0.035)), 0.03)]
        inner = f'<mimic joint="{named("slide_a")}" multiplier="1"/>' if mimic and side == "b" else ""
        x, _, z = along(0.05)
        place, axis = f"{x} {0.006 * sign} {z}", f"0 {sign} 0"
        parts += [joint(f"slide_{side}", "hand", f"finger_{side}", place, axis, **SLIDE, inner=inner)]
    return f'<robot name="box arm">{"".join(parts)}</robot>'


@pytest.fixture
def write_arm(tmp_path) -> Callable[..., Path]:
    def write(text: str) -> Path:
        file = tmp_path / "arm.urdf"
        file.write_text(text, encoding="utf-8")
        return file

    return write


def measure(file: Path) -> tuple[Chain, Hand]:
    model = read_urdf(file)
    (chain,) = find_arm_chains(model, file)
    return chain, measure_hand(model, chain, read_mimics(file))


def test_a_palm_whose_frame_is_far_beyond_the_fingers_does_not_turn_the_hand_around(write_arm):
    text = arm_urdf()
    expected = measure(write_arm(text))
    for y in ("0.006", "-0.006"):
        assert f'"0.05 {y} 0"' in text
        text = text.replace(f'"0.05 {y} 0"', f'"-0.55 {y} 0"')
    palm = _link("palm") + _joint("palm_joint", "hand", "palm", "0.6 0 0", "1 0 0", kind="fixed")
    text = text.replace('<parent link="hand"/>', '<parent link="palm"/>').replace("</robot>", palm + "</robot>")
    assert measure(write_arm(text)) == expected
    assert expected[0].ee_link == "hand"


@pytest.mark.parametrize("divisions", [0, 4])
def test_a_finely_meshed_fingertip_does_not_hide_that_a_palm_has_its_frame_beyond_the_fingers(divisions, write_arm):
    mesh, text = trimesh.creation.box((0.07, 0.012, 0.03)), arm_urdf()
    for _ in range(divisions):
        mesh = mesh.subdivide(np.flatnonzero(mesh.triangles_center[:, 0] > 0.0349))
    for y in ("0.006", "-0.006"):
        text = text.replace(f'"0.05 {y} 0"', f'"-0.068 {y} 0"')
    palm = _link("palm") + _joint("palm_joint", "hand", "palm", "0.118 0 0", "1 0 0", kind="fixed")
    text = text.replace('<parent link="hand"/>', '<parent link="palm"/>').replace("</robot>", palm + "</robot>")
    assert text.count('<box size="0.07 0.012 0.03"/>') == 4
    file = write_arm(text.replace('<box size="0.07 0.012 0.03"/>', '<mesh filename="finger.stl"/>'))
    mesh.export(file.with_name("finger.stl"))
    (chain,) = find_arm_chains(read_urdf(file), file)
    assert chain.ee_link == "hand"


@pytest.mark.parametrize(("along_x", "approach", "axis"), [(True, "+x", 0), (False, "+z", 2)])
def test_the_hands_own_frame_is_found_and_named(along_x, approach, axis, write_arm):
    chain, hand = measure(write_arm(arm_urdf(along_x=along_x, mimic=along_x)))
    assert chain.ee_link == "hand"
    assert np.argmax(np.abs(hand.keypoints["tool_head"])) == axis
    place = "(111, 0, 0)" if along_x else "(0, 0, 111)"
    arm = replace(load_robot("xarm6").arms[0], ee_link=chain.ee_link, keypoints=hand.keypoints)
    assert describe_hand_frame(arm) == f"frame of hand: approaches along {approach}, opens along y, holds at {place} mm"


def test_a_tilted_hand_frame_is_named_by_its_numbers():
    (arm,) = load_robot("xarm6").arms
    tilted = replace(arm, keypoints={"tool_head": [0.1, 0, 0.1], "tool_tail": [0, 0, 0], "tool_side": [0.1, -0.1, 0.1]})
    assert describe_hand_frame(tilted).endswith(
        "approaches along (0.71, 0.00, 0.71), opens along y, holds at (100, 0, 100) mm"
    )


@pytest.mark.parametrize("task", ["open_drawer", "close_drawer", "open_microwave", "close_microwave"])
def test_the_motions_of_a_shipped_task_fit_a_hand_that_approaches_along_x(task, write_arm):
    _, hand = measure(write_arm(arm_urdf()))
    cfg = load(task)
    (arm,) = cfg.robot.arms
    assert hand_notices(replace(cfg, robot=replace(cfg.robot, arms=[replace(arm, keypoints=hand.keypoints)]))) == []


ENDLESS_JOINTS = [
    ("lift", '<axis xyz="0 0 1"/><limit lower="0" upper="0.3"', '<axis xyz="0 1 0"/><limit lower="-{0}" upper="{0}"'),
    ("joint_1", 'lower="-2.9" upper="2.9"', 'lower="-{0}" upper="{0}"'),
]


def test_a_lift_is_a_joint_of_the_arm_and_names_with_spaces_dots_and_slashes_are_kept(write_arm):
    chain, hand = measure(write_arm(arm_urdf(lift=True, spaced=True)))
    assert (chain.base_link, chain.joints[0], len(chain.joints)) == ("base.left arm", "lift.left arm", 7)
    assert chain.joints[1] == "joint/1.left arm"
    assert hand.finger_links == ("finger/a.left arm", "finger/b.left arm")


@pytest.mark.parametrize("limit", ["1e9", "inf"])
@pytest.mark.parametrize(("joint", "old", "new"), ENDLESS_JOINTS)
def test_a_joint_with_an_endless_limit_is_one_without(joint, old, new, limit, tmp_path, write_arm):
    text = arm_urdf(lift=True)
    assert old in text
    file = write_arm(text.replace(old, new.format(limit)))
    robot = robot_from_urdf(file, name="mine", stated=str(file), reach=REACH)
    (arm,) = robot.arms
    place = arm.joints.index(joint)
    assert (arm.lower[place], arm.upper[place]) == pytest.approx((-3.1415, 3.1415))
    assert list(limit_problems(robot, object_friction=0.8)) == []


def test_the_box_of_the_hand_lies_before_an_arm_that_looks_backwards(write_arm):
    text = arm_urdf()
    for joint, upper in (("joint_1", "1"), ("joint_2", "0"), ("joint_3", "0")):  # it leans towards -x alone
        place = text.index('lower="-2.9" upper="2.9"', text.index(f'name="{joint}"'))
        text = text[:place] + f'lower="-1" upper="{upper}"' + text[place:].removeprefix('lower="-2.9" upper="2.9"')
    file = write_arm(text)
    robot = robot_from_urdf(file, name="mine", stated=str(file), reach=REACH)
    assert abs(robot.base_yaw_deg) == 180.0
    assert robot.arms[0].workspace == [[-1.3, -1.3, -0.9], [0.6, 1.3, 1.3]]


@pytest.mark.slow
def test_the_turn_of_a_base_is_printed(tmp_path, write_arm, run_command):
    text = arm_urdf().replace('lower="-2.9" upper="2.9"', 'lower="0.6" upper="2.6"', 1)
    text = text.replace('lower="-2.9" upper="2.9"', 'lower="0.2" upper="2.0"', 1)  # it leans to the left alone
    code, out, _ = run_command("new", "robot", write_arm(text), "name=mine", f"out={tmp_path}")
    assert code == 0
    assert "m above the table, turned by -90 degrees" in out


@pytest.mark.parametrize("mount_deg", [0.0, 180.0, 90.0, -90.0])
@pytest.mark.parametrize("leans", ["forwards", "to both sides"])
def test_an_arm_on_a_turned_mount_that_turns_freely_has_the_limits_of_its_first_joint_behind(
    leans, mount_deg, write_arm
):
    limits = 'lower="-2.9" upper="2.9"'
    text = arm_urdf().replace(limits, 'lower="-3.14" upper="3.14"', 1)
    text = text.replace(limits, 'lower="0.2" upper="2.0"', 1) if leans == "forwards" else text
    mount = f'<origin xyz="0 0 0" rpy="0 0 {math.radians(mount_deg)}"/><parent link="floor"/><child link="base"/>'
    text = text.replace("</robot>", f'<link name="floor"/><joint name="mount" type="fixed">{mount}</joint></robot>')
    file = write_arm(text)
    model, (chain, hand) = read_urdf(file), measure(file)
    robot = RobotCfg(name="mine", arms=[robot_from_urdf_module._describe_arm(model, chain, hand, "left")])
    robot.urdf = str(file)
    turn_deg = robot_from_urdf_module._yaw_deg(robot, REACH, model) + mount_deg
    assert math.remainder(turn_deg, 360.0 if leans == "forwards" else 180.0) == pytest.approx(0.0)


def test_the_stages_of_a_telescope_without_shapes_before_it_are_joints_of_its_arm(tmp_path, write_arm):
    slides = joints_above_base(turn="0 0 1", first="1 0 0", second="1 0 0").replace("prismatic", "revolute", 1)
    place = slides.index("<limit", slides.index('<joint name="second"'))
    slides = f'{slides[:place]}<mimic joint="first"/>{slides[place:]}'
    source = new_robot_module._prepare_model(
        write_arm(arm_urdf().replace("</robot>", f"{slides}</robot>")), NewRobotCfg(), tmp_path
    )
    assert "second: stages of a telescope, which move by themselves here" in source.lines
    (chain,) = find_arm_chains(read_urdf(source.file), source.file)
    assert chain.joints[:4] == ("turn", "first", "second", "joint_1")


def test_a_lift_is_a_joint_of_the_only_arm_with_a_head_beside_it(write_arm):
    head = _link("head", at="0 0 0.03") + _joint("pan", "carriage", "head", "0 0.3 0.1", "0 0 1")
    chain, _ = measure(write_arm(arm_urdf(lift=True).replace("</robot>", head + "</robot>")))
    assert (chain.base_link, chain.joints[:2], len(chain.joints)) == ("base", ("lift", "joint_1"), 7)


def test_the_first_joint_of_the_only_arm_may_carry_a_head(write_arm):
    head = _link("head", at="0 0 0.03") + _joint("pan", "shoulder", "head", "0 0.2 0.1", "0 0 1")
    chain, _ = measure(write_arm(arm_urdf().replace("</robot>", head + "</robot>")))
    assert (chain.base_link, chain.joints[:2], len(chain.joints)) == ("base", ("joint_1", "joint_2"), 6)


@pytest.mark.slow
def test_a_lift_does_not_lead_what_it_carries_into_the_table(write_arm):
    text = arm_urdf(lift=True).replace('xyz="0 0 0.15" rpy', 'xyz="0 0 0.75" rpy')
    skirt = _link("skirt", "0.1 0.1 0.4", "0 0 -0.2")  # its lower edge is at 0.35 m with the lift down
    skirt += _joint("skirt_joint", "carriage", "skirt", "0 0 0", "1 0 0", kind="fixed")
    file = write_arm(text.replace("</robot>", skirt + "</robot>"))
    robot = robot_from_urdf(file, name="mine", stated=str(file), reach=REACH)
    (arm,) = robot.arms
    assert robot.base_height_m < -0.36  # below the table, were the lift down
    assert robot.base_height_m + 0.35 + arm.lower[0] == pytest.approx(0.006, abs=1e-3)
    assert arm.lower[0] <= arm.home[0] <= arm.upper[0]


@pytest.mark.slow
def test_wheels_do_not_keep_a_lift_from_going_down(write_arm):
    wheels = "".join(
        _link(f"wheel_{side}", "0.1 0.04 0.1") + _joint(f"wheel_{side}", "base", f"wheel_{side}", place, "0 1 0")
        for side, place in (("a", "0 0.15 0.05"), ("b", "0 -0.15 0.05"))
    )
    text = arm_urdf(lift=True).replace('xyz="0 0 0.15" rpy', 'xyz="0 0 0.3" rpy')
    file = write_arm(text.replace("</robot>", wheels + "</robot>"))
    (arm,) = robot_from_urdf(file, name="mine", stated=str(file), reach=REACH).arms
    assert arm.joints[0] == "lift"
    assert arm.lower[0] == pytest.approx(0.0, abs=1e-3)  # with the lift down, the carriage is 0.26 m above the wheels


def test_a_lift_without_room_above_the_table_stays_at_its_upper_limit(write_arm):
    file, limits = write_arm(arm_urdf(lift=True)), {"lower": 0.0, "upper": 0.3, "home": 0.1}
    model, (arm,) = read_urdf(file), load_robot("xarm6").arms
    joints = ["lift", *(f"joint_{number}" for number in range(1, 6))]
    arm = replace(arm, joints=joints, **{key: [v, *getattr(arm, key)[1:]] for key, v in limits.items()})
    for lowest_m, lower in ((1.0, 0.0), (0.1, 0.05), (-0.5, 0.299)):  # at the middle of the lift's range
        clouds = {"carriage": np.array([[0.0, 0.0, lowest_m]]), "base": np.array([[0.0, 0.0, -1.0]])}
        found = robot_from_urdf_module._with_lift_above(model, arm, clouds, 0.0)
        assert found.lower[0] == pytest.approx(lower)
        assert found.lower[0] <= found.home[0] <= found.upper[0]


def box_arm(**changes: str) -> str:
    """Returns `arm_urdf` with texts replaced, each of which must be there."""
    text = arm_urdf()
    for old, new in changes.values():
        assert old in text
        text = text.replace(old, new)
    return text


FIXED_B = ('<joint name="slide_b" type="prismatic">', '<joint name="slide_b" type="fixed">')
MOTOR = _link("motor", "0.01 0.03 0.01") + _joint(
    "motor_joint", "hand", "motor", "0.03 0 0", "1 0 0", kind="continuous"
)


def test_a_finger_that_closes_on_a_fixed_one_is_a_hand(write_arm):
    chain, hand = measure(write_arm(box_arm(jaw=FIXED_B)))
    assert (chain.ee_link, len(chain.joints), hand.joints, hand.motors) == ("hand", 6, ("slide_a",), 1)
    assert set(hand.finger_links) == {"finger_a", "finger_b"}
    assert hand.widths_m[-1] == pytest.approx(0.04, abs=1e-3)
    face = 0.006 - 0.006  # inner face of the fixed finger, at -y
    assert hand.keypoints["tool_head"][1] == pytest.approx(face + 0.2 * 0.04, abs=2e-3)


def test_frames_on_a_jaw_do_not_count_as_fingers(write_arm):
    _, plain = measure(write_arm(box_arm(jaw=FIXED_B)))
    tip = '<link name="tip"/>' + _joint("tip_joint", "finger_a", "tip", "0.07 0 0", "1 0 0", kind="fixed")
    pad = _link("pad", "0.01 0.012 0.03", "0.065 0 0", 0.01)
    pad += _joint("pad_joint", "finger_a", "pad", "0 0 0", "1 0 0", kind="fixed")
    _, with_frame = measure(write_arm(box_arm(jaw=FIXED_B, tip=("</robot>", tip + "</robot>"))))
    assert with_frame == plain
    _, with_pad = measure(write_arm(box_arm(jaw=FIXED_B, tip=("</robot>", tip + pad + "</robot>"))))
    assert set(with_pad.finger_links) == {"finger_a", "finger_b", "pad"}
    assert with_pad.widths_m == plain.widths_m


def test_a_motor_beside_the_fingers_is_no_finger(write_arm):
    _, hand = measure(write_arm(box_arm(motor=("</robot>", MOTOR + "</robot>"))))
    assert hand.joints == ("slide_a", "slide_b")
    assert hand.widths_m[-1] == pytest.approx(0.08, abs=1e-3)


def test_fingers_with_mirrored_ranges_open_against_each_other(write_arm):
    text = arm_urdf(mimic=False)
    start = text.index('<joint name="slide_b"')
    mirrored = (
        text[start:]
        .replace('xyz="0 -1.0 0"', 'xyz="0 1.0 0"')
        .replace('lower="0" upper="0.04"', 'lower="-0.04" upper="0"')
    )
    assert mirrored != text[start:]
    _, hand = measure(write_arm(text[:start] + mirrored))
    assert (hand.closed, hand.opened, hand.motors) == ((0.0, 0.0), (0.04, -0.04), 2)


@pytest.mark.slow
def test_what_a_file_lacks_is_assumed_and_named_and_the_folder_can_be_moved(tmp_path, write_arm, run_command):
    text = box_arm(speed=('effort="60" velocity="2"', 'effort="0" velocity="0"'))
    inertial = text[text.index('<link name="finger_a">') :]
    inertial = inertial[inertial.index("<inertial>") : inertial.index("</inertial>") + len("</inertial>")]
    urdf = write_arm(text.replace(inertial, ""))
    code, out, _ = run_command("new", "robot", urdf, "name=mine", f"out={tmp_path / 'cfg'}")
    assert code == 0
    assert (
        "joint_1, joint_2, joint_3, joint_4, joint_5, joint_6: the file states no velocity, or 0; 1.5 rad/s is" in out
    )
    assert "the file states none: finger_a 25 g, finger_b 25 g" in out
    assert out.count("arm left: ") == 4  # what it is, and three tests in physics
    assert "FAILED" not in out
    yaml = tmp_path / "cfg" / "robot" / "mine.yaml"
    assert "urdf: ../../arm.urdf" in yaml.read_text(encoding="utf-8")
    moved = tmp_path / "moved"
    (moved / "a").mkdir(parents=True)
    shutil.move(tmp_path / "cfg", moved / "a" / "cfg")
    shutil.move(urdf, moved / "a" / "arm.urdf")
    found = load("open_drawer", "robot=mine", config_dirs=[moved / "a" / "cfg"]).robot
    assert found.urdf == str(moved / "a" / "arm.urdf")
    code, out, _ = run_command("check", moved / "a" / "cfg" / "robot" / "mine.yaml")
    assert (code, out.count("arm left: "), "FAILED" in out) == (0, 5, False)


@pytest.mark.slow
def test_a_hand_that_presses_too_little_fails_its_test(write_arm):
    file = write_arm(arm_urdf())
    robot = robot_from_urdf(file, name="mine", stated=str(file), reach=REACH)
    assert [result.passed for result in try_robot(robot)] == [True, True, True]
    (arm,) = robot.arms
    # the pads stop before the bar, which is thicker if the hand is known to stay open
    stays_open = replace(arm.gripper, closed=[0.015, 0.015], widths_m=[0.03, arm.gripper.max_width_m])
    half_open = replace(robot, arms=[replace(arm, gripper=stays_open)])
    assert [result.passed for result in try_robot(half_open)] == [True, True, True]
    (warning,) = open_hands(half_open)
    assert warning.startswith("warning: arm left: closed, the fingers are 30 mm apart and hold thicker parts alone.")
    assert open_hands(robot) == []
    short = replace(stays_open, widths_m=[0.0, arm.gripper.max_width_m])
    grip, lift, path = try_robot(replace(robot, arms=[replace(arm, gripper=short)]))
    assert (grip.passed, lift.passed, path.passed) == (False, False, True)
    assert "FAILED: closes on a bar of 20 mm with 0.0 N (told" in grip.line
    assert "it slips out of the hand" in lift.line


@pytest.mark.slow
def test_a_finger_effort_below_that_of_any_gripper_is_a_placeholder(write_arm):
    file = write_arm(arm_urdf().replace(f'effort="{SLIDE["effort"]}"', 'effort="2"'))
    robot = robot_from_urdf(file, name="mine", stated=str(file), reach=REACH)
    assert robot.arms[0].gripper.grip_force_n == 20.0
    text = "slide_a: the file's effort grips with 1 N; 20 N is assumed, that of the weakest gripper of the catalog"
    assert weak_hands(file, robot) == [text]
    file = write_arm(arm_urdf().replace(f'effort="{SLIDE["effort"]}"', 'effort="40"'))
    assert weak_hands(file, robot_from_urdf(file, name="mine", stated=str(file), reach=REACH)) == []


def test_a_stiff_arm_is_within_a_millimetre_of_its_path_in_the_test_in_physics():
    robot = load_robot("franka_panda")
    (result,) = new_robot_module._follow(robot, robot.arms[0])
    assert float(result.text.rpartition("within ")[2].removesuffix(" mm")) < 1.0
    weak = replace(robot.arms[0], max_effort=[0.1 * value for value in robot.arms[0].max_effort])
    (result,) = new_robot_module._follow(replace(robot, arms=[weak]), weak)
    assert not result.passed


def test_the_path_of_the_test_in_physics_keeps_the_links_apart(monkeypatch):
    ends = []
    arm = SimpleNamespace(
        cfg=SimpleNamespace(gripper=SimpleNamespace(max_width_m=0.08)), reset=lambda q, gripper_m: ends.append(q)
    )
    bench = SimpleNamespace(arm=arm, world=None, robot=SimpleNamespace(body=None))
    monkeypatch.setattr(new_robot_module, "touching_pairs", lambda *_: {"a pair"} if ends[-1][0] > 1.15 else set())
    swing = free_swing(bench, np.array([1.0, 0.0]), np.array([0.2, -0.2]))
    assert swing == pytest.approx([0.1, -0.1])
    assert ends[-1] == pytest.approx([1.0, 0.0])


def test_a_joint_at_its_limit_leaves_the_lift_to_the_others():
    jacobian = np.zeros((6, 2))
    jacobian[2] = 1.0  # each of two joints lifts the hand
    kinematics = SimpleNamespace(n_q=2, jacobian=lambda q: jacobian, pose=lambda q: Pose.identity())
    arm = SimpleNamespace(keypoints={"tool_head": [0.0, 0.0, 0.0]}, lower=[-1.0, -1.0], upper=[0.5, 1.0])
    change = new_robot_module._step_up(kinematics, arm, np.array([0.5, 0.0]), np.array([0.0, 0.0, 0.01]))
    assert change == pytest.approx([0.0, 0.01], abs=1e-4)


def hand_mjcf() -> str:
    """Returns an MJCF file of a palm with two sliding fingers; its palm is turned in the file."""
    fingers = "".join(
        f'<body name="finger_{side}" pos="0 {0.006 * sign} 0.03"><joint name="slide_{side}" type="slide" '
        f'axis="0 {sign} 0" range="0 0.04" limited="true"/>'
        '<geom type="box" size="0.01 0.006 0.035" pos="0 0 0.035" mass="0.03"/></body>'
        for side, sign in (("a", 1), ("b", -1))
    )
    palm = f'<geom type="box" size="0.03 0.05 0.015" pos="0 0 0.015" mass="0.3"/>{fingers}'
    motors = "".join(f'<position joint="slide_{side}" forcerange="-25 25" forcelimited="true"/>' for side in "ab")
    return (
        '<mujoco model="hand"><compiler angle="radian"/><worldbody>'
        f'<body name="wrist_1" quat="0.7071068 0 0 0.7071068">{palm}</body></worldbody>'
        f"<actuator>{motors}</actuator></mujoco>"
    )


def bare_arm_mjcf() -> str:
    """Returns the MJCF file of an arm whose hand has no fingers."""
    text = arm_mjcf(table=False)
    first = text.index('<body name="finger_a"')
    last = text.index("</body>", text.index('<body name="finger_b"')) + len("</body>")
    motor = '<position joint="slide_a" forcerange="-25 25" forcelimited="true" kp="100"/>'
    assert motor in text
    return (text[:first] + text[last:]).replace(motor, "")


@pytest.mark.slow
@pytest.mark.skipif(find_spec("mujoco") is None, reason="MuJoCo, of the extra 'robots', is not there")
def test_a_gripper_of_a_file_of_its_own_is_put_on_an_arm(tmp_path, run_command):
    arm, hand = tmp_path / "arm.xml", tmp_path / "hand.xml"
    arm.write_text(bare_arm_mjcf(), encoding="utf-8")
    hand.write_text(hand_mjcf(), encoding="utf-8")
    code, _, err = run_command("new", "robot", arm, "name=mine", f"out={tmp_path / 'cfg'}")
    assert code == 2
    assert f"unlatch: {arm} has no arm with a gripper that moves." in " ".join(err.split())
    code, out, err = run_command("new", "robot", arm, "name=mine", f"gripper={hand}", f"out={tmp_path / 'cfg'}")
    assert (code, err) == (0, "")
    assert "hand on hand: at (0, 0, 120) mm, along +z" in out
    robot = load("open_drawer", "robot=mine", config_dirs=[tmp_path / "cfg"]).robot
    (described,) = robot.arms
    # the arm has a link of that name; the palm is turned by 90 degrees in its file
    assert described.ee_link == "gripper_wrist_1"
    model = read_urdf(model_path(robot))
    T_mount_palm = model.link_pose("gripper_mount").inverse() @ model.link_pose("gripper_wrist_1")
    np.testing.assert_allclose(T_mount_palm.R, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-6)
    assert described.gripper.max_width_m == pytest.approx(0.08, abs=2e-3)


def test_a_gripper_in_millimetres_is_put_on_an_arm_in_metres(tmp_path, write_arm):
    text, fingers = arm_urdf(along_x=False), ("finger_a", "finger_b")
    parts = ET.fromstring(text)
    hand = ET.Element("robot", {"name": "hand"})
    for part in list(parts):
        if part.get("name") in fingers or part.get("name", "").startswith("slide"):
            parts.remove(part)
            hand.append(part)
        elif part.get("name") == "hand":
            hand.append(copy.deepcopy(part))
    for element in hand.iter():
        for key in {"xyz", "size", "lower", "upper"} & set(element.attrib) if element.tag != "axis" else ():
            element.set(key, " ".join(f"{1e3 * float(word):g}" for word in element.attrib[key].split()))
    file = tmp_path / "grip.urdf"
    file.write_text(ET.tostring(hand, encoding="unicode"), encoding="utf-8")
    arm = write_arm(ET.tostring(parts, encoding="unicode"))
    made = new_robot_module._prepare_model(arm, NewRobotCfg(gripper=str(file), flange="hand"), tmp_path)
    assert made.lines[0].startswith("grip.urdf: places and sizes are read as millimetres")
    _, measured = measure(made.file)
    assert measured.widths_m[-1] == pytest.approx(0.08, abs=2e-3)


def test_a_gripper_that_is_neither_known_nor_a_file_is_refused(tmp_path, assert_refused):
    text = "gripper='hand.xml' is unknown, and no file. Known: robotiq_2f85. Name one of them, or the URDF or MJCF file"
    assert_refused("new", "robot", IIWA, "gripper=hand.xml", f"out={tmp_path}", text=text, folder=tmp_path)


@pytest.mark.parametrize(
    ("links", "text"),
    [(("wrist_2", "upper"), "1 of 2 pairs of arm.srdf"), (("wrist", "upper"), "warning: of the 2 pairs of links")],
)
def test_an_srdf_of_another_robot_is_noticed(links, text):
    robot = replace(load_robot("xarm6"), self_collision_ignored=[["upper", "wrist_2"], ["a", "b"]])
    (line,) = new_robot_module._lines_of_srdf("arm.srdf", {frozenset(links), frozenset(("upper", "c"))}, robot)
    assert text in line
    assert new_robot_module._lines_of_srdf("arm.srdf", set(), robot) == []


@pytest.mark.slow
def test_pairs_of_an_srdf_may_touch_and_a_base_that_moves_is_held(tmp_path, write_arm, run_command):
    text = arm_urdf().replace("</robot>", '<link name="world"/><link name="cart"/>')
    slides = _joint("along", "world", "cart", "0 0 0", "1 0 0", kind="prismatic")
    slides += _joint("across", "cart", "base", "0 0 0", "0 1 0", kind="prismatic")
    urdf = write_arm(text + slides + "</robot>")
    pairs = (("upper", "wrist_2"), ("upper", "nothing"))
    lines = "".join(f'<disable_collisions link1="{a}" link2="{b}" reason="Never"/>' for a, b in pairs)
    (tmp_path / "arm.srdf").write_text(f'<robot name="arm">{lines}</robot>', encoding="utf-8")
    code, out, _ = run_command("new", "robot", urdf, "name=mine", f"out={tmp_path / 'cfg'}")
    assert code == 0
    assert "links that may touch each other: 1 of 2 pairs of arm.srdf" in out
    assert "along, across: held, for they move the whole robot" in out
    robot = load("open_drawer", "robot=mine", config_dirs=[tmp_path / "cfg"]).robot
    assert ["upper", "wrist_2"] in robot.self_collision_ignored
    assert not any("nothing" in pair for pair in robot.self_collision_ignored)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("mujoco") is None, reason="MuJoCo, of the extra 'robots', is not there")
def test_a_robot_of_menagerie_collects(tmp_path, run_command, monkeypatch):
    folder = tmp_path / "maker_arm"
    folder.mkdir()
    (folder / "arm.xml").write_text(arm_mjcf(follower=COUPLED), encoding="utf-8")
    monkeypatch.setenv("MENAGERIE_ROOT", str(tmp_path))
    words = ["episodes=1", "executor=serial", "pictures=0", f"out={tmp_path / 'data'}"]
    code, out, err = run_command("collect", "task=close_drawer", "robot=menagerie:maker_arm", *words)
    assert (code, "1 of 1 episodes done" in out) == (0, True), err
    arrays = DataSet.open(tmp_path / "data")[0].arrays
    assert any(key.startswith("robots.menagerie_maker_arm.") for key in arrays)


def test_a_xacro_file_is_refused_with_the_way_to_expand_it(tmp_path, assert_refused):
    file = tmp_path / "arm.urdf.xacro"
    file.write_text('<robot name="a" xmlns:xacro="http://ros.org/xacro"><xacro:include filename="b.xacro"/></robot>')
    said = assert_refused("new", "robot", file, f"out={tmp_path}", text="<xacro:include>", folder=tmp_path)
    assert "Expand it with ROS (`xacro arm.urdf.xacro > arm_expanded.urdf`), or without ROS" in said


def with_meshes(folder: str, count: int) -> str:
    meshes = "".join(f'<visual><geometry><mesh filename="{folder}/{i}.stl"/></geometry></visual>' for i in range(count))
    return arm_urdf().replace('<link name="base">', f'<link name="base">{meshes}')


def test_missing_meshes_are_counted_and_the_first_ones_named(tmp_path, write_arm, assert_refused):
    file = write_arm(with_meshes("../meshes", 5))
    text = (
        "5 of 5 meshes are missing: '../meshes/0.stl', '../meshes/1.stl', '../meshes/2.stl' and 2 more. Expected the "
        f"first one at {tmp_path.parent / 'meshes' / '0.stl'}. Copy the meshes there, or correct their names in the "
        "URDF."
    )
    assert_refused("new", "robot", file, f"out={tmp_path}", text=text, folder=tmp_path)


@pytest.mark.parametrize("form", ["../meshes", "{meshes}", "file://{meshes}", "package://arm_description/meshes"])
def test_meshes_may_lie_where_descriptions_have_them(form, tmp_path):
    package = tmp_path / "arm_description"
    meshes = package / "meshes"
    meshes.mkdir(parents=True)
    (package / "urdf").mkdir()
    shutil.copyfile(XARM.parent / "xarm_description/meshes/xarm6/visual/base.stl", meshes / "0.stl")
    file = package / "urdf" / "arm.urdf"
    file.write_text(with_meshes(form.format(meshes=meshes), 1), encoding="utf-8")
    assert read_urdf(file, meshes_anywhere=True).links["base"].visuals[0].path == meshes / "0.stl"
    copied = read_urdf(model_path(RobotCfg(name="mine", urdf=str(file)))).links["base"].visuals[0].path
    assert copied is not None
    assert copied.read_bytes() == (meshes / "0.stl").read_bytes()


@pytest.mark.slow
def test_check_shows_a_robots_hand_frame_and_what_does_not_fit(tmp_path, run_command):
    yaml = tmp_path / "mine.yaml"
    text = yaml_text(replace(load_robot("xarm6"), name="mine", urdf=urdf_reference(XARM)))
    yaml.write_text(text, encoding="utf-8")
    code, out, _ = run_command("check", yaml)
    assert (code, len(out.splitlines())) == (0, 6)
    frame = "frame of xarm_gripper_base_link: approaches along +z, opens along y, holds at (0, 0, 166) mm"
    assert f"arm left: {frame}" in out
    yaml.write_text(text.replace("base_link: link_base", "base_link: link_bas"), encoding="utf-8")
    code, out, _ = run_command("check", yaml)
    assert (code, "robot.arms[0].base_link='link_bas' is not a link of robot 'mine'" in out) == (1, True)


@pytest.mark.slow
@pytest.mark.parametrize("lift", [pytest.param(False, marks=pytest.mark.heavy), True])
def test_the_first_drawer_is_opened_and_replayed(lift, tmp_path, write_arm, run_command):
    file = write_arm(arm_urdf(lift=lift, spaced=True))
    assert run_command("new", "robot", file, "name=mine", f"out={tmp_path}")[0] == 0
    code, out, _ = run_command("collect", "robot=mine", *two_drawers(tmp_path))
    assert (code, "2/2" in out) == (0, True)
    code, out, _ = run_command("check", tmp_path / "data", "replay=true", "workers=1")
    assert (code, out.count("every replay is exact")) == (0, 1)
    if lift:
        (arm,) = load("open_drawer", "robot=mine", config_dirs=[tmp_path]).robot.arms
        assert arm.max_velocity[0] == pytest.approx(0.2)  # [m/s], the model's
        assert arm.max_acceleration[0] == pytest.approx(1.0)  # [m/s^2]: a lift is slower than a turning joint
        assert arm.max_effort[0] == pytest.approx(800.0)  # [N], above what a turning joint gets
        assert arm.lower[0] + 0.05 < arm.home[0] < arm.upper[0] - 0.05  # it can go either way
        q = DataSet.open(tmp_path / "data")[0].arrays["robots.mine.left.joint_positions"][:, 0]
        assert np.ptp(q) > 0.02  # the plan moves the lift


@pytest.mark.slow
def test_a_column_on_the_floor_stands_below_the_table(write_arm):
    text = arm_urdf(lift=True).replace('xyz="0 0 0.15" rpy', 'xyz="0 0 0.75" rpy')
    assert text != arm_urdf(lift=True)
    file = write_arm(text)
    robot = robot_from_urdf(file, name="mine", stated=str(file), reach=REACH)
    assert robot.base_height_m < -0.3
    assert REACH.shares(robot)[0] > 0.9
