"""Makes one entry of the annotation: keypoints, axes, kind, handle and openness of a posed part."""

from __future__ import annotations

import numpy as np

from unlatch.objects.annotate.grip.push import body_point, push_point
from unlatch.objects.annotate.posing import PosedObject
from unlatch.objects.annotate.view import Grip, PartView, root_grip
from unlatch.objects.annotation import GRIP_MAX_M, FramedVector, Handle, Openness, Part, PartKind
from unlatch.simcore.geometry import Pose

TAIL_M = 0.05
"""Distance from head to tail."""


def annotated_part(
    posed: PosedObject,
    view: PartView,
    grip: Grip,
    *,
    name: str,
    link: str,
    base: str,
    T_root_link: Pose,
    T_root_base: Pose,
) -> Part:
    """Returns the entry of one part.

    `cross(tail - head, contact axis)` is the outward direction. Head to tail is the direction in which the fingers
    close. For a slider, it is at right angles to the motion. For a part that turns, it is at right angles to the axis
    of the joint, or along this axis if a bar runs across.

    Args:
        posed: The closed object, root frame.
        view: The part, work frame.
        grip: Where the hand holds the part, work frame.
        name: Name of the entry.
        link: Link of the part in the annotated URDF.
        base: Link that it moves against.
        T_root_link: Frame of `link` in the root frame.
        T_root_base: Frame of `base` in the root frame.
    """
    T_link_root, T_base_root = T_root_link.inverse(), T_root_base.inverse()
    held = root_grip(grip, posed.R_root_work)
    across = posed.R_root_work @ grip_across(view, grip)
    if posed.kind is PartKind.slider:
        moving = ("link0_move_axis", posed.axis * posed.opens)
    else:
        # Exactly at a right angle to the axis or along it: in the data set it is off by some hundredths.
        along = float(across @ posed.axis)
        across = posed.axis * np.sign(along) if abs(along) > 0.9 else across - posed.axis * along
        across /= np.linalg.norm(across)
        moving = ("link0_rot_axis", posed.axis)

    def point(p_root: np.ndarray) -> FramedVector:
        return FramedVector.of("link", T_link_root @ p_root)

    def direction(v_root: np.ndarray) -> FramedVector:
        return FramedVector.of("link", T_link_root.rotate(v_root / np.linalg.norm(v_root)))

    body = body_point(posed)
    return Part(
        name=name,
        joint=posed.joint.name,
        link=link,
        base=base,
        kind=posed.kind,
        keypoints={
            "articulated_object_head": point(held.centre),
            "articulated_object_tail": point(held.centre + TAIL_M * across),
            "link_contact_point": point(posed.R_root_work @ push_point(view, grip)),
            "base_contact_point": FramedVector.of("base", T_base_root @ (T_root_base.p if body is None else body)),
        },
        axes={
            moving[0]: direction(moving[1]),
            "link0_contact_axis": direction(np.cross(posed.outward, across)),
            "base_front_axis": FramedVector.of("base", T_base_root.rotate(np.array([1.0, 0.0, 0.0]))),
        },
        handle=Handle(grip.type, grip.size, T_link_root @ Pose(held.R_handle, held.centre)),
        openness=Openness(closed=posed.closed, open=posed.open),
    )


def grip_across(view: PartView, grip: Grip) -> np.ndarray:
    """Returns (3,) the direction from head to tail in the work frame.

    The fingers of a hand close along it. At the horizontal bar of a slider, it points down, so that move axis x contact
    axis points up. At a hinged part, it runs from the hinge to the free side; if a long bar runs that way, it runs
    along the hinge instead. It crosses the blade of a knob, and follows the motion of a lever.
    """
    if view.slides:
        y = grip.R_handle[:, 1]
        return y if abs(float(y[1])) > 0.5 else np.array([0.0, 0.0, -1.0])
    if view.kind in (PartKind.knob, PartKind.lever):
        return grip.R_handle[:, 1]
    away = 1.0 if grip.centre[1] > view.origin[1] else -1.0
    if abs(float(grip.R_handle[1, 2])) > 0.7 and grip.is_graspable and float(grip.size[2]) > GRIP_MAX_M:
        # A bar from the hinge to the free side is too long to be held by its ends: the fingers close along the hinge.
        return np.array([0.0, 0.0, -away])
    return np.array([0.0, away, 0.0])
