"""Universal Robots UR5 with a two-finger gripper. The model is from `example-robot-data` (extra `robots`).

Speeds and efforts come from ur_description (config/ur5/joint_limits.yaml), which quotes the user manual CB3 3.13 and
the maker's article "Max. joint torques" (180 deg/s; 150 N m in base, shoulder and elbow, 28 N m in the wrist). Its
joints turn by 360 degrees to either side; the model's limits of 180 degrees are used. The maker states no
accelerations: ours stop a joint within a fifth of a second.

The package's gripper is three boxes that are fixed to the flange: a palm and two fingers 55 mm apart. Here the same
boxes move, like those of a Robotiq Hand-E: stroke 50 mm, force at most 130 N, 20 to 150 mm/s (its manual), force at
least 20 N (the maker's later data sheet: 20 to 185 N), mass 1 kg. A fingertip presses with up to those 130 N (the
manual's example of a payload); that a finger may bear no more than its own grip is our choice.
Its rubber pads yield: rubber of 2 MPa, 2 mm thick, with a contact area of 2 square centimetres has 2e5 N/m, shared by
the four points at which two flat faces touch in Bullet.

The maker states no inertia of the rotors behind their gears. We use 0.1 kg m^2 for each joint, as `ur5e.xml` of MuJoCo
Menagerie does for the UR5e, without a source.
"""

from __future__ import annotations

import copy
import xml.etree.ElementTree as ET
from pathlib import Path

from unlatch.robots.changed_model import align_inertias, changed_model, repair_inertias
from unlatch.robots.description import ArmCfg, RobotCfg
from unlatch.robots.gripper import GripperCfg
from unlatch.robots.model import example_robot_urdf
from unlatch.simcore.errors import AssetError

_STROKE_M = 0.05
_MASS_KG = {"palm": 0.9, "finger": 0.05}
_FINGERS = {"left": 1.0, "right": -1.0}
_HAND = "tool0"
_JOINTS = (
    "shoulder_pan_joint",
    "shoulder_lift_joint",
    "elbow_joint",
    "wrist_1_joint",
    "wrist_2_joint",
    "wrist_3_joint",
)


def urdf_path() -> Path:
    """Returns the URDF, made on first use from that of `example-robot-data`, with the fingers on sliders.

    Raises:
        AssetError: The extra `robots` is not installed.
    """
    return changed_model("ur5", example_robot_urdf("ur_description/urdf/ur5_gripper.urdf", robot="ur5"), _add_sliders)


def ur5() -> RobotCfg:
    """Returns the UR5's configuration."""
    links = ["base_link", "shoulder_link", "upper_arm_link", "forearm_link"]
    links += ["wrist_1_link", "wrist_2_link", "wrist_3_link", "ee_link", "tool0"]
    gripper = GripperCfg(
        joints=[f"{side}_finger_joint" for side in _FINGERS],
        max_width_m=_STROKE_M,
        max_force_n=130.0,
        grip_force_n=50.0,
        least_force_n=20.0,
        max_speed_m_s=0.05,
        finger_force_limit_n=130.0,
        finger_links=[f"{side}_finger" for side in _FINGERS],
        friction=1.2,
        pad_stiffness_n_m=5e4,
        pad_damping_n_s_m=200.0,
    )
    arm = ArmCfg(
        name="left",
        base_link="base_link",
        ee_link="tool0",
        joints=list(_JOINTS),
        home=[-0.36, -1.98, 1.604, -1.194, -1.571, -0.36],
        home_std=0.02,
        lower=[-3.1415] * 6,
        upper=[3.1415] * 6,
        max_velocity=[3.1415] * 6,
        max_acceleration=[15.0] * 6,
        max_effort=[150.0, 150.0, 150.0, 28.0, 28.0, 28.0],
        armature=[0.1] * 6,
        keypoints={
            "tool_head": [0.0, 0.0, 0.051],
            "tool_tail": [0.0, 0.0, 0.015],
            "tool_side": [0.04, 0.0, 0.051],
            "tool_tip": [0.0, 0.0, 0.06],
        },
        forbidden_links=links,
        workspace=[[-0.3, -0.85, -0.1], [0.9, 0.85, 1.1]],
        gripper=gripper,
    )
    return RobotCfg(
        name="ur5",
        arms=[arm],
        self_collision_ignored=[
            ["left_finger", "right_finger"],
            ["wrist_3_link", "left_finger"],
            ["wrist_3_link", "right_finger"],
        ],
    )


def _add_sliders(robot: ET.Element) -> None:
    """Puts the two finger boxes of the hand on links of their own; they touch at joint position 0."""
    hand = next((link for link in robot.iter("link") if link.get("name") == _HAND), None)
    boxes = [] if hand is None else [e for tag in ("visual", "collision") for e in hand.findall(tag)]
    fingers = [element for element in boxes if abs(_read_x(element)) > 0.0]
    if hand is None or len(fingers) != 2 * len(_FINGERS):
        raise AssetError(
            f"The UR5 of example-robot-data has {len(fingers)} finger boxes on '{_HAND}', expected 4: each finger "
            "has a visual and a collision. Install the version that pyproject.toml names.",
            link=_HAND,
        )
    _set_mass(hand, _MASS_KG["palm"])
    for side, sign in _FINGERS.items():
        name = f"{side}_finger"
        link = ET.SubElement(robot, "link", {"name": name})
        for element in fingers:
            if sign * _read_x(element) > 0.0:
                hand.remove(element)
                link.append(_close_finger(copy.deepcopy(element), sign))
        _set_mass(link, _MASS_KG["finger"])
        joint = ET.SubElement(robot, "joint", {"name": f"{side}_finger_joint", "type": "prismatic"})
        ET.SubElement(joint, "origin", {"xyz": "0 0 0", "rpy": "0 0 0"})
        ET.SubElement(joint, "parent", {"link": _HAND})
        ET.SubElement(joint, "child", {"link": name})
        ET.SubElement(joint, "axis", {"xyz": f"{sign:g} 0 0"})
        limits = {"lower": "0", "upper": f"{_STROKE_M / 2:g}", "effort": "130", "velocity": "0.15"}
        ET.SubElement(joint, "limit", limits)
    repair_inertias(robot)
    align_inertias(robot, _JOINTS)


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


def _set_mass(link: ET.Element, mass_kg: float) -> None:
    for element in link.findall("inertial"):
        link.remove(element)
    inertial = ET.SubElement(link, "inertial")
    ET.SubElement(inertial, "origin", {"xyz": "0 0 0.035", "rpy": "0 0 0"})
    ET.SubElement(inertial, "mass", {"value": f"{mass_kg:g}"})
    moment = f"{mass_kg * 0.02**2:g}"  # of a body of 2 cm about its middle
    zeros = dict.fromkeys(("ixy", "ixz", "iyz"), "0")
    ET.SubElement(inertial, "inertia", {"ixx": moment, "iyy": moment, "izz": moment, **zeros})
