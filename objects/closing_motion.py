"""Brings the closing forces of a part from its handle to its joint."""

from __future__ import annotations

import numpy as np

from unlatch.objects.annotation import Part, PartKind
from unlatch.simcore.urdf.model import UrdfModel

Array = np.ndarray

_SLACK = 1e-4
"""A part closes at a stop if `closed` is this close to the limit of its joint [rad or m]."""
LEAST_LEVER_M = 0.02
"""Least distance of a handle from the hinge for a force on it to open the part [m]."""


def lever_m(model: UrdfModel, part: Part, point: Array) -> float:
    """Returns how far a point (3,) of the part's link moves per unit of the joint.

    It is its distance from the hinge [m/rad]; 1 for a slider.
    """
    if part.kind is PartKind.slider:
        return 1.0
    joint = model.joints[part.joint]
    p = model.link_pose(joint.child).inverse() @ model.link_pose(part.link) @ point
    return float(np.linalg.norm(np.cross(joint.axis / np.linalg.norm(joint.axis), p)))


def opening_direction(model: UrdfModel, part: Part, point: Array) -> Array:
    """Returns the (3,) unit direction in which a point (3,) of the part moves as it opens, frame of the link."""
    joint = model.joints[part.joint]
    T_link_child = model.link_pose(part.link).inverse() @ model.link_pose(joint.child)
    axis = T_link_child.rotate(joint.axis / np.linalg.norm(joint.axis)) * part.openness.sign
    if part.kind is PartKind.slider:
        return axis
    moved = np.cross(axis, point - T_link_child.p)
    return moved / max(float(np.linalg.norm(moved)), 1e-12)


def handle_lever_m(part: Part, model: UrdfModel) -> float:
    """Returns how far the handle moves per unit of the joint, see `lever_m`."""
    return lever_m(model, part, part.keypoint("articulated_object_head").xyz)


def can_hold_closed(part: Part, model: UrdfModel) -> bool:
    """Returns whether a catch or gasket can hold a part: a limit of its joint stops it, and its handle has a lever."""
    joint = model.joints[part.joint]
    limit = joint.lower if part.openness.sign > 0.0 else joint.upper
    stops = joint.kind != "continuous" and abs(part.openness.closed - limit) <= _SLACK
    return stops and handle_lever_m(part, model) >= LEAST_LEVER_M


def closing_reach(part: Part, model: UrdfModel) -> float:
    """Returns the opening within which catch or gasket act on a part [rad or m]; 0 without them."""
    reach_m = 0.0 if part.closing_forces is None else part.closing_forces.reach_m
    return reach_m / handle_lever_m(part, model) if reach_m else 0.0
