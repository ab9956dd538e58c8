"""A URDF whose lengths are other units, in metres; and which of rigidly joined links stands for a part."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unlatch.simcore.geometry import Pose
from unlatch.simcore.urdf.model import Joint, Link, Shape, UrdfModel


def scaled_model(model: UrdfModel, scale: float) -> UrdfModel:
    """The model with every length multiplied; masses and inertias are left out, since they mean other units.

    Args:
        model: The model.
        scale: Metres per unit.
    """
    if scale == 1.0:
        return model
    links = {
        name: Link(name, _shapes(link.visuals, scale), _shapes(link.collisions, scale))
        for name, link in model.links.items()
    }
    joints = {name: _joint(joint, scale) for name, joint in model.joints.items()}
    return UrdfModel(model.name, links, joints)


def scaled_pose(pose: Pose, scale: float) -> Pose:
    """The pose with its position multiplied."""
    return Pose(pose.R, pose.p * scale)


def shaped_link(model: UrdfModel, link: str) -> tuple[str, Pose]:
    """The link itself or, if it has no shapes, the first one with shapes that is fixed to it; and its frame in it."""
    if _has_shapes(model.links[link]):
        return link, Pose.identity()
    for joint in model.joints.values():
        if joint.parent == link and not joint.moves:
            found, pose = shaped_link(model, joint.child)
            if _has_shapes(model.links[found]):
                return found, joint.T_parent_joint @ pose
    return link, Pose.identity()


def shaped_base(model: UrdfModel, link: str) -> tuple[str, Pose]:
    """As `shaped_link`, for what a part moves against: links above that it is fixed to count as well."""
    found, pose = shaped_link(model, link)
    if _has_shapes(model.links[found]):
        return found, pose
    above = model.parent_joint(link)
    if above is not None and not above.moves:
        found, pose = shaped_base(model, above.parent)
        if _has_shapes(model.links[found]):
            return found, above.T_parent_joint.inverse() @ pose
    return link, Pose.identity()


def _has_shapes(link: Link) -> bool:
    return bool(link.visuals or link.collisions)


def _shapes(shapes: tuple[Shape, ...], scale: float) -> tuple[Shape, ...]:
    # of a mesh the size is its scale: either way every number of it is multiplied
    return tuple(
        replace(
            shape, size=tuple(float(v) * scale for v in shape.size), T_link_shape=scaled_pose(shape.T_link_shape, scale)
        )
        for shape in shapes
    )


def _joint(joint: Joint, scale: float) -> Joint:
    factor = scale if joint.kind == "prismatic" else 1.0
    return replace(
        joint,
        T_parent_joint=scaled_pose(joint.T_parent_joint, scale),
        axis=joint.axis / np.linalg.norm(joint.axis) if joint.moves else joint.axis,
        lower=joint.lower * factor,
        upper=joint.upper * factor,
    )
