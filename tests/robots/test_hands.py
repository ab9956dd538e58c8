"""A gripper on an arm whose URDF has none: where it is put, and what the robot then is."""

import numpy as np
import pytest

from unlatch.robots.changed_models import distribution_file, example_robot_urdf
from unlatch.robots.hand_mending import mend_hands
from unlatch.robots.hands import Chain, arm_names, find_mimics, measure_hand, read_mimics
from unlatch.robots.made_models import HAND_LINK
from unlatch.robots.mounted_gripper import find_mount, with_gripper
from unlatch.simcore.errors import AssetError, ConfigError
from unlatch.simcore.urdf.reader import parse_xml, read_urdf

IIWA, XARM6, PANDA = (
    distribution_file("pybullet", f"pybullet_data/{path}", where="the test")
    for path in ("kuka_iiwa/model.urdf", "xarm/xarm6_robot.urdf", "franka_panda/panda.urdf")
)
try:
    UR3E = distribution_file("airo-models", "airo_models/arms/ur3e/ur3e.urdf", where="the test")
    Z1 = example_robot_urdf("z1_description/urdf/z1.urdf", robot="the test")
except AssetError:
    pytest.skip("a package of the extra 'robots' is not installed", allow_module_level=True)


def mount_on(urdf, flange=None):
    return find_mount(read_urdf(urdf, meshes_anywhere=True), urdf, flange)


@pytest.mark.parametrize(
    ("urdf", "flange", "link", "at", "out"),
    [
        (IIWA, None, "lbr_iiwa_link_7", (0, 0, 0.045), (0, 0, 1)),  # KUKA's drawings: 45 mm
        (XARM6, None, "link6", (0, 0, 0), (0, 0, 1)),  # its link begins at the mounting face
        (UR3E, None, "tool0", (0, 0, 0), (0, 0, 1)),
        (Z1, "link06", "link06", (0.2, 0, 0), (1, 0, 0)),  # the hand is along x
    ],
)
def test_a_gripper_is_put_on_the_end_of_the_arm(urdf, flange, link, at, out):
    mount = mount_on(urdf, flange)
    assert mount.link == link
    np.testing.assert_allclose(mount.T_link_mount.p, at, atol=2e-3)
    np.testing.assert_allclose(mount.T_link_mount.R[:, 2], out, atol=1e-6)


@pytest.mark.parametrize(
    ("urdf", "text"),
    [
        (Z1, "joint 'jointGripper' does not turn link 'gripperMover' about the direction in which it extends"),
        (PANDA, "has 2 chains of at least 5 joints (panda_leftfinger, panda_rightfinger), expected one arm"),
    ],
)
def test_what_is_no_bare_arm_is_refused(urdf, text):
    with pytest.raises(AssetError) as caught:
        mount_on(urdf)
    assert text in str(caught.value)
    assert str(caught.value).endswith("flange=LINK.")
    with pytest.raises(ConfigError, match=r"flange='link_7' is not a link of .*Did you mean 'lbr_iiwa_link_7'"):
        mount_on(IIWA, "link_7")


def test_the_palm_is_fixed_to_the_mounting_face(tmp_path):
    file = tmp_path / "arm.urdf"
    file.write_text(with_gripper(IIWA, None)[0], encoding="utf-8")
    model = read_urdf(file, meshes_anywhere=True)
    T_flange_palm = model.link_pose("lbr_iiwa_link_7").inverse() @ model.link_pose(HAND_LINK)
    np.testing.assert_allclose(T_flange_palm.p, [0.0, 0.0, 0.045 + 0.0139], atol=2e-3)  # a coupling of 13.9 mm
    np.testing.assert_allclose(T_flange_palm.R[:, 2], [0.0, 0.0, 1.0], atol=1e-6)


def test_arms_are_left_and_right_by_their_shoulders_even_if_the_hands_are_crossed(tmp_path):
    links, joints = '<link name="base"/>', ""
    for side, y in (("a", -0.1), ("b", 0.1)):
        parent = "base"
        for name, place in (("shoulder", f"0 {y} 0.4"), ("hand", f"0.3 {-3 * y} 0")):
            links += f'<link name="{side}_{name}"/>'
            joints += (
                f'<joint name="{side}_{name}" type="continuous"><parent link="{parent}"/><child link="{side}_{name}"/>'
                f'<origin xyz="{place}"/><axis xyz="0 0 1"/></joint>'
            )
            parent = f"{side}_{name}"
    urdf = tmp_path / "robot.urdf"
    urdf.write_text(f'<robot name="r">{links}{joints}</robot>')
    chains = [Chain("base", (f"{side}_shoulder", f"{side}_hand"), f"{side}_hand", ()) for side in "ab"]
    assert arm_names(read_urdf(urdf), chains) == ["right", "left"]


def test_a_name_with_a_prefix_is_not_one_that_arm_or_gripper_have(tmp_path):
    links = ["base_link", "gripper_base_link", "gripper_gripper_base_link", "finger"]
    text = "".join(f'<link name="{name}"/>' for name in links)
    for name, parent, child in zip(("a", "gripper_a", "gripper_mount_gripper"), links, links[1:], strict=False):
        text += f'<joint name="{name}" type="fixed"><parent link="{parent}"/><child link="{child}"/></joint>'
    hand, arm = tmp_path / "hand.urdf", tmp_path / "arm.urdf"
    hand.write_text(f'<robot name="hand">{text}</robot>', encoding="utf-8")
    ends = '<parent link="base_link"/><child link="gripper_base_link"/>'
    own = f'<link name="base_link"/><link name="gripper_base_link"/><joint name="a" type="fixed">{ends}</joint>'
    arm.write_text(f'<robot name="arm">{own}</robot>', encoding="utf-8")
    made = tmp_path / "made.urdf"
    made.write_text(with_gripper(arm, "gripper_base_link", hand)[0], encoding="utf-8")
    model = read_urdf(made)
    assert (len(model.links), len(model.joints)) == (2 + 1 + 4, 1 + 1 + 3 + 1)  # arm, mount and hand
    above = [joint.parent for joint in model.joints_above("finger")]
    assert above[-2:] == ["gripper_base_link", "base_link"]  # the arm's own
    assert len(set(above)) == len(model.links) - 1


def test_fingers_without_limits_are_named_as_the_reason_why_they_do_not_move(tmp_path):
    shape = '<collision><origin xyz="0 0 0.05"/><geometry><box size="0.01 0.01 0.05"/></geometry></collision>'
    links = "".join(f'<link name="{name}">{shape}</link>' for name in "pqr")
    joints = "".join(
        f'<joint name="slide_{child}" type="prismatic"><parent link="p"/><child link="{child}"/>'
        f'<origin xyz="0 {y} 0.05"/><axis xyz="0 1 0"/></joint>'
        for child, y in (("q", 0.01), ("r", -0.01))
    )
    file = tmp_path / "a.urdf"
    file.write_text(f'<robot name="a">{links}{joints}</robot>', encoding="utf-8")
    chain = Chain("p", (), "p", ("slide_q", "slide_r"))
    with pytest.raises(AssetError, match=r"do not move apart: q, r\. .*slide_q, slide_r: no <limit> with lower="):
        measure_hand(read_urdf(file), chain, {})


def test_the_range_of_a_whole_turn_that_stands_for_no_range_is_named(tmp_path):
    file = two_fingers(tmp_path, kind="revolute", limits=("-3.14159265 3.14159265",) * 2)
    with pytest.raises(
        AssetError, match=r"The range of joints is missing: slide_q, slide_r: no <limit> .*or both are 0"
    ):
        measure_hand(read_urdf(file), FINGERS, {})


FINGERS = Chain("p", (), "p", ("slide_q", "slide_r"))


def two_fingers(
    folder, *, kind="prismatic", limits=("0 0.04", "0 0.04"), z=0.05, mimic="", offset=0.01, axes=("0 1 0", "0 -1 0")
):
    """Writes a URDF of a palm on a wrist with two fingers that part along y."""
    shape = '<collision><origin xyz="0 {} {}"/><geometry><box size="0.01 0.01 0.06"/></geometry></collision>'
    text = '<link name="wrist"/><link name="p"/><joint name="turn" type="revolute"><parent link="wrist"/>'
    text += '<child link="flange"/><axis xyz="0 0 1"/><limit lower="-1" upper="1"/></joint><link name="flange"/>'
    text += '<joint name="palm" type="fixed"><parent link="flange"/><child link="p"/><origin xyz="0 0 0.1"/></joint>'
    for child, y, axis, limit in zip("qr", (offset, -offset), axes, limits, strict=True):
        low, high = limit.split()
        text += f'<link name="{child}">{shape.format(0, z)}</link><joint name="slide_{child}" type="{kind}">'
        text += f'<parent link="p"/><child link="{child}"/><origin xyz="0 {y} 0"/><axis xyz="{axis}"/>'
        text += f'<limit lower="{low}" upper="{high}"/>{mimic if child == "r" else ""}</joint>'
    file = folder / "a.urdf"
    file.write_text(f'<robot name="a">{text}</robot>', encoding="utf-8")
    return file


def test_a_hand_whose_frame_is_between_its_fingers_looks_away_from_the_wrist(tmp_path):
    model = read_urdf(two_fingers(tmp_path, z=0.0))
    hand = measure_hand(model, Chain("wrist", ("turn",), "p", ("slide_q", "slide_r")), {})
    assert hand.widths_m[-1] == pytest.approx(0.09, abs=1e-3)
    head, tail = (np.array(hand.keypoints[name]) for name in ("tool_head", "tool_tail"))
    np.testing.assert_allclose((head - tail) / np.linalg.norm(head - tail), [0, 0, 1], atol=1e-6)


def test_fingers_on_levers_are_closed_where_they_meet(tmp_path):
    limits, axes = ("-0.9 0.5", "-0.9 0.5"), ("1 0 0", "-1 0 0")
    file = two_fingers(tmp_path, kind="revolute", limits=limits, offset=0.02, axes=axes)
    hand = measure_hand(read_urdf(file), FINGERS, {})
    assert hand.widths_m[1] > 1e-3  # it opens from the first step on
    (closed, _), (opened, _) = hand.closed, hand.opened
    assert 0.0 < closed < 0.5
    assert opened == pytest.approx(-0.9)


@pytest.mark.parametrize(("limits", "turned"), [(("-0.005 0.04", "-0.005 0.04"), True), (("0 0.04", "-0.04 0"), False)])
def test_a_mimic_with_the_wrong_sign_is_turned_if_it_keeps_the_fingers_together(tmp_path, limits, turned):
    axes = ("0 1 0", "0 -1 0") if turned else ("0 1 0", "0 1 0")
    file = two_fingers(tmp_path, limits=limits, mimic='<mimic joint="slide_q" multiplier="-1"/>', axes=axes)
    put_on_arm(file)
    robot = parse_xml(file)
    expected = ["slide_r: mimic with multiplier 1, as -1 leads it out of its own limits"] if turned else []
    assert mend_hands(robot, file) == expected
    (mimic,) = robot.iter("mimic")
    assert float(mimic.get("multiplier")) == (1.0 if turned else -1.0)


def test_a_turned_mimic_of_a_turned_mimic_is_turned_once(tmp_path):
    file = two_fingers(tmp_path, mimic='<mimic joint="slide_q" multiplier="-1"/>')
    shape = '<collision><origin xyz="0 0 0.05"/><geometry><box size="0.01 0.01 0.06"/></geometry></collision>'
    third = f'<link name="s">{shape}</link><joint name="slide_s" type="prismatic"><parent link="p"/><child link="s"/>'
    third += '<origin xyz="0.02 -0.01 0"/><axis xyz="0 -1 0"/><limit lower="0" upper="0.04"/>'
    third += '<mimic joint="slide_r" multiplier="1"/></joint></robot>'
    file.write_text(file.read_text(encoding="utf-8").replace("</robot>", third), encoding="utf-8")
    put_on_arm(file)
    robot = parse_xml(file)
    turned = "mimic with multiplier 1, as -1 leads it out of its own limits"
    assert mend_hands(robot, file) == [f"slide_r: {turned}", f"slide_s: {turned}"]
    assert find_mimics(robot) == {"slide_r": ("slide_q", 1.0, 0.0), "slide_s": ("slide_q", 1.0, 0.0)}


def test_a_mimic_of_a_mimic_follows_the_first_joint(tmp_path):
    file = tmp_path / "a.urdf"
    joints = '<joint name="a"/><joint name="b"><mimic joint="a" multiplier="2" offset="0.1"/></joint>'
    joints += '<joint name="c"><mimic joint="b" multiplier="-1" offset="0.2"/></joint>'
    file.write_text(f"<robot>{joints}</robot>", encoding="utf-8")
    assert read_mimics(file) == {"b": ("a", 2.0, 0.1), "c": ("a", -2.0, pytest.approx(0.1))}


def put_on_arm(file):
    """Puts the hand of a URDF on an arm of six joints."""
    text = file.read_text(encoding="utf-8")
    for number in range(5):
        child = f"w{number + 1}" if number < 4 else "wrist"
        joint = f'<joint name="j{number}" type="continuous"><parent link="w{number}"/><child link="{child}"/></joint>'
        text = text.replace("</robot>", f'<link name="w{number}"/>{joint}</robot>')
    file.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(("radius", "left_out"), [(0.02, True), (0.005, False)])
def test_a_collider_that_fills_the_gap_between_the_fingers_is_left_out(tmp_path, radius, left_out):
    file = two_fingers(tmp_path)
    shapes = "".join(
        f'<collision><origin xyz="0 0 {z}"/><geometry><capsule radius="{radius}" length="0.01"/></geometry></collision>'
        for z in (0.0, 0.06)
    )
    file.write_text(file.read_text().replace('<link name="p"/>', f'<link name="p">{shapes}</link>'), encoding="utf-8")
    put_on_arm(file)
    robot = parse_xml(file)
    expected = ["a collider of p left out: nothing fits between the fingers with it"] if left_out else []
    assert mend_hands(robot, file) == expected
    assert [each.get("xyz") for each in robot.iterfind("link[@name='p']/collision/origin")] == [
        "0 0 0.0",
        *([] if left_out else ["0 0 0.06"]),
    ]


@pytest.mark.parametrize(("x", "y", "left_out"), [(0.035, -0.035, False), (0.035, 0.035, True)])
def test_a_tilted_plate_beside_the_gap_stays(tmp_path, x, y, left_out):
    plate = f'<collision><origin xyz="{x} {y} 0.05" rpy="0 0 0.785"/><geometry><box size="0.16 0.004 0.3"/></geometry>'
    file = two_fingers(tmp_path)
    text = file.read_text(encoding="utf-8").replace('<link name="p"/>', f'<link name="p">{plate}</collision></link>')
    file.write_text(text, encoding="utf-8")
    put_on_arm(file)
    robot = parse_xml(file)
    assert bool(mend_hands(robot, file)) == left_out
    assert (robot.find("link[@name='p']/collision") is None) == left_out
