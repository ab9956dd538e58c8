"""Links that no joint moves relative to each other."""

from __future__ import annotations

from dataclasses import replace

from unlatch.simcore.urdf.model import Shape, UrdfModel


def rigid_links(model: UrdfModel, link: str) -> list[str]:
    """Returns a link and all links fixed to it, directly or indirectly, in the order of the model."""
    found = {link}
    pairs = [{joint.parent, joint.child} for joint in model.joints.values() if not joint.moves]
    while more := set().union(*(pair for pair in pairs if pair & found)) - found:
        found |= more
    return [name for name in model.links if name in found]


def rigid_shapes(model: UrdfModel, link: str) -> list[Shape]:
    """Returns the colliders of a link and of the links fixed to it, or their visuals without colliders."""
    T_link_root = model.link_pose(link).inverse()
    shapes = []
    for name in rigid_links(model, link):
        entry = model.links[name]
        T_link_name = T_link_root @ model.link_pose(name)
        for shape in entry.collisions or entry.visuals:
            shapes.append(replace(shape, T_link_shape=T_link_name @ shape.T_link_shape))
    return shapes
