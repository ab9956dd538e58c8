"""Brings any URDF into the form of our scenes: one body as root, z up, the front towards +x."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from unlatch.objects.annotation import Articulation, FramedVector, Handle, Part
from unlatch.objects.importers.converted_asset import ConvertedLink
from unlatch.objects.importers.fixed_joints import merge_fixed
from unlatch.simcore.geometry import Pose, turn_to_x
from unlatch.simcore.meshes.shape_surface import shape_cloud
from unlatch.simcore.urdf.model import Inertial, Joint, Link, UrdfModel

ROOT = "object_root"
"""Name of the root link; underscores are appended if the file uses it."""
_LEVEL = 0.1
_TOKEN_KG = 1e-3


def front_turn(model: UrdfModel, part: Part) -> int:
    """Returns the number of quarter turns about z, 0 to 3, from +x of the root to the `base_front_axis` of a part."""
    axis = part.axis("base_front_axis")
    frame = {"link": part.link, "base": part.base}.get(axis.frame)
    front = axis.xyz if frame is None else model.link_pose(frame, {part.joint: part.openness.closed}).rotate(axis.xyz)
    if float(np.hypot(front[0], front[1])) < _LEVEL:
        return 0
    return round(float(np.arctan2(front[1], front[0])) / (np.pi / 2)) % 4


def facing_model(
    model: UrdfModel, articulation: Articulation, *, held: Mapping[str, float], turn: int
) -> tuple[UrdfModel, Articulation]:
    """Turns the front of an object to +x, and merges all links that no annotated joint moves.

    Args:
        model: The URDF in metres.
        articulation: Its annotation.
        held: Positions at which joints without an annotation are fixed, by name [rad or m].
        turn: Quarter turns from +x to the front, see `front_turn`.

    Returns:
        The object, and the annotation in the frames of its new links.
    """
    root = ROOT
    while root in model.links:
        root += "_"
    T_root_source = Pose(turn_to_x(turn), np.zeros(3))
    moving = {part.joint for part in articulation.parts.values()}
    joints = {
        name: joint
        if name in moving
        else replace(joint, kind="fixed", T_parent_joint=joint.child_pose(held.get(name, 0.0)))
        for name, joint in model.joints.items()
    }
    standing = "stands_on_" + root
    joints[standing] = Joint(standing, "fixed", root, model.root, T_root_source)
    # a gram: Bullet gives a link without inertial a kilogram, and warns
    body = Link(root, inertial=Inertial(_TOKEN_KG, np.zeros(3), np.eye(3) * 1e-7))
    turned = UrdfModel(model.name, {root: body, **model.links}, joints)
    links, kept = merge_fixed({name: ConvertedLink(link) for name, link in turned.links.items()}, joints, kept=set())
    facing = UrdfModel(model.name, {name: item.link for name, item in links.items()}, kept)
    return facing, _move_annotation(articulation, turned, T_root_source)


def closed_bounds(model: UrdfModel, articulation: Articulation) -> np.ndarray:
    """Returns (2, 3) corners of the object with its parts closed, root frame [m]."""
    points = shape_cloud(model, articulation.closed_positions())
    return np.stack([points.min(axis=0), points.max(axis=0)])


def _merged_owner(model: UrdfModel, link: str) -> str:
    """Returns the link that a link becomes part of when fixed joints are merged."""
    nearest = next((joint for joint in model.joints_above(link) if joint.moves), None)
    return model.root if nearest is None else nearest.child


def _to_owner(model: UrdfModel, link: str) -> tuple[str, Pose]:
    """Returns the link that a link becomes part of, and `T_owner_link`."""
    owner = _merged_owner(model, link)
    return owner, model.link_pose(owner).inverse() @ model.link_pose(link)


def _move_annotation(articulation: Articulation, turned: UrdfModel, T_root_source: Pose) -> Articulation:
    """Returns an annotation in the frames of the links that remain."""
    regions = None
    if articulation.regions is not None:
        regions = {}
        for name, region in articulation.regions.items():
            owner, T = _to_owner(turned, region.link)
            regions[name] = replace(region, link=owner, T_link_region=T @ region.T_link_region)
    handles = {}
    for name, handle in articulation.handles.items():
        owner, T = _to_owner(turned, handle.link)
        handles[name] = handle.moved(T, link=owner)
    return replace(
        articulation,
        parts={name: _move_part(part, turned, T_root_source) for name, part in articulation.parts.items()},
        keypoints={name: replace(v, xyz=T_root_source @ v.xyz) for name, v in articulation.keypoints.items()},
        regions=regions,
        handles=handles,
    )


def _move_part(part: Part, turned: UrdfModel, T_root_source: Pose) -> Part:
    link, T_link = _to_owner(turned, part.link)
    base, T_base = _to_owner(turned, part.base)
    frames = {"link": T_link, "base": T_base, "obj": T_root_source}
    handle = part.handle
    if handle.T_link_handle is not None:
        handle = Handle(handle.type, handle.size, T_link @ handle.T_link_handle)
    return replace(
        part,
        link=link,
        base=base,
        keypoints={name: FramedVector(v.frame, frames[v.frame] @ v.xyz) for name, v in part.keypoints.items()},
        axes={name: FramedVector(v.frame, frames[v.frame].rotate(v.xyz)) for name, v in part.axes.items()},
        handle=handle,
    )
