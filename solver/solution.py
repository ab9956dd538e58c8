"""The result of a goal solve: the joints and the residual of each constraint, measured in plain NumPy apart from the
program that solves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from unlatch.simcore.errors import NoSolutionError
from unlatch.solver.scene import ArmModel, Array
from unlatch.solver.term import AxisRow, ExpressionRow, PointRow, Row, Term


@dataclass(frozen=True)
class ConstraintResidual:
    """One constraint at a solution, in its own unit."""

    name: str
    type: str
    value: float
    """Distance from the target [unit]."""
    tolerance: float
    """Largest allowed distance [unit]."""
    unit: str
    """`m` or `rad`."""
    satisfied: bool
    """Whether the value is at most 1e-6 beyond the tolerance."""

    @property
    def excess(self) -> float:
        """Amount of the value beyond the tolerance, 0 if it holds [unit]."""
        return max(0.0, self.value - self.tolerance)

    def __str__(self) -> str:
        mark = "ok" if self.satisfied else f"OUT by {self.excess:.4g}"
        kind = "" if self.name == self.type else f" ({self.type})"
        return f"{self.name}{kind}: {self.value:.3g} of {self.tolerance:.3g} {self.unit}, {mark}"


@dataclass(frozen=True, repr=False)
class Solution:
    """A goal configuration, or the best compromise with its violations."""

    found: bool
    """Whether every constraint, joint limit and the workspace box holds."""
    residuals: tuple[ConstraintResidual, ...]
    """One per constraint, at the goal or at the best compromise."""
    cost: float
    """Cost of the solution; lower is nearer to the reference joints."""
    starts_tried: int
    build_ms: float
    solve_ms: float
    status: str
    """`solved`, or why it is not solved."""
    tool_variant: str = "+"
    """`+` for the tool keypoints as given, `-` for those turned by pi about the approach axis."""
    active_bounds: tuple[str, ...] = ()
    """Joint limits and workspace faces that the configuration lies on, in words."""
    configuration: Array | None = field(default=None)
    """(n,) joints at the goal or at the best compromise [rad]; diagnosis and pictures only, see `q`."""

    @property
    def q(self) -> Array:
        """(n,) joint positions of the goal [rad].

        Raises:
            NoSolutionError: No solution was found; the error carries the residuals and the status.
        """
        if not self.found or self.configuration is None:
            raise NoSolutionError(
                f"No solution was found, so there are no joints to read: {self.status}; {self._describe_unmet()}. "
                "Test `found` first; `residuals` holds the violations.",
                residuals=self.residuals,
                status=self.status,
            )
        return self.configuration

    def _describe_unmet(self) -> str:
        out = [str(r) for r in self.residuals if not r.satisfied]
        return "; ".join(out) if out else "no constraint is out"

    def to_dict(self) -> dict[str, Any]:
        """Returns plain values for a record or a report; `q` of a goal, or `compromise_q` if there is none."""
        joints = None if self.configuration is None else self.configuration.tolist()
        return {
            "found": self.found,
            "q": joints if self.found else None,
            "compromise_q": None if self.found else joints,
            "residuals": [asdict(residual) for residual in self.residuals],
            "cost": self.cost if math.isfinite(self.cost) else None,
            "starts_tried": self.starts_tried,
            "build_ms": self.build_ms,
            "solve_ms": self.solve_ms,
            "status": self.status,
            "tool_variant": self.tool_variant,
            "active_bounds": list(self.active_bounds),
        }

    def __repr__(self) -> str:
        joints = np.round(self.configuration, 3).tolist() if self.found and self.configuration is not None else None
        lines = [
            f"Solution(found={self.found}, status={self.status!r}, q={joints}, cost={self.cost:.4g}, "
            f"starts_tried={self.starts_tried}, solve_ms={self.solve_ms:.2f})"
        ]
        lines += [f"  {residual}" for residual in self.residuals]
        lines += [f"  at bound: {bound}" for bound in self.active_bounds]
        return "\n".join(lines)


_ON_BOUND = 1e-3
"""A value nearer than this to a bound lies on it [rad or m]."""
SLACK = 1e-6
"""Largest amount beyond a tolerance that still counts as inside: metres and radians alike."""


def row_excess(rows: Sequence[Row], R: Array, p: Array) -> Array:
    """Returns the (B, K) amounts beyond the tolerance alone; see `measure_rows`."""
    return measure_rows(rows, R, p)[1]


def measure_rows(rows: Sequence[Row], R: Array, p: Array) -> tuple[Array, Array]:
    """Measures K rows at tool poses R (B, 3, 3), p (B, 3) [m], base frame.

    Returns:
        (B, K) values, each in the unit of its row, and (B, K) amounts beyond the tolerance, 0 where a row holds.
    """
    value, out = np.empty((len(p), len(rows))), np.empty((len(p), len(rows)))
    for k, row in enumerate(rows):
        if isinstance(row, AxisRow):  # its range may be uneven about the wanted angle
            angle = angles_between(R @ row.x_ee, row.target)
            value[:, k], out[:, k] = np.abs(angle - row.wanted), _interval_excess(angle, row.lower, row.upper)
            continue
        if isinstance(row, ExpressionRow):
            h = row.kind.values(R, p, row.numbers)
            beyond = _interval_excess(h, row.lower, row.upper)
            value[:, k] = beyond if np.isinf(row.upper - row.lower) else np.abs(h - row.wanted)
        else:
            error = R @ row.x_ee + p - (row.target if isinstance(row, PointRow) else row.point)
            value[:, k] = np.abs(error).max(axis=1) if isinstance(row, PointRow) else np.abs(error @ row.normal)
            beyond = np.maximum(0.0, value[:, k] - row.tolerance)
        out[:, k] = beyond if row.weight is None else 0.0
    return value, out


def angles_between(a: Array, b: Array) -> Array:
    """Returns the angles between unit vectors (..., 3), exact near 0 and pi [rad]: 2 atan2(|a - b|, |a + b|)."""
    apart, together = a - b, a + b
    return 2.0 * np.arctan2(np.sqrt((apart * apart).sum(axis=-1)), np.sqrt((together * together).sum(axis=-1)))


def row_tolerances(rows: Sequence[Row]) -> Array:
    """Returns the (K,) allowed values of the rows; infinite for costs."""
    out = []
    for row in rows:
        if isinstance(row, AxisRow):
            # 0 or pi may cut the interval: the wider side counts
            out.append(max(row.wanted - row.lower, row.upper - row.wanted))
        else:
            out.append(row.tolerance if row.weight is None else np.inf)
    return np.array(out)


def _interval_excess(value: Array, lower: float, upper: float) -> Array:
    return np.maximum(0.0, np.maximum(lower - value, value - upper))


def box_excess(arm: ArmModel, p: Array) -> Array:
    """Returns the (B,) distance of the ee origins outside the workspace box [m]."""
    outside = np.maximum(arm.workspace[0] - p, p - arm.workspace[1]).max(axis=1)
    return np.maximum(0.0, outside)


def limit_margin(arm: ArmModel, q: Array) -> Array:
    """Returns the (...,) smallest distance of any joint of q (..., n) to its limit [rad], negative outside."""
    return np.minimum(q - arm.q_lower, arm.q_upper - q).min(axis=-1)


def residuals_of(terms: Sequence[Term], rows: Sequence[Row], R: Array, p: Array) -> tuple[ConstraintResidual, ...]:
    """Returns the residuals of the constraints among terms at one tool pose (R (3, 3), p (3,))."""
    value, out = (part[0] for part in measure_rows(rows, R[None], p[None]))
    # a violated row is measured from its nearer bound
    allowed = np.where(out > SLACK, value - out, row_tolerances(rows))
    return tuple(
        ConstraintResidual(
            name=term.label,
            type=term.TYPE,
            value=float(found),
            tolerance=float(tolerance),
            unit=row.unit,
            satisfied=bool(beyond <= SLACK),
        )
        for term, row, found, tolerance, beyond in zip(terms, rows, value, allowed, out, strict=True)
        if np.isfinite(tolerance)
    )


def active_bounds(arm: ArmModel, q: Array, p: Array) -> tuple[str, ...]:
    """Returns in words the joint limits that q (n,) [rad] lies on, and the workspace faces that p (3,) lies on.

    p is the ee origin in the base frame [m].
    """
    found = []
    for joint, value, low, high in zip(arm.kinematics.joints, q, arm.q_lower, arm.q_upper, strict=True):
        unit = "m" if joint.prismatic else "rad"
        if value - low < _ON_BOUND:
            found.append(f"{joint.name} at its lower limit {low:.3f} {unit}")
        if high - value < _ON_BOUND:
            found.append(f"{joint.name} at its upper limit {high:.3f} {unit}")
    for k, axis in enumerate("xyz"):
        if p[k] - arm.workspace[0, k] < _ON_BOUND:
            found.append(f"workspace {axis}_min {arm.workspace[0, k]:.3f} m")
        if arm.workspace[1, k] - p[k] < _ON_BOUND:
            found.append(f"workspace {axis}_max {arm.workspace[1, k]:.3f} m")
    return tuple(found)
