"""Links that no joint moves against each other."""

from __future__ import annotations

from dataclasses import replace

from unlatch.simcore.urdf.model import Shape, UrdfModel


def rigid_links(model: UrdfModel, link: str) -> list[str]:
    """The link and all that are fixed to it, directly or by others, in the order of the model."""
    found = {link}
    fixed = [joint for joint in model.joints.values() if not joint.moves]
    grown = True
    while grown:
        pairs = [{joint.parent, joint.child} for joint in fixed]
        more = set().union(*(pair for pair in pairs if pair & found)) - found if pairs else set()
        found |= more
        grown = bool(more)
    return [name for name in model.links if name in found]


def rigid_shapes(model: UrdfModel, link: str) -> list[Shape]:
    """What can be touched of a link and of those that are fixed to it (or seen, where nothing can)."""
    T_link_root = model.link_pose(link).inverse()
    shapes = []
    for name in rigid_links(model, link):
        entry = model.links[name]
        T_link_name = T_link_root @ model.link_pose(name)
        for shape in entry.collisions or entry.visuals:
            shapes.append(replace(shape, T_link_shape=T_link_name @ shape.T_link_shape))
    return shapes
