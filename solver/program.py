"""The compiled program: Gauss-Newton steps on rows, built once per arm and structure, run for many starts at once.

A problem is a list of rows (`solver.terms.row`) with numbers; the program depends only on how many rows of each kind
there are. Numbers go in as a parameter vector, so that keypoints, axes, tolerances and bounds cost no rebuild.

One step minimises, about the present q,

    sum_hard mu w |r - proj(r)|^2 + sum_cost w r^2 + c (q - q_ref)' W (q - q_ref) + d |dq|^2,   q inside its limits,

where proj is the projection onto the box (points), the ball (axes near a direction) or the interval (other angles)
that the tolerance allows. The form is that of a penalty method; the last steps have c = 0 and a small d, so that they
restore the constraints alone. Our own; compare Nocedal and Wright, Numerical Optimization, chapters 10 and 17.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from solver.kinematics import Kinematics
from solver.terms.row import AxisRow, PlaneRow, PointRow, Row

Array = np.ndarray

POINT_WEIGHT = 16.0
"""Weight of a squared metre beside a squared radian: 4 m count as much as 1 rad, as an arm's length would have it."""
_TIGHTEN = 0.7
"""Share of a tolerance that is aimed at, so that what remains of the residual still lies inside it."""
_LIMIT_FORCE = 1e9
"""Pulls a joint that would leave its limits onto its bound."""

_POINT, _AXIS, _PLANE = 8, 11, 10
"""Parameters of one row of each kind."""


@dataclass(frozen=True)
class Structure:
    """How many rows of each kind a problem has."""

    points: int
    axes: int
    planes: int

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Structure:
        """The structure of a list of rows."""
        return cls(
            points=sum(isinstance(row, PointRow) for row in rows),
            axes=sum(isinstance(row, AxisRow) for row in rows),
            planes=sum(isinstance(row, PlaneRow) for row in rows),
        )


@dataclass(frozen=True)
class Schedule:
    """What changes from step to step: columns mu, d, c and the largest joint step [rad]."""

    steps: tuple[tuple[float, float, float, float], ...]


class Program:
    """Batched solves for one arm and one structure; get it from `program_of`."""

    def __init__(self, kinematics: Kinematics, structure: Structure) -> None:
        self.kinematics = kinematics
        self.structure = structure
        n = kinematics.n_q
        s = structure
        self.n_parameters = s.points * _POINT + s.axes * _AXIS + s.planes * _PLANE + 6 + 3 * n
        self.model: Any = None
        """CasADi Function (q, parameters, schedule row) -> gradient and lower triangle of the Hessian of the rows."""
        self._step = self._build_step()
        self._cache: dict[tuple[Any, ...], Any] = {}

    def pack(
        self,
        rows: Sequence[Row],
        *,
        lower: Array,
        upper: Array,
        box: Array,
        reference_weight: Array,
        tighten: float = _TIGHTEN,
    ) -> Array:
        """The parameter vector of one problem.

        Args:
            rows: Rows of this program's structure, in any order.
            lower: (n_q,) lower joint limits [rad].
            upper: (n_q,) upper joint limits [rad].
            box: (2, 3) workspace of the tip origin, base frame [m].
            reference_weight: (n_q,) diagonal of W.
            tighten: Share of each tolerance that is aimed at.

        Returns:
            (n_parameters,).
        """
        points = [_pack_point(r, tighten) for r in rows if isinstance(r, PointRow)]
        axes = [_pack_axis(r, tighten) for r in rows if isinstance(r, AxisRow)]
        planes = [_pack_plane(r, tighten) for r in rows if isinstance(r, PlaneRow)]
        inset = 1e-6 * np.array([[1.0], [-1.0]])
        return np.concatenate([*points, *axes, *planes, (box + inset).ravel(), lower, upper, reference_weight])

    def solve(self, starts: Array, reference: Array, parameters: Array, schedule: Schedule) -> Array:
        """Runs the schedule from many starts.

        Args:
            starts: (B, n_q) first joints [rad].
            reference: (B, n_q) or (n_q,) reference joints [rad].
            parameters: (B, n_parameters) or (n_parameters,).
            schedule: The steps.

        Returns:
            (B, n_q) joints after the last step [rad].
        """
        count = starts.shape[0]
        function = self._function(("solve", schedule, count))
        reference = np.broadcast_to(reference, starts.shape)
        parameters = np.broadcast_to(parameters, (count, self.n_parameters))
        solved: Array = function(starts.T, reference.T, parameters.T).toarray().T
        return solved

    def track(self, starts: Array, middle: Array, parameters: Array, schedule: Schedule, *, centring: float) -> Array:
        """Follows a sequence of problems: each waypoint starts from, and stays near, the one before.

        Args:
            starts: (C, n_q) joints before the first waypoint [rad].
            middle: (n_q,) joints towards which the free motion is drawn [rad].
            parameters: (C, W, n_parameters) or (W, n_parameters): problems of the waypoints.
            schedule: Steps at each waypoint.
            centring: Share (0 to 1) of the reference that is `middle`, against the waypoint before.

        Returns:
            (C, W, n_q) joints [rad].
        """
        count, waypoints = starts.shape[0], parameters.shape[-2]
        function = self._function(("track", schedule, count, waypoints, centring))
        parameters = np.broadcast_to(parameters, (count, waypoints, self.n_parameters))
        flat = parameters.reshape(count * waypoints, self.n_parameters)
        middles = np.broadcast_to(middle, (count * waypoints, self.kinematics.n_q))
        out: Array = function(starts.T, middles.T, flat.T).toarray().T
        return out.reshape(count, waypoints, self.kinematics.n_q)

    def _function(self, key: tuple[Any, ...]) -> Any:
        if key not in self._cache:
            if key[0] == "solve":
                self._cache[key] = self._build_solve(key[1]).map(key[2])
            else:
                _, schedule, count, waypoints, centring = key
                self._cache[key] = self._build_track(schedule, waypoints, centring).map(count)
        return self._cache[key]

    def _build_solve(self, schedule: Schedule) -> Any:
        import casadi as ca

        n = self.kinematics.n_q
        q0, reference, P = ca.MX.sym("q0", n), ca.MX.sym("ref", n), ca.MX.sym("P", self.n_parameters)
        q = q0
        for step in schedule.steps:
            q = self._step(q, reference, P, ca.DM(step))
        return ca.Function("solve", [q0, reference, P], [q])

    def _build_track(self, schedule: Schedule, waypoints: int, centring: float) -> Any:
        import casadi as ca

        n = self.kinematics.n_q
        before, middle, P = ca.MX.sym("q0", n), ca.MX.sym("mid", n), ca.MX.sym("P", self.n_parameters)
        reference = (1.0 - centring) * before + centring * middle
        q = before
        for step in schedule.steps:
            q = self._step(q, reference, P, ca.DM(step))
        return ca.Function("waypoint", [before, middle, P], [q]).mapaccum(waypoints)

    def _build_step(self) -> Any:
        import casadi as ca

        n, s = self.kinematics.n_q, self.structure
        q, reference = ca.SX.sym("q", n), ca.SX.sym("ref", n)
        P, schedule = ca.SX.sym("P", self.n_parameters), ca.SX.sym("s", 4)
        R, p, linear, angular = self.kinematics.expressions(q)
        form = _QuadraticForm(n)
        cursor = 0
        for _ in range(s.points):
            x, target, tolerance, weight = (
                P[cursor : cursor + 3],
                P[cursor + 3 : cursor + 6],
                P[cursor + 6],
                P[cursor + 7],
            )
            cursor += _POINT
            v = R @ x
            error = v + p - target
            J = [linear[i] + ca.cross(angular[i], v) for i in range(n)]
            hard = ca.if_else(weight < 0.0, -weight * schedule[0], weight)
            for k in range(3):
                r, on = _outside(error[k], -tolerance, tolerance)
                form.add(r, [J[i][k] for i in range(n)], hard * on)
        for _ in range(s.axes):
            x, a = P[cursor : cursor + 3], P[cursor + 3 : cursor + 6]
            radius, w_ball, low, high, w_cos = (P[cursor + 6 + k] for k in range(5))
            cursor += _AXIS
            v = R @ x
            J = [ca.cross(angular[i], v) for i in range(n)]
            error = v - a
            length = ca.sqrt(ca.sumsqr(error) + 1e-16)
            normal = error / length
            # a negative weight is that of a wish: it counts with the reference, and not in the restoring steps
            pull = ca.if_else(w_ball < 0.0, -w_ball * schedule[2], w_ball * schedule[0])
            on = ca.if_else(length > radius, pull, 0.0)
            keep = 1.0 - radius / length  # of the distance derivative across the ball's surface; 1 along the normal
            along = [ca.dot(normal, J[i]) for i in range(n)]
            form.add(0.0, along, on * (1.0 - keep))  # its curvature only: the gradient comes with the three below
            for k in range(3):
                form.add_split(error[k] * keep, [J[i][k] for i in range(n)], on, keep)
            r, outside = _outside(ca.dot(a, v), low, high)
            form.add(r, [ca.dot(a, J[i]) for i in range(n)], w_cos * schedule[0] * outside)
        for _ in range(s.planes):
            x, normal = P[cursor : cursor + 3], P[cursor + 3 : cursor + 6]
            offset, tolerance, weight = P[cursor + 6], P[cursor + 7], P[cursor + 8]
            cursor += _PLANE
            v = R @ x
            hard = ca.if_else(weight < 0.0, -weight * schedule[0], weight)
            r, on = _outside(ca.dot(normal, v + p) - offset, -tolerance, tolerance)
            J = [ca.dot(normal, linear[i] + ca.cross(angular[i], v)) for i in range(n)]
            form.add(r, J, hard * on)
        for k in range(3):
            r, on = _outside(p[k], P[cursor + k], P[cursor + 3 + k])
            form.add(r, [linear[i][k] for i in range(n)], POINT_WEIGHT * schedule[0] * on)
        cursor += 6
        flat = [form.H[i][j] for i in range(n) for j in range(i + 1)]
        self.model = ca.Function("model", [q, P, schedule], [ca.vertcat(*form.g), ca.vertcat(*flat)])
        lower, upper, weight = P[cursor : cursor + n], P[cursor + n : cursor + 2 * n], P[cursor + 2 * n :]
        for i in range(n):
            form.H[i][i] += schedule[1] + schedule[2] * weight[i]
            form.g[i] += schedule[2] * weight[i] * (q[i] - reference[i])
        dq = _bounded_step(form, q, lower, upper)
        largest = ca.mmax(ca.fabs(dq))
        dq = dq * ca.fmin(1.0, schedule[3] / (largest + 1e-12))
        q_next = ca.fmin(ca.fmax(q + dq, lower), upper)
        return ca.Function("step", [q, reference, P, schedule], [q_next], {"cse": True})


class _QuadraticForm:
    """`0.5 dq' H dq + g' dq`, summed row by row; H is filled on and below its diagonal."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.H: list[list[Any]] = [[0.0] * n for _ in range(n)]
        self.g: list[Any] = [0.0] * n

    def add(self, residual: Any, jacobian: list[Any], weight: Any) -> None:
        """Adds `0.5 weight (residual + jacobian dq)^2`."""
        self.add_split(residual, jacobian, weight, 1.0)

    def add_split(self, residual: Any, jacobian: list[Any], weight: Any, curvature: Any) -> None:
        """The same with its curvature scaled, the gradient as it is."""
        for i in range(self.n):
            scaled = weight * jacobian[i]
            self.g[i] += scaled * residual
            scaled = scaled * curvature
            for j in range(i + 1):
                self.H[i][j] += scaled * jacobian[j]


def _outside(value: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """Signed distance of a number from an interval, and 1 where it lies outside."""
    import casadi as ca

    r = ca.fmax(value - high, 0.0) + ca.fmin(value - low, 0.0)
    return r, ca.fabs(ca.sign(r))


def _bounded_step(form: _QuadraticForm, q: Any, lower: Any, upper: Any) -> Any:
    """The minimiser; joints that it would take out of their limits are put on them and the others solved again."""
    import casadi as ca

    free = ca.vertcat(*_cholesky_solve(form.H, [-g for g in form.g]))
    room_up, room_down = upper - q, lower - q
    beyond = ca.if_else(free > room_up, 1.0, ca.if_else(free < room_down, 1.0, 0.0))
    target = ca.fmin(ca.fmax(free, room_down), room_up)
    H = [[form.H[i][j] + (beyond[i] * _LIMIT_FORCE if i == j else 0.0) for j in range(i + 1)] for i in range(form.n)]
    g = [-form.g[i] + beyond[i] * _LIMIT_FORCE * target[i] for i in range(form.n)]
    return ca.vertcat(*_cholesky_solve(H, g))


def _cholesky_solve(H: list[list[Any]], b: list[Any]) -> list[Any]:
    """Solves H x = b, H symmetric and positive definite, unrolled into scalar operations (LDL')."""
    n = len(b)
    L: list[list[Any]] = [[0.0] * n for _ in range(n)]
    D: list[Any] = [0.0] * n
    for j in range(n):
        value = H[j][j]
        for k in range(j):
            value = value - L[j][k] * L[j][k] * D[k]
        D[j] = value
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


def _pack_point(row: PointRow, tighten: float) -> Array:
    # hard rows carry a negative weight: the program multiplies those by mu
    weight = -POINT_WEIGHT if row.weight is None else row.weight
    return np.concatenate([row.x_ee, row.target, [tighten * row.tolerance, weight]])


def _pack_axis(row: AxisRow, tighten: float) -> Array:
    half = tighten * (row.upper - row.lower) / 2.0
    if row.lower <= 1e-12:  # a cone about the target; a ball of the unit vector, which has a slope at its centre
        radius = 2.0 * math.sin(min(math.pi, tighten * row.upper) / 2.0)
        return np.concatenate([row.x_ee, row.target, [radius, 1.0, -1.0, 1.0, 0.0]])
    if row.upper >= math.pi - 1e-12:  # a cone about the opposite direction
        radius = 2.0 * math.sin(min(math.pi, tighten * (math.pi - row.lower)) / 2.0)
        return np.concatenate([row.x_ee, -row.target, [radius, 1.0, -1.0, 1.0, 0.0]])
    middle = 0.5 * (row.lower + row.upper)
    low, high = math.cos(middle + half), math.cos(middle - half)
    return np.concatenate([row.x_ee, row.target, [0.0, 0.0, low, high, 1.0]])


def _pack_plane(row: PlaneRow, tighten: float) -> Array:
    weight = -POINT_WEIGHT if row.weight is None else row.weight
    offset = float(row.normal @ row.point)
    return np.concatenate([row.x_ee, row.normal, [offset, tighten * row.tolerance, weight, 0.0]])


_PROGRAMS: weakref.WeakKeyDictionary[Kinematics, dict[Structure, Program]] = weakref.WeakKeyDictionary()


def program_of(kinematics: Kinematics, structure: Structure) -> Program:
    """The program of an arm and a structure, built on first use and kept while the arm's kinematics lives."""
    programs = _PROGRAMS.setdefault(kinematics, {})
    if structure not in programs:
        programs[structure] = Program(kinematics, structure)
    return programs[structure]
