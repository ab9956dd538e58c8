"""How the lid of an object that nothing fastens is led, so that the object stays where it is."""

from __future__ import annotations

import numpy as np

from unlatch.objects.annotation import Part, PartKind
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.simcore.geometry import Pose, unit

_AHEAD_M, _ABOVE_M = 0.003, 0.010
"""Place of the axis about which a lid is led, in front of its hinge and above it: our own choice. At 2 cm above, the
box slides by 2 cm."""
_LEVEL = 0.7
"""Least sine of the angle between the hinge and the vertical at which the lid opens upwards."""


def pull_offset(asset: ObjectAsset, part: Part, T_world_root: Pose) -> np.ndarray:
    """Returns (3,) how far from its hinge lies the axis about which a hand leads a lid, world [m]; 0 for other parts.

    The friction of its hinge would raise the box with the lid. The lid is led about an axis a little above the hinge
    and in front of it. So it draws the box towards its front by up to 1 cm, and friction on the ground, which acts
    backwards, keeps the front down.
    """
    if part.kind is not PartKind.lid:
        return np.zeros(3)
    T_root_link = asset.model.link_pose(part.link, asset.articulation.closed_positions())
    up = T_world_root.R[2]  # in the root frame
    across = np.cross(up, T_root_link.rotate(np.array(asset.model.joints[part.joint].axis)))
    if np.linalg.norm(across) < _LEVEL:  # the box has toppled
        return np.zeros(3)
    along = unit(across)
    ahead = along * np.sign(along @ T_root_link.rotate(part.keypoint("articulated_object_head").xyz))
    return T_world_root.rotate(_AHEAD_M * ahead + _ABOVE_M * up)
