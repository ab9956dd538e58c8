"""Reads an annotation file. Every error names the file and the full key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING
from enum import Enum
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import yaml

from unlatch.objects.annotation import (
    ANNOTATION_FILE,
    FRAMES,
    MAX_ANNOTATION_BYTES,
    SCHEMA,
    Articulation,
    FramedVector,
    Handle,
    HandleType,
    Openness,
    Part,
    PartKind,
)
from unlatch.objects.annotation_entries import (
    UNIT_TOLERANCE,
    Catch,
    ClosingForces,
    FixedHandle,
    FreedJoint,
    Gasket,
    Region,
    RegionKind,
    RegionOpening,
)
from unlatch.objects.mechanisms import KINDS, Mechanism, ordered_fields
from unlatch.simcore.errors import AssetError, ConfigError, close_matches, describe_choices, shorten
from unlatch.simcore.files import read_text
from unlatch.simcore.geometry import Pose
from unlatch.simcore.state import KEY_WORD

_REQUIRED = object()


class MappingReader:
    """Reads values from one untrusted mapping; every error names the file and the full key.

    Each method takes the name of a key. A key without a default is required.
    """

    def __init__(self, data: Any, *, where: str, key: str = "") -> None:
        """Takes a mapping of the file `where`; `key` is the full key of the mapping, empty for the whole file.

        Raises:
            AssetError: `data` is not a mapping.
        """
        self.where = where
        self._key = key
        if not isinstance(data, Mapping):
            raise self._make_error(key, f"must be a mapping, got {shorten(repr(data), 60)}.")
        self.data: Mapping[str, Any] = data

    def fail(self, name: str, problem: str) -> AssetError:
        """Returns the error for a key of the mapping."""
        return self._make_error(self._full_key(name), problem)

    def value(self, name: str, default: Any = _REQUIRED) -> Any:
        """Returns the unchecked value of a key.

        Raises:
            AssetError: The key is missing, and there is no default.
        """
        value = self.data.get(name, default)
        if value is _REQUIRED:
            raise self.fail(name, "is missing.")
        return value

    def section(self, name: str, default: Any = _REQUIRED) -> MappingReader:
        """Returns a reader of the mapping at a key."""
        return MappingReader(self.value(name, default), where=self.where, key=self._full_key(name))

    def sections(self, name: str, default: Any = _REQUIRED) -> dict[str, MappingReader]:
        """Returns readers of the mappings in the mapping at a key, by name."""
        outer = self.section(name, default)
        return {str(inner): outer.section(inner) for inner in outer.data}

    def text(self, name: str) -> str:
        """Returns a text that is not empty."""
        value = self.value(name)
        if not isinstance(value, str) or not value:
            raise self._type_error(name, "a name", value)
        return value

    def integer(self, name: str) -> int:
        """Returns a whole number."""
        value = self.value(name)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._type_error(name, "a whole number", value)
        return value

    def number(self, name: str, default: Any = _REQUIRED) -> float:
        """Returns a finite number."""
        return self._check_number(self.value(name, default), name)

    def boolean(self, name: str, default: Any = _REQUIRED) -> bool:
        """Returns true or false."""
        value = self.value(name, default)
        if not isinstance(value, bool):
            raise self._type_error(name, "true or false", value)
        return value

    def vector(self, name: str, *, length: int = 3) -> np.ndarray:
        """Returns (length,) finite numbers."""
        value = self.value(name)
        if not isinstance(value, (list, tuple)) or len(value) != length:
            raise self._type_error(name, f"a list of {length} numbers", value)
        return np.array([self._check_number(v, f"{name}[{i}]") for i, v in enumerate(value)])

    def direction(self, name: str) -> np.ndarray:
        """Returns (3,) numbers whose length is 1 within `UNIT_TOLERANCE`, as the file states them."""
        vector = self.vector(name)
        length = float(np.linalg.norm(vector))
        if abs(length - 1.0) > UNIT_TOLERANCE:
            raise self.fail(name, f"has length {length:.4f}, expected a unit vector.")
        return vector

    def pose(self, name: str) -> Pose:
        """Returns the pose in the mapping at a key: a `position` [m] and a unit quaternion `quat_xyzw`.

        Raises:
            AssetError: A value is missing or of another kind, or the quaternion has another length than 1.
        """
        section = self.section(name)
        quat_xyzw = section.vector("quat_xyzw", length=4)
        length = float(np.linalg.norm(quat_xyzw))
        if abs(length - 1.0) > UNIT_TOLERANCE:
            raise section.fail("quat_xyzw", f"is not a unit quaternion: {quat_xyzw.tolist()}.")
        return Pose.from_quat_xyzw(section.vector("position"), quat_xyzw / length)

    def items(self, name: str, read: Callable[[MappingReader, str], Any]) -> tuple[Any, ...]:
        """Returns the items of a list, each read by a method of this class, such as `MappingReader.text`."""
        value = self.value(name)
        if not isinstance(value, (list, tuple)):
            raise self._type_error(name, "a list", value)
        inner = MappingReader({f"{name}[{i}]": item for i, item in enumerate(value)}, where=self.where, key=self._key)
        return tuple(read(inner, key) for key in inner.data)

    def choice(self, name: str, kind: type[Enum]) -> Any:
        """Returns the enumeration member that a value names.

        Raises:
            AssetError: The value names none.
        """
        value = self.value(name)
        names = [member.name for member in kind]
        if value not in names:
            raise self.fail(name, f"is '{value}', expected one of: {', '.join(names)}.")
        return kind[str(value)]

    def _check_number(self, value: Any, name: str) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
            raise self._type_error(name, "a finite number", value)
        return float(value)

    def _type_error(self, name: str, expected: str, value: Any) -> AssetError:
        return self.fail(name, f"must be {expected}, got {shorten(repr(value), 60)}.")

    def _full_key(self, name: str) -> str:
        return f"{self._key}.{name}" if self._key and name else name or self._key

    def _make_error(self, key: str, problem: str) -> AssetError:
        return AssetError(f"{self.where}: {key or 'the file'} {problem}", path=self.where, key=key)


def read_closing_forces(part: MappingReader) -> ClosingForces:
    """Reads the entry `closing_forces` of a part, from the reader of the part.

    Raises:
        AssetError: A key is missing or unknown, or a value cannot be.
    """
    reader = part.section("closing_forces")
    _refuse_unknown(reader, ("catch", "gasket"))
    try:
        return ClosingForces(
            catch=_read_catch(reader.section("catch")) if "catch" in reader.data else None,
            gasket=_read_gasket(reader.section("gasket")) if "gasket" in reader.data else None,
        )
    except AssetError as exc:
        if hasattr(exc, "path"):
            raise  # the reader's own, which names the file
        raise part.fail("closing_forces", f"is not possible: {exc.message}") from exc


def _read_catch(reader: MappingReader) -> Catch:
    _refuse_unknown(reader, ("leave_n", "enter_n", "reach_m"))
    return Catch(reader.number("leave_n"), reader.number("reach_m"), reader.number("enter_n", 0.0))


def _read_gasket(reader: MappingReader) -> Gasket:
    _refuse_unknown(reader, ("pull_n", "reach_m"))
    return Gasket(reader.number("pull_n"), reader.number("reach_m"))


def _refuse_unknown(reader: MappingReader, known: tuple[str, ...]) -> None:
    for key in reader.data:
        if key not in known:
            raise reader.fail(str(key), f"is not a known key.{describe_choices(str(key), known)}")


def read_region(reader: MappingReader) -> Region:
    """Reads the mapping of a region.

    Raises:
        AssetError: A key is missing, or a value has the wrong type.
    """
    size, T_link_region = reader.vector("size"), reader.pose("T_link_region")
    if np.any(size <= 0.0):
        raise reader.fail("size", f"is {size.tolist()}, expected three extents above 0.")
    return Region(
        kind=reader.choice("kind", RegionKind),
        link=reader.text("link"),
        T_link_region=T_link_region,
        size=size,
        opening=reader.choice("opening", RegionOpening),
        part=reader.text("part") if reader.value("part", None) is not None else None,
    )


def read_fixed_handle(reader: MappingReader) -> FixedHandle:
    """Reads the mapping of a handle.

    Raises:
        AssetError: A key is missing, or a value has the wrong type.
    """
    thickness_m = reader.number("thickness_m")
    if thickness_m <= 0.0:
        raise reader.fail("thickness_m", f"is {thickness_m}, expected a value above 0.")
    return FixedHandle(
        link=reader.text("link"),
        middle=reader.vector("middle"),
        along=reader.direction("along"),
        out=reader.direction("out"),
        thickness_m=thickness_m,
    )


def read_mechanism(reader: MappingReader) -> Mechanism:
    """Reads the mapping of a mechanism.

    Raises:
        AssetError: The kind or a key is unknown, a key is missing, or a value cannot be.
    """
    kind = reader.text("kind")
    if kind not in KINDS:
        raise reader.fail("kind", f"is '{kind}', expected one of: {', '.join(KINDS)}.{close_matches(kind, KINDS)}")
    cls = KINDS[kind]
    _refuse_unknown(reader, ("kind", *(field.name for field in ordered_fields(cls))))
    hints, values = get_type_hints(cls), {}
    for field in ordered_fields(cls):
        if field.name in reader.data or field.default is MISSING:
            values[field.name] = _MECHANISM_VALUES[hints[field.name]](reader, field.name)
    try:
        return cls(**values)
    except (AssetError, ConfigError) as exc:
        raise reader.fail("", f"is not possible: {exc.message}") from exc


_MECHANISM_VALUES: dict[Any, Callable[[MappingReader, str], Any]] = {
    str: MappingReader.text,
    str | None: MappingReader.text,
    float: MappingReader.number,
    bool: MappingReader.boolean,
    tuple[str, ...]: lambda reader, name: reader.items(name, MappingReader.text),
    tuple[float, ...]: lambda reader, name: reader.items(name, MappingReader.number),
}
"""How a field of a mechanism is read, by its type."""


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
        text = read_text(file)
    except ConfigError as exc:
        raise AssetError(exc.message, path=str(file)) from exc
    except OSError as exc:
        raise AssetError(
            f"{file}: the annotation cannot be read ({exc}). Expected {ANNOTATION_FILE} beside the URDF.",
            path=str(file),
        ) from exc
    return articulation_from_yaml(text, where=str(file))


def _read_freed_joint(reader: MappingReader) -> FreedJoint:
    _refuse_unknown(reader, ("kind", "lower", "upper"))
    kind, lower, upper = reader.text("kind"), reader.number("lower"), reader.number("upper")
    if kind not in FREED_KINDS:
        raise reader.fail(
            "kind", f"is '{kind}', expected {' or '.join(FREED_KINDS)}.{close_matches(kind, FREED_KINDS)}"
        )
    if not lower < upper:
        raise reader.fail("lower", f"is {lower:g} and upper {upper:g}, expected the lower limit first. Exchange them.")
    return FreedJoint(kind, lower, upper)


FREED_KINDS = ("revolute", "prismatic")
"""How a freed joint may move."""


def _read_part(name: str, reader: MappingReader) -> Part:
    _refuse_unknown(
        reader, ("joint", "link", "base", "kind", "keypoints", "axes", "handle", "openness", "closing_forces")
    )
    openness = reader.section("openness")
    return Part(
        name=name,
        joint=reader.text("joint"),
        link=reader.text("link"),
        base=reader.text("base"),
        kind=reader.choice("kind", PartKind),
        keypoints=_read_points(reader.sections("keypoints")),
        axes={n: FramedVector(_read_frame(v), _read_axis(v)) for n, v in reader.sections("axes").items()},
        handle=_read_handle(reader.section("handle", {"type": "none"})),
        openness=Openness(closed=openness.number("closed"), open=openness.number("open")),
        closing_forces=read_closing_forces(reader) if "closing_forces" in reader.data else None,
    )


def _read_points(readers: Mapping[str, MappingReader]) -> dict[str, FramedVector]:
    return {name: FramedVector(_read_frame(reader), reader.vector("xyz")) for name, reader in readers.items()}


def _read_frame(reader: MappingReader) -> str:
    frame = reader.text("frame")
    if frame not in FRAMES:
        raise reader.fail("frame", f"is '{frame}', expected one of: {', '.join(FRAMES)}.")
    return frame


def _read_axis(reader: MappingReader) -> np.ndarray:
    xyz = reader.direction("xyz")
    return xyz / float(np.linalg.norm(xyz))


def _read_handle(reader: MappingReader) -> Handle:
    kind = reader.choice("type", HandleType)
    size = reader.vector("size") if "size" in reader.data else np.zeros(3)
    if np.any(size < 0):
        raise reader.fail("size", f"has a negative extent: {size.tolist()}.")
    has_pose = reader.value("T_link_handle", None) is not None
    return Handle(kind, size, reader.pose("T_link_handle") if has_pose else None)


def articulation_from_dict(data: Any, *, where: str) -> Articulation:
    """Reads the mapping of an annotation file.

    Raises:
        AssetError: A key is missing or unknown, or a value has the wrong type.
    """
    reader = MappingReader(data, where=where)
    schema = reader.integer("schema")
    if schema != SCHEMA:
        raise AssetError(
            f"{where}: schema is {schema}, expected {SCHEMA}. Write the annotation again with this version.",
            path=where,
        )
    free = reader.boolean("free", False)
    mechanisms = reader.sections("mechanisms", {})
    parts = reader.sections("parts", {}) if free or mechanisms else reader.sections("parts")
    if not parts and not free and not mechanisms:
        raise reader.fail(
            "parts",
            "is empty. Name at least one part, set `free: true` for an object to carry, or state `mechanisms` alone.",
        )
    known = {"schema", "category", "source", "scale", "parts", "handles", "free", "keypoints", "regions"}
    known |= {"mechanisms", "parts_collide", "freed_joints"}
    for name in mechanisms:
        if not KEY_WORD.match(name):
            raise reader.fail(
                f"mechanisms.{name}", "has a name with other characters than letters, digits, '_' and '-'. Rename it."
            )
    return Articulation(
        category=reader.text("category"),
        source={str(k): str(v) for k, v in reader.section("source", {}).data.items()},
        scale=reader.number("scale", 1.0),
        parts={name: _read_part(name, part) for name, part in parts.items()},
        schema=schema,
        handles={name: read_fixed_handle(handle) for name, handle in reader.sections("handles", {}).items()},
        free=free,
        keypoints=_read_points(reader.sections("keypoints", {})),
        regions={name: read_region(region) for name, region in reader.sections("regions").items()}
        if "regions" in reader.data
        else None,
        mechanisms={name: read_mechanism(mechanism) for name, mechanism in mechanisms.items()},
        parts_collide=reader.boolean("parts_collide") if "parts_collide" in reader.data else None,
        freed_joints={name: _read_freed_joint(joint) for name, joint in reader.sections("freed_joints", {}).items()},
        extra={str(k): v for k, v in reader.data.items() if k not in known},
    )


def articulation_from_yaml(text: str, *, where: str) -> Articulation:
    """Reads the text of an annotation file.

    Raises:
        AssetError: The text is not YAML or not of this format.
    """
    try:
        data = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as exc:
        reason = " ".join(str(exc).split())
        raise AssetError(f"{where}: no readable YAML ({reason}). Correct the file.", path=where) from exc
    return articulation_from_dict(data, where=where)
