"""Universal Robots UR5e with a Robotiq 2F-85. Both models are from `airo-models` (extra `robots`).

Ranges, speeds and efforts are those of ur_description (config/ur5e/joint_limits.yaml, 360 degrees to either side, the
elbow 180; 180 deg/s; 150 N m in base, shoulder and elbow, 28 N m in the wrist), which the model states too. The maker
states no accelerations: ours stop a joint within a fifth of a second, as for the UR5.

The gripper is in `robots/robotiq_2f85.py`. It sits on the flange with the coupling of the maker.

The maker states no inertia of the rotors behind their gears. We use 0.1 kg m^2 for each joint, as `ur5e.xml` of MuJoCo
Menagerie does, without a source.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from math import pi
from pathlib import Path

from unlatch.robots.changed_model import align_inertias, changed_model, repair_inertias
from unlatch.robots.description import ArmCfg, RobotCfg
from unlatch.robots.model import distribution_file
from unlatch.robots.robotiq_2f85 import (
    HAND_LINK,
    HAND_LINKS,
    KEYPOINTS,
    attach_robotiq_2f85,
    robotiq_2f85,
    touching_hand_links,
)

_JOINTS = (
    "shoulder_pan_joint",
    "shoulder_lift_joint",
    "elbow_joint",
    "wrist_1_joint",
    "wrist_2_joint",
    "wrist_3_joint",
)
_GREY = "0.72 0.74 0.76 1"
_LINKS = (
    "base_link_inertia",
    "shoulder_link",
    "upper_arm_link",
    "forearm_link",
    "wrist_1_link",
    "wrist_2_link",
    "wrist_3_link",
)


def urdf_path() -> Path:
    """Returns the URDF, made on first use from those of arm and gripper in `airo-models`.

    Raises:
        AssetError: The extra `robots` is not installed, or its version has other models.
    """
    return changed_model(
        "ur5e", distribution_file("airo-models", "airo_models/arms/ur5e/ur5e.urdf", where="robot 'ur5e'"), _add_gripper
    )


def ur5e() -> RobotCfg:
    """Returns the UR5e's configuration."""
    arm = ArmCfg(
        name="left",
        base_link="base_link",
        ee_link=HAND_LINK,
        joints=list(_JOINTS),
        home=[-0.444, -1.949, 1.414, -1.035, -1.571, 1.127],
        home_std=0.02,
        lower=[-2.0 * pi, -2.0 * pi, -pi, -2.0 * pi, -2.0 * pi, -2.0 * pi],
        upper=[2.0 * pi, 2.0 * pi, pi, 2.0 * pi, 2.0 * pi, 2.0 * pi],
        max_velocity=[pi] * 6,
        max_acceleration=[15.0] * 6,
        max_effort=[150.0, 150.0, 150.0, 28.0, 28.0, 28.0],
        armature=[0.1] * 6,
        keypoints={name: list(xyz) for name, xyz in KEYPOINTS.items()},
        forbidden_links=[*_LINKS, *HAND_LINKS],
        workspace=[[-0.3, -0.85, -0.1], [0.9, 0.85, 1.1]],
        gripper=robotiq_2f85(),
    )
    return RobotCfg(name="ur5e", arms=[arm], self_collision_ignored=touching_hand_links())


def _add_gripper(robot: ET.Element) -> None:
    """Colours the arm, whose meshes have their colours in files of their own, and adds the gripper, in place."""
    for visual in robot.iterfind("link/visual"):
        ET.SubElement(ET.SubElement(visual, "material", {"name": "ur_grey"}), "color", {"rgba": _GREY})
    attach_robotiq_2f85(robot, "tool0", where="robot 'ur5e'")
    repair_inertias(robot)
    align_inertias(robot, _JOINTS)
