"""Merges links that are joined by fixed joints."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass, replace

from unlatch.objects.importers.converted_asset import ConvertedLink
from unlatch.objects.importers.link_inertia import combined_inertial, moved_inertial
from unlatch.objects.importers.urdf_surfaces import moved_visual
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh
from unlatch.simcore.urdf.model import Joint, Link, Shape


@dataclass(frozen=True)
class MergeLink:
    """A link as written, with its geometry."""

    link: Link
    made: ConvertedLink


def kept_joints(root: ET.Element) -> set[str]:
    """Returns the names of joints of a `<robot>` element marked `dont_collapse`, by attribute or by element."""
    return {str(joint.get("name")) for joint in root.findall("joint") if _is_marked_to_stay(joint)}


def merge_fixed(
    links: dict[str, MergeLink], joints: dict[str, Joint], *, kept: set[str]
) -> tuple[dict[str, MergeLink], dict[str, Joint]]:
    """Merges the child of each fixed joint into its parent: shapes, mass, and the joints below it.

    Returns:
        What is left.
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


def _absorb_child(parent: MergeLink, child: MergeLink, T_parent_child: Pose) -> MergeLink:
    def shapes(items: tuple[Shape, ...]) -> tuple[Shape, ...]:
        return tuple(replace(item, T_link_shape=T_parent_child @ item.T_link_shape) for item in items)

    def meshes(items: tuple[TriangleMesh, ...]) -> tuple[TriangleMesh, ...]:
        return tuple(TriangleMesh(T_parent_child @ item.vertices, item.faces) for item in items)

    inertial = parent.link.inertial
    if child.link.inertial is not None:
        carried = moved_inertial(child.link.inertial, T_parent_child)
        inertial = carried if inertial is None else combined_inertial(inertial, carried)
    link = Link(
        parent.link.name,
        (*parent.link.visuals, *shapes(child.link.visuals)),
        (*parent.link.collisions, *shapes(child.link.collisions)),
        inertial,
    )
    methods = dict(parent.made.methods)
    for name, count in child.made.methods.items():
        methods[name] = methods.get(name, 0) + count
    made = ConvertedLink(
        (*parent.made.visuals, *(moved_visual(item, T_parent_child) for item in child.made.visuals)),
        (*parent.made.parts, *meshes(child.made.parts)),
        None,
        (*parent.made.surface, *meshes(child.made.surface)),
        methods,
    )
    return MergeLink(link, made)


def _is_marked_to_stay(joint: ET.Element) -> bool:
    element = joint.find("dont_collapse")
    said = joint.get("dont_collapse")
    if said is None and element is not None:
        said = element.get("value", element.text or "true")
    return (said or "").strip().lower() in ("true", "1")
