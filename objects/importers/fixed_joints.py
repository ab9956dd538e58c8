"""Merges links that are joined by fixed joints."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

from unlatch.objects.importers.converted_asset import ConvertedLink
from unlatch.objects.importers.link_inertia import combined_inertial, moved_inertial
from unlatch.simcore.geometry import Pose
from unlatch.simcore.urdf.model import Joint, Link, Shape


def kept_joints(root: ET.Element) -> set[str]:
    """Returns the names of joints of a `<robot>` element marked `dont_collapse`, by attribute or by element."""
    return {str(joint.get("name")) for joint in root.findall("joint") if _is_marked_to_stay(joint)}


def merge_fixed(
    links: dict[str, ConvertedLink], joints: dict[str, Joint], *, kept: set[str]
) -> tuple[dict[str, ConvertedLink], dict[str, Joint]]:
    """Merges the child of each fixed joint into its parent: shapes, mass, and the joints below it.

    Returns:
        The remaining links and joints. Joints whose names are in `kept` remain.
    """
    links, joints = dict(links), dict(joints)
    while (joint := next((j for j in joints.values() if j.kind == "fixed" and j.name not in kept), None)) is not None:
        child = links.pop(joint.child)
        links[joint.parent] = _absorb_child(links[joint.parent], child, joint.T_parent_joint)
        del joints[joint.name]
        for name, other in joints.items():
            if other.parent == joint.child:
                joints[name] = replace(
                    other, parent=joint.parent, T_parent_joint=joint.T_parent_joint @ other.T_parent_joint
                )
    return links, joints


def _absorb_child(parent: ConvertedLink, child: ConvertedLink, T_parent_child: Pose) -> ConvertedLink:
    def move_shapes(shapes: tuple[Shape, ...]) -> tuple[Shape, ...]:
        return tuple(replace(shape, T_link_shape=T_parent_child @ shape.T_link_shape) for shape in shapes)

    old, added = parent.link, child.link
    inertial = old.inertial
    if added.inertial is not None:
        carried = moved_inertial(added.inertial, T_parent_child)
        inertial = carried if inertial is None else combined_inertial(inertial, carried)
    visuals = (*old.visuals, *move_shapes(added.visuals))
    collisions = (*old.collisions, *move_shapes(added.collisions))
    return ConvertedLink(
        Link(old.name, visuals, collisions, inertial),
        (*parent.visuals, *(replace(v, T_link_mesh=T_parent_child @ v.T_link_mesh) for v in child.visuals)),
        (*parent.parts, *(part.moved(T_parent_child) for part in child.parts)),
    )


def _is_marked_to_stay(joint: ET.Element) -> bool:
    element = joint.find("dont_collapse")
    mark = joint.get("dont_collapse")
    if mark is None and element is not None:
        mark = element.get("value", element.text or "true")
    return (mark or "").strip().lower() in ("true", "1")
