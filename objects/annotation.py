"""The annotation of an articulated object: how its parts move, and where a robot acts on them.

The file `articulation.yaml` stands beside the URDF. Positions are metres after scaling; every vector names its frame:
`link` (the moving part's link), `base` (the link named as the part's base) or `obj` (the root link of the object).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import yaml
from numpy.typing import ArrayLike

from unlatch.objects.fixed_handle import FixedHandle
from unlatch.objects.mapping_reader import MappingReader, readonly_vector, rounded, rounded_list
from unlatch.simcore.errors import AssetError, close_matches
from unlatch.simcore.geometry import Pose

Entry = TypeVar("Entry")

SCHEMA = 1
"""Version of the format."""

ANNOTATION_FILE = "articulation.yaml"
"""Name of the annotation file in the folder of an object."""

MAX_ANNOTATION_BYTES = 1_000_000
"""An annotation file may have at most this many bytes."""

KEYPOINT_NAMES = (
    "articulated_object_head",
    "articulated_object_tail",
    "link_contact_point",
    "base_contact_point",
)
"""The keypoints that every part has."""

FRAMES = ("link", "base", "obj")

_UNIT_TOLERANCE = 1e-3


class PartKind(Enum):
    """How a part moves."""

    hinge_vertical = "hinge_vertical"
    hinge_horizontal = "hinge_horizontal"
    slider = "slider"
    knob = "knob"
    lever = "lever"
    lid = "lid"


class HandleType(Enum):
    """What a hand can hold on a part."""

    bar = "bar"
    edge = "edge"
    knob = "knob"
    none = "none"


@dataclass(frozen=True)
class FramedVector:
    """A position [m] or a direction, with its frame."""

    frame: str
    """`link`, `base` or `obj`."""
    xyz: np.ndarray
    """(3,) position [m] or unit direction."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "xyz", readonly_vector(self.xyz))

    @classmethod
    def of(cls, frame: str, xyz: ArrayLike) -> FramedVector:
        """Makes a vector from any sequence of three numbers."""
        return cls(frame=frame, xyz=np.asarray(xyz, dtype=float))


@dataclass(frozen=True)
class Handle:
    """What the fingers close on."""

    type: HandleType
    size: np.ndarray
    """(3,) extents [m] in the handle frame: depth away from the part (x), thickness across (y), length (z)."""
    T_link_handle: Pose | None = None
    """Handle frame in the part's link: origin at the centre of the graspable piece, x outwards, z along it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", readonly_vector(self.size))


@dataclass(frozen=True)
class Openness:
    """Joint positions of the closed and of the fully open part [rad or m]; `open` may be below `closed`."""

    closed: float
    open: float


@dataclass(frozen=True)
class Part:
    """One part that a robot can move."""

    name: str
    joint: str
    """URDF joint that moves the part."""
    link: str
    """URDF link of the part: the joint's child, or a link that is fixed to it."""
    base: str
    """URDF link that the part moves against; the frame of `base` vectors."""
    kind: PartKind
    keypoints: dict[str, FramedVector]
    axes: dict[str, FramedVector]
    handle: Handle
    openness: Openness

    def keypoint(self, name: str) -> FramedVector:
        """Returns a keypoint by name.

        Raises:
            AssetError: The part has no such keypoint.
        """
        return _look_up(self.keypoints, name, what="keypoint", owner=f"part '{self.name}'")

    def axis(self, name: str) -> FramedVector:
        """Returns an axis by name.

        Raises:
            AssetError: The part has no such axis.
        """
        return _look_up(self.axes, name, what="axis", owner=f"part '{self.name}'")


@dataclass(frozen=True)
class Articulation:
    """The whole annotation of one object."""

    category: str
    source: dict[str, str]
    """Where the object comes from: `dataset`, `id`, `licence`."""
    parts: dict[str, Part]
    scale: float = 1.0
    """Metres per unit of the source; all values here are in metres already."""
    schema: int = SCHEMA
    handles: dict[str, FixedHandle] = field(default_factory=dict)
    """Handles that do not move, by name; most objects have none."""
    extra: dict[str, Any] = field(default_factory=dict)
    """Further entries of the file; they are written back unchanged."""

    def closed_positions(self) -> dict[str, float]:
        """Returns the joint positions at which every part is closed, by joint name [rad or m]."""
        return {part.joint: part.openness.closed for part in self.parts.values()}

    def is_about(self, urdf: str) -> bool:
        """Returns whether the annotation is about the URDF file of this name; without a name it fits any."""
        said = self.extra.get("urdf")
        return not isinstance(said, Mapping) or said.get("file") == urdf

    def part(self, name: str) -> Part:
        """Returns a part by name.

        Raises:
            AssetError: The object has no such part; the message lists those it has.
        """
        return _look_up(self.parts, name, what="part", owner=self._title)

    def fixed_handle(self, name: str) -> FixedHandle:
        """Returns a handle that does not move, by name.

        Raises:
            AssetError: The object has no such handle; the message lists those it has.
        """
        return _look_up(self.handles, name, what="handle", owner=self._title)

    @property
    def _title(self) -> str:
        return f"{self.category} '{self.source.get('id', '?')}'"

    def to_dict(self) -> dict[str, Any]:
        """Returns the mapping for `articulation.yaml`; numbers are rounded to a nanometre."""
        data: dict[str, Any] = {
            "schema": self.schema,
            "category": self.category,
            "source": dict(self.source),
            "scale": rounded(self.scale),
            "parts": {name: _part_to_dict(part) for name, part in self.parts.items()},
        }
        if self.handles:
            data["handles"] = {name: handle.to_dict() for name, handle in self.handles.items()}
        data.update(self.extra)
        return data

    def to_yaml(self) -> str:
        """Returns the text of `articulation.yaml`."""
        dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
        text: str = yaml.dump(self.to_dict(), Dumper=dumper, sort_keys=False, default_flow_style=None, width=120)
        return text

    @classmethod
    def from_dict(cls, data: Any, *, where: str) -> Articulation:
        """Reads the mapping of an annotation file.

        Raises:
            AssetError: A key is missing or unknown, or a value has the wrong type.
        """
        reader = MappingReader(where)
        top = reader.mapping(data, "")
        schema = reader.integer(top, "schema")
        if schema != SCHEMA:
            raise AssetError(
                f"{where}: schema is {schema}, expected {SCHEMA}. Write the annotation again with this version.",
                path=where,
            )
        parts_raw = reader.mapping(reader.required(top, "parts", ""), "parts")
        if not parts_raw:
            raise AssetError(f"{where}: parts is empty. Name at least one part.", path=where)
        known = {"schema", "category", "source", "scale", "parts", "handles"}
        handles = reader.mapping(top.get("handles", {}), "handles")
        return cls(
            category=reader.text(top, "category", ""),
            source={str(k): str(v) for k, v in reader.mapping(top.get("source", {}), "source").items()},
            scale=reader.number(top.get("scale", 1.0), "scale"),
            parts={str(name): _part_from_dict(reader, str(name), raw) for name, raw in parts_raw.items()},
            schema=schema,
            handles={str(name): FixedHandle.from_dict(reader, raw, f"handles.{name}") for name, raw in handles.items()},
            extra={str(k): v for k, v in top.items() if k not in known},
        )

    @classmethod
    def from_yaml(cls, text: str, *, where: str) -> Articulation:
        """Reads the text of an annotation file.

        Raises:
            AssetError: It is no YAML or not of this format.
        """
        try:
            data = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        except yaml.YAMLError as exc:
            reason = " ".join(str(exc).split())
            raise AssetError(f"{where}: no readable YAML ({reason}). Correct the file.", path=where) from exc
        return cls.from_dict(data, where=where)


def read_articulation(path: Path | str) -> Articulation:
    """Reads an annotation file, or the `articulation.yaml` of a folder.

    Raises:
        AssetError: The file is missing, too large or not of this format.
    """
    file = Path(path)
    if file.is_dir():
        file = file / ANNOTATION_FILE
    try:
        size = file.stat().st_size
        if size > MAX_ANNOTATION_BYTES:
            raise AssetError(
                f"{file}: {size} bytes, at most {MAX_ANNOTATION_BYTES} are read. Is this an annotation?", path=str(file)
            )
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise AssetError(
            f"{file}: the annotation cannot be read ({exc}). Expected {ANNOTATION_FILE} beside the URDF.",
            path=str(file),
        ) from exc
    return Articulation.from_yaml(text, where=str(file))


def write_articulation(articulation: Articulation, path: Path | str) -> Path:
    """Writes an annotation to a file, or to `articulation.yaml` in a folder, and returns its path."""
    file = Path(path)
    if file.is_dir():
        file = file / ANNOTATION_FILE
    file.write_text(articulation.to_yaml(), encoding="utf-8")
    return file


def _part_from_dict(reader: MappingReader, name: str, raw: Any) -> Part:
    key = f"parts.{name}"
    data = reader.mapping(raw, key)
    known = {"joint", "link", "base", "kind", "keypoints", "axes", "handle", "openness"}
    for extra in data:
        if extra not in known:
            raise reader.fail(f"{key}.{extra}", f"is not a known key.{close_matches(str(extra), known)}")
    openness = reader.mapping(reader.required(data, "openness", key), f"{key}.openness")
    return Part(
        name=name,
        joint=reader.text(data, "joint", key),
        link=reader.text(data, "link", key),
        base=reader.text(data, "base", key),
        kind=reader.choice(reader.required(data, "kind", key), f"{key}.kind", PartKind),
        keypoints=_framed_vectors(reader, reader.required(data, "keypoints", key), f"{key}.keypoints", unit=False),
        axes=_framed_vectors(reader, reader.required(data, "axes", key), f"{key}.axes", unit=True),
        handle=_handle_from_dict(reader, data.get("handle", {"type": "none"}), f"{key}.handle"),
        openness=Openness(
            closed=reader.number(reader.required(openness, "closed", f"{key}.openness"), f"{key}.openness.closed"),
            open=reader.number(reader.required(openness, "open", f"{key}.openness"), f"{key}.openness.open"),
        ),
    )


def _framed_vectors(reader: MappingReader, raw: Any, key: str, *, unit: bool) -> dict[str, FramedVector]:
    result: dict[str, FramedVector] = {}
    for name, entry in reader.mapping(raw, key).items():
        full = f"{key}.{name}"
        data = reader.mapping(entry, full)
        frame = reader.text(data, "frame", full)
        if frame not in FRAMES:
            raise reader.fail(f"{full}.frame", f"is '{frame}', expected one of: {', '.join(FRAMES)}.")
        xyz = reader.vector(reader.required(data, "xyz", full), f"{full}.xyz")
        length = float(np.linalg.norm(xyz))
        if unit and abs(length - 1.0) > _UNIT_TOLERANCE:
            raise reader.fail(f"{full}.xyz", f"has length {length:.4f}, expected a unit vector.")
        result[str(name)] = FramedVector(frame=frame, xyz=xyz / length if unit else xyz)
    return result


def _handle_from_dict(reader: MappingReader, raw: Any, key: str) -> Handle:
    data = reader.mapping(raw, key)
    kind = reader.choice(reader.required(data, "type", key), f"{key}.type", HandleType)
    size = reader.vector(data["size"], f"{key}.size") if "size" in data else np.zeros(3)
    if np.any(size < 0):
        raise reader.fail(f"{key}.size", f"has a negative extent: {size.tolist()}.")
    pose: Pose | None = None
    if data.get("T_link_handle") is not None:
        full = f"{key}.T_link_handle"
        entry = reader.mapping(data["T_link_handle"], full)
        quat_xyzw = reader.vector(reader.required(entry, "quat_xyzw", full), f"{full}.quat_xyzw", length=4)
        if abs(float(np.linalg.norm(quat_xyzw)) - 1.0) > _UNIT_TOLERANCE:
            raise reader.fail(f"{full}.quat_xyzw", f"is not a unit quaternion: {quat_xyzw.tolist()}.")
        pose = Pose.from_quat_xyzw(
            reader.vector(reader.required(entry, "position", full), f"{full}.position"),
            quat_xyzw / np.linalg.norm(quat_xyzw),
        )
    return Handle(type=kind, size=size, T_link_handle=pose)


def _part_to_dict(part: Part) -> dict[str, Any]:
    handle: dict[str, Any] = {"type": part.handle.type.name, "size": rounded_list(part.handle.size)}
    if part.handle.T_link_handle is not None:
        handle["T_link_handle"] = {
            "position": rounded_list(part.handle.T_link_handle.p),
            "quat_xyzw": rounded_list(part.handle.T_link_handle.quat_xyzw),
        }
    return {
        "joint": part.joint,
        "link": part.link,
        "base": part.base,
        "kind": part.kind.name,
        "keypoints": {n: {"frame": v.frame, "xyz": rounded_list(v.xyz)} for n, v in part.keypoints.items()},
        "axes": {n: {"frame": v.frame, "xyz": rounded_list(v.xyz)} for n, v in part.axes.items()},
        "handle": handle,
        "openness": {"closed": rounded(part.openness.closed), "open": rounded(part.openness.open)},
    }


def _look_up(entries: Mapping[str, Entry], name: str, *, what: str, owner: str) -> Entry:
    if name not in entries:
        raise AssetError(
            f"No {what} '{name}' in {owner}.{close_matches(name, entries)} Known: {', '.join(entries)}.",
            name=name,
            available=list(entries),
        )
    return entries[name]
