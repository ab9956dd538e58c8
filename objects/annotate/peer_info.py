"""Reads keypoints that other projects set by hand: the `info.json` of GenSim2 and of InternDataEngine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

from unlatch.objects.annotate.geometry import ObjectGeometry
from unlatch.objects.annotate.source import SourceObject
from unlatch.objects.annotation import FramedVector, Part, PartKind
from unlatch.objects.mapping_reader import MappingReader
from unlatch.objects.scaled_model import scaled_pose
from unlatch.simcore.geometry import Pose, unit

_LETTERS = {
    f"{sign}{letter}": (-1.0 if sign else 1.0) * np.eye(3)[index]
    for sign in ("", "-")
    for index, letter in enumerate("xyz")
}
"""Axes by the letters in these files."""
_AXES = ("object_link0_rot_axis", "object_link0_move_axis", "object_link0_contact_axis", "object_base_front_axis")
_INDEX_KEYS = ("joint_index", "object_revolute_joint_idx")
_RIGHT_ANGLE = 0.05


class PeerForm(Enum):
    """The project that wrote the file."""

    gensim2 = "gensim2"
    intern_data_engine = "intern_data_engine"


@dataclass(frozen=True)
class PeerInfo:
    """Content of an `info.json` about one joint; positions in the units of the source."""

    form: PeerForm
    joint: str
    keypoints: dict[str, np.ndarray]
    """(3,) by name; in the frame of the joint's child link; names with `base` in that of the base."""
    axes: dict[str, np.ndarray]
    """(3,) unit vectors by name without `object_`; in the same frames."""


def read_peer_info(source: SourceObject) -> PeerInfo | None:
    """Reads the keypoints of an object's `info.json` in either form; returns None if it has none.

    Raises:
        AssetError: A value has the wrong type, or names a joint that is not there.
    """
    info = source.info
    if "object_keypoints" in info:
        return _read_intern_data_engine(source, info)
    if "keypoints" in info:
        return _read_gensim2(source, info)
    return None


def with_peer_info(part: Part, peer: PeerInfo, geometry: ObjectGeometry, scale: float) -> Part:
    """Returns a part in which values set by hand replace derived ones, if they fit our conventions.

    These are the head, the push point and the front axis; and the tail and the contact axis if both together fit.
    """
    if peer.joint != part.joint:
        return part
    keypoints, axes = dict(part.keypoints), dict(part.axes)
    T_link_child = _child_in_link(part, geometry, scale)
    head = peer.keypoints.get("articulated_object_head")
    if head is not None:
        old_head, old_tail = keypoints["articulated_object_head"].xyz, keypoints["articulated_object_tail"].xyz
        new_head = T_link_child @ (head * scale)
        keypoints["articulated_object_head"] = FramedVector.of("link", new_head)
        keypoints["articulated_object_tail"] = FramedVector.of("link", new_head + old_tail - old_head)
    push = peer.keypoints.get("link_contact_point")
    if push is not None:
        keypoints["link_contact_point"] = FramedVector.of("link", T_link_child @ (push * scale))
    front = peer.axes.get("base_front_axis")
    if front is not None:
        axes["base_front_axis"] = FramedVector.of("base", front)
    result = replace(part, keypoints=keypoints, axes=axes)
    return _with_tail(result, peer, T_link_child, scale)


def _with_tail(part: Part, peer: PeerInfo, T_link_child: Pose, scale: float) -> Part:
    """Takes over tail and contact axis if they are at right angles and point outwards as ours do."""
    tail, contact = peer.keypoints.get("articulated_object_tail"), peer.axes.get("link0_contact_axis")
    if tail is None or contact is None:
        return part
    head = part.keypoints["articulated_object_head"].xyz
    ours = part.keypoints["articulated_object_tail"].xyz - head
    outward = np.cross(ours, part.axes["link0_contact_axis"].xyz)
    new_tail = T_link_child @ (tail * scale)
    along = new_tail - head
    moving = part.axes["link0_move_axis" if part.kind is PartKind.slider else "link0_rot_axis"].xyz
    new_contact = T_link_child.rotate(contact)
    length = float(np.linalg.norm(along))
    if length < 1e-3:
        return part
    along = along / length
    fits = abs(float(along @ moving)) < _RIGHT_ANGLE and abs(float(along @ new_contact)) < _RIGHT_ANGLE
    if not fits or float(np.cross(along, new_contact) @ unit(outward)) < 0.5:
        return part
    keypoints = {**part.keypoints, "articulated_object_tail": FramedVector.of("link", new_tail)}
    return replace(
        part, keypoints=keypoints, axes={**part.axes, "link0_contact_axis": FramedVector.of("link", new_contact)}
    )


def _child_in_link(part: Part, geometry: ObjectGeometry, scale: float) -> Pose:
    """Returns the frame of the joint's child link in the link of the part, which may be fixed to it [m]."""
    model = geometry.model
    T_root_child, T_root_link = model.link_pose(model.joints[part.joint].child), model.link_pose(part.link)
    return scaled_pose(T_root_link.inverse() @ T_root_child, scale)


def _read_gensim2(source: SourceObject, info: Mapping[str, Any]) -> PeerInfo | None:
    reader = MappingReader(str(source.folder / "info.json"))
    joint = next((joint for joint in source.model.joints.values() if joint.moves), None)
    if joint is None:
        return None
    shapes = source.model.links[joint.child].collisions
    T_child_shape = shapes[0].T_link_shape if shapes else Pose.identity()
    keypoints = {
        name: point if "base" in name else T_child_shape @ point
        for name, point in _read_points(reader, info["keypoints"], "keypoints").items()
    }
    # its `axis` is the turning axis of the task, which the joint gives more exactly
    return PeerInfo(PeerForm.gensim2, joint.name, keypoints, {})


def _read_intern_data_engine(source: SourceObject, info: Mapping[str, Any]) -> PeerInfo | None:
    reader = MappingReader(str(source.folder / "info.json"))
    movable = [joint.name for joint in source.model.joints.values() if joint.moves]
    if not movable:
        return None
    index = next((info[key] for key in _INDEX_KEYS if key in info), 0)
    key = next((key for key in _INDEX_KEYS if key in info), _INDEX_KEYS[0])
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(movable):
        raise reader.fail(key, f"is {index!r}, expected 0 to {len(movable) - 1}: the URDF has {', '.join(movable)}.")
    axes = {}
    for name in _AXES:
        if name in info:
            letter = info[name]
            if not isinstance(letter, str) or letter not in _LETTERS:
                raise reader.fail(name, f"is {letter!r}, expected one of: {', '.join(_LETTERS)}.")
            axes[name.removeprefix("object_")] = _LETTERS[letter]
    return PeerInfo(
        PeerForm.intern_data_engine,
        movable[index],
        _read_points(reader, info["object_keypoints"], "object_keypoints"),
        axes,
    )


def _read_points(reader: MappingReader, raw: Any, key: str) -> dict[str, np.ndarray]:
    points = {}
    for name, value in reader.mapping(raw, key).items():
        # points may be homogeneous
        numbers = value[:3] if isinstance(value, list) and len(value) == 4 else value
        points[str(name)] = reader.vector(numbers, f"{key}.{name}")
    return points
