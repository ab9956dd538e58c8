"""`unlatch new robot` with URDFs as users have them: other hand frames, odd names, lifts, and common mistakes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unlatch.configs.schema import hand_notices
from unlatch.robots.catalog import load_robot
from unlatch.robots.description import RobotCfg
from unlatch.robots.hand_shape import describe_hand_frame
from unlatch.robots.hands import Chain, Hand, find_arm_chains, measure_hand, read_mimics
from unlatch.robots.models import distribution_file, model_path
from unlatch.robots.robot_from_urdf import robot_from_urdf
from unlatch.simcore.errors import AssetError
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.urdf.reader import read_urdf
from unlatch.workflows.assets.new_robot import REACH, urdf_reference, yaml_text
from unlatch.workflows.runs.loading import load

XARM = distribution_file("pybullet", "pybullet_data/xarm/xarm6_with_gripper.urdf", where="the test")
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

    first = "carriage" if lift else "base"
    parts = [_link(named("base"), "0.2 0.2 0.1", "0 0 0.05", 20.0)]
    if lift:
        parts += [_link(named("carriage"), "0.12 0.12 0.04", "0 0 -0.02", 3.0)]
        parts += [
            _joint(
                named("lift"),
                named("base"),
                named("carriage"),
                "0 0 0.15",
                "0 0 1",
                kind="prismatic",
                lower="0",
                upper="0.3",
                effort="800",
                velocity="0.2",
            )
        ]
    chain = [
        (first, "shoulder", "0 0 0.14", "0 0 1", "0.08 0.08 0.06", "0 0 0", 2.0),
        ("shoulder", "upper", "0 0 0.08", "0 1 0", "0.06 0.06 0.36", "0 0 0.2", 2.0),
        ("upper", "elbow", "0 0 0.42", "0 1 0", "0.05 0.05 0.2", "0 0 0.14", 1.5),
        ("elbow", "wrist_1", "0 0 0.30", "0 0 1", "0.05 0.05 0.04", "0 0 0", 0.6),
        ("wrist_1", "wrist_2", "0 0 0.06", "0 1 0", "0.05 0.05 0.04", "0 0 0.02", 0.4),
    ]
    for number, (parent, child, at, axis, size, middle, mass_kg) in enumerate(chain, start=1):
        parts += [_link(named(child), size, middle, mass_kg)]
        parts += [_joint(named(f"joint_{number}"), named(parent), named(child), at, axis)]
    forward = "1 0 0" if along_x else "0 0 1"
    rpy = ALONG_X if along_x else "0 0 0"
    parts += [_joint(named("joint_6"), named("wrist_2"), named("hand"), "0 0 0.08", forward, rpy=rpy)]

    def along(value: float) -> str:
        return f"{value} 0 0" if along_x else f"0 0 {value}"

    def box(width: float, length: float) -> str:
        return f"{length} {width} 0.03" if along_x else f"0.03 {width} {length}"

    parts += [_link(named("hand"), box(0.12, 0.04), along(0.02), 0.4)]
    for side, sign in (("a", 1.0), ("b", -1.0)):
        parts += [_link(named(f"finger_{side}"), box(0.012, 0.07), along(0.035), 0.03)]
        inner = f'<mimic joint="{named("slide_a")}" multiplier="1"/>' if mimic and side == "b" else ""
        more = {"kind": "prismatic", "lower": "0", "upper": "0.04", "effort": "40", "velocity": "0.2", "inner": inner}
        at = along(0.05).split()
        at[1] = f"{0.006 * sign}"
        parts += [
            _joint(named(f"slide_{side}"), named("hand"), named(f"finger_{side}"), " ".join(at), f"0 {sign} 0", **more)
        ]
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


def test_the_lift_below_an_arm_is_one_of_its_joints(write_arm):
    chain, _ = measure(write_arm(arm_urdf(lift=True)))
    assert (chain.base_link, chain.joints[0], len(chain.joints)) == ("base", "lift", 7)


def test_names_with_spaces_dots_and_slashes_are_kept(write_arm):
    chain, hand = measure(write_arm(arm_urdf(spaced=True)))
    assert chain.joints[0] == "joint/1.left arm"
    assert hand.finger_links == ("finger/a.left arm", "finger/b.left arm")


def test_a_xacro_file_is_refused_with_the_way_to_expand_it(tmp_path, assert_refused):
    file = tmp_path / "arm.urdf.xacro"
    file.write_text('<robot name="a" xmlns:xacro="http://ros.org/xacro"><xacro:include filename="b.xacro"/></robot>')
    assert_refused(
        "new",
        "robot",
        file,
        f"out={tmp_path}",
        text="it is a xacro file, not a URDF: it has <xacro:include>. Expected a URDF without macros. Expand it with "
        "ROS (`xacro arm.urdf.xacro > arm_expanded.urdf`), or without ROS (`pip install xacrodoc`, then `xacrodoc "
        "arm.urdf.xacro -o arm_expanded.urdf`), and name the new file.",
        folder=tmp_path,
    )


def with_meshes(folder: str, count: int) -> str:
    meshes = "".join(f'<visual><geometry><mesh filename="{folder}/{i}.stl"/></geometry></visual>' for i in range(count))
    return arm_urdf().replace('<link name="base">', f'<link name="base">{meshes}')


def test_missing_meshes_are_counted_and_the_first_ones_named(tmp_path, write_arm, assert_refused):
    file = write_arm(with_meshes("../meshes", 5))
    assert_refused(
        "new",
        "robot",
        file,
        f"out={tmp_path}",
        text="5 of 5 meshes are missing: '../meshes/0.stl', '../meshes/1.stl', '../meshes/2.stl' and 2 more. Expected "
        f"the first one at {tmp_path.parent / 'meshes' / '0.stl'}. Copy the meshes there, or correct their names in "
        "the URDF.",
        folder=tmp_path,
    )


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


def test_an_object_may_not_name_files_outside_its_folder(write_arm):
    with pytest.raises(AssetError, match="leads out of the asset's folder"):
        read_urdf(write_arm(with_meshes("../meshes", 1)))


@pytest.mark.slow
def test_check_shows_a_robots_hand_frame_and_what_does_not_fit(tmp_path, run_command):
    yaml = tmp_path / "mine.yaml"
    text = yaml_text(replace(load_robot("xarm6"), name="mine", urdf=urdf_reference(XARM)))
    yaml.write_text(text, encoding="utf-8")
    code, out, _ = run_command("check", yaml)
    assert (code, len(out.splitlines())) == (0, 3)
    assert (
        "arm left: frame of xarm_gripper_base_link: approaches along +z, opens along y, holds at (0, 0, 166) mm" in out
    )
    yaml.write_text(text.replace("base_link: link_base", "base_link: link_bas"), encoding="utf-8")
    code, out, _ = run_command("check", yaml)
    assert code == 1
    assert "robot.arms[0].base_link='link_bas' is not a link of robot 'mine'" in out


@pytest.mark.slow
@pytest.mark.parametrize("lift", [False, True])
def test_the_first_drawer_is_opened_and_replayed(lift, tmp_path, write_arm, run_command):
    file = write_arm(arm_urdf(lift=lift, spaced=True))
    assert run_command("new", "robot", file, "name=mine", f"out={tmp_path}")[0] == 0
    options = ["--config-dir", str(tmp_path), "episodes=2", "seed=1", "pictures=0", "executor=serial"]
    code, out, _ = run_command("collect", "task=open_drawer", "robot=mine", *options, f"out={tmp_path / 'data'}")
    assert code == 0
    assert "2/2" in out
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
