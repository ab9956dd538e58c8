"""Rows: the geometric forms that the program solves; every term becomes one row."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

import casadi as ca
import numpy as np

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import angle_between

Array = np.ndarray


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
