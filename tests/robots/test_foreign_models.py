"""Models as strangers bring them: hands without colliders, jaws that are part of the palm, MJCF files."""

import os
import xml.etree.ElementTree as ET
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from unlatch.robots.catalog import load_robot
from unlatch.robots.changed_models import example_robot_urdf
from unlatch.robots.foreign_models import MENAGERIE_VARIABLE, convert_mjcf, load_mjcf, menagerie_file
from unlatch.robots.hand_mending import free_telescopes, hold_base, mend_hands, mend_lengths, mend_limits
from unlatch.robots.hands import find_arm_chains, find_chains, measure_hand, read_mimics
from unlatch.robots.models import model_path
from unlatch.simcore.errors import AssetError, ConfigError
from unlatch.simcore.meshes.mjcf import is_mjcf
from unlatch.simcore.meshes.solids import shape_inertials
from unlatch.simcore.urdf.reader import parse_xml, read_urdf

needs_mujoco = pytest.mark.skipif(find_spec("mujoco") is None, reason="MuJoCo, of the extra 'robots', is not there")

LINKS = ("shoulder", "upper", "elbow", "wrist_1", "wrist_2", "hand")
AXES = ("0 0 1", "0 1 0", "0 1 0", "0 0 1", "0 1 0", "0 0 1")


def arm_mjcf(*, follower: str = "", table: bool = True) -> str:
    """Returns an MJCF file of an arm of six hinges with two sliding fingers, a table and a free block."""
    fingers = "".join(
        f'<body name="finger_{side}" pos="0 {0.01 * sign} 0.05"><joint name="slide_{side}" type="slide" '
        f'axis="0 {sign} 0" range="0 0.04" limited="true"/>'
        '<geom type="box" size="0.01 0.005 0.03" pos="0 0 0.03"/></body>'
        for side, sign in (("a", 1), ("b", -1))
    )
    body = fingers
    for name, axis in reversed(list(zip(LINKS, AXES, strict=True))):
        body = (
            f'<body name="{name}" pos="0 0 0.15"><joint name="{name}_joint" axis="{axis}" pos="0 0 0.01" '
            f'range="-2.5 2.5" limited="true" armature="0.05"/>'
            f'<geom type="capsule" size="0.02 0.05" pos="0 0 0.06" rgba="1 0 0 1"/>{body}</body>'
        )
    others = '<geom type="plane" size="1 1 0.1"/><body><freejoint/><geom type="box" size="0.1 0.1 0.1"/></body>'
    motors = "".join(f'<motor joint="{name}_joint" ctrlrange="-1 1" gear="40" ctrllimited="true"/>' for name in LINKS)
    slide = '<position joint="slide_a" forcerange="-25 25" forcelimited="true" kp="100"/>'
    return (
        '<mujoco model="arm"><compiler angle="radian"/>'
        f'<worldbody>{others if table else ""}<body name="base"><geom type="box" size="0.05 0.05 0.05"/>{body}</body>'
        f"</worldbody><actuator>{motors}{slide}</actuator>{follower}</mujoco>"
    )


COUPLED = '<equality><joint joint1="slide_b" joint2="slide_a" polycoef="0 1 0 0 0"/></equality>'


@needs_mujoco
def test_an_mjcf_file_becomes_a_urdf_with_the_same_places_efforts_and_couplings(tmp_path):
    import mujoco

    file = tmp_path / "arm.xml"
    file.write_text(arm_mjcf(follower=COUPLED), encoding="utf-8")
    assert is_mjcf(file)
    made = convert_mjcf(load_mjcf(file), tmp_path, "arm", where=str(file))
    model = read_urdf(made.urdf)
    assert set(made.armature) == {f"{name}_joint" for name in LINKS}
    assert read_mimics(made.urdf) == {"slide_b": ("slide_a", 1.0, 0.0)}
    assert model.joints["elbow_joint"].effort == pytest.approx(40.0)
    assert model.joints["slide_a"].effort == pytest.approx(25.0)
    assert "body_1" not in model.links  # the block moves freely: it is no part of the robot
    compiled = mujoco.MjModel.from_xml_path(str(file))
    data, rng = mujoco.MjData(compiled), np.random.default_rng(0)
    q = {name: float(rng.uniform(-1.0, 1.0)) for name in (f"{link}_joint" for link in LINKS)} | {"slide_a": 0.02}
    for name, value in q.items():
        data.joint(name).qpos = value
    mujoco.mj_kinematics(compiled, data)
    geom = next(g for g in range(compiled.ngeom) if compiled.geom_bodyid[g] == compiled.body("finger_a").id)
    shape = model.links["finger_a"].collisions[0]
    root_shift = model.link_pose("base").p - data.body("base").xpos
    found = model.link_pose("finger_a", q) @ shape.T_link_shape
    np.testing.assert_allclose(found.p - root_shift, data.geom_xpos[geom], atol=1e-6)
    (chain,) = find_arm_chains(model, made.urdf)
    assert measure_hand(model, chain, read_mimics(made.urdf)).widths_m[-1] == pytest.approx(0.09, abs=2e-3)


@needs_mujoco
def test_an_mjcf_file_without_an_arm_is_refused(tmp_path):
    file = tmp_path / "box.xml"
    file.write_text('<mujoco><worldbody><body><geom size="1"/></body></worldbody></mujoco>', encoding="utf-8")
    with pytest.raises(AssetError, match="has no robot: no body has at least 5 joints below it"):
        convert_mjcf(load_mjcf(file), tmp_path, "box", where=str(file))
    file.write_text("<mujoco><worldbody><body><geom/></worldbody></mujoco>", encoding="utf-8")
    with pytest.raises(AssetError, match="MuJoCo cannot read this file"):
        load_mjcf(file)


def test_a_robot_of_menagerie_is_found_in_the_folder_that_is_named(tmp_path, monkeypatch):
    folder = tmp_path / "maker_arm"
    folder.mkdir()
    (folder / "arm.xml").write_text(arm_mjcf(), encoding="utf-8")
    (folder / "scene.xml").write_text('<mujoco><include file="arm.xml"/></mujoco>', encoding="utf-8")
    monkeypatch.setenv(MENAGERIE_VARIABLE, str(tmp_path))
    assert menagerie_file("maker_arm") == folder / "arm.xml"
    with pytest.raises(ConfigError, match=r"'other_arm' is not a folder of .* There are maker_arm"):
        menagerie_file("other_arm")
    monkeypatch.delenv(MENAGERIE_VARIABLE)
    if find_spec("mujoco_menagerie") is None:
        with pytest.raises(ConfigError, match="MENAGERIE_ROOT is not set, and the package mujoco-menagerie is not"):
            menagerie_file("maker_arm")


def so_arm(name: str) -> Path:
    return example_robot_urdf(f"so_arm_description/urdf/{name}.urdf", robot=name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["so100", "so101"])
def test_the_fixed_jaw_of_an_so_arm_becomes_a_link_that_may_touch_a_part(name):
    urdf = so_arm(name)
    robot = parse_xml(urdf)
    lines = mend_hands(robot, urdf)
    palm = load_robot(name).arms[0].ee_link
    assert f"{palm}_fixed_jaw is made from the shape of {palm}: the jaw on which" in lines[-1]
    assert (name == "so100") == any("are taken from their visuals" in line for line in lines)
    made = model_path(name)
    model = read_urdf(made)
    (chain,) = find_arm_chains(model, made)
    (arm,) = load_robot(name).arms
    hand = measure_hand(model, chain, {})
    assert (list(chain.joints), list(hand.joints)) == (arm.joints, arm.gripper.joints)
    assert set(hand.finger_links) == set(arm.gripper.finger_links)
    assert hand.widths_m == pytest.approx(arm.gripper.widths_m, abs=1e-3)


def test_a_link_without_mass_gets_that_of_its_shapes(tmp_path):
    box = '<collision><geometry><box size="0.1 0.2 0.3"/></geometry></collision>'
    file = tmp_path / "a.urdf"
    joint = '<joint name="j" type="revolute"><parent link="base"/><child link="solid"/><limit lower="-1" upper="1"/>'
    text = f'<robot name="a"><link name="base">{box}</link><link name="solid">{box}</link>{joint}</joint></robot>'
    file.write_text(text, encoding="utf-8")
    found = shape_inertials(read_urdf(file))
    assert list(found) == ["solid"]  # what no joint moves needs none, and a heavy pedestal meets Bullet's rounding
    inertial = found["solid"]
    assert inertial.mass_kg == pytest.approx(6.0)
    np.testing.assert_allclose(np.diag(inertial.inertia), [6.0 * s / 12.0 for s in (0.13, 0.10, 0.05)], rtol=1e-6)


def test_the_robots_of_an_extra_name_it_where_it_is_missing(monkeypatch):
    import importlib.metadata

    def missing(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", missing)
    monkeypatch.setenv("UNLATCH_CACHE_DIR", os.devnull)
    for name, package in (("so101", "example-robot-data"), ("vx300s", "robosuite-models")):
        with pytest.raises(AssetError, match=rf"'{package}', which is not installed. It comes with the extra 'robots'"):
            model_path(name)


def test_elements_that_are_no_shapes_stay(tmp_path):
    urdf = tmp_path / "a.urdf"
    urdf.write_text('<robot name="a"><link name="base"/></robot>', encoding="utf-8")
    robot = parse_xml(urdf)
    before = ET.tostring(robot)
    assert mend_hands(robot, urdf) == []
    assert ET.tostring(robot) == before


LIMITS = {
    "radians": ([("revolute", -6.28, 6.28), ("prismatic", 0, 0.4)], [], [(-6.28, 6.28), (0, 0.4)]),
    "degrees": (
        [("revolute", -178, 178), ("revolute", 0, 10), ("prismatic", 0, 0.4)],
        ["limits of j0, j1 are read as degrees"],
        [(-3.10669, 3.10669), (0, 0.17453), (0, 0.4)],
    ),
    "millimetres": ([("prismatic", 0, 40)], ["limits of j0 are read as millimetres"], [(0, 0.04)]),
    "a wrist of several turns": (
        [("revolute", -2.9, 2.9), ("revolute", -20, 20), ("revolute", 0, 0)],
        ["j2: both limits are 0; half a turn to either side is assumed"],
        [(-2.9, 2.9), (-20, 20), (-3.14159, 3.14159)],
    ),
    "a long rail alone": ([("prismatic", 0, 4)], [], [(0, 4)]),
    "exchanged": (
        [("revolute", 2, -1)],
        ["j0: its lower limit is above its upper one; -1 to 2 rad is read"],
        [(-1, 2)],
    ),
    "none": (
        [("revolute", 0, 0)],
        ["j0: both limits are 0; half a turn to either side is assumed"],
        [(-3.14159, 3.14159)],
    ),
    "no limit at all": ([("continuous", 0, 0)], [], [(0, 0)]),
    "endless": ([("revolute", -1e16, 1e16), ("revolute", 0, 2)], [], [(-1e16, 1e16), (0, 2)]),
}


@pytest.mark.parametrize("case", LIMITS)
def test_limits_of_a_robot_are_read_in_the_unit_that_fits(case):
    joints, expected, limits = LIMITS[case]
    text = "".join(
        f'<joint name="j{i}" type="{kind}"><limit lower="{low}" upper="{high}"/></joint>'
        for i, (kind, low, high) in enumerate(joints)
    )
    robot = ET.fromstring(f"<robot>{text}</robot>")
    assert mend_limits(robot) == expected
    found = [tuple(float(limit.get(key)) for key in ("lower", "upper")) for limit in robot.iter("limit")]
    assert found == [pytest.approx(pair, abs=1e-5) for pair in limits]
    stated = [(limit.get("effort"), limit.get("velocity")) for limit in robot.iter("limit")]
    assert stated == [("0", "0")] * len(joints)  # the file states none


BASE = """<robot name="a"><link name="world"/><link name="cart"/><link name="base">{shape}</link><link name="arm"/>
<joint name="along" type="prismatic"><parent link="world"/><child link="cart"/><axis xyz="1 0 0"/></joint>
<joint name="about" type="continuous"><parent link="cart"/><child link="base"/><axis xyz="0 0 1"/></joint>
<joint name="lift" type="prismatic"><parent link="base"/><child link="arm"/></joint></robot>"""


@pytest.mark.parametrize(
    ("shape", "held"),
    [('<collision><geometry><sphere radius="0.1"/></geometry></collision>', ["along", "about"]), ("", [])],
)
def test_joints_that_move_the_whole_robot_are_held(tmp_path, shape, held):
    file = tmp_path / "a.urdf"
    file.write_text(BASE.format(shape=shape), encoding="utf-8")
    robot = parse_xml(file)
    assert hold_base(robot, file) == ([f"{', '.join(held)}: held, for they move the whole robot"] if held else [])
    assert [joint.get("name") for joint in robot.iter("joint") if joint.get("type") == "fixed"] == held


def arm_on(base: str, *, joints: int, base_shape: str = "") -> str:
    """An arm of hinges with two fingers on the link `base`, whose joints above it are the text `base`."""
    shape = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'

    def joint(name: str, parent: str, axis: str = "0 0 1", kind: str = "revolute") -> str:
        ends = f'<parent link="{parent}"/><child link="of_{name}"/><axis xyz="{axis}"/>'
        return (
            f'<link name="of_{name}">{shape}</link>'
            f'<joint name="{name}" type="{kind}">{ends}<limit lower="-1" upper="1"/></joint>'
        )

    arm = "".join(joint(f"j{i}", f"of_j{i - 1}" if i else "base", f"0 {i % 2} {1 - i % 2}") for i in range(joints))
    fingers = "".join(joint(f"finger_{side}", f"of_j{joints - 1}", "0 1 0", "prismatic") for side in "ab")
    return f'<robot name="a"><link name="base">{base_shape}</link>{base}{arm}{fingers}</robot>'


def joints_above_base(**axes: str) -> str:
    """Joints without shapes above `base`, by their names: the axis of each; one named `yaw` turns."""
    links = [*(f"before_{name}" for name in axes), "base"]
    return "".join(
        f'<link name="{parent}"/><joint name="{name}" type="{"continuous" if name == "yaw" else "prismatic"}">'
        f'<parent link="{parent}"/><child link="{child}"/><axis xyz="{axis}"/><limit lower="-1" upper="1"/></joint>'
        for (name, axis), parent, child in zip(axes.items(), links[:-1], links[1:], strict=True)
    )


SHAPE = '<visual><geometry><sphere radius="0.1"/></geometry></visual>'
PLANAR = joints_above_base(x="1 0 0", y="0 1 0", yaw="0 0 1")
WHEELS = "".join(
    f'<link name="wheel_{side}">{SHAPE}</link><joint name="wheel_{side}" type="continuous"><parent link="base"/>'
    f'<child link="wheel_{side}"/></joint>'
    for side in "ab"
)


@pytest.mark.parametrize(
    ("text", "held"),
    [
        (arm_on("", joints=6), []),
        (arm_on("", joints=5), []),
        (arm_on(joints_above_base(lift="0 0 1"), joints=6), []),
        (arm_on(joints_above_base(lift="0 0 1") + WHEELS, joints=6, base_shape=SHAPE), []),
        (arm_on(joints_above_base(rail="1 0 0"), joints=6, base_shape=SHAPE), []),
        (arm_on(joints_above_base(x="1 0 0") + WHEELS, joints=6, base_shape=SHAPE), ["x"]),
        (arm_on(PLANAR, joints=6), ["x", "y", "yaw"]),
        (arm_on(joints_above_base(yaw="0 0 1", forward="1 0 0"), joints=6), ["yaw", "forward"]),
        (arm_on(joints_above_base(turn="0 0 1", slide="1 0 0").replace("prismatic", "revolute", 1), joints=5), []),
        (arm_on(joints_above_base(rail="1 0 0", yaw="0 0 1"), joints=6), []),
        (arm_on(PLANAR, joints=5, base_shape=SHAPE), ["x", "y", "yaw"]),
        (arm_on(PLANAR + WHEELS, joints=6, base_shape=SHAPE), ["x", "y", "yaw"]),
        (arm_on(PLANAR, joints=4, base_shape=SHAPE), []),
    ],
)
def test_no_joint_that_an_arm_needs_is_held(tmp_path, text, held):
    file = tmp_path / "a.urdf"
    file.write_text(text, encoding="utf-8")
    robot = parse_xml(file)
    hold_base(robot, file)
    assert [joint.get("name") for joint in robot.iter("joint") if joint.get("type") == "fixed"] == held


def test_a_planar_joint_is_held(tmp_path):
    file = tmp_path / "a.urdf"
    drive = '<link name="odom"/><joint name="drive" type="planar"><parent link="odom"/><child link="base"/></joint>'
    file.write_text(arm_on(drive, joints=6, base_shape=SHAPE), encoding="utf-8")
    robot = parse_xml(file)
    assert hold_base(robot, file) == ["drive: held, for they move the whole robot"]
    assert robot.find("joint[@name='drive']").get("type") == "fixed"


def test_stages_of_a_telescope_move_by_themselves_and_fingers_still_follow_each_other(tmp_path):
    file, slides = tmp_path / "a.urdf", joints_above_base(mast="0 0 1", first="1 0 0", second="1 0 0")
    text = arm_on(slides, joints=3, base_shape=SHAPE)
    for name, of in (("second", "first"), ("finger_b", "finger_a")):
        place = text.index("<limit", text.index(f'<joint name="{name}"'))
        text = text[:place] + f'<mimic joint="{of}"/>' + text[place:]
    file.write_text(text, encoding="utf-8")
    assert find_chains(read_urdf(file), file) == ([], [])
    robot = parse_xml(file)
    assert free_telescopes(robot, file) == ["second: stages of a telescope, which move by themselves here"]
    file.write_text(ET.tostring(robot, encoding="unicode"), encoding="utf-8")
    assert list(read_mimics(file)) == ["finger_b"]
    (chain,), _ = find_chains(read_urdf(file), file)
    assert chain.joints == ("mast", "first", "second", "j0", "j1", "j2")


def test_tips_that_slide_on_fingers_still_follow_them(tmp_path):
    tips = "".join(
        f'<link name="{stage}_{side}">{SHAPE}</link><joint name="{stage}_{side}" type="prismatic">'
        f'<parent link="{parent}_{side}"/><child link="{stage}_{side}"/><axis xyz="0 1 0"/>'
        f'<limit lower="0" upper="1"/><mimic joint="finger_{side}" multiplier="0.5"/></joint>'
        for side in "ab"
        for stage, parent in (("middle", "of_finger"), ("tip", "middle"))
    )
    file = tmp_path / "a.urdf"
    file.write_text(arm_on(tips, joints=6, base_shape=SHAPE), encoding="utf-8")
    assert free_telescopes(parse_xml(file), file) == []


def test_a_free_part_is_held_and_not_said_to_move_the_robot(tmp_path):
    file = tmp_path / "a.urdf"
    toy = f'<link name="toy">{SHAPE}</link><joint name="toy" type="floating"><parent link="of_j5"/><child link="toy"/>'
    file.write_text(arm_on(toy + "</joint>", joints=6, base_shape=SHAPE), encoding="utf-8")
    assert hold_base(parse_xml(file), file) == ["toy: held, for no motor moves planar and floating joints"]


@pytest.mark.parametrize(
    ("place_m", "extent_m", "lines"),
    [
        (0.3, 0.1, []),
        (0.3, 100.0, ["meshes are read as millimetres: part.obj"]),
        (300.0, 0.1, ["places and sizes are read as millimetres: in metres, it would be 2100 m long"]),
    ],
)
def test_places_and_meshes_in_millimetres_become_metres(tmp_path, place_m, extent_m, lines):
    corners = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))
    faces = "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    (tmp_path / "part.obj").write_text("".join(f"v {x} {y} {z}\n" for x, y, z in corners) + faces, encoding="utf-8")
    scale = f'scale="{extent_m} {extent_m} {extent_m}"'
    shape = (
        f'<visual><origin xyz="0 0 {place_m / 2}"/><geometry><mesh filename="part.obj" {scale}/></geometry></visual>'
    )
    text = arm_on("", joints=6, base_shape=shape).replace("<axis", f'<origin xyz="0 0 {place_m}"/><axis')
    file = tmp_path / "a.urdf"
    file.write_text(text.replace('radius="0.1"', f'radius="{place_m / 10}"'), encoding="utf-8")
    robot = parse_xml(file)
    assert mend_lengths(robot, file) == lines
    file.write_text(ET.tostring(robot, encoding="unicode"), encoding="utf-8")
    model = read_urdf(file)
    (visual,) = model.links["base"].visuals
    assert model.joints["j1"].T_parent_joint.p[2] == pytest.approx(0.3)
    assert (visual.size[0], visual.T_link_shape.p[2]) == pytest.approx((0.1, 0.15))
    assert model.links["of_j0"].collisions[0].size[0] == pytest.approx(0.03)
    (tmp_path / "part.obj").write_text("v 0 0 0\nv 1 0 0\nl 1 2\n", encoding="utf-8")
    with pytest.raises(AssetError, match=r"a\.urdf: the mesh 'part\.obj' of link 'base' has no triangles"):
        mend_lengths(robot, file)


def test_a_mesh_in_metres_stays_beside_the_same_one_in_millimetres(tmp_path):
    corners, faces = ((0, 0, 0), (200, 0, 0), (0, 200, 0), (0, 0, 200)), "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    (tmp_path / "part.obj").write_text("".join(f"v {x} {y} {z}\n" for x, y, z in corners) + faces, encoding="utf-8")
    mesh = '<geometry><mesh filename="part.obj"{}/></geometry>'
    file = tmp_path / "a.urdf"
    scaled = mesh.format(' scale="0.001 0.001 0.001"')
    shapes = f"<visual>{scaled}</visual><collision>{mesh.format('')}</collision>"
    file.write_text(arm_on("", joints=6, base_shape=shapes), encoding="utf-8")
    robot = parse_xml(file)
    assert mend_lengths(robot, file) == ["meshes are read as millimetres: part.obj"]
    assert [each.get("scale") for each in robot.iter("mesh")] == ["0.001 0.001 0.001"] * 2


@pytest.mark.parametrize(("moment", "mended"), [(3000.0, 0.003), (0.003, 0.003)])
def test_inertias_become_those_in_metres_if_no_mass_fits_them(tmp_path, moment, mended):
    keys = {**dict.fromkeys(("ixx", "iyy", "izz"), moment), **dict.fromkeys(("ixy", "ixz", "iyz"), 0)}
    inertia = " ".join(f'{key}="{value}"' for key, value in keys.items())
    inertial = f'<inertial><mass value="2"/><inertia {inertia}/></inertial>'
    text = arm_on("", joints=6, base_shape=SHAPE + inertial).replace("<axis", '<origin xyz="0 0 300"/><axis')
    file = tmp_path / "a.urdf"
    file.write_text(text, encoding="utf-8")
    robot = parse_xml(file)
    said = ["inertias are read as kg mm^2"] if moment != mended else []
    assert mend_lengths(robot, file)[1:] == said
    assert float(robot.find(".//inertia").get("ixx")) == pytest.approx(mended)
