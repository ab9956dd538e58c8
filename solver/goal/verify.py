"""Measures rows at tool poses in plain NumPy, independently of the program that solves them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unlatch.solver.goal.solution import ConstraintResidual
from unlatch.solver.scene import ArmModel, Array
from unlatch.solver.terms.row import AxisRow, ExpressionRow, PointRow, Row
from unlatch.solver.terms.term import Term

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
