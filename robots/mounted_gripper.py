"""Puts a gripper on an arm whose URDF has none."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from unlatch.robots.catalog import load_robot
from unlatch.robots.description import RobotCfg
from unlatch.robots.hand_shape import collider_points
from unlatch.robots.hands import LEAST_JOINTS
from unlatch.robots.made_models import FINGER_LINKS, HAND_LINK, HAND_LINKS, attach_robotiq_2f85, fixed_joint
from unlatch.robots.models import to_text
from unlatch.simcore.errors import AssetError, ConfigError, describe_choices
from unlatch.simcore.geometry import Pose, unit
from unlatch.simcore.urdf.model import Joint, UrdfModel, rigid_links
from unlatch.simcore.urdf.reader import mesh_paths, parse_xml, read_urdf

GRIPPERS = ("robotiq_2f85",)
"""Grippers that can be put on an arm by their name; others by their file."""
_TOOL = "tool0"
"""Name of the frame on an arm's mounting face, z out of the face, by the convention of ROS-Industrial."""
_MOUNT = "gripper_mount"
_GRIPPER_JOINT = f"{_MOUNT}_gripper"
_FLANGE_SPACING_M = 0.003
_ALONG = 0.7
"""The middle of a flange lies within 45 degrees of its axis."""


@dataclass(frozen=True)
class GripperMount:
    """Where a gripper is put."""

    link: str
    """Link of the arm."""
    T_link_mount: Pose
    """Mounting face, z out of it."""


def find_mount(model: UrdfModel, urdf: Path, flange: str | None) -> GripperMount:
    """Returns where a gripper is put on an arm.

    Without `flange`, it is put on the frame `tool0` at the end of the arm, or else on the last moving link. The z of a
    frame points out of the mounting face. On a moving link, the face is its end along the axis of its joint.

    Raises:
        ConfigError: `flange` is no link.
        AssetError: The file has no arm, or several, or one whose last joint does not turn the hand.
    """
    if flange is None:
        link = _last_link(model, urdf)
        frames = [name for name in rigid_links(model, link) if model.is_below(name, link)]
        flange = _TOOL if _TOOL in frames else link
    elif flange not in model.links:
        raise ConfigError(
            f"flange='{flange}' is not a link of {urdf}.{describe_choices(flange, sorted(model.links))} Name one of "
            "them.",
            key="flange",
        )
    joint = model.parent_joint(flange)
    if joint is None or not joint.moves:
        return GripperMount(flange, Pose.identity())
    return GripperMount(flange, _end_of_link(model, joint, urdf))


def _last_link(model: UrdfModel, urdf: Path) -> str:
    """Returns the link that the last joint of the only arm moves."""
    moving = [joint for joint in model.joints.values() if joint.moves]
    ends = [
        joint.child
        for joint in moving
        if not any(model.is_below(other.parent, joint.child) for other in moving)
        and len([above for above in model.joints_above(joint.child) if above.moves]) >= LEAST_JOINTS
    ]
    if len(ends) != 1:
        named = f" ({', '.join(ends)})" if ends else ""
        raise AssetError(
            f"{urdf} has {len(ends)} chains of at least {LEAST_JOINTS} joints{named}, expected one arm without a "
            "gripper. If the URDF has a gripper, leave out gripper=. Otherwise name the link that carries the gripper: "
            "flange=LINK.",
            path=str(urdf),
        )
    return ends[0]


def _end_of_link(model: UrdfModel, joint: Joint, urdf: Path) -> Pose:
    """Returns the mounting face at the end of a link, away from the arm, in the link's frame."""
    T_link_root = model.link_pose(joint.child).inverse()
    names = [name for name in rigid_links(model, joint.child) if model.is_below(name, joint.child)]
    clouds = [(name, collider_points(model, name, spacing_m=_FLANGE_SPACING_M)) for name in names]
    parts = [T_link_root @ model.link_pose(name) @ cloud for name, cloud in clouds if len(cloud)]
    points = np.concatenate([*parts, np.zeros((1, 3))])
    axis = unit(joint.axis)
    middle = points.mean(axis=0)
    if abs(float(middle @ axis)) < _ALONG * float(np.linalg.norm(middle)):
        raise AssetError(
            f"{urdf}: joint '{joint.name}' does not turn link '{joint.child}' about the direction in which it extends, "
            "as the last joint of an arm does. Name the link that carries the gripper: flange=LINK.",
            path=str(urdf),
            link=joint.child,
        )
    along = (points - T_link_root @ model.link_pose(joint.parent).p) @ axis
    out = axis * (1.0 if along.max() > -along.min() else -1.0)
    across = unit(np.cross(out, np.eye(3)[int(np.argmin(np.abs(out)))]))
    R = np.column_stack([across, np.cross(out, across), out])
    return Pose(R, out * float((points @ out).max()))


def with_gripper(urdf: Path, flange: str | None, gripper: Path | None = None) -> tuple[str, GripperMount]:
    """Returns the text of an arm's URDF with a gripper, with absolute paths of meshes, and where the gripper is put.

    Args:
        urdf: The arm.
        flange: Link that carries the gripper, see `find_mount`.
        gripper: URDF of the gripper, whose root is put on the mounting face; None: a Robotiq 2F-85.

    Raises:
        ConfigError, AssetError: As `find_mount`; or a mesh or the extra `robots` is missing.
    """
    mount = find_mount(read_urdf(urdf, meshes_anywhere=True), urdf, flange)
    robot = _with_whole_paths(urdf)
    ET.SubElement(robot, "link", {"name": _MOUNT})
    robot.append(fixed_joint(f"{_MOUNT}_joint", mount.link, _MOUNT, mount.T_link_mount))
    if gripper is None:
        attach_robotiq_2f85(robot, _MOUNT, where=str(urdf))
    else:
        _attach(robot, gripper)
    return to_text(robot), mount


def _with_whole_paths(urdf: Path) -> ET.Element:
    """Returns the root element of a URDF with absolute paths of meshes."""
    robot = parse_xml(urdf, root_tag="robot")
    paths = mesh_paths(urdf, [mesh.get("filename", "") for mesh in robot.iter("mesh")], where=str(urdf))
    for mesh in robot.iter("mesh"):
        mesh.set("filename", str(paths[mesh.get("filename", "")]))
    return robot


def _attach(robot: ET.Element, gripper: Path) -> None:
    """Puts the links and joints of a gripper's URDF on the mount, in place; names of the arm get an unused prefix."""
    root, hand = read_urdf(gripper, meshes_anywhere=True).root, _with_whole_paths(gripper)
    taken = {(each.tag, each.get("name", "")) for each in robot} | {("joint", _GRIPPER_JOINT)}
    # all names of the gripper, those of its materials also where only a visual states them
    own = dict.fromkeys((each.tag, each.get("name", "")) for each in (*hand, *hand.iterfind("link/visual/material")))
    renamed: dict[tuple[str, str], str] = {}
    for tag, name in own:
        free = name
        while (tag, free) in taken or (free != name and (tag, free) in own):
            free = f"gripper_{free}"
        taken.add((tag, free))
        renamed[tag, name] = free

    def rename(tag: str, name: str) -> str:
        return renamed.get((tag, name), name)

    for element in hand:
        if element.tag in ("link", "joint", "material"):
            element.set("name", rename(element.tag, element.get("name", "")))
            for end in (*element.findall("parent"), *element.findall("child")):
                end.set("link", rename("link", end.get("link", "")))
            for mimic in element.findall("mimic"):
                mimic.set("joint", rename("joint", mimic.get("joint", "")))
            for material in element.iterfind("visual/material"):
                material.set("name", rename("material", material.get("name", "")))
            robot.append(element)
    robot.append(fixed_joint(_GRIPPER_JOINT, _MOUNT, rename("link", root)))


def with_data_sheet(cfg: RobotCfg) -> RobotCfg:
    """Returns a robot whose gripper has the values of the maker instead of those measured on the shapes."""
    arms = []
    for arm in cfg.arms:
        if arm.ee_link != HAND_LINK:
            arms.append(arm)
            continue
        links = dict.fromkeys([*arm.forbidden_links, *HAND_LINKS])
        (known,) = load_robot("ur5e").arms
        arms.append(
            replace(
                arm,
                keypoints=known.keypoints,
                forbidden_links=[name for name in links if name not in FINGER_LINKS],
                gripper=known.gripper,
            )
        )
    return replace(cfg, arms=arms)
