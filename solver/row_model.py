"""Rows, cost and their derivatives at symbolic joints, for the exact refinement of a goal.

Rows are scaled so that 1 m weighs as much as 4 rad. Second derivatives come from the kinematics alone: for a chain with
axes a_i (0 for a slider) and linear velocities l_j, `d2(R x)/dq_i dq_j = a_i x (a_j x R x)` and
`d2p/dq_i dq_j = a_i x l_j` for i <= j, so that all rows together need one force and one moment matrix.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import casadi as ca

from unlatch.solver.kinematics import Kinematics
from unlatch.solver.parameter_layout import POINT_WEIGHT, ParameterLayout, unit_weight
from unlatch.solver.term import RowKind

MU = 1e4
"""Penalty of the augmented Lagrangian."""
SCALE = POINT_WEIGHT**0.5
_FREE = 1e6
"""Bound of a row that bounds nothing."""


@dataclass
class _Block:
    """Scalar rows that are projected together: each onto its interval, or three onto a ball."""

    first: int
    low: list[Any] = field(default_factory=list)
    high: list[Any] = field(default_factory=list)
    radius: Any = None

    @property
    def size(self) -> int:
        return 3 if self.radius is not None else len(self.low)


class RowModel:
    """Rows, cost and their derivatives at symbolic joints."""

    def __init__(self, kinematics: Kinematics, q: Any) -> None:
        self.q = q
        self.kinematics = kinematics
        self.n = kinematics.n_q
        self.R, self.p, self.linear, self.angular = kinematics.expressions(q)
        self.y: list[Any] = []
        """Scalar rows, scaled."""
        self.J: list[list[Any]] = []
        """Their derivatives."""
        self.levers: list[tuple[Any, Any, bool] | None] = []
        """For each row: the gradient of its value by the point, the lever `R x` of the point, and whether the row
        depends on p; None for joints and expressions."""
        self.expression_hessians: dict[int, Any] = {}
        """Second derivatives of the rows that are expressions, by row."""
        self.blocks: list[_Block] = []
        self.limits = 0
        """First row of the joints."""
        self.cost: Any = 0.0
        self.force, self.moment = ca.SX.zeros(3), ca.SX.zeros(3, 3)
        """Force and moment of the cost's gradient."""
        self.extra_gradient: list[Any] = [0.0] * self.n
        self.extra_curvature: list[list[Any]] = [[0.0] * self.n for _ in range(self.n)]

    def velocity(self, i: int, lever: Any, *, moves: bool) -> Any:
        """Returns the (3,) derivative by joint i of `R x + p` if `moves`, else of `R x`; `lever` is `R x`."""
        turned = ca.cross(self.angular[i], lever)
        return self.linear[i] + turned if moves else turned

    def add(self, value: Any, direction: Any, lever: Any, *, scale: float = 1.0, moves: bool) -> None:
        """Adds a scalar row `scale * value`, whose `value` is `direction . (R x [+ p])` plus a constant."""
        self.y.append(scale * value)
        self.J.append([scale * ca.dot(direction, self.velocity(i, lever, moves=moves)) for i in range(self.n)])
        self.levers.append((scale * direction, lever, moves))

    def add_expression(self, kind: RowKind, numbers: Any, *, scale: float, weight: Any) -> None:
        """Adds the scalar row `scale * h` and the cost `weight * h^2`; CasADi computes the derivatives."""
        q, given = ca.SX.sym("q", self.n), ca.SX.sym("numbers", kind.size)
        R, p, _, _ = self.kinematics.expressions(q)
        value = kind.expression(R, p, given)
        h, slope, bent = ca.Function("h", [q, given], [value, *ca.hessian(value, q)[::-1]])(self.q, numbers)
        self.expression_hessians[len(self.y)] = scale * bent
        self.y.append(scale * h)
        self.J.append([scale * slope[i] for i in range(self.n)])
        self.levers.append(None)
        self.cost = self.cost + weight * h * h
        for j in range(self.n):
            self.extra_gradient[j] = self.extra_gradient[j] + 2.0 * weight * h * slope[j]
            for i in range(j + 1):
                of_square = 2.0 * weight * (slope[i] * slope[j] + h * bent[j, i])
                self.extra_curvature[j][i] = self.extra_curvature[j][i] + of_square

    def times_jacobian(self, dq: Any) -> Any:
        """Returns J dq; J includes the rows of the joints."""
        return ca.vertcat(*[sum((row[i] * dq[i] for i in range(self.n)), ca.SX(0)) for row in self.J])

    def residual(self, z: Any) -> Any:
        """Returns (m,) z minus its projection."""
        out = []
        for block in self.blocks:
            part = z[block.first : block.first + block.size]
            if block.radius is not None:
                length = ca.sqrt(ca.sumsqr(part) + 1e-18)
                out.append(part * ca.fmax(0.0, 1.0 - block.radius / length))
            else:
                low, high = ca.vertcat(*block.low), ca.vertcat(*block.high)
                out.append(ca.fmax(part - high, 0.0) + ca.fmin(part - low, 0.0))
        return ca.vertcat(*out)

    def gradient(self, r: Any) -> tuple[list[Any], list[list[Any]]]:
        """Returns the gradient of the augmented Lagrangian, and its Hessian (lower triangle) without J' D J.

        The multipliers are mu times the residuals r (m,).
        """
        n, a, linear = self.n, self.angular, self.linear
        force, moment = self.force, self.moment
        g = list(self.extra_gradient)
        for k, entry in enumerate(self.levers):
            if entry is None:
                if k >= self.limits:
                    g[k - self.limits] = g[k - self.limits] + MU * r[k]
                continue
            direction, lever, moves = entry
            pull = MU * r[k] * direction
            force = force + pull if moves else force
            moment = moment + pull @ lever.T
        torque = ca.vertcat(moment[2, 1] - moment[1, 2], moment[0, 2] - moment[2, 0], moment[1, 0] - moment[0, 1])
        trace = moment[0, 0] + moment[1, 1] + moment[2, 2]
        W = [list(row) for row in self.extra_curvature]
        for j in range(n):
            g[j] = g[j] + ca.dot(force, linear[j]) + ca.dot(a[j], torque)
            turned = moment.T @ a[j]
            for i in range(j + 1):
                bent = ca.dot(force, ca.cross(a[i], linear[j])) + ca.dot(turned, a[i]) - trace * ca.dot(a[i], a[j])
                W[j][i] = W[j][i] + bent
        for k, bent in self.expression_hessians.items():
            for j in range(n):
                g[j] = g[j] + MU * r[k] * self.J[k][j]
                for i in range(j + 1):
                    W[j][i] = W[j][i] + MU * r[k] * bent[j, i]
        return g, W

    def stiffness(self, z: Any) -> list[list[Any]]:
        """Returns the lower triangle of mu J' D J, with D the derivative of the residual at z (m,)."""
        n = self.n
        H: list[list[Any]] = [[0.0] * n for _ in range(n)]
        for block in self.blocks:
            part = range(block.first, block.first + block.size)
            if block.radius is not None:
                w = z[block.first : block.first + 3]
                length = ca.sqrt(ca.sumsqr(w) + 1e-18)
                keep = MU * ca.fmax(0.0, 1.0 - block.radius / length)
                rest = ca.if_else(length > block.radius, MU - keep, 0.0)
                normal = w / length
                radial = [sum(normal[c] * self.J[k][i] for c, k in enumerate(part)) for i in range(n)]
                for j in range(n):
                    for i in range(j + 1):
                        flat = sum(self.J[k][i] * self.J[k][j] for k in part)
                        H[j][i] = H[j][i] + keep * flat + rest * radial[i] * radial[j]
                continue
            for k, low, high in zip(part, block.low, block.high, strict=True):
                on = MU * ca.fmax(z[k] > high, z[k] < low)
                if k >= self.limits:  # the joint itself
                    i = k - block.first
                    H[i][i] = H[i][i] + on
                    continue
                for j in range(n):
                    scaled = on * self.J[k][j]
                    for i in range(j + 1):
                        H[j][i] = H[j][i] + scaled * self.J[k][i]
        return H

    def pull(self, r: Any) -> list[Any]:
        """Returns the components of mu J' r."""
        return [MU * sum((self.J[k][i] * r[k] for k in range(len(self.y))), 0.0) for i in range(self.n)]


def add_rows(model: RowModel, layout: ParameterLayout, P: Any) -> None:
    """Adds the constraints, the workspace and the joint limits."""
    rows = layout.unpacked(P)
    axes = ca.SX.eye(3)

    def block(low: list[Any], high: list[Any]) -> None:
        model.blocks.append(_Block(len(model.y), low, high))

    for x, target, tolerance, weight in rows.points:
        lever = model.R @ x
        bound = SCALE * ca.if_else(weight < 0.0, tolerance, _FREE)
        block([-bound] * 3, [bound] * 3)
        error = lever + model.p - target
        for c in range(3):
            model.add(error[c], axes[:, c], lever, scale=SCALE, moves=True)
        _add_square(model, ca.fmax(weight, 0.0), error, lever)
    for x, target, radius, weight in rows.cones:
        lever = model.R @ x
        model.blocks.append(_Block(len(model.y), radius=ca.if_else(weight > 0.0, radius, _FREE)))
        for c in range(3):
            model.add(lever[c] - target[c], axes[:, c], lever, moves=False)
    for x, target, low, high, weight in rows.angles:
        lever = model.R @ x
        block([ca.if_else(weight > 0.0, low, -_FREE)], [ca.if_else(weight > 0.0, high, _FREE)])
        model.add(ca.dot(lever, target), target, lever, moves=False)
    for x, normal, offset, tolerance, weight in rows.planes:
        lever = model.R @ x
        bound = SCALE * ca.if_else(weight < 0.0, tolerance, _FREE)
        block([-bound], [bound])
        distance = ca.dot(normal, lever + model.p) - offset
        model.add(distance, normal, lever, scale=SCALE, moves=True)
        _add_square(model, ca.fmax(weight, 0.0), distance, lever, normal=normal)
    for kind, numbers, low, high, weight in rows.expressions:
        scale = unit_weight(kind.unit) ** 0.5
        block([ca.if_else(weight < 0.0, scale * low, -_FREE)], [ca.if_else(weight < 0.0, scale * high, _FREE)])
        model.add_expression(kind, numbers, scale=scale, weight=ca.fmax(weight, 0.0))
    nowhere = ca.SX.zeros(3)
    block([SCALE * v for v in rows.box_low], [SCALE * v for v in rows.box_high])
    for c in range(3):
        model.add(model.p[c], axes[:, c], nowhere, scale=SCALE, moves=True)
    block([rows.lower[i] for i in range(model.n)], [rows.upper[i] for i in range(model.n)])
    model.limits = len(model.y)
    for i in range(model.n):
        model.y.append(model.q[i])
        model.J.append([1.0 if i == j else 0.0 for j in range(model.n)])
        model.levers.append(None)


def _add_square(model: RowModel, weight: Any, error: Any, lever: Any, *, normal: Any = None) -> None:
    """Adds the cost `weight |error|^2` of a point, or of its distance from a plane."""
    vector = error if normal is None else error * normal
    pull = 2.0 * weight * vector
    model.cost = model.cost + weight * ca.sumsqr(error)
    model.force = model.force + pull
    model.moment = model.moment + pull @ lever.T
    moved = [model.velocity(i, lever, moves=True) for i in range(model.n)]
    if normal is not None:
        moved = [ca.dot(normal, v) for v in moved]
    for j in range(model.n):
        for i in range(j + 1):
            model.extra_curvature[j][i] = model.extra_curvature[j][i] + 2.0 * weight * ca.dot(moved[i], moved[j])


def add_cost(model: RowModel, layout: ParameterLayout, reference: Any, P: Any) -> None:
    """Adds the cost of the distance from the reference joints and the reference pose of the hand."""
    rows = layout.unpacked(P)
    for i in range(model.n):
        away = model.q[i] - reference[i]
        model.cost = model.cost + rows.reference_weight[i] * away * away
        model.extra_gradient[i] = model.extra_gradient[i] + 2.0 * rows.reference_weight[i] * away
        model.extra_curvature[i][i] = model.extra_curvature[i][i] + 2.0 * rows.reference_weight[i]
    if rows.pose is None:
        return
    position_weight, rotation_weight, p_wanted, R_wanted = rows.pose
    _add_square(model, position_weight, model.p - p_wanted, ca.SX.zeros(3))
    # 1 - cos of the angle between two rotations = (3 - tr(R_wanted' R)) / 2
    model.cost = model.cost + 0.5 * rotation_weight * (3.0 - ca.dot(R_wanted, model.R))
    model.moment = model.moment - 0.5 * rotation_weight * R_wanted @ model.R.T
