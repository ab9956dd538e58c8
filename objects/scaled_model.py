"""Scales a URDF."""

from __future__ import annotations

from dataclasses import replace

from unlatch.simcore.geometry import Pose
from unlatch.simcore.urdf.model import Inertial, Joint, Link, Shape, UrdfModel


def scaled_model(model: UrdfModel, factor: float) -> UrdfModel:
    """Returns a model with all lengths multiplied. Densities stay the same, so masses grow with the third power."""
    if factor == 1.0:
        return model
    links = {
        name: Link(
            name,
            tuple(_scaled_shape(shape, factor) for shape in link.visuals),
            tuple(_scaled_shape(shape, factor) for shape in link.collisions),
            _scaled_inertial(link.inertial, factor),
        )
        for name, link in model.links.items()
    }
    return UrdfModel(model.name, links, {name: _scaled_joint(joint, factor) for name, joint in model.joints.items()})


def scaled_pose(pose: Pose, factor: float) -> Pose:
    """Returns the pose with its position multiplied."""
    return Pose(pose.R, pose.p * factor)


def _scaled_shape(shape: Shape, factor: float) -> Shape:
    size = tuple(value * factor for value in shape.size)
    return replace(shape, size=size, T_link_shape=scaled_pose(shape.T_link_shape, factor))


def _scaled_inertial(inertial: Inertial | None, factor: float) -> Inertial | None:
    if inertial is None:
        return None
    return Inertial(inertial.mass_kg * factor**3, inertial.com_link * factor, inertial.inertia * factor**5)


def _scaled_joint(joint: Joint, factor: float) -> Joint:
    limits = factor if joint.kind == "prismatic" else 1.0
    return replace(
        joint,
        T_parent_joint=scaled_pose(joint.T_parent_joint, factor),
        lower=joint.lower * limits,
        upper=joint.upper * limits,
    )
