"""Exact refinement of a goal: Newton steps on the augmented Lagrangian, from the end of the penalty steps.

f is the cost, and y(q) are the rows, scaled so that 1 m weighs as much as 4 rad. proj is the projection onto what the
tolerances, the joint limits and the workspace allow. With res(z) = z - proj(z) and u = multipliers / mu,

    L(q; u) = f(q) + mu/2 |res(y(q) + u)|^2.

One step takes dq from (f'' + mu sum_k r_k y_k'' + mu J' D J) dq = -(f' + mu J' r), with r = res(y + u) and D the
derivative of res at the end of the step. A step that raises L is undone and repeated with more damping. After an
accepted step the multipliers become those that it predicts, u <- res(y + u + J dq): the plain rule u <- res(y + u)
with one step per update does not converge. This is a stabilized SQP method (Wright 1998; Gill and Robinson 2013).
Rows, scaling and safeguards are our own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import casadi as ca
import numpy as np

from unlatch.solver.codegen import CompiledFunction
from unlatch.solver.goal.parameter_layout import ParameterLayout
from unlatch.solver.kinematics import Kinematics
from unlatch.solver.program_store import function_key

if TYPE_CHECKING:
    from unlatch.solver.goal.row_model import RowModel

Array = np.ndarray

_PIVOT_FLOOR = 0.3
_LARGEST_STEP_RAD = 0.3
_INNER = 3
_DAMPING = 1e-2
_DAMPING_DROP, _DAMPING_RISE = 0.1, 10.0


class Refined(NamedTuple):
    """The result of Newton steps."""

    q: Array
    """(B, n_q) joints [rad]."""
    memory: Array
    """(B, m + 1) multipliers over mu, and the damping, from which another run continues."""
    cost: Array
    """(B,) cost at these joints."""
    violation: Array
    """(B,) largest residual of a row, 1 m counting as 4 rad."""
    step: Array
    """(B,) largest component of the next step [rad]."""


class Refiner:
    """Newton steps for one arm and one layout of rows."""

    STEPS = 8
    """Steps of one run; a run may continue another."""

    def __init__(self, kinematics: Kinematics, layout: ParameterLayout) -> None:
        self.kinematics = kinematics
        self.layout = layout
        self._run = CompiledFunction("refine", self._build, key=program_key(kinematics, layout))

    def run(self, q: Array, reference: Array, parameters: Array, *, memory: Array | None = None) -> Refined:
        """Takes Newton steps from several ends of one problem.

        Args:
            q: (B, n_q) joints at the end of the penalty steps [rad].
            reference: (n_q,) reference joints of the cost [rad].
            parameters: (n_parameters,) the problem, packed without tightening.
            memory: (B, m + 1) `memory` of the run to continue; None = a first run.
        """
        count, n = q.shape
        m = self.layout.scalar_rows
        if memory is None:
            memory = np.zeros((count, m + 1))
            memory[:, m] = _DAMPING
        out = self._run(count, lambda f: f.map(count), q, memory, reference, parameters)
        return Refined(out[:, :n], out[:, n : n + m + 1], *out[:, n + m + 1 :].T)

    def measure(self) -> Any:
        """Returns the CasADi Function (q, reference, parameters) -> cost and largest residual of a row."""
        from unlatch.solver.goal.row_model import RowModel, add_cost, add_rows

        q, reference = ca.SX.sym("q", self.kinematics.n_q), ca.SX.sym("ref", self.kinematics.n_q)
        P = ca.SX.sym("P", self.layout.size)
        model = RowModel(self.kinematics, q)
        add_rows(model, self.layout, P)
        add_cost(model, self.layout, reference, P)
        out = ca.mmax(ca.fabs(model.residual(ca.vertcat(*model.y))))
        return ca.Function("measure", [q, reference, P], [ca.vertcat(model.cost, out)], {"cse": True})

    def _build(self) -> Any:
        n = self.kinematics.n_q
        step, m = self._build_step()
        q0, memory = ca.MX.sym("q0", n), ca.MX.sym("memory", m + 1)
        reference, P = ca.MX.sym("ref", n), ca.MX.sym("P", self.layout.size)
        H = ca.MX.zeros(n * (n + 1) // 2)
        u, damping = memory[:m], memory[m]
        state: Any = ca.vertcat(q0, ca.MX.zeros(n), u, u, H, ca.MX.zeros(n), damping / _DAMPING_DROP, 1e30, 1e30, 1e30)
        for _ in range(self.STEPS):
            state = step(state, reference, P)
        q, pending, u = state[:n], state[n : 2 * n], state[2 * n + m : 2 * n + 2 * m]
        answer = ca.vertcat(q, u, state[-4], state[-2], state[-1], ca.norm_inf(pending))
        return ca.Function("refine", [q0, memory, reference, P], [answer])

    def _build_step(self) -> tuple[Any, int]:
        """Returns the step function of (state, reference, parameters), and the number of scalar rows.

        The state holds, in this order: accepted joints, pending step, multipliers, and the multipliers that the pending
        step predicts; lower triangle and gradient of the quadratic model that gave the step, and its damping; merit,
        cost and violation at the accepted joints.
        """
        from unlatch.solver.goal.row_model import MU, RowModel, add_cost, add_rows

        n = self.kinematics.n_q
        reference, P = ca.SX.sym("ref", n), ca.SX.sym("P", self.layout.size)
        m = self.layout.scalar_rows
        sizes = (n, n, m, m, n * (n + 1) // 2, n, 1, 1, 1, 1)
        parts = [ca.SX.sym(f"s{i}", size) for i, size in enumerate(sizes)]
        kept, pending, u_kept, u, H_kept, g_kept, damping, merit_kept, cost_kept, violation_kept = parts
        q = kept + pending
        model = RowModel(self.kinematics, q)
        add_rows(model, self.layout, P)
        add_cost(model, self.layout, reference, P)
        y = ca.vertcat(*model.y)
        merit = model.cost + 0.5 * MU * ca.sumsqr(model.residual(y + u_kept))
        r = model.residual(y + u)
        falls = merit <= merit_kept + 1e-12 * (1.0 + ca.fabs(merit_kept))
        damping_next = ca.if_else(falls, ca.fmax(_DAMPING, _DAMPING_DROP * damping), _DAMPING_RISE * damping)
        H, g = self._local_model(model, y + u, r, damping_next)
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

    def _local_model(self, model: RowModel, z: Any, r: Any, damping: Any) -> tuple[Any, Any]:
        """Returns lower triangle and gradient of a quadratic model of the augmented Lagrangian after the next step.

        Where a step takes a row across its bound, the model is rebuilt with that row.
        """
        n = model.n
        g, W = model.gradient(r)
        dq, ahead, force = ca.SX.zeros(n), z, g
        flat, there = self._quadratic(W, model.stiffness(ahead), force, dq)
        for _ in range(_INNER - 1):
            dq = _damped_step(flat, there, damping, n)
            dq = _clip_step(dq)
            ahead = z + model.times_jacobian(dq)
            more = model.pull(model.residual(ahead) - r)
            bent = [sum(W[max(i, j)][min(i, j)] * dq[j] for j in range(n)) for i in range(n)]
            force = [g[i] + bent[i] + more[i] for i in range(n)]
            flat, there = self._quadratic(W, model.stiffness(ahead), force, dq)
        return flat, there

    @staticmethod
    def _quadratic(W: list[list[Any]], S: list[list[Any]], force: list[Any], dq: Any) -> tuple[Any, Any]:
        """Returns the lower triangle of W + S, and the gradient at 0 of the quadratic with gradient `force` at dq."""
        n = len(W)
        H = [[W[j][i] + S[j][i] for i in range(j + 1)] for j in range(n)]
        there = [force[i] - sum(H[max(i, j)][min(i, j)] * dq[j] for j in range(n)) for i in range(n)]
        return ca.vertcat(*[H[j][i] for j in range(n) for i in range(j + 1)]), ca.vertcat(*there)


def program_key(kinematics: Kinematics, layout: ParameterLayout, *sizes: Any) -> str | None:
    """Returns the key of a program for one arm and one layout of rows, see `function_key`.

    Rows that are expressions come from terms outside this package, whose code a key cannot state: None for these.
    """
    return None if layout.row_counts.expressions else function_key(kinematics, layout, *sizes)


def _clip_step(dq: Any) -> Any:
    """Returns the step shortened to the largest size, in the same direction."""
    return dq * ca.fmin(1.0, _LARGEST_STEP_RAD / (ca.mmax(ca.fabs(dq)) + 1e-12))


def _damped_step(flat: Any, g: Any, damping: Any, n: int) -> Any:
    """Returns -(H + damping)^-1 g for a lower triangle row by row."""
    from unlatch.solver.goal.ldl import ldl_solve

    H = [[flat[j * (j + 1) // 2 + i] + (damping if i == j else 0.0) for i in range(j + 1)] for j in range(n)]
    return ca.vertcat(*ldl_solve(H, [-g[i] for i in range(n)], pivot_floor=_PIVOT_FLOOR))
