"""Robotiq 2F-85, a gripper on arms of several makers. The model is from `airo-models` (extra `robots`).

`robots/descriptions/ur5e.yaml` has its values and their sources.

The gripper is a four-bar linkage on either side. One motor turns both outer knuckles. Each carries an outer finger, and
an inner knuckle guides the inner finger. Opposite bars are equally long, so the inner finger stays parallel to the hand
while it swings in: the five other joints mimic that of the motor. This is the parallel grip of the real gripper. Its
other motion, in which the fingers close around a part that touches them near the palm, is left out.

The model's base has 0.23 kg. Here it has the 0.78 kg of `2f85.xml` of MuJoCo Menagerie, so that the gripper has the
0.9 kg of the manual. The coupling between gripper and arm is 13.9 mm thick.
"""

from __future__ import annotations

import copy
import xml.etree.ElementTree as ET
from pathlib import Path

from unlatch.robots.package_files import distribution_file
from unlatch.simcore.errors import AssetError
from unlatch.simcore.urdf.xml import parse_xml

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
_MOUNT, _BASE = "base_link", "base_link_inertia"
"""Names in the model's URDF of the frame of the mounting face and of the palm; an arm may have links so named."""


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
        mounts = element.get("name") == _MOUNT or (child is not None and child.get("link") == _BASE)
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
    _fix_link(robot, parent=flange, child="robotiq_coupling", z_m=0.0)
    _fix_link(robot, parent="robotiq_coupling", child=HAND_LINK, z_m=_COUPLING_M)


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
    for tag in ("visual", "collision"):
        shape = ET.SubElement(link, tag)
        ET.SubElement(shape, "origin", {"xyz": f"0 0 {_COUPLING_M / 2:g}", "rpy": "0 0 0"})
        ET.SubElement(ET.SubElement(shape, "geometry"), "mesh", {"filename": str(mesh), "scale": "0.001 0.001 0.001"})
        if tag == "visual":
            ET.SubElement(
                ET.SubElement(shape, "material", {"name": "robotiq_black"}), "color", {"rgba": "0.1 0.1 0.1 1"}
            )
    inertial = ET.SubElement(link, "inertial")
    ET.SubElement(inertial, "origin", {"xyz": f"0 0 {_COUPLING_M / 2:g}", "rpy": "0 0 0"})
    ET.SubElement(inertial, "mass", {"value": f"{_COUPLING_KG:g}"})
    moments = {"ixx": "2e-5", "iyy": "2e-5", "izz": "4e-5"}  # of a disc with a radius of 37.5 mm
    ET.SubElement(inertial, "inertia", {**moments, **dict.fromkeys(("ixy", "ixz", "iyz"), "0")})
    return link


def _fix_link(robot: ET.Element, *, parent: str, child: str, z_m: float) -> None:
    joint = ET.SubElement(robot, "joint", {"name": f"{child}_mount", "type": "fixed"})
    ET.SubElement(joint, "origin", {"xyz": f"0 0 {z_m:g}", "rpy": "0 0 0"})
    ET.SubElement(joint, "parent", {"link": parent})
    ET.SubElement(joint, "child", {"link": child})
