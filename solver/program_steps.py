"""The symbolic side of the goal solver's programs: penalty steps, and Newton steps of the exact refinement.

It is needed only where a program is not yet in the cache of compiled functions.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from unlatch.solver.kinematics import Kinematics
from unlatch.solver.parameter_layout import LEAST_DAMPING, POINT_WEIGHT, ParameterLayout
from unlatch.solver.row_model import MU, RowModel, add_cost, add_rows

_PIVOT_FLOOR = 0.3
_LARGEST_STEP_RAD = 0.3
_INNER = 3
_DAMPING_DROP, _DAMPING_RISE = 0.1, 10.0
WISHED_MARGIN_RAD = 0.25
"""Distance to a joint limit that a path keeps where its constraints allow it [rad]."""
_LIMIT_FORCE = 1e9
"""Stiffness that pulls a joint beyond its limits onto its bound."""


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


def build_measure(kinematics: Kinematics, layout: ParameterLayout) -> Any:
    """Returns the CasADi Function (q, reference, parameters) -> cost and largest residual of a row."""
    q, reference = ca.SX.sym("q", kinematics.n_q), ca.SX.sym("ref", kinematics.n_q)
    P = ca.SX.sym("P", layout.size)
    model = RowModel(kinematics, q)
    add_rows(model, layout, P)
    add_cost(model, layout, reference, P)
    out = ca.mmax(ca.fabs(model.residual(ca.vertcat(*model.y))))
    return ca.Function("measure", [q, reference, P], [ca.vertcat(model.cost, out)], {"cse": True})


def build_refinement(kinematics: Kinematics, layout: ParameterLayout, steps: int) -> Any:
    """Returns the CasADi Function (joints, memory, reference, parameters) -> the numbers of `Refined`."""
    n = kinematics.n_q
    step, m = _build_newton_step(kinematics, layout)
    q0, memory = ca.MX.sym("q0", n), ca.MX.sym("memory", m + 1)
    reference, P = ca.MX.sym("ref", n), ca.MX.sym("P", layout.size)
    H = ca.MX.zeros(n * (n + 1) // 2)
    u, damping = memory[:m], memory[m]
    state: Any = ca.vertcat(q0, ca.MX.zeros(n), u, u, H, ca.MX.zeros(n), damping / _DAMPING_DROP, 1e30, 1e30, 1e30)
    for _ in range(steps):
        state = step(state, reference, P)
    q, pending, u = state[:n], state[n : 2 * n], state[2 * n + m : 2 * n + 2 * m]
    answer = ca.vertcat(q, u, state[-4], state[-2], state[-1], ca.norm_inf(pending))
    return ca.Function("refine", [q0, memory, reference, P], [answer])


def _build_newton_step(kinematics: Kinematics, layout: ParameterLayout) -> tuple[Any, int]:
    """Returns the step function of (state, reference, parameters), and the number of scalar rows.

    The state holds, in this order: accepted joints, pending step, multipliers, and the multipliers that the pending
    step predicts; lower triangle and gradient of the quadratic model that gave the step, and its damping; merit,
    cost and violation at the accepted joints.
    """
    n = kinematics.n_q
    reference, P = ca.SX.sym("ref", n), ca.SX.sym("P", layout.size)
    m = layout.scalar_rows
    sizes = (n, n, m, m, n * (n + 1) // 2, n, 1, 1, 1, 1)
    parts = [ca.SX.sym(f"s{i}", size) for i, size in enumerate(sizes)]
    kept, pending, u_kept, u, H_kept, g_kept, damping, merit_kept, cost_kept, violation_kept = parts
    q = kept + pending
    model = RowModel(kinematics, q)
    add_rows(model, layout, P)
    add_cost(model, layout, reference, P)
    y = ca.vertcat(*model.y)
    merit = model.cost + 0.5 * MU * ca.sumsqr(model.residual(y + u_kept))
    r = model.residual(y + u)
    falls = merit <= merit_kept + 1e-12 * (1.0 + ca.fabs(merit_kept))
    damping_next = ca.if_else(falls, ca.fmax(LEAST_DAMPING, _DAMPING_DROP * damping), _DAMPING_RISE * damping)
    H, g = _local_model(model, y + u, r, damping_next)
    H = ca.if_else(falls, H, H_kept)
    g = ca.if_else(falls, g, g_kept)
    dq = _damped_step(H, g, damping_next, n)
    dq = _clip_step(dq)
    u_next = model.residual(y + u + model.times_jacobian(dq))
    violation = ca.mmax(ca.fabs(model.residual(y)))
    share = ca.fmin(1.0, ca.sqrt(ca.sumsqr(dq) / (ca.sumsqr(pending) + 1e-30)))
    merit_new = model.cost + 0.5 * MU * ca.sumsqr(r)
    new = ca.vertcat(q, dq, u, u_next, H, g, damping_next, merit_new, model.cost, violation)
    shorter = u_kept + share * (u - u_kept)
    old = ca.vertcat(kept, dq, u_kept, shorter, H, g, damping_next, merit_kept, cost_kept, violation_kept)
    state = ca.vertcat(*parts)
    return ca.Function("newton", [state, reference, P], [ca.if_else(falls, new, old)], {"cse": True}), m


def _local_model(model: RowModel, z: Any, r: Any, damping: Any) -> tuple[Any, Any]:
    """Returns lower triangle and gradient of a quadratic model of the augmented Lagrangian after the next step.

    Where a step takes a row across its bound, the model is rebuilt with that row.
    """
    n = model.n
    g, W = model.gradient(r)
    dq, ahead, force = ca.SX.zeros(n), z, g
    flat, there = _quadratic(W, model.stiffness(ahead), force, dq)
    for _ in range(_INNER - 1):
        dq = _damped_step(flat, there, damping, n)
        dq = _clip_step(dq)
        ahead = z + model.times_jacobian(dq)
        more = model.pull(model.residual(ahead) - r)
        bent = [sum(W[max(i, j)][min(i, j)] * dq[j] for j in range(n)) for i in range(n)]
        force = [g[i] + bent[i] + more[i] for i in range(n)]
        flat, there = _quadratic(W, model.stiffness(ahead), force, dq)
    return flat, there


def _quadratic(W: list[list[Any]], S: list[list[Any]], force: list[Any], dq: Any) -> tuple[Any, Any]:
    """Returns the lower triangle of W + S, and the gradient at 0 of the quadratic with gradient `force` at dq."""
    n = len(W)
    H = [[W[j][i] + S[j][i] for i in range(j + 1)] for j in range(n)]
    there = [force[i] - sum(H[max(i, j)][min(i, j)] * dq[j] for j in range(n)) for i in range(n)]
    return ca.vertcat(*[H[j][i] for j in range(n) for i in range(j + 1)]), ca.vertcat(*there)


def _clip_step(dq: Any) -> Any:
    """Returns the step shortened to the largest size, in the same direction."""
    return dq * ca.fmin(1.0, _LARGEST_STEP_RAD / (ca.mmax(ca.fabs(dq)) + 1e-12))


def _damped_step(flat: Any, g: Any, damping: Any, n: int) -> Any:
    """Returns -(H + damping)^-1 g for a lower triangle row by row."""
    H = [[flat[j * (j + 1) // 2 + i] + (damping if i == j else 0.0) for i in range(j + 1)] for j in range(n)]
    return ca.vertcat(*ldl_solve(H, [-g[i] for i in range(n)], pivot_floor=_PIVOT_FLOOR))


def build_solve(kinematics: Kinematics, layout: ParameterLayout, step: Any, steps: int, *, measured: bool) -> Any:
    """Returns the CasADi Function of several penalty steps; `measured`: with the cost and the violation at the end."""
    n = kinematics.n_q
    q0, reference, P = ca.MX.sym("q0", n), ca.MX.sym("ref", n), ca.MX.sym("P", layout.size)
    schedule = ca.MX.sym("s", 4 * steps)
    q = q0
    for k in range(steps):
        q = step(q, reference, P, schedule[4 * k : 4 * (k + 1)])
    if not measured:
        return ca.Function("solve", [q0, reference, P, schedule], [q])
    answer = ca.vertcat(q, build_measure(kinematics, layout)(q, reference, P))
    return ca.Function("descend", [q0, reference, P, schedule], [answer])


def build_track(kinematics: Kinematics, layout: ParameterLayout, step: Any, schedule: Any, centring: float) -> Any:
    """Returns the CasADi Function of one waypoint: penalty steps from the joints of the waypoint before it."""
    n = kinematics.n_q
    before, middle, P = ca.MX.sym("q0", n), ca.MX.sym("mid", n), ca.MX.sym("P", layout.size)
    reference = (1.0 - centring) * before + centring * middle
    rows = layout.unpacked(P)
    lower, upper = rows.lower, rows.upper
    # near a limit, the reference stays away from it
    inset = ca.fmin(WISHED_MARGIN_RAD, 0.25 * (upper - lower))
    wished = ca.fmin(ca.fmax(reference, lower + inset), upper - inset)
    q = before
    for row in schedule:
        q = step(q, wished, P, ca.DM(row))
    return ca.Function("waypoint", [before, middle, P], [q])


def build_step(kinematics: Kinematics, layout: ParameterLayout) -> tuple[Any, Any]:
    """Returns the model of the rows and the penalty step, both CasADi Functions.

    The model is (q, parameters, schedule row) -> gradient and lower triangle of the Hessian; the step is
    (q, reference, parameters, schedule row) -> q.
    """
    n = kinematics.n_q
    q, reference = ca.SX.sym("q", n), ca.SX.sym("ref", n)
    P, schedule = ca.SX.sym("P", layout.size), ca.SX.sym("s", 4)
    rows = layout.unpacked(P)
    R, p, linear, angular = kinematics.expressions(q)
    form = _QuadraticForm(n)
    for x, target, tolerance, weight in rows.points:
        v = R @ x
        error = v + p - target
        J = [linear[i] + ca.cross(angular[i], v) for i in range(n)]
        hard = ca.if_else(weight < 0.0, -weight * schedule[0], weight * schedule[2])
        for k in range(3):
            r, on = _interval_excess(error[k], -tolerance, tolerance)
            form.add(r, [J[i][k] for i in range(n)], hard * on)
    # (a_i x v).(a_j x v) = a_i.a_j - (a_i.v)(a_j.v): the dot products are the same for all directions
    wanted = bool(rows.cones) or rows.pose is not None
    dots = [[ca.dot(angular[i], angular[j]) for j in range(i + 1)] for i in range(n)] if wanted else []
    for x, a, radius, weight in rows.cones:
        v = R @ x
        error = v - a
        length = ca.sqrt(ca.sumsqr(error) + 1e-16)
        # a negative weight marks a preference: like the reference, it has no weight in the restoring steps
        pull = ca.if_else(weight < 0.0, -weight * schedule[2], weight * schedule[0])
        pull = ca.if_else(length > radius, pull, 0.0)
        keep = 1.0 - radius / length  # curvature of the distance along the ball's surface; it is 1 along the normal
        cross = ca.cross(v, error / length)
        along = [ca.dot(angular[i], cross) for i in range(n)]
        form.add(length - radius, along, pull, curvature=1.0 - keep)
        across = [ca.dot(angular[i], v) for i in range(n)]
        form.add_curvature(dots, across, pull * keep)
    for x, a, low, high, weight in rows.angles:
        v = R @ x
        cross = ca.cross(v, a)
        r, outside = _interval_excess(ca.dot(a, v), low, high)
        form.add(r, [ca.dot(angular[i], cross) for i in range(n)], weight * schedule[0] * outside)
    for x, normal, offset, tolerance, weight in rows.planes:
        v = R @ x
        hard = ca.if_else(weight < 0.0, -weight * schedule[0], weight * schedule[2])
        r, on = _interval_excess(ca.dot(normal, v + p) - offset, -tolerance, tolerance)
        J = [ca.dot(normal, linear[i] + ca.cross(angular[i], v)) for i in range(n)]
        form.add(r, J, hard * on)
    for kind, numbers, low, high, weight in rows.expressions:
        h = kind.expression(R, p, numbers)
        slope = ca.jacobian(h, q)
        r, on = _interval_excess(h, low, high)
        # the range of a cost is a single value
        hard = ca.if_else(weight < 0.0, -weight * schedule[0], weight * schedule[2])
        form.add(r, [slope[0, i] for i in range(n)], hard * on)
    for k in range(3):
        r, on = _interval_excess(p[k], rows.box_low[k], rows.box_high[k])
        form.add(r, [linear[i][k] for i in range(n)], POINT_WEIGHT * schedule[0] * on)
    flat = [form.H[i][j] for i in range(n) for j in range(i + 1)]
    model = ca.Function("model", [q, P, schedule], [ca.vertcat(*form.g), ca.vertcat(*flat)])
    if rows.pose is not None:
        _add_pose(form, rows.pose, schedule[2], R, p, linear, angular, dots)
    for i in range(n):
        form.H[i][i] += schedule[1] + schedule[2] * rows.reference_weight[i]
        form.g[i] += schedule[2] * rows.reference_weight[i] * (q[i] - reference[i])
    dq = _bounded_step(form, q, rows.lower, rows.upper)
    largest = ca.mmax(ca.fabs(dq))
    dq = dq * ca.fmin(1.0, schedule[3] / (largest + 1e-12))
    q_next = ca.fmin(ca.fmax(q + dq, rows.lower), rows.upper)
    return model, ca.Function("step", [q, reference, P, schedule], [q_next], {"cse": True})


def _add_pose(
    form: _QuadraticForm, pose: Any, scale: Any, R: Any, p: Any, linear: list[Any], angular: list[Any], dots: Any
) -> None:
    """Adds half the cost of the hand's distance from a pose: `(w_p |p - p_ref|^2 + w_R (1 - cos theta)) / 2`."""
    position_weight, rotation_weight, p_wanted, R_wanted = pose
    away = p - p_wanted
    for k in range(3):
        form.add(away[k], [linear[i][k] for i in range(form.n)], scale * position_weight)
    # with |R - R_ref|^2 / 4 = 1 - cos theta as a square, a_i . a_j is its Gauss-Newton curvature
    torque = sum((ca.cross(R[:, c], R_wanted[:, c]) for c in range(3)), ca.SX.zeros(3))
    half = 0.5 * scale * rotation_weight
    for i in range(form.n):
        form.g[i] -= 0.5 * half * ca.dot(angular[i], torque)
        for j in range(i + 1):
            form.H[i][j] += half * dots[i][j]


class _QuadraticForm:
    """`0.5 dq' H dq + g' dq`, summed row by row; H is filled on and below its diagonal."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.H: list[list[Any]] = [[0.0] * n for _ in range(n)]
        self.g: list[Any] = [0.0] * n

    def add(self, residual: Any, jacobian: list[Any], weight: Any, *, curvature: Any = 1.0) -> None:
        """Adds `0.5 weight (residual + jacobian dq)^2`; its second-order part is scaled by `curvature`."""
        for i in range(self.n):
            scaled = weight * jacobian[i]
            self.g[i] += scaled * residual
            scaled = scaled * curvature
            for j in range(i + 1):
                self.H[i][j] += scaled * jacobian[j]

    def add_curvature(self, dots: list[list[Any]], across: list[Any], weight: Any) -> None:
        """Adds half the squared motion of a direction v: `dots` holds a_i . a_j, and `across` a_i . v."""
        for i in range(self.n):
            scaled = weight * across[i]
            for j in range(i + 1):
                self.H[i][j] += weight * dots[i][j] - scaled * across[j]


def _interval_excess(value: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """Returns the signed distance of a number from an interval, and 1 if it lies outside."""
    r = ca.fmax(value - high, 0.0) + ca.fmin(value - low, 0.0)
    return r, ca.fabs(ca.sign(r))


def _bounded_step(form: _QuadraticForm, q: Any, lower: Any, upper: Any) -> Any:
    """Returns the step that minimises the form; joints beyond their limits are put on them, the rest solved again."""
    free = ca.vertcat(*ldl_solve(form.H, [-g for g in form.g]))
    room_up, room_down = upper - q, lower - q
    beyond = ca.if_else(free > room_up, 1.0, ca.if_else(free < room_down, 1.0, 0.0))
    target = ca.fmin(ca.fmax(free, room_down), room_up)
    H = [[form.H[i][j] + (beyond[i] * _LIMIT_FORCE if i == j else 0.0) for j in range(i + 1)] for i in range(form.n)]
    g = [-form.g[i] + beyond[i] * _LIMIT_FORCE * target[i] for i in range(form.n)]
    return ca.vertcat(*ldl_solve(H, g))
