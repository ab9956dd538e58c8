"""Two Franka Emika Pandas with the Franka Hand, side by side on one stand; each is the arm of `franka_panda`.

Both look along +x; the left one stands on the +y side. The URDF is made from that of `franka_panda`.
"""

from __future__ import annotations

import copy
import xml.etree.ElementTree as ET
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from unlatch.robots.changed_model import to_text
from unlatch.robots.description import ArmCfg, RobotCfg
from unlatch.robots.franka_panda import drawn_urdf_path as drawn_panda_path
from unlatch.robots.franka_panda import franka_panda, model_with_meshes
from unlatch.robots.franka_panda import urdf_path as panda_path
from unlatch.simcore.cache import cache_root
from unlatch.simcore.urdf.xml import parse_xml

ROOT_LINK = "stand"
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

_INERTIA = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def dual_panda() -> RobotCfg:
    """Returns the configuration of both arms."""
    single = franka_panda()
    (panda,) = single.arms
    return RobotCfg(
        name="dual_panda",
        arms=[_make_arm(panda, side) for side in BASE_Y_M],
        self_collision_ignored=[
            *([f"{side}_{link}" for link in pair] for side in BASE_Y_M for pair in single.self_collision_ignored),
            *([ROOT_LINK, f"{side}_{panda.base_link}"] for side in BASE_Y_M),
        ],
    )


def _make_arm(arm: ArmCfg, side: str) -> ArmCfg:
    """Returns a copy of an arm whose links and joints have the prefix of its side."""

    def named(names: list[str]) -> list[str]:
        return [f"{side}_{name}" for name in names]

    return replace(
        arm,
        name=side,
        base_link=f"{side}_{arm.base_link}",
        ee_link=f"{side}_{arm.ee_link}",
        joints=named(arm.joints),
        forbidden_links=named(arm.forbidden_links),
        gripper=replace(arm.gripper, joints=named(arm.gripper.joints), finger_links=named(arm.gripper.finger_links)),
    )


def urdf_path() -> Path:
    """Returns the URDF, made on first use and cached with its meshes.

    Raises:
        AssetError: The Panda's URDF is missing or damaged, or the cache cannot be written.
    """
    return _make_model(cache_root(), panda_path())


def drawn_urdf_path() -> Path:
    """Returns the URDF for pictures, as that of `franka_panda`.

    Raises:
        AssetError: As `urdf_path`.
    """
    return _make_model(cache_root(), drawn_panda_path())


@lru_cache(maxsize=4)
def _make_model(root: Path, source: Path) -> Path:
    return model_with_meshes(root, "dual_panda", dual_panda_urdf(source), source.parent / "meshes")


def dual_panda_urdf(panda: Path) -> str:
    """Returns the text of a URDF with two copies of an arm on a plate; names begin with `left_` and `right_`.

    Raises:
        AssetError: It is missing or no XML.
    """
    source = parse_xml(panda)
    robot = ET.Element("robot", {"name": "dual_panda"})
    robot.append(_make_stand())
    for side, y in BASE_Y_M.items():
        mount = ET.SubElement(robot, "joint", {"name": f"{side}_mount", "type": "fixed"})
        ET.SubElement(mount, "origin", {"xyz": f"0 {y:g} {STAND_SIZE_M[2]:g}", "rpy": "0 0 0"})
        ET.SubElement(mount, "parent", {"link": ROOT_LINK})
        ET.SubElement(mount, "child", {"link": f"{side}_panda_link0"})
        for element in source:
            if element.tag in ("link", "joint"):
                robot.append(_rename_element(element, f"{side}_"))
    return to_text(robot)


def _make_stand() -> ET.Element:
    link = ET.Element("link", {"name": ROOT_LINK})
    x, y, z = STAND_SIZE_M
    inertial = ET.SubElement(link, "inertial")  # it is fixed, but Bullet requires an inertial
    ET.SubElement(inertial, "mass", {"value": "10"})
    ET.SubElement(inertial, "inertia", {axes: "1" if axes[1] == axes[2] else "0" for axes in _INERTIA})
    for tag in ("visual", "collision"):
        shape = ET.SubElement(link, tag)
        ET.SubElement(shape, "origin", {"xyz": f"{STAND_X_M:g} 0 {z / 2:g}", "rpy": "0 0 0"})
        ET.SubElement(ET.SubElement(shape, "geometry"), "box", {"size": f"{x:g} {y:g} {z:g}"})
        if tag == "visual":
            material = ET.SubElement(shape, "material", {"name": "stand_grey"})
            ET.SubElement(material, "color", {"rgba": "0.35 0.36 0.38 1"})
    return link


def _rename_element(element: ET.Element, prefix: str) -> ET.Element:
    """Returns a copy of a link or joint with a prefix on its name and on the names that it refers to."""
    made = copy.deepcopy(element)
    made.set("name", prefix + made.get("name", ""))
    for tag, key in (("parent", "link"), ("child", "link"), ("mimic", "joint")):
        for inner in made.findall(tag):
            inner.set(key, prefix + inner.get(key, ""))
    return made
