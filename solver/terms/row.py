"""Rows: the few geometric forms that every term is made of, and that the program knows how to solve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from simcore.geometry import angle_between

Array = np.ndarray


@dataclass(frozen=True)
class PointRow:
    """A point of the tool inside a box around a target.

    `|R x + p - target| <= tolerance` in every component; with `weight` set it is a cost
    `weight * |R x + p - target|^2` instead.
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
        """Largest component of the error at the tool pose (R, p) [m]."""
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
    """The angle in the middle that the tolerance is counted from [rad]."""

    unit = "rad"

    def angle(self, R: Array) -> float:
        """Angle between the tool direction and the target [rad]."""
        return angle_between(R @ self.x_ee, self.target)

    def value(self, R: Array, p: Array) -> float:
        """Distance of the angle from the wanted one [rad]."""
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
        """Distance from the plane at the tool pose (R, p) [m]."""
        return abs(float(self.normal @ (R @ self.x_ee + p - self.point)))


Row: TypeAlias = PointRow | AxisRow | PlaneRow
