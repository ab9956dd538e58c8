"""Franka Emika Panda with a Robotiq 2F-85: arm of `robots/franka_panda.py`, gripper of `robots/robotiq_2f85.py`.

The gripper opens in the direction in which the Franka Hand opens, at 45 degrees to the flange.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

from unlatch.robots.changed_model import changed_model, repair_inertias
from unlatch.robots.description import RobotCfg
from unlatch.robots.franka_panda import franka_panda
from unlatch.robots.franka_panda import urdf_path as panda_path
from unlatch.robots.robotiq_2f85 import (
    HAND_LINK,
    HAND_LINKS,
    KEYPOINTS,
    attach_robotiq_2f85,
    robotiq_2f85,
    touching_hand_links,
)

_FRANKA_HAND = "panda_hand"
_MOUNT = "robotiq_mount"
"""Frame on the flange in which the gripper sits: that of the Franka Hand."""


def urdf_path() -> Path:
    """Returns the URDF, made on first use from those of arm and gripper.

    Raises:
        AssetError: The extra `robots` is not installed, or its version has another gripper.
    """
    return changed_model("franka_robotiq", panda_path(), _change_hand)


def franka_robotiq() -> RobotCfg:
    """Returns the configuration of arm and gripper."""
    panda = franka_panda()
    (its_arm,) = panda.arms
    arm = replace(
        its_arm,
        ee_link=HAND_LINK,
        keypoints={name: list(xyz) for name, xyz in KEYPOINTS.items()},
        forbidden_links=[link for link in its_arm.forbidden_links if link != _FRANKA_HAND] + list(HAND_LINKS),
        gripper=robotiq_2f85(),
    )
    return RobotCfg(
        name="franka_robotiq",
        arms=[arm],
        self_collision_ignored=[["panda_link5", "panda_link7"], *touching_hand_links()],
    )


def _change_hand(robot: ET.Element) -> None:
    """Replaces the Franka Hand by the gripper, in place."""
    for element in list(robot):
        parent, name = element.find("parent"), element.get("name", "")
        if (parent is not None and parent.get("link") == _FRANKA_HAND) or "finger" in name or "grasptarget" in name:
            robot.remove(element)
    for element in robot.iter():
        for key, value in element.attrib.items():
            if value == _FRANKA_HAND:
                element.set(key, _MOUNT)
        if element.get("name") == _MOUNT:
            element[:] = []  # the frame alone
    attach_robotiq_2f85(robot, _MOUNT, where="robot 'franka_robotiq'")
    repair_inertias(robot)
