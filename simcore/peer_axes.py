"""The axes of a part in the convention of other software, whose keypoints and settings we read and write."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unlatch.simcore.geometry import Array, unit

_UPRIGHT = 0.7
"""An axis is upright, or a direction points down, from this cosine on."""


@dataclass(frozen=True)
class PeerAxes:
    """Directions of one part, all (3,) unit vectors in the frame of the arguments."""

    tail: Array
    """From the head to the tail."""
    axes: dict[str, Array]
    """`link0_contact_axis`, and `link0_rot_axis` or `link0_move_axis`."""
    is_mirrored: bool
    """Whether the cross product of head to tail and contact axis points into the part: upright hinges on the right."""


def find_peer_axes(
    *,
    head: Array,
    across: Array,
    contact: Array,
    axis: Array,
    origin: Array,
    R_closed: Array,
    up: Array,
    slides_by: float,
) -> PeerAxes | None:
    """Returns the directions of a part; None for a knob or lever, which the public tools there cannot annotate.

    Args:
        head: (3,) the head keypoint [m].
        across: (3,) from head to tail by our conventions [m].
        contact: (3,) contact axis by our conventions.
        axis: (3,) unit axis of the joint.
        origin: (3,) a point on that axis [m].
        R_closed: (3, 3) the turn that closes the part.
        up: (3,) the upward direction of the object.
        slides_by: +1 or -1 for a slider that opens with a growing or falling joint position; 0 for a hinge.
    """
    outward = np.cross(across, contact)
    if float(np.linalg.norm(outward)) < 1e-6:
        return None
    if slides_by != 0.0:
        axes = {"link0_contact_axis": -unit(contact), "link0_move_axis": -slides_by * axis}
        return PeerAxes(-unit(across), axes, is_mirrored=False)
    outward = unit(outward)
    # a part turns in its own plane, like a knob, if its outward direction is along the axis from this cosine on
    if abs(float(outward @ axis)) > 0.7:
        return None
    hinge = unit(np.cross(axis, outward))
    hinge = hinge if float(hinge @ (origin - head)) >= 0.0 else -hinge
    if abs(float(axis @ up)) > _UPRIGHT:
        down = -axis if float(axis @ up) > 0.0 else axis
        mirrored = float(np.cross(hinge, down) @ outward) < 0.0
        return PeerAxes(hinge, {"link0_contact_axis": down, "link0_rot_axis": -down}, is_mirrored=mirrored)
    if float(R_closed @ hinge @ up) < -_UPRIGHT:
        left = unit(np.cross(hinge, outward))
        return PeerAxes(left, {"link0_contact_axis": hinge, "link0_rot_axis": left}, is_mirrored=False)
    left = unit(np.cross(outward, hinge))
    return PeerAxes(hinge, {"link0_contact_axis": left, "link0_rot_axis": -left}, is_mirrored=False)
