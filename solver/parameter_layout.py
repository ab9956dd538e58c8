"""Layout of the numbers of a problem in the parameter vector of a compiled program."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from unlatch.simcore.geometry import Pose
from unlatch.solver.term import AxisRow, ExpressionRow, PlaneRow, PointRow, Row, RowKind

Array = np.ndarray

LEAST_DAMPING = 1e-2
"""Damping of the first Newton step of a refinement, and the least of any."""
POINT_WEIGHT = 16.0
"""Weight of a squared metre relative to a squared radian: 1 m counts as much as 4 rad."""
TIGHTEN = 0.7
"""Share of a tolerance that the solver aims at, so that the remaining residual lies inside it."""
_OPEN = 1e6
"""Bound of a range that is open on one side."""
_ENDS = {"points": (3, 6, 7, 8), "cones": (3, 6, 7, 8), "angles": (3, 6, 7, 8, 9), "planes": (3, 6, 7, 8, 9)}
"""For each kind of row: where each of its quantities ends, counted from the start of the row."""
_POSE = 14
"""Number of parameters of the pose cost."""


@dataclass(frozen=True)
class RowCounts:
    """Number of rows of each kind in a problem."""

    points: int
    """Points in a box."""
    cones: int
    """Directions near another one."""
    angles: int
    """Directions at a range of angles from another one."""
    planes: int
    """Points near a plane."""
    expressions: tuple[RowKind, ...] = ()
    """Kinds of the expression rows, in the order of their names."""

    @classmethod
    def of(cls, rows: Sequence[Row]) -> RowCounts:
        """Returns the counts of a list of rows."""
        kinds = [_kind_of_row(row) for row in rows]
        points, cones, angles, planes = map(kinds.count, _ENDS)
        return cls(points, cones, angles, planes, tuple(row.kind for row in _sorted_expressions(rows)))

    def rounded(self) -> RowCounts:
        """Returns counts with room for these. Rounding up keeps the number of programs to compile small."""
        even_cones, even_angles = 2 * -(-self.cones // 2), 2 * -(-self.angles // 2)
        return RowCounts(max(1, self.points), even_cones, even_angles, self.planes, self.expressions)


@dataclass(frozen=True)
class Nearness:
    """The cost of the distance of a goal from the arm's present joints.

    `(q - q_ref)' W (q - q_ref) + position_weight |p - p_ref|^2 + rotation_weight (1 - cos theta)`, with theta the angle
    between the rotations of the hand.
    """

    weights: Array
    """(n,) diagonal of W."""
    T_base_ee: Pose | None = None
    """Reference pose of the hand; None = the pose costs nothing."""
    position_weight: float = 0.0
    """Weight of a squared metre."""
    rotation_weight: float = 0.0
    """Weight of 1 - cos theta."""

    def value(self, q: Array, R: Array, p: Array, q_reference: Array) -> float:
        """Returns the cost of joints (n,) with the hand at (R, p)."""
        total = float(self.weights @ (q - q_reference) ** 2)
        if self.T_base_ee is not None:
            total += self.position_weight * float(((p - self.T_base_ee.p) ** 2).sum())
            total += self.rotation_weight * 0.5 * (3.0 - float((R * self.T_base_ee.R).sum()))
        return total


class UnpackedParameters(NamedTuple):
    """The parts of a parameter vector, symbolic or numeric."""

    points: list[Any]
    """x_ee (3), target (3), tolerance, weight."""
    cones: list[Any]
    """x_ee (3), target (3), radius, weight."""
    angles: list[Any]
    """x_ee (3), target (3), lowest and highest cosine, weight."""
    planes: list[Any]
    """x_ee (3), normal (3), offset, tolerance, weight."""
    expressions: list[Any]
    """Kind, numbers (size), lower, upper, weight."""
    box_low: list[Any]
    box_high: list[Any]
    lower: Any
    upper: Any
    reference_weight: Any
    pose: tuple[Any, Any, Any, Any] | None
    """Position weight, rotation weight, position (3), rotation (3, 3)."""


@dataclass(frozen=True)
class ParameterLayout:
    """Order of the parameters: rows by kind, workspace box, joint limits, weights of the joints, pose cost."""

    row_counts: RowCounts
    n_q: int
    pose: bool = False
    """Whether the pose of the hand has a cost."""

    @property
    def size(self) -> int:
        """Length of the vector."""
        rows = sum(getattr(self.row_counts, kind) * ends[-1] for kind, ends in _ENDS.items())
        rows += sum(kind.size + 3 for kind in self.row_counts.expressions)
        return rows + 6 + 3 * self.n_q + (_POSE if self.pose else 0)

    @property
    def scalar_rows(self) -> int:
        """Number of scalar rows, workspace and joint limits included."""
        s = self.row_counts
        return 3 * s.points + 3 * s.cones + s.angles + s.planes + len(s.expressions) + 3 + self.n_q

    def unpacked(self, P: Any) -> UnpackedParameters:
        """Returns the parts of a vector (size,) of CasADi symbols or numbers."""
        n, at = self.n_q, 0
        rows: dict[str, list[Any]] = {name: [] for name in _ENDS}
        for name, ends in _ENDS.items():
            for _ in range(getattr(self.row_counts, name)):
                pieces = pairwise((0, *ends))
                rows[name].append([P[at + a] if b - a == 1 else P[at + a : at + b] for a, b in pieces])
                at += ends[-1]
        expressions = []
        for kind in self.row_counts.expressions:
            end = at + kind.size
            expressions.append([kind, P[at:end], P[end], P[end + 1], P[end + 2]])
            at = end + 3
        box_low, box_high = [P[at + k] for k in range(3)], [P[at + 3 + k] for k in range(3)]
        at += 6
        lower, upper, weight = P[at : at + n], P[at + n : at + 2 * n], P[at + 2 * n : at + 3 * n]
        at += 3 * n
        pose = None
        if self.pose:
            R = P[at + 5 : at + 14].reshape((3, 3))  # column by column
            pose = (P[at], P[at + 1], P[at + 2 : at + 5], R)
        points, cones, angles, planes = rows.values()
        return UnpackedParameters(
            points, cones, angles, planes, expressions, box_low, box_high, lower, upper, weight, pose
        )

    def pack(
        self,
        rows: Sequence[Row],
        *,
        lower: Array,
        upper: Array,
        box: Array,
        nearness: Nearness | None = None,
        tighten: float = TIGHTEN,
        cost_scale: float = 1.0,
    ) -> Array:
        """Returns the parameter vector of one problem.

        Args:
            rows: Rows, at most as many of each kind as the layout has room for.
            lower: (n_q,) lower joint limits [rad].
            upper: (n_q,) upper joint limits [rad].
            box: (2, 3) workspace of the tip origin, base frame [m].
            nearness: Cost of the distance from the reference, its pose part only if the layout has one; None = the
                joints, all weights 1.
            tighten: Share of each tolerance that the solver aims at.
            cost_scale: Factor of all costs.

        Returns:
            (size,).
        """
        nearness = Nearness(np.ones(self.n_q)) if nearness is None else nearness
        rows = [
            row if isinstance(row, AxisRow) or row.weight is None else replace(row, weight=cost_scale * row.weight)
            for row in rows
        ]
        parts, kinds = [], [_kind_of_row(row) for row in rows]
        for kind, ends in _ENDS.items():
            packed = [_pack_row(row, tighten) for row, its in zip(rows, kinds, strict=True) if its == kind]
            parts += [*packed, *[np.zeros(ends[-1])] * (getattr(self.row_counts, kind) - len(packed))]
        parts += [_pack_row(row, tighten) for row in _sorted_expressions(rows)]
        inset = 1e-6 * np.array([[1.0], [-1.0]])
        parts += [(box + inset).ravel(), lower, upper, cost_scale * nearness.weights]
        if self.pose:
            pose = np.zeros(_POSE)
            if nearness.T_base_ee is not None:
                pose[:2] = cost_scale * nearness.position_weight, cost_scale * nearness.rotation_weight
                pose[2:5] = nearness.T_base_ee.p
                pose[5:] = nearness.T_base_ee.R.ravel(order="F")
            parts.append(pose)
        return np.concatenate(parts)


def _kind_of_row(row: Row) -> str:
    """Returns the field of `RowCounts` that counts a row."""
    if isinstance(row, AxisRow):
        return "cones" if is_cone(row) else "angles"
    return "points" if isinstance(row, PointRow) else "planes" if isinstance(row, PlaneRow) else "expressions"


def _sorted_expressions(rows: Sequence[Row]) -> list[ExpressionRow]:
    return sorted((row for row in rows if isinstance(row, ExpressionRow)), key=lambda row: row.kind.name)


def is_cone(row: AxisRow) -> bool:
    """Returns whether the range of angles starts at 0 or ends at pi: a cone about the target or its opposite."""
    return row.lower <= 1e-12 or row.upper >= math.pi - 1e-12


def _pack_row(row: Row, tighten: float) -> Array:
    """Returns the numbers of a row in the order of `UnpackedParameters`."""
    if isinstance(row, AxisRow) and is_cone(row):
        # a ball about the unit vector: at its centre the distance has a slope, the cosine of the angle has none
        opposite = row.lower > 1e-12
        angle = math.pi - row.lower if opposite else row.upper
        radius = 2.0 * math.sin(min(math.pi, tighten * angle) / 2.0)
        return np.concatenate([row.x_ee, -row.target if opposite else row.target, [radius, 1.0]])
    if isinstance(row, AxisRow):
        middle, half = 0.5 * (row.lower + row.upper), 0.5 * tighten * (row.upper - row.lower)
        return np.concatenate([row.x_ee, row.target, [math.cos(middle + half), math.cos(middle - half), 1.0]])
    half = tighten * row.tolerance
    # hard rows carry a negative weight: the program multiplies those by mu
    weight = -unit_weight(row.unit) if row.weight is None else row.weight
    if isinstance(row, ExpressionRow):
        low = -_OPEN if math.isinf(row.lower) else row.wanted - half
        high = _OPEN if math.isinf(row.upper) else row.wanted + half
        return np.concatenate([row.numbers, [low, high, weight]])
    if isinstance(row, PointRow):
        return np.concatenate([row.x_ee, row.target, [half, weight]])
    return np.concatenate([row.x_ee, row.normal, [float(row.normal @ row.point), half, weight]])


def unit_weight(unit: str) -> float:
    """Returns the weight of a square of this unit relative to a squared radian."""
    return POINT_WEIGHT if unit == "m" else 1.0
