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

from unlatch.objects.annotation_entries import (
    ClosingForces,
    FixedHandle,
    FreedJoint,
    Region,
    readonly_vector,
    rounded,
    rounded_list,
)
from unlatch.objects.mechanisms import Mechanism
from unlatch.simcore.errors import AssetError, unknown_entry
from unlatch.simcore.geometry import Pose

Entry = TypeVar("Entry")

SCHEMA = 1
"""Version of the format."""

GRIP_MIN_M = 0.003
GRIP_MAX_M = 0.07
"""Thicknesses that a hand of 8 cm can hold."""
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

FREE_KEYPOINT_NAMES = ("bottom_center", "top_center")
"""The keypoints that every free object has, in its root frame: the middles of its underside and of its top as it stands
upright."""

FRAMES = ("link", "base", "obj")

SMALL_RANGE_M, SMALL_RANGE_RAD = 0.03, 0.3
"""A part with a smaller range, such as a button or a switch, moves little."""


UPRIGHT, UPWARDS = 0.8, 0.7
"""From these cosines to the vertical on, an axis counts as upright, and a direction as upwards or downwards."""


class PartKind(Enum):
    """How a part moves."""

    hinge_vertical = "hinge_vertical"
    hinge_horizontal = "hinge_horizontal"
    slider = "slider"
    knob = "knob"
    lever = "lever"
    lid = "lid"

    @classmethod
    def of_hinge(cls, axis: np.ndarray, outward: np.ndarray) -> PartKind:
        """Returns the kind of a panel by its unit axis (3,) and the direction (3,) in which it opens; z is up.

        A flap that covers from above is a lid; a flap in the front is a door with a horizontal hinge.
        """
        if abs(float(axis[2])) > UPRIGHT:
            return cls.hinge_vertical
        return cls.lid if abs(float(outward[2])) > UPWARDS else cls.hinge_horizontal

    @property
    def turns_in_hand(self) -> bool:
        """Whether a hand turns the part about its own axis: a knob, a wheel or a lever."""
        return self in (PartKind.knob, PartKind.lever)


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

    @property
    def span(self) -> float:
        """Distance from closed to fully open [rad or m]."""
        return abs(self.open - self.closed)

    @property
    def sign(self) -> float:
        """+1 if the joint's position grows as the part opens, else -1."""
        return 1.0 if self.open >= self.closed else -1.0

    def position(self, opening: float) -> float:
        """Returns the joint position at an opening, measured from closed [rad or m]."""
        return self.closed + self.sign * opening


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
    closing_forces: ClosingForces | None = None
    """Catch and gasket; None: the file states nothing, and loading the object adds values of its category."""

    @property
    def moves_little(self) -> bool:
        """Whether the range of the part is so small that a hand must meet it exactly."""
        return self.openness.span < (SMALL_RANGE_M if self.kind is PartKind.slider else SMALL_RANGE_RAD)

    @property
    def is_button(self) -> bool:
        """Whether a finger presses the part, a button or a switch: it moves little, and a hand cannot hold it."""
        return self.moves_little and self.handle.type is HandleType.none and not self.kind.turns_in_hand

    @property
    def peak_opening_force_n(self) -> float:
        """Largest force at the handle that catch and gasket put up against opening, without friction [N]."""
        return 0.0 if self.closing_forces is None else self.closing_forces.peak_opening_force_n

    @property
    def peak_closing_force_n(self) -> float:
        """Largest force at the handle that catch and gasket put up against closing, without friction [N]."""
        return 0.0 if self.closing_forces is None else self.closing_forces.peak_closing_force_n

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
    free: bool = False
    """Whether nothing holds the object: a hand can carry it away. Such an object needs no parts."""
    keypoints: dict[str, FramedVector] = field(default_factory=dict)
    """Points of the whole object, frame `obj`; a free object has at least `bottom_center` and `top_center`."""
    regions: dict[str, Region] | None = None
    """Places in or on the object where things may be put, by name; None: the file states none, and they are found from
    the geometry when they are needed."""
    mechanisms: dict[str, Mechanism] = field(default_factory=dict)
    """What couples, holds or pulls its joints, by name."""
    parts_collide: bool | None = None
    """Whether its parts touch each other and the body; None: they do if the object has mechanisms."""
    freed_joints: dict[str, FreedJoint] = field(default_factory=dict)
    """Joints that the URDF fixes and that move all the same, by name; empty once the URDF has them so."""
    extra: dict[str, Any] = field(default_factory=dict)
    """Further entries of the file; they are written back unchanged."""

    def closed_positions(self) -> dict[str, float]:
        """Returns the joint positions at which every part is closed, by joint name [rad or m]."""
        return {part.joint: part.openness.closed for part in self.parts.values()}

    @property
    def has_solid_parts(self) -> bool:
        """Whether its parts touch each other and the body."""
        return bool(self.mechanisms) if self.parts_collide is None else self.parts_collide

    def joint_ranges(self) -> dict[str, tuple[float, float]]:
        """Returns the closed and the fully open position of every part, by joint name [rad or m]."""
        return {part.joint: (part.openness.closed, part.openness.open) for part in self.parts.values()}

    @property
    def urdf_record(self) -> Mapping[str, Any]:
        """The entry `urdf` of the file: name and scale of the annotated URDF; empty if the file has no such entry."""
        entry = self.extra.get("urdf")
        return entry if isinstance(entry, Mapping) else {}

    @property
    def urdf_scale(self) -> float:
        """Metres per unit of the annotated URDF."""
        return float(self.urdf_record.get("scale", 1.0))

    @property
    def stated_scale(self) -> float | None:
        """The same; None: the file states none."""
        return self.urdf_scale if "scale" in self.urdf_record else None

    def is_about(self, urdf: str) -> bool:
        """Returns whether the object is in the URDF file `urdf`. An annotation that names no file fits any."""
        return not self.urdf_record or self.urdf_record.get("file") == urdf

    def part(self, name: str) -> Part:
        """Returns a part by name.

        Raises:
            AssetError: The object has no such part; the message lists those it has.
        """
        return _look_up(self.parts, name, what="part", owner=self.title)

    def keypoint(self, name: str) -> FramedVector:
        """Returns a keypoint of the whole object, by name.

        Raises:
            AssetError: The object has no such keypoint.
        """
        return _look_up(self.keypoints, name, what="keypoint", owner=self.title)

    @property
    def up_axis(self) -> np.ndarray:
        """(3,) unit direction that points up when a free object stands upright, root frame.

        Raises:
            AssetError: The keypoints do not say which direction that is.
        """
        bottom, top = (self.keypoint(name).xyz for name in FREE_KEYPOINT_NAMES)
        up: np.ndarray = (top - bottom) / np.linalg.norm(top - bottom)
        return up

    def fixed_handle(self, name: str) -> FixedHandle:
        """Returns a handle that does not move, by name.

        Raises:
            AssetError: The object has no such handle; the message lists those it has.
        """
        return _look_up(self.handles, name, what="handle", owner=self.title)

    @property
    def title(self) -> str:
        """Category and identifier, for messages; a generated object has only the number that its episode drew."""
        is_generated = self.source.get("dataset") == "procedural"
        return self.category if is_generated else f"{self.category} '{self.source.get('id', '?')}'"

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
        if self.free:
            data["free"] = True
        if self.keypoints:
            data["keypoints"] = _points_to_dict(self.keypoints)
        if self.regions is not None:
            data["regions"] = {name: region.to_dict() for name, region in self.regions.items()}
        if self.mechanisms:
            data["mechanisms"] = {name: mechanism.to_dict() for name, mechanism in self.mechanisms.items()}
        if self.parts_collide is not None:
            data["parts_collide"] = self.parts_collide
        if self.freed_joints:
            data["freed_joints"] = {name: joint.to_dict() for name, joint in self.freed_joints.items()}
        data.update(self.extra)
        return data

    def to_yaml(self) -> str:
        """Returns the text of `articulation.yaml`."""
        dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
        text: str = yaml.dump(self.to_dict(), Dumper=dumper, sort_keys=False, default_flow_style=None, width=120)
        return text


def write_articulation(articulation: Articulation, path: Path | str) -> Path:
    """Writes an annotation to a file, or to `articulation.yaml` in a folder, and returns its path."""
    file = Path(path)
    if file.is_dir():
        file = file / ANNOTATION_FILE
    file.write_text(articulation.to_yaml(), encoding="utf-8")
    return file


def _points_to_dict(points: Mapping[str, FramedVector]) -> dict[str, Any]:
    return {name: {"frame": point.frame, "xyz": rounded_list(point.xyz)} for name, point in points.items()}


def _rounded_quat(quat_xyzw: np.ndarray) -> list[float]:
    """Returns a quaternion (4,) as a file holds it; of the two with opposite signs, always the same one.

    The sign is chosen after rounding: in a half turn, w is 0 but for noise, and would decide otherwise when it is read.
    """
    x, y, z, w = rounded_list(quat_xyzw)
    sign = next((1.0 if value > 0.0 else -1.0 for value in (w, x, y, z) if value != 0.0), 1.0)
    return [sign * value + 0.0 for value in (x, y, z, w)]


def _part_to_dict(part: Part) -> dict[str, Any]:
    handle: dict[str, Any] = {"type": part.handle.type.name, "size": rounded_list(part.handle.size)}
    if part.handle.T_link_handle is not None:
        handle["T_link_handle"] = {
            "position": rounded_list(part.handle.T_link_handle.p),
            "quat_xyzw": _rounded_quat(part.handle.T_link_handle.quat_xyzw),
        }
    data: dict[str, Any] = {
        "joint": part.joint,
        "link": part.link,
        "base": part.base,
        "kind": part.kind.name,
        "keypoints": _points_to_dict(part.keypoints),
        "axes": {n: {"frame": v.frame, "xyz": rounded_list(v.xyz)} for n, v in part.axes.items()},
        "handle": handle,
        "openness": {"closed": rounded(part.openness.closed), "open": rounded(part.openness.open)},
    }
    if part.closing_forces is not None:
        data["closing_forces"] = part.closing_forces.to_dict()
    return data


def _look_up(entries: Mapping[str, Entry], name: str, *, what: str, owner: str) -> Entry:
    if name not in entries:
        raise unknown_entry(f"No {what} '{name}' in {owner}.", name, entries, error=AssetError, name=name)
    return entries[name]


SPOT = "link_contact_point"
"""Keypoint at which a part is pushed."""
