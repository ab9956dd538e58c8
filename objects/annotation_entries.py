"""Entries of an annotation file beside its parts: regions, fixed handles, closing forces; and the reader of such files.

`MappingReader` reads values from the untrusted mapping of a file; every error names the file and the full key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unlatch.simcore.closing_profile import catch_force, gasket_force
from unlatch.simcore.errors import AssetError, close_matches, shorten
from unlatch.simcore.geometry import Pose

_REQUIRED = object()
UNIT_TOLERANCE = 1e-3
"""The length of a unit vector may be off by this much."""


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
        return f"{self._key}.{name}" if self._key else name

    def _make_error(self, key: str, problem: str) -> AssetError:
        return AssetError(f"{self.where}: {key or 'the file'} {problem}", path=self.where, key=key)


def readonly_vector(values: ArrayLike) -> np.ndarray:
    """Returns a copy of three numbers that cannot be written to."""
    array = np.array(values, dtype=float).reshape(3)
    array.setflags(write=False)
    return array


def rounded(value: float) -> float:
    """Returns a number as a file holds it: rounded to a nanometre, without a negative zero."""
    return round(float(value), 9) + 0.0


def rounded_list(values: ArrayLike) -> list[float]:
    """Returns numbers as a file holds them, see `rounded`."""
    return [rounded(v) for v in np.asarray(values, dtype=float)]


class RegionKind(Enum):
    """What surrounds a region."""

    inside = "inside"
    """Walls on at least three sides: a drawer, a shelf, a bowl."""
    surface = "surface"
    """Nothing: the top of a table, a tray, a plate."""


class RegionOpening(Enum):
    """The side from which things come into a region."""

    above = "above"
    front = "front"
    """Along x of the region's frame: there is a ceiling."""


@dataclass(frozen=True)
class Region:
    """A free box above a floor, in the frame of the link that it moves with."""

    kind: RegionKind
    link: str
    """URDF link that the region moves with."""
    T_link_region: Pose
    """Middle of the floor; z up, x out of the front of the object."""
    size: np.ndarray
    """(3,) extents of the free box along x, y and z [m]; z from the floor up."""
    opening: RegionOpening
    """Side from which things come in."""
    part: str | None = None
    """The part that must be open for a hand to reach the region; None: it is always open."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", readonly_vector(self.size))

    def holds(self, point: np.ndarray) -> bool:
        """Returns whether a point (3,) in the frame of the region is in its box [m]."""
        half = 0.5 * self.size
        return bool(np.all(np.abs(point[:2]) < half[:2]) and 0.0 < point[2] < self.size[2])

    def to_dict(self) -> dict[str, Any]:
        """Returns the mapping for `articulation.yaml`, rounded to a nanometre."""
        return {
            "kind": self.kind.name,
            "link": self.link,
            "T_link_region": {
                "position": rounded_list(self.T_link_region.p),
                "quat_xyzw": rounded_list(self.T_link_region.quat_xyzw),
            },
            "size": rounded_list(self.size),
            "opening": self.opening.name,
            **({} if self.part is None else {"part": self.part}),
        }

    @classmethod
    def read(cls, reader: MappingReader) -> Region:
        """Reads the mapping of a region.

        Raises:
            AssetError: A key is missing, or a value has the wrong type.
        """
        T_link_region, size = reader.pose("T_link_region"), reader.vector("size")
        if np.any(size <= 0.0):
            raise reader.fail("size", f"is {size.tolist()}, expected three extents above 0.")
        return cls(
            kind=reader.choice("kind", RegionKind),
            link=reader.text("link"),
            T_link_region=T_link_region,
            size=size,
            opening=reader.choice("opening", RegionOpening),
            part=reader.text("part") if reader.value("part", None) is not None else None,
        )


@dataclass(frozen=True)
class FixedHandle:
    """A round bar on a link that no part moves; all values are in the frame of that link."""

    link: str
    """URDF link of the bar."""
    middle: np.ndarray
    """(3,) middle of the bar [m]."""
    along: np.ndarray
    """(3,) unit direction of the bar."""
    out: np.ndarray
    """(3,) unit direction away from the object; a hand comes from there."""
    thickness_m: float
    """Diameter of the bar [m]."""

    def __post_init__(self) -> None:
        for name in ("middle", "along", "out"):
            object.__setattr__(self, name, readonly_vector(getattr(self, name)))

    def moved(self, T: Pose, *, link: str) -> FixedHandle:
        """Returns the bar in the frame of another link; `T` leads from the frame of its own link there."""
        along, out = T.rotate(self.along), T.rotate(self.out)
        return FixedHandle(link, T @ self.middle, along, out, self.thickness_m)

    def to_dict(self) -> dict[str, Any]:
        """Returns the mapping for `articulation.yaml`, rounded to a nanometre."""
        return {
            "link": self.link,
            "middle": rounded_list(self.middle),
            "along": rounded_list(self.along),
            "out": rounded_list(self.out),
            "thickness_m": rounded(self.thickness_m),
        }

    @classmethod
    def read(cls, reader: MappingReader) -> FixedHandle:
        """Reads the mapping of a handle.

        Raises:
            AssetError: A key is missing, or a value has the wrong type.
        """
        thickness_m = reader.number("thickness_m")
        if thickness_m <= 0.0:
            raise reader.fail("thickness_m", f"is {thickness_m}, expected a value above 0.")
        return cls(
            link=reader.text("link"),
            middle=reader.vector("middle"),
            along=reader.direction("along"),
            out=reader.direction("out"),
            thickness_m=thickness_m,
        )


_SAMPLES = 400
"""Openings at which the largest forces are looked for; the profiles have no feature as narrow as their distance."""


@dataclass(frozen=True)
class Catch:
    """A catch: a magnet, a ball, a latch with a hook, or the spring of a drawer that closes itself."""

    leave_n: float
    """Force at the handle that must be exceeded to open the part [N]."""
    reach_m: float
    """Distance that the handle moves from closed while the catch pulls the part closed [m]."""
    enter_n: float = 0.0
    """Force at the handle that must be exceeded to close the part again [N]; 0: the catch pulls it in."""

    def __post_init__(self) -> None:
        for name in ("leave_n", "enter_n", "reach_m"):
            _check_at_least_zero("catch", name, getattr(self, name))
        if self.leave_n > 0.0 and self.reach_m == 0.0:
            raise AssetError(
                "catch.reach_m is 0, expected more. Write how far the handle moves from closed while it acts [m]."
            )
        if self.enter_n > 0.0 and self.leave_n == 0.0:
            raise AssetError(
                f"catch.enter_n is {self.enter_n:g}, but leave_n is 0: it would hold nothing. Raise leave_n."
            )


@dataclass(frozen=True)
class Gasket:
    """A seal between the part and its body: a magnetic strip, or rubber that is compressed."""

    pull_n: float
    """Force at the handle of the closed part [N]: positive pulls it closed (a magnet), negative pushes it open
    (compressed rubber)."""
    reach_m: float
    """Distance that the handle moves from closed while the gasket acts [m]."""

    def __post_init__(self) -> None:
        _check_at_least_zero("gasket", "reach_m", self.reach_m)
        if self.pull_n != 0.0 and self.reach_m == 0.0:
            raise AssetError(
                "gasket.reach_m is 0, expected more. Write how far the handle moves from closed while it acts [m]."
            )


@dataclass(frozen=True)
class ClosingForces:
    """The forces at the closed stop of a part, at its handle; None: it has no such thing."""

    catch: Catch | None = None
    gasket: Gasket | None = None

    def __post_init__(self) -> None:
        if self.force_n(0.0) < 0.0:
            raise AssetError(
                f"the gasket pushes the closed part open with {-self.force_n(0.0):g} N more than the catch holds. "
                "Raise catch.leave_n or gasket.pull_n."
            )

    def force_n(self, opening_m: float) -> float:
        """Returns the force at the handle that has moved by `opening_m` from closed [N]; positive pulls it closed."""
        force = 0.0
        if self.catch is not None:
            catch = self.catch
            force += catch_force(opening_m, leave=catch.leave_n, enter=catch.enter_n, reach=catch.reach_m)
        if self.gasket is not None:
            force += gasket_force(opening_m, pull=self.gasket.pull_n, reach=self.gasket.reach_m)
        return force

    @property
    def reach_m(self) -> float:
        """Distance that the handle moves from closed until no closing force acts [m]."""
        catch, gasket = self.catch, self.gasket
        of_catch = 0.0 if catch is None or catch.leave_n == 0.0 else catch.reach_m * (2.0 if catch.enter_n else 1.0)
        return max(of_catch, 0.0 if gasket is None or gasket.pull_n == 0.0 else gasket.reach_m)

    @property
    def peak_opening_force_n(self) -> float:
        """Largest force at the handle that must be exceeded to open the part, without friction [N]."""
        return float(max(0.0, *self._forces()))

    @property
    def peak_closing_force_n(self) -> float:
        """Largest force at the handle that must be exceeded to close the part, without friction [N]."""
        return float(max(0.0, *(-force for force in self._forces())))

    def _forces(self) -> list[float]:
        return [self.force_n(float(opening)) for opening in np.linspace(0.0, self.reach_m, _SAMPLES + 1)]

    def to_dict(self) -> dict[str, Any]:
        """Returns the mapping for `articulation.yaml`; numbers are rounded to a nanonewton or nanometre."""
        entries = {"catch": self.catch, "gasket": self.gasket}
        return {
            name: {key: rounded(value) for key, value in asdict(entry).items()}
            for name, entry in entries.items()
            if entry is not None
        }

    def record(self, part: str) -> dict[str, float | str]:
        """Returns the values as a flat record, with the name of the part before each key."""
        return {
            f"{part}_{name}_{key}": value for name, values in self.to_dict().items() for key, value in values.items()
        }


NO_CLOSING_FORCES = ClosingForces()
"""A part without catch and gasket."""


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
            raise reader.fail(
                str(key), f"is not a known key.{close_matches(str(key), known)} Known: {', '.join(known)}."
            )


def _check_at_least_zero(what: str, name: str, value: float) -> None:
    if not 0.0 <= value < np.inf:
        raise AssetError(f"{what}.{name} is {value:g}, expected 0 or more. Correct it.")
