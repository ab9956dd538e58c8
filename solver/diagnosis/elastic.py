"""The elastic solve: the compromise between constraints that cannot all hold.

    min over q, t >= 0:   sum_k w_k t_k + e |q - q_start|^2
    s.t.  row k out of its tolerance by at most t_k, the ee origin out of face f of the workspace by at most t_f,
          joint j beyond its limits by at most t_j

The l1 sum is sparse and exact: constraints that can hold do hold, to the solver's precision, and the few that cannot
hold carry the whole violation. A sum of squares would spread it over all of them. This is the elastic mode of SNOPT
(Gill, Murray and Saunders, SIAM Review 47, 2005). A large weight makes a constraint hard: the l1 penalty is exact. A
metre counts as four radians.

There is one program per arm and kinds of rows; weights and bounds are parameters. IPOPT solves it, warm from the ends
of a goal solve. Effort is bounded by counts of solves and iterations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from unlatch.solver.goal.start_library import start_library_of
from unlatch.solver.goal.verify import row_excess
from unlatch.solver.kinematics import Kinematics
from unlatch.solver.scene import ArmModel, Array
from unlatch.solver.terms.row import AxisRow, ExpressionRow, PlaneRow, PointRow, Row, RowKind

METRE = 4.0
"""Weight of a metre relative to a radian."""
FREE = 0.0
"""Weight of an element that may be violated freely."""
HARD = 1e3
"""Weight of an element that must hold if possible."""
NEAR_START = 1e-5
"""Weight e of the distance from the start in a compromise; it only decides between equals [1/rad^2]."""
_TIP = 1e-9
"""Keeps the tip of a cone from dividing by zero."""
_FLAT = 1e-5
"""Curvature along slacks that cost nothing."""
_MAX_ITERATIONS = 80
_ON_BOUND = 1e-4
"""Largest distance from a limit or face that counts as on it [rad or m]."""
_NAMES = {PointRow: "point", AxisRow: "axis", PlaneRow: "plane"}
FACES = ("x_min", "x_max", "y_min", "y_max", "z_min", "z_max")


@dataclass(frozen=True)
class Weights:
    """Cost of a unit of violation, by element; `HARD` for elements that must hold, `FREE` for those that need not."""

    rows: Array
    """(K,) of each row [1/rad or 1/m]."""
    faces: Array
    """(6,) of the workspace faces x_min, x_max, y_min, ... [1/m]."""
    joints: Array
    """(n,) of the joint limits [1/rad]."""
    near_start: float = NEAR_START
    """Weight e of the squared distance from the start [1/rad^2]."""
    radius_rad: float = np.inf
    """Largest change of a joint from the start [rad]."""


@dataclass(frozen=True)
class Compromise:
    """The result of an elastic solve."""

    q: Array
    """(n,) joints [rad]."""
    rows: Array
    """(K,) violation of each row, in its unit."""
    faces: Array
    """(6,) distance of the ee origin beyond each face [m]."""
    joints: Array
    """(n,) distance of each joint beyond a limit: positive above the upper, negative below the lower [rad]."""
    pull_rows: Array
    """(K,) reduction of the weighted sum per unit of tolerance; 0 = the row does not matter."""
    pull_faces: Array
    """(6,) reduction of the weighted sum per metre of room behind each face; 0 = the face does not matter."""
    pull_joints: Array
    """(n,) the same per radian beyond a joint limit: positive at the upper, negative at the lower."""

    def cost(self, weights: Weights) -> float:
        """Returns the weighted sum of violations."""
        return float(weights.rows @ self.rows + weights.faces @ self.faces + weights.joints @ np.abs(self.joints))

    def largest_violation(self) -> float:
        """Returns the largest violation of a row, a face or a joint limit, metres and radians alike."""
        return float(np.concatenate([self.rows, self.faces, np.abs(self.joints)]).max(initial=0.0))


def elastic_rows(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Returns the rows without costs."""
    return tuple(row for row in rows if isinstance(row, AxisRow) or row.weight is None)


def default_weights(arm: ArmModel, rows: Sequence[Row]) -> Weights:
    """Returns the weights of a compromise: constraints and workspace may be violated, joint limits may not.

    A face costs twice as much as a constraint. So if either could be violated, the constraint is, and the face is
    reported as its cause.
    """
    return Weights(
        rows=np.array([METRE if row.unit == "m" else 1.0 for row in rows]),
        faces=np.full(6, 2.0 * METRE),
        joints=np.full(arm.n_q, HARD),
    )


def compromise(arm: ArmModel, rows: Sequence[Row], starts: Array, *, weights: Weights | None = None) -> Compromise:
    """Returns the least violated compromise between K constraints (no costs) that the starts (B, n) [rad] reach.

    Each start costs one solve of 5 to 20 ms. A joint stays inside its limits if its weight is `HARD`.
    """
    chosen = default_weights(arm, rows) if weights is None else weights
    return least_violated(compromises(arm, rows, starts, weights=chosen), chosen)


def compromises(arm: ArmModel, rows: Sequence[Row], starts: Array, *, weights: Weights) -> list[Compromise]:
    """Returns the compromise that each start reaches; see `compromise`."""
    kinematics = arm.kinematics
    kinds = tuple(row.kind if isinstance(row, ExpressionRow) else _NAMES[type(row)] for row in rows)
    program = kinematics.program((ElasticProgram, kinds), lambda: ElasticProgram(kinematics, kinds))
    return [program.solve(arm, rows, q, weights) for q in starts]


def least_violated(ends: Sequence[Compromise], weights: Weights) -> Compromise:
    """Returns the compromise of least weighted violation; the first of equals."""
    return min(ends, key=lambda end: round(end.cost(weights), 7))


def measure_compromise(arm: ArmModel, rows: Sequence[Row], q: Array, weights: Weights) -> Compromise:
    """Measures the violations at joints in plain NumPy; joints with hard limits are clipped first."""
    hard = weights.joints >= HARD
    q = np.where(hard, np.clip(q, arm.q_lower, arm.q_upper), q)
    R, p = arm.kinematics.fk_batch(q[None])
    beyond = np.maximum(0.0, np.stack([arm.workspace[0] - p[0], p[0] - arm.workspace[1]], axis=1).ravel())
    joints = np.maximum(0.0, q - arm.q_upper) - np.maximum(0.0, arm.q_lower - q)
    return Compromise(q, row_excess(rows, R, p)[0], beyond, joints, np.zeros(len(rows)), np.zeros(6), np.zeros(arm.n_q))


def promising_starts(arm: ArmModel, rows: Sequence[Row], count: int, *, weights: Weights | None = None) -> Array:
    """Returns (count, n) joints of the start library with the least violation, apart from each other [rad]."""
    chosen = default_weights(arm, rows) if weights is None else weights
    library = start_library_of(arm)
    score = row_excess(rows, library.R, library.p) @ np.minimum(chosen.rows, METRE)
    return library.pick(score, count=count)


class ElasticProgram:
    """The program for one arm and the kinds of its rows, in order."""

    def __init__(self, kinematics: Kinematics, kinds: tuple[str | RowKind, ...]) -> None:
        self.kinds = kinds
        self.n_q = kinematics.n_q
        self._solver = self._build(kinematics)

    def solve(self, arm: ArmModel, rows: Sequence[Row], q_start: Array, weights: Weights) -> Compromise:
        """Returns the compromise that IPOPT reaches from the joints q_start (n,) [rad], or the start if IPOPT fails."""
        n, K = self.n_q, len(rows)
        start = measure_compromise(arm, rows, q_start, weights)
        slack = np.concatenate([start.rows, start.faces, np.abs(start.joints)])
        parameters = np.concatenate(
            [
                *[_pack_row(row) for row in rows],
                arm.workspace.T.ravel(),
                arm.q_lower,
                arm.q_upper,
                weights.rows,
                weights.faces,
                weights.joints,
                start.q,
                [weights.near_start],
            ]
        )
        # a hard joint limit is a bound of the program; a soft one may be violated by its slack
        hard = weights.joints >= HARD
        low = np.where(hard, arm.q_lower, arm.q_lower - 2.0 * np.pi)
        high = np.where(hard, arm.q_upper, arm.q_upper + 2.0 * np.pi)
        low, high = np.maximum(low, start.q - weights.radius_rad), np.minimum(high, start.q + weights.radius_rad)
        answer = self._solver(
            x0=np.concatenate([start.q, slack + 1e-3]),
            p=parameters,
            lbx=np.concatenate([low, np.zeros(K + 6 + n)]),
            ubx=np.concatenate([high, np.full(K + 6 + n, np.inf)]),
            lbg=-np.inf,
            ubg=0.0,
        )
        q: Array = answer["x"].toarray().ravel()[:n]
        if not np.all(np.isfinite(q)):
            return start
        bounds, inequalities = answer["lam_x"].toarray().ravel()[:n], answer["lam_g"].toarray().ravel()
        beyond = inequalities[-2 * n :].reshape(n, 2)
        end = measure_compromise(arm, rows, q, weights)
        p = arm.kinematics.fk_batch(end.q[None])[1][0]
        at_limit = np.minimum(end.q - arm.q_lower, arm.q_upper - end.q) < _ON_BOUND
        on_face = np.stack([p - arm.workspace[0], arm.workspace[1] - p], axis=1).ravel()
        return replace(
            end,
            pull_rows=np.add.reduceat(inequalities, self._ends[:-1]) if K else np.zeros(0),
            pull_faces=np.where(on_face < _ON_BOUND, inequalities[-2 * n - 6 : -2 * n], 0.0),
            pull_joints=np.where(at_limit, bounds + beyond[:, 0] - beyond[:, 1], 0.0),
        )

    def _build(self, kinematics: Kinematics) -> Any:
        n, K = self.n_q, len(self.kinds)
        q, t = ca.SX.sym("q", n), ca.SX.sym("t", K + 6 + n)
        R, p, _, _ = kinematics.expressions(q)
        blocks: list[Any] = []

        def given(size: int) -> Any:
            blocks.append(ca.SX.sym(f"p{len(blocks)}", size))
            return blocks[-1]

        g: list[Any] = []
        self._ends = [0]  # where the inequalities of each row begin and end
        for k, kind in enumerate(self.kinds):
            if isinstance(kind, RowKind):
                h, low, high = kind.expression(R, p, given(kind.size)), given(1), given(1)
                g += [h - high - t[k], low - h - t[k]]
                self._ends.append(len(g))
                continue
            x, target = given(3), given(3)
            v = R @ x
            if kind == "point":
                tolerance = given(1)
                for i in range(3):
                    error = (v + p - target)[i]
                    g += [error - tolerance - t[k], -error - tolerance - t[k]]
            elif kind == "axis":
                # at angles of 0 and pi the cosine has no slope, but the chords c to the target and to its opposite do;
                # c^2 / r <= r with r = tolerance + slack (a rotated cone) is also smooth at c = 0
                for chord, radius in ((v - target, given(1) + t[k]), (v + target, given(1) + t[k])):
                    g.append(0.5 * (ca.sumsqr(chord) / (radius + _TIP) - radius))
            else:
                offset, tolerance = given(1), given(1)
                error = ca.dot(target, v + p) - offset
                g += [error - tolerance - t[k], -error - tolerance - t[k]]
            self._ends.append(len(g))
        box = given(6)
        for i in range(3):
            g += [box[2 * i] - p[i] - t[K + 2 * i], p[i] - box[2 * i + 1] - t[K + 2 * i + 1]]
        lower, upper = given(n), given(n)
        for i in range(n):
            g += [q[i] - upper[i] - t[K + 6 + i], lower[i] - q[i] - t[K + 6 + i]]
        weight, start, near_start = given(K + 6 + n), given(n), given(1)
        cost = ca.dot(weight, t) + near_start * ca.sumsqr(q - start) + _FLAT * ca.sumsqr(t)
        options: dict[str, Any] = {
            "print_time": False,
            "error_on_fail": False,
            "ipopt": {
                "print_level": 0,
                "sb": "yes",
                "max_iter": _MAX_ITERATIONS,
                "tol": 1e-6,
                "constr_viol_tol": 1e-8,
                "mu_strategy": "adaptive",
                "bound_relax_factor": 0.0,
            },
        }
        problem = {"x": ca.vertcat(q, t), "p": ca.vertcat(*blocks), "f": cost, "g": ca.vertcat(*g)}
        return ca.nlpsol("elastic", "ipopt", problem, options)


def _pack_row(row: Row) -> Array:
    if isinstance(row, ExpressionRow):
        return np.concatenate([row.numbers, [row.lower, row.upper]])
    if isinstance(row, PointRow):
        return np.concatenate([row.x_ee, row.target, [row.tolerance]])
    if isinstance(row, AxisRow):
        near, far = 2.0 * np.sin(0.5 * row.upper), 2.0 * np.sin(0.5 * (np.pi - row.lower))
        return np.concatenate([row.x_ee, row.target, [near, far]])
    return np.concatenate([row.x_ee, row.normal, [float(row.normal @ row.point), row.tolerance]])
