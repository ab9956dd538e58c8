"""Solves small symmetric systems, unrolled into scalar operations, for a compiled step."""

from __future__ import annotations

from typing import Any

import casadi as ca


def ldl_solve(H: list[list[Any]], b: list[Any], *, pivot_floor: float | None = None) -> list[Any]:
    """Returns the solution x of H x = b by an L D L' decomposition.

    H holds the rows of its lower triangle, as numbers or CasADi scalars. Pivots below `pivot_floor` are raised to it:
    with a gradient b, -x is then a direction of descent for any H. Without a floor H must be positive definite.
    """
    n = len(b)
    L: list[list[Any]] = [[0.0] * n for _ in range(n)]
    D: list[Any] = [0.0] * n
    for j in range(n):
        value = H[j][j]
        for k in range(j):
            value = value - L[j][k] * L[j][k] * D[k]
        D[j] = value if pivot_floor is None else ca.fmax(value, pivot_floor)
        for i in range(j + 1, n):
            value = H[i][j]
            for k in range(j):
                value = value - L[i][k] * L[j][k] * D[k]
            L[i][j] = value / D[j]
    y: list[Any] = [0.0] * n
    for i in range(n):
        y[i] = b[i] - sum((L[i][k] * y[k] for k in range(i)), 0.0)
    x: list[Any] = [0.0] * n
    for i in reversed(range(n)):
        x[i] = y[i] / D[i] - sum((L[k][i] * x[k] for k in range(i + 1, n)), 0.0)
    return x
