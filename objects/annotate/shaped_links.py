"""Finds the link with the shapes of a part among links that are fixed to each other."""

from __future__ import annotations

from unlatch.simcore.geometry import Pose
from unlatch.simcore.urdf.model import Link, UrdfModel


def shaped_link(model: UrdfModel, link: str) -> tuple[str, Pose]:
    """Returns the link or, if it has no shapes, the first one with shapes that is fixed to it; and its frame."""
    if _has_shapes(model.links[link]):
        return link, Pose.identity()
    for joint in model.joints.values():
        if joint.parent == link and not joint.moves:
            found, pose = shaped_link(model, joint.child)
            if _has_shapes(model.links[found]):
                return found, joint.T_parent_joint @ pose
    return link, Pose.identity()


def shaped_base(model: UrdfModel, link: str) -> tuple[str, Pose]:
    """Returns the same for the base of a part. A base without shapes may also be fixed to a parent that has some."""
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
