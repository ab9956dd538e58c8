"""Terms and rows: a term is an entry of `constraint_list` or `cost_list`; for the program it becomes one row."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from functools import lru_cache
from typing import Any, ClassVar, TypeAlias, TypeVar

import casadi as ca
import numpy as np

from unlatch.simcore.errors import ConfigError, unknown_entry, unknown_name
from unlatch.simcore.geometry import angle_between
from unlatch.solver.scene import Array, PlanningScene


@dataclass(frozen=True)
class PointRow:
    """A point of the tool inside a box around a target.

    `|R x + p - target| <= tolerance` in every component; with a `weight` the cost `weight * |R x + p - target|^2`
    instead.
    """

    x_ee: Array
    """(3,) point in the ee frame [m]."""
    target: Array
    """(3,) target, base frame [m]."""
    tolerance: float
    """Half size of the box [m]."""
    weight: float | None = None
    """Weight of a cost; None = a constraint."""

    unit = "m"

    def value(self, R: Array, p: Array) -> float:
        """Returns the largest component of the error at the tool pose (R, p) [m]."""
        return float(np.max(np.abs(R @ self.x_ee + p - self.target)))


@dataclass(frozen=True)
class AxisRow:
    """A direction of the tool within a range of angles from a target direction: `lower <= angle(R x, a) <= upper`."""

    x_ee: Array
    """(3,) unit vector in the ee frame."""
    target: Array
    """(3,) unit vector, base frame."""
    lower: float
    """Smallest angle [rad]."""
    upper: float
    """Largest angle [rad]."""
    wanted: float
    """The wanted angle, from which the tolerance counts [rad]."""

    unit = "rad"

    def angle(self, R: Array) -> float:
        """Returns the angle between the tool direction and the target [rad]."""
        return angle_between(R @ self.x_ee, self.target)

    def value(self, R: Array, p: Array) -> float:
        """Returns the difference between the angle and the wanted one [rad]."""
        del p
        return abs(self.angle(R) - self.wanted)


@dataclass(frozen=True)
class PlaneRow:
    """A point of the tool within a distance of a plane: `|n . (R x + p - t)| <= tolerance`."""

    x_ee: Array
    """(3,) point in the ee frame [m]."""
    normal: Array
    """(3,) unit normal, base frame."""
    point: Array
    """(3,) a point of the plane, base frame [m]."""
    tolerance: float
    """Allowed distance [m]."""
    weight: float | None = None
    """Weight of a cost; None = a constraint."""

    unit = "m"

    def value(self, R: Array, p: Array) -> float:
        """Returns the distance from the plane at the tool pose (R, p) [m]."""
        return abs(float(self.normal @ (R @ self.x_ee + p - self.point)))


@dataclass(frozen=True)
class RowKind:
    """A quantity of the tool pose that the other rows cannot express, for terms of plugins.

    Each program calls the expression once with CasADi symbols. CasADi computes all derivatives.
    """

    name: str
    """Rows of the same name have the same expression."""
    unit: str
    """`m` or `rad`."""
    size: int
    """Number of its parameters besides the pose."""
    expression: Callable[[Any, Any, Any], Any] = field(compare=False)
    """`h(R, p, numbers)`: R (3, 3) and p (3,) of the tool in the base frame, numbers (size,); a scalar, twice
    differentiable wherever solutions lie. It may not close over variables: pass them as numbers."""
    _code: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if getattr(self.expression, "__closure__", None) is not None:
            raise ConfigError(
                f"RowKind '{self.name}': its expression closes over variables. A compiled program would keep their "
                "present values. Pass them as numbers."
            )
        # a function that each call defines anew has the same code, so it uses the same program
        object.__setattr__(self, "_code", getattr(self.expression, "__code__", self.expression))

    def values(self, R: Array, p: Array, numbers: Array) -> Array:
        """Returns the (B,) values of h at tool poses R (B, 3, 3), p (B, 3) [m]."""
        count = len(p)
        columns = np.ascontiguousarray(R.transpose(0, 2, 1)).reshape(count, 9).T
        return _build_batch_function(self, count)(columns, p.T, np.tile(numbers[:, None], count)).toarray().ravel()


@lru_cache(maxsize=64)
def _build_batch_function(kind: RowKind, count: int) -> Any:
    R, p, numbers = ca.SX.sym("R", 3, 3), ca.SX.sym("p", 3), ca.SX.sym("numbers", kind.size)
    return ca.Function("h", [ca.vec(R), p, numbers], [kind.expression(R, p, numbers)]).map(count)


@dataclass(frozen=True)
class ExpressionRow:
    """A quantity of the tool pose within a range: `lower <= h(R, p, numbers) <= upper`; or a cost `weight * h^2`."""

    kind: RowKind
    """The quantity h."""
    numbers: Array
    """(size,) parameters of h besides the pose; base and ee frame."""
    lower: float
    """Smallest h [unit]."""
    upper: float
    """Largest h [unit]."""
    weight: float | None = None
    """Weight of a cost; None = a constraint."""

    @property
    def unit(self) -> str:
        """`m` or `rad`."""
        return self.kind.unit

    @property
    def wanted(self) -> float:
        """The middle of the range, or its only bound [unit]."""
        if math.isinf(self.lower) or math.isinf(self.upper):
            return self.upper if math.isinf(self.lower) else self.lower
        return 0.5 * (self.lower + self.upper)

    @property
    def tolerance(self) -> float:
        """Half the width of the range; 0 if it is open on one side [unit]."""
        return 0.0 if math.isinf(self.upper - self.lower) else 0.5 * (self.upper - self.lower)

    def value(self, R: Array, p: Array) -> float:
        """Returns the distance of h from `wanted` at the tool pose (R, p), 0 on the open side [unit]."""
        h = float(self.kind.values(R[None], p[None], self.numbers)[0])
        is_open = math.isinf(self.upper - self.lower)
        return max(0.0, self.lower - h, h - self.upper) if is_open else abs(h - self.wanted)


GeometricRow: TypeAlias = PointRow | AxisRow | PlaneRow
Row: TypeAlias = GeometricRow | ExpressionRow


T = TypeVar("T", bound="Term")


@dataclass
class Term(ABC):
    """One entry of `constraint_list` or `cost_list`.

    A subclass is a dataclass of its YAML fields. It implements `row`, which a solve calls for each set of tool
    keypoints. The metadata key `kind` of a field says how the field is read (`_READERS`). A field of the kind
    `tool keypoint` or `object keypoint` holds the name of a keypoint that must exist.
    """

    TYPE: ClassVar[str] = ""
    """The YAML `type`."""

    @abstractmethod
    def row(self, tool: Mapping[str, Array], scene: PlanningScene) -> Row:
        """Returns the geometric form of this term.

        Args:
            tool: Tool keypoints in the ee frame, (3,) each [m].
            scene: The object, base frame.
        """

    def tool_names(self) -> dict[str, str]:
        """Returns the names of the tool keypoints in this term, by field."""
        return self._names_of_kind("tool keypoint")

    def object_names(self) -> dict[str, str]:
        """Returns the names of the object keypoints in this term, by field."""
        return self._names_of_kind("object keypoint")

    def _names_of_kind(self, kind: str) -> dict[str, str]:
        named = {name: getattr(self, name) for name in _fields_of_kind(type(self), kind)}
        return {key: value for key, value in named.items() if value is not None}

    def to_plain(self) -> dict[str, Any]:
        """Returns the term as plain values, for a record: its type and every field that has a value."""
        return {"type": self.TYPE, **{key: value for key, value in asdict(self).items() if value is not None}}

    def to_yaml(self) -> dict[str, Any]:
        """Returns the term as a task file states it: without fields that have no effect."""
        return {key: value for key, value in self.to_plain().items() if value != ""}

    @property
    def label(self) -> str:
        """Name of this term in messages."""
        return str(getattr(self, "name", "") or self.TYPE)


@lru_cache(maxsize=64)
def _fields_of_kind(cls: type[Term], kind: str) -> tuple[str, ...]:
    """Returns the names of the fields of a term that hold names of a kind."""
    return tuple(item.name for item in fields(cls) if item.metadata.get("kind") == kind)


def read_term(cls: type[T], entry: Mapping[str, Any], *, where: str) -> T:
    """Returns a term from the YAML mapping at the full key `where`; checks every field.

    Raises:
        ConfigError: A key is unknown, missing, of the wrong type or out of range.
    """
    known = {f.name: f for f in fields(cls)}
    for key in entry:
        if key != "type" and key not in known:
            raise unknown_entry(
                f"{where}.{key} is not a field of {cls.TYPE}.",
                str(key),
                known,
                error=ConfigError,
                heading="Fields",
                advice="Remove or rename it.",
                key=f"{where}.{key}",
            )
    values: dict[str, Any] = {}
    for name, item in known.items():
        kind = str(item.metadata.get("kind", "name"))
        required = item.default is MISSING and item.default_factory is MISSING
        if entry.get(name) is None:
            if required:
                raise ConfigError(
                    f"{where}.{name} is missing; {cls.TYPE} needs it ({item.metadata.get('expects', kind)}). Add it.",
                    key=f"{where}.{name}",
                )
            continue
        values[name] = _READERS[kind](entry[name], f"{where}.{name}")
    try:
        return cls(**values)
    except ConfigError as exc:
        raise ConfigError(f"{where}{exc.message}", key=where) from exc


def read_number(value: Any, where: str, *, lower: float = -math.inf, upper: float = math.inf) -> float:
    """Returns a value as a finite number inside a range.

    Raises:
        ConfigError: The value is not such a number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConfigError(f"{where}={value!r} is a {type(value).__name__}, expected a number.", key=where)
    try:
        number = float(value)
    except OverflowError:  # an integer beyond what a float holds
        number = math.inf
    if not math.isfinite(number) or not lower <= number <= upper:
        raise ConfigError(f"{where}={value} is out of range, expected {lower:g} to {upper:g}.", key=where)
    return number


def read_name(value: Any, where: str) -> str:
    """Returns a value as a name.

    Raises:
        ConfigError: The value is not a string, or empty.
    """
    if not isinstance(value, str) or not value:
        raise ConfigError(f"{where}={value!r} is a {type(value).__name__}, expected a name.", key=where)
    return value


def read_axis(value: Any, where: str) -> str | list[float]:
    """Returns three numbers with a direction, or the name of an axis.

    Raises:
        ConfigError: The value is neither.
    """
    if isinstance(value, str):
        return read_name(value, where)
    try:
        vector = [read_number(v, where) for v in value]
    except TypeError as exc:
        raise ConfigError(f"{where}={value!r} is neither three numbers nor the name of an axis.", key=where) from exc
    if len(vector) != 3 or math.hypot(*vector) < 1e-9:
        raise ConfigError(
            f"{where}={list(value)} has no direction, expected three numbers that are not all 0.", key=where
        )
    return vector


def _read_frame(value: Any, where: str) -> str:
    if value not in ("object", "base", "world"):
        raise unknown_name(str(value), "a frame", where=where, known=("object", "base", "world"))
    return str(value)


_READERS = {
    "name": read_name,
    "tool keypoint": read_name,
    "object keypoint": read_name,
    "text": lambda value, where: str(value),
    "tolerance_m": lambda value, where: read_number(value, where, lower=1e-9, upper=10.0),
    "tolerance_rad": lambda value, where: read_number(value, where, lower=1e-9, upper=math.pi),
    "inner_product": lambda value, where: read_number(value, where, lower=-1.0, upper=1.0),
    "weight": lambda value, where: read_number(value, where, lower=0.0, upper=1e6),
    "axis": read_axis,
    "frame": _read_frame,
}


def tool_point(tool: Mapping[str, Array], name: str) -> Array:
    """Returns a (3,) tool keypoint in the ee frame [m].

    Raises:
        ConfigError: The tool keypoint does not exist.
    """
    if name not in tool:
        raise unknown_name(name, "a tool keypoint", where="keypoint", known=sorted(tool))
    return tool[name]


def vector_in_base(value: str | list[float], frame: str, scene: PlanningScene) -> Array:
    """Returns a named axis of the annotation, or a vector of a frame, as a (3,) vector in the base frame."""
    if isinstance(value, str):
        return scene.axis(value)
    vector: Array = np.asarray(value, dtype=float)
    if frame == "object":
        vector = scene.R_base_link @ vector
    elif frame == "world":
        vector = scene.R_base_world @ vector
    return vector
