"""Reads keypoints that other projects set by hand: the `info.json` of GenSim2 and of InternDataEngine."""

from __future__ import annotations

from dataclasses import dataclass, replace

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


@dataclass(frozen=True)
class PeerInfo:
    """Content of an `info.json` about one joint; positions in the units of the source."""

    joint: str
    keypoints: dict[str, np.ndarray]
    """(3,) points by name, in the frame of the joint's child link. If the name contains `base`, the frame is that of
    the base link."""
    axes: dict[str, np.ndarray]
    """(3,) unit vectors by name without `object_`, in the same frames."""


def read_peer_info(source: SourceObject) -> PeerInfo | None:
    """Reads the keypoints of an object's `info.json` in either form; returns None if it has none.

    Raises:
        AssetError: A value has the wrong type, or names a joint that is not there.
    """
    reader = MappingReader(source.info, where=str(source.file.with_name("info.json")))
    if "object_keypoints" in source.info:
        return _read_intern_data_engine(source, reader)
    if "keypoints" in source.info:
        return _read_gensim2(source, reader)
    return None


def with_peer_info(part: Part, peer: PeerInfo, geometry: ObjectGeometry, scale: float) -> Part:
    """Returns a part in which values set by hand replace derived ones, if they fit our conventions.

    These are the head, the push point and the front axis; and the tail and the contact axis if both together fit.
    """
    if peer.joint != part.joint:
        return part
    keypoints, axes = dict(part.keypoints), dict(part.axes)
    model = geometry.model
    # the annotated link may be another link, fixed to the joint's child
    T_root_child, T_root_link = model.link_pose(model.joints[part.joint].child), model.link_pose(part.link)
    T_link_child = scaled_pose(T_root_link.inverse() @ T_root_child, scale)
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


def _read_gensim2(source: SourceObject, reader: MappingReader) -> PeerInfo | None:
    joint = next((joint for joint in source.model.joints.values() if joint.moves), None)
    if joint is None:
        return None
    shapes = source.model.links[joint.child].collisions
    T_child_shape = shapes[0].T_link_shape if shapes else Pose.identity()
    keypoints = {
        name: point if "base" in name else T_child_shape @ point
        for name, point in _read_points(reader, "keypoints").items()
    }
    # its `axis` is the turning axis of the task, which the joint gives more exactly
    return PeerInfo(joint.name, keypoints, {})


def _read_intern_data_engine(source: SourceObject, reader: MappingReader) -> PeerInfo | None:
    movable = [joint.name for joint in source.model.joints.values() if joint.moves]
    if not movable:
        return None
    key = next((key for key in _INDEX_KEYS if key in reader.data), _INDEX_KEYS[0])
    index = reader.value(key, 0)
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(movable):
        raise reader.fail(key, f"is {index!r}, expected 0 to {len(movable) - 1}: the URDF has {', '.join(movable)}.")
    axes = {}
    for name in _AXES:
        if name in reader.data:
            letter = reader.value(name)
            if not isinstance(letter, str) or letter not in _LETTERS:
                raise reader.fail(name, f"is {letter!r}, expected one of: {', '.join(_LETTERS)}.")
            axes[name.removeprefix("object_")] = _LETTERS[letter]
    return PeerInfo(movable[index], _read_points(reader, "object_keypoints"), axes)


def _read_points(reader: MappingReader, key: str) -> dict[str, np.ndarray]:
    values = reader.section(key).data
    # points may be homogeneous
    plain = {name: v[:3] if isinstance(v, list) and len(v) == 4 else v for name, v in values.items()}
    points = MappingReader(plain, where=reader.where, key=key)
    return {str(name): points.vector(name) for name in plain}
