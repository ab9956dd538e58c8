"""Converts tail and axes of a part between our convention and that of InternDataEngine, and checks its signs.

The conventions are in `unlatch.simcore.peer_axes`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unlatch.objects.annotation import FramedVector, Part, PartKind
from unlatch.simcore.geometry import unit
from unlatch.simcore.peer_axes import PeerAxes, find_peer_axes
from unlatch.simcore.urdf.model import UrdfModel

HEAD, TAIL, CONTACT = "articulated_object_head", "articulated_object_tail", "link0_contact_axis"
_SAME = 0.9
"""Two directions are the same from this cosine on."""
_RIGHT_ANGLE = 0.05
_SHORTEST_M = 1e-3


def part_peer_axes(part: Part, model: UrdfModel) -> PeerAxes | None:
    """Returns tail and axes of a part by the convention of InternDataEngine, in the frame of its link.

    None for a knob or a lever, which its public tools cannot annotate.

    Args:
        part: The part by our convention.
        model: Its URDF in metres.
    """
    joint = model.joints[part.joint]
    closed = {part.joint: part.openness.closed}
    T_root_link = model.link_pose(part.link, closed)
    T_link_child = T_root_link.inverse() @ model.link_pose(joint.child, closed)
    head = part.keypoint(HEAD).xyz
    return find_peer_axes(
        head=head,
        across=part.keypoint(TAIL).xyz - head,
        contact=part.axis(CONTACT).xyz,
        axis=T_link_child.rotate(unit(joint.axis)),
        origin=T_link_child.p,
        R_closed=np.eye(3),
        up=T_root_link.R.T @ np.array([0.0, 0.0, 1.0]),
        slides_by=part.openness.sign if part.kind is PartKind.slider else 0.0,
    )


def with_peer_tail(part: Part, theirs: PeerAxes | None, tail: np.ndarray, contact: np.ndarray) -> Part:
    """Returns a part with tail and contact axis of an `info.json`, converted to our convention.

    The part is unchanged if the two do not follow the convention of InternDataEngine, or if its fingers close in
    another direction than towards the hinge: head to tail is where our fingers close.

    Args:
        part: The part by our convention, with the head of the `info.json`.
        theirs: Its `part_peer_axes`.
        tail: (3,) the tail of the file, frame of the link [m].
        contact: (3,) unit contact axis of the file, frame of the link.
    """
    head = part.keypoint(HEAD).xyz
    along, ours = tail - head, part.keypoint(TAIL).xyz - head
    length = float(np.linalg.norm(along))
    if theirs is None or length < _SHORTEST_M or abs(float(along @ contact)) > _RIGHT_ANGLE * length:
        return part
    along = along / length
    if min(float(along @ theirs.tail), float(contact @ theirs.axes[CONTACT])) < _SAME:
        return part
    outward = np.cross(along, contact) * (-1.0 if theirs.is_mirrored else 1.0)
    is_flap = float(theirs.tail @ theirs.axes.get("link0_rot_axis", np.zeros(3))) > _SAME
    across = -contact if is_flap else -along
    if float(across @ unit(ours)) < _SAME:
        return part
    return replace(
        part,
        keypoints={**part.keypoints, TAIL: FramedVector.of("link", head + length * across)},
        axes={**part.axes, CONTACT: FramedVector.of("link", unit(np.cross(outward, across)))},
    )


def sign_problems(
    theirs: PeerAxes | None, *, along: np.ndarray | None, axes: dict[str, np.ndarray], names: dict[str, str]
) -> list[str]:
    """Returns what in an `info.json` breaks the convention of InternDataEngine, one line each; empty if nothing does.

    Args:
        theirs: The `part_peer_axes` of the part; None = nothing is checked.
        along: (3,) from head to tail in the file, frame of the link; None = it has none.
        axes: (3,) unit axes of the file by name, frame of the link.
        names: Their letters in the file, by name.
    """
    if theirs is None:
        return []
    problems = []
    if along is not None and float(np.linalg.norm(along)) >= _SHORTEST_M and unit(along) @ theirs.tail < _SAME:
        problems.append(
            f"head to tail points to {_format(unit(along))}, expected {_format(theirs.tail)} in the frame of the link: "
            "towards the hinge, or along it on a flap."
        )
    for name, wanted in theirs.axes.items():
        if name in axes and float(axes[name] @ wanted) < _SAME:
            problems.append(
                f"object_{name} is '{names[name]}', expected the direction {_format(wanted)} in the frame of the link."
            )
    return problems


def _format(vector: np.ndarray) -> str:
    return "[" + ", ".join(f"{value:.2f}" for value in vector + 0.0) + "]"
