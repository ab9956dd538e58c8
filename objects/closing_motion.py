"""Brings the closing forces of a part from its handle to its joint."""

from __future__ import annotations

import numpy as np

from unlatch.objects.annotation import Part, PartKind
from unlatch.simcore.urdf.model import UrdfModel

_SLACK = 1e-4
"""A part closes at a stop if `closed` is this close to the limit of its joint [rad or m]."""
_LEAST_LEVER_M = 0.02
"""Least distance of a handle from the hinge for a force on it to open the part [m]."""


def handle_lever_m(part: Part, model: UrdfModel) -> float:
    """Returns the way of the handle per unit of the joint: its distance from the hinge [m/rad]; 1 for a slider."""
    if part.kind is PartKind.slider:
        return 1.0
    joint = model.joints[part.joint]
    T_child_link = model.link_pose(joint.child).inverse() @ model.link_pose(part.link)
    head = T_child_link @ part.keypoint("articulated_object_head").xyz  # the child's origin lies on the axis
    return float(np.linalg.norm(np.cross(joint.axis / np.linalg.norm(joint.axis), head)))


def can_hold_closed(part: Part, model: UrdfModel) -> bool:
    """Returns whether a catch or gasket can hold a part: a limit of its joint stops it, and its handle has a lever."""
    joint = model.joints[part.joint]
    limit = joint.lower if part.openness.sign > 0.0 else joint.upper
    stops = joint.kind != "continuous" and abs(part.openness.closed - limit) <= _SLACK
    return stops and handle_lever_m(part, model) >= _LEAST_LEVER_M


def closing_reach(part: Part, model: UrdfModel) -> float:
    """Returns the opening within which catch or gasket act on a part [rad or m]; 0 without them."""
    reach_m = 0.0 if part.closing_forces is None else part.closing_forces.reach_m
    return reach_m / handle_lever_m(part, model) if reach_m else 0.0
