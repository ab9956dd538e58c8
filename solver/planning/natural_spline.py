"""A natural cubic spline through the rows of a path.

SciPy's `CubicSpline` is the same to the bit, but the import of `scipy.interpolate` takes half as long as planning with
everything else. A test compares the two.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

Array = np.ndarray


class NaturalSpline:
    """A spline without curvature at its ends; a geometric path of TOPP-RA."""

    def __init__(self, knots: Array, rows: Array) -> None:
        """Makes the spline that passes through rows (W, n) at knots (W,), which increase; W is at least 2."""
        self.knots = knots
        self.dof = rows.shape[1]
        """Number of coordinates."""
        width = np.diff(knots)[:, None]
        slope = np.diff(rows, axis=0) / width
        rate = _rates_at_knots(width, slope, rows)
        bend = (rate[:-1] + rate[1:] - 2 * slope) / width
        cubic = (bend / width, (slope - rate[:-1]) / width - bend, rate[:-1], rows[:-1])  # highest power first
        linear_up = _derive(cubic)
        self._coefficients = (cubic, linear_up, _derive(linear_up))

    @property
    def path_interval(self) -> Array:
        """(2,) the first and the last knot."""
        return self.knots[[0, -1]]

    def __call__(self, positions: Array, order: int = 0) -> Array:
        """Returns the (B, n) values, or their derivatives of an order, at positions (B,)."""
        piece = np.clip(np.searchsorted(self.knots, positions, side="right") - 1, 0, len(self.knots) - 2)
        beyond = (positions - self.knots[piece])[:, None]
        power: Array = np.ones_like(beyond)
        total: Array = np.zeros((len(positions), self.dof))
        for coefficient in reversed(self._coefficients[order]):
            total = total + coefficient[piece] * power
            power = power * beyond
        return total


def _derive(coefficients: tuple[Array, ...]) -> tuple[Array, ...]:
    """Returns the coefficients of the derivative of a polynomial, the highest power first."""
    degree = len(coefficients) - 1
    return tuple(c * float(degree - i) for i, c in enumerate(coefficients[:-1]))


def _rates_at_knots(width: Array, slope: Array, rows: Array) -> Array:
    """Returns the (W, n) derivatives at the knots, with which the second derivative is continuous."""
    right: Array = np.empty_like(rows)
    right[0], right[-1] = 3 * (rows[1] - rows[0]), 3 * (rows[-1] - rows[-2])
    right[1:-1] = 3 * (width[1:] * slope[:-1] + width[:-1] * slope[1:])
    steps: list[float] = width[:, 0].tolist()
    diagonal = [2 * steps[0], *(2 * (a + b) for a, b in pairwise(steps)), 2 * steps[-1]]
    return _solve_tridiagonal([*steps[1:], steps[-1]], diagonal, [steps[0], *steps[:-1]], right)


def _solve_tridiagonal(below: list[float], diagonal: list[float], above: list[float], right: Array) -> Array:
    """Solves a tridiagonal system for several right sides (W, n): Gaussian elimination with pivots, LAPACK's `gtsv`."""
    below, diagonal, above = list(below), list(diagonal), list(above)
    count = len(diagonal)
    second = [0.0] * count  # the second upper diagonal, which exchanges of rows fill
    rows = list(right)
    for i in range(count - 1):
        if abs(diagonal[i]) >= abs(below[i]):
            factor = below[i] / diagonal[i]
            diagonal[i + 1] -= factor * above[i]
            rows[i + 1] = rows[i + 1] - factor * rows[i]
            continue
        factor = diagonal[i] / below[i]
        diagonal[i], following = below[i], diagonal[i + 1]
        diagonal[i + 1] = above[i] - factor * following
        above[i] = following
        if i < count - 2:
            second[i] = above[i + 1]
            above[i + 1] = -factor * second[i]
        rows[i], rows[i + 1] = rows[i + 1], rows[i] - factor * rows[i + 1]
    rows[-1] = rows[-1] / diagonal[-1]
    if count > 1:
        rows[-2] = (rows[-2] - above[-1] * rows[-1]) / diagonal[-2]
    for i in range(count - 3, -1, -1):
        rows[i] = (rows[i] - above[i] * rows[i + 1] - second[i] * rows[i + 2]) / diagonal[i]
    return np.array(rows)
