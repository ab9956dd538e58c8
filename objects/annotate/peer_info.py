"""Reads and writes the keypoints that other projects set by hand, in their convention of axes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.objects.annotate.source import ObjectGeometry, SourceObject, read_json, read_source
from unlatch.objects.annotation import FramedVector, Part, PartKind
from unlatch.objects.annotation_reader import MappingReader
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.turned_object import scaled_model
from unlatch.objects.validation import articulation_problems, raise_problems
from unlatch.simcore.errors import AssetError
from unlatch.simcore.geometry import Pose, unit
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


_LETTERS = {
    f"{sign}{letter}": (-1.0 if sign else 1.0) * np.eye(3)[index]
    for sign in ("", "-")
    for index, letter in enumerate("xyz")
}
"""Axes by the letters in these files."""
_AXES = ("object_link0_rot_axis", "object_link0_move_axis", "object_link0_contact_axis", "object_base_front_axis")
_JOINT_KEYS = ("object_revolute_joint_path", "object_joint_path")
_INDEX_KEYS = ("joint_index", "object_revolute_joint_idx")
_ALONG = 0.996
"""A letter names an axis within 5 degrees."""


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

    These are the head, the push point and the front axis; and the tail and the contact axis of InternDataEngine, with
    the signs that they have by our convention, if both follow its own.
    """
    if peer.joint != part.joint:
        return part
    peer = _in_link(peer, geometry.source.frames, geometry.model)
    return _take_over(part, peer, scaled_model(geometry.model, scale), scale)


def _in_link(peer: PeerInfo, frames: Mapping[str, np.ndarray], model: UrdfModel) -> PeerInfo:
    """Returns the content of an `info.json` in the frames of the links of a URDF made of a USD.

    Its file is about the prims: the frame of a link begins at its joint. Of another object, `frames` is empty.
    """
    joint = model.joints[peer.joint]
    affines = {True: frames.get(joint.parent), False: frames.get(joint.child)}

    def moved(name: str, vector: np.ndarray, *, is_point: bool) -> np.ndarray:
        affine = affines["base" in name]
        if affine is None:
            return vector
        return affine[:3, :3] @ vector + affine[:3, 3] if is_point else unit(affine[:3, :3] @ vector)

    return PeerInfo(
        peer.joint,
        {name: moved(name, point, is_point=True) for name, point in peer.keypoints.items()},
        {name: moved(name, axis, is_point=False) for name, axis in peer.axes.items()},
    )


def with_info_file(part: Part, asset: ObjectAsset, path: Path | str) -> Part:
    """Returns a part with the keypoints and axes of an `info.json` of InternDataEngine or GenSim2, by our convention.

    The front of the object stays: the object is turned by it already.

    Args:
        part: The part.
        asset: Its object.
        path: The file.

    Raises:
        AssetError: The file cannot be read, is about another joint, or does not fit the part.
    """
    where = str(path)
    info = read_json(Path(path))
    reader = MappingReader(info, where=where)
    if "object_keypoints" not in info:
        return _checked(
            _take_over(part, _gensim2_info(part, Path(path)), asset.model, asset.articulation.scale), asset, where
        )
    named = next((str(info[key]).split("/")[-1] for key in _JOINT_KEYS if key in info), part.joint)
    if named != part.joint and named in asset.model.joints:
        raise AssetError(
            f"{where} is about joint '{named}', part '{part.name}' moves by '{part.joint}'. Expected the same "
            "joint. Set `part` of the skill to the part of that joint, or name another file.",
            path=where,
        )
    axes = {name: axis for name, axis in _read_axes(reader).items() if not name.startswith("base")}
    peer = _in_link(
        PeerInfo(part.joint, _read_points(reader, "object_keypoints"), axes), asset.info_frames, asset.model
    )
    return _checked(_take_over(part, peer, asset.model, asset.articulation.scale), asset, where)


def _checked(part: Part, asset: ObjectAsset, where: str) -> Part:
    alone = replace(asset.articulation, parts={part.name: part})
    raise_problems(articulation_problems(alone, asset.model, size_m=float(np.max(asset.size_m))), where=where)
    return part


def _gensim2_info(part: Part, path: Path) -> PeerInfo:
    """Returns the keypoints of an `info.json` of GenSim2, which stands beside its URDF.

    Raises:
        AssetError: It has no keypoints, there is no URDF beside it, or it is about another joint.
    """
    found = read_peer_info(read_source(path.parent, packages=True)) if "keypoints" in read_json(path) else None
    if found is None:
        raise AssetError(
            f"{path} is no readable info.json of InternDataEngine or GenSim2: it has neither object_keypoints nor "
            "keypoints. Name another file.",
            path=str(path),
        )
    if found.joint != part.joint:
        raise AssetError(
            f"{path} is about joint '{found.joint}', part '{part.name}' moves by '{part.joint}'. Expected the same "
            "joint. Set `part` of the skill to the part of that joint, or name another file.",
            path=str(path),
        )
    return found


def find_info_part(asset: ObjectAsset, path: Path) -> str | None:
    """Returns the part that an `info.json` is about; None: none moves by its joint. GenSim2's is about the first.

    Raises:
        AssetError: The file cannot be read.
    """
    info, joints = read_json(path), asset.model.joints
    joint = next((name for key in _JOINT_KEYS if (name := str(info.get(key)).split("/")[-1]) in joints), None)
    if joint is None:
        movable = [name for name, each in joints.items() if each.moves]
        index = next((info[key] for key in _INDEX_KEYS if key in info), None if "object_keypoints" in info else 0)
        joint = movable[index] if isinstance(index, int) and 0 <= index < len(movable) else None
    return next((part.name for part in asset.articulation.parts.values() if part.joint == joint), None)


def _take_over(part: Part, peer: PeerInfo, metric: UrdfModel, scale: float) -> Part:
    keypoints, axes = dict(part.keypoints), dict(part.axes)
    T_link_child = _link_from_child(part, metric)
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
    tail, contact = peer.keypoints.get("articulated_object_tail"), peer.axes.get("link0_contact_axis")
    if tail is None or contact is None:
        return result
    theirs = part_peer_axes(result, metric)
    return with_peer_tail(result, theirs, T_link_child @ (tail * scale), T_link_child.rotate(contact))


def info_problems(part: Part, peer: PeerInfo, model: UrdfModel, scale: float) -> list[str]:
    """Returns what in an `info.json` of InternDataEngine breaks its own convention, one line each.

    Args:
        part: The part by our convention.
        peer: Content of the file.
        model: The URDF in metres.
        scale: Metres per unit of the source.
    """
    T_link_child = _link_from_child(part, model)
    points = [peer.keypoints.get(name) for name in ("articulated_object_head", "articulated_object_tail")]
    along = None if points[0] is None or points[1] is None else T_link_child.rotate((points[1] - points[0]) * scale)
    axes = {name: T_link_child.rotate(axis) for name, axis in peer.axes.items() if not name.startswith("base")}
    letters = {
        name: next(key for key, axis in _LETTERS.items() if np.array_equal(axis, peer.axes[name])) for name in axes
    }
    return sign_problems(part_peer_axes(part, model), along=along, axes=axes, names=letters)


def make_info(part: Part, model: UrdfModel, scale: float, *, instance: str) -> dict[str, Any]:
    """Returns the `info.json` of a part for InternDataEngine, with its signs.

    Args:
        part: The part by our convention.
        model: Its URDF in metres.
        scale: Metres per unit of the source.
        instance: Name of the object.

    Raises:
        AssetError: The part is a knob or lever, or its axes are not along those of its link: the file has letters.
    """
    theirs = part_peer_axes(part, model)
    if theirs is None:
        raise AssetError(
            f"part '{part.name}' is a {part.kind.value}. Expected a door, flap, lid or slider: InternDataEngine's "
            "files have no form for parts that turn in the hand. Name another part.",
            part=part.name,
        )
    T_child_link = _link_from_child(part, model).inverse()
    head = part.keypoint("articulated_object_head").xyz
    length = float(np.linalg.norm(part.keypoint("articulated_object_tail").xyz - head))
    points = {
        "articulated_object_head": T_child_link @ head,
        "articulated_object_tail": T_child_link @ (head + length * theirs.tail),
        "link_contact_point": T_child_link @ part.keypoint("link_contact_point").xyz,
        "base_contact_point": part.keypoint("base_contact_point").xyz,
    }
    axes = {f"object_{name}": _find_letter(T_child_link.rotate(axis), name) for name, axis in theirs.axes.items()}
    front = part.axis("base_front_axis")
    movable = [joint.name for joint in model.joints.values() if joint.moves]
    return {
        "object_keypoints": {name: [round(float(v), 9) for v in p / scale] for name, p in points.items()},
        "object_scale": [scale, scale, scale, 1.0],
        "object_name": instance,
        **axes,
        "object_base_front_axis": _find_letter(front.xyz, "base_front_axis"),
        "joint_index": movable.index(part.joint),
        # their tool puts the links of an asset below `instance`, and joints below the link that they move
        "object_prim_path": f"/{instance}",
        "object_link_path": f"/{instance}/instance/{part.link}",
        "object_base_path": f"/{instance}/instance/{part.base}",
        "object_revolute_joint_path": f"/{instance}/instance/{part.link}/{part.joint}",
    }


def _find_letter(axis: np.ndarray, name: str) -> str:
    letter = max(_LETTERS, key=lambda key: float(_LETTERS[key] @ axis))
    if float(_LETTERS[letter] @ axis) < _ALONG:
        raise AssetError(
            f"{name} is {np.round(axis, 3).tolist()} in its link, which no letter names. Expected an axis along x, y "
            "or z, as InternDataEngine's files state it. Turn the frame of the link in the URDF.",
            axis=name,
        )
    return letter


def _link_from_child(part: Part, model: UrdfModel) -> Pose:
    """Returns the frame of the joint's child in that of the annotated link, which may be fixed to it."""
    pose: Pose = model.link_pose(part.link).inverse() @ model.link_pose(model.joints[part.joint].child)
    return pose


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
    return PeerInfo(movable[index], _read_points(reader, "object_keypoints"), _read_axes(reader))


def _read_axes(reader: MappingReader) -> dict[str, np.ndarray]:
    axes = {}
    for name in _AXES:
        if name in reader.data:
            letter = reader.value(name)
            if not isinstance(letter, str) or letter not in _LETTERS:
                raise reader.fail(name, f"is {letter!r}, expected one of: {', '.join(_LETTERS)}.")
            axes[name.removeprefix("object_")] = _LETTERS[letter]
    return axes


def _read_points(reader: MappingReader, key: str) -> dict[str, np.ndarray]:
    values = reader.section(key).data
    # points may be homogeneous
    plain = {name: v[:3] if isinstance(v, list) and len(v) == 4 else v for name, v in values.items()}
    points = MappingReader(plain, where=reader.where, key=key)
    return {str(name): points.vector(name) for name in plain}
