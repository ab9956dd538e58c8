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
WISHED_MARGIN_RAD = 0.25
"""Distance to a joint limit that a path keeps where its constraints leave it free to [rad]."""
_TIGHTEN = 0.7
"""Share of a tolerance that is aimed at, so that what remains of the residual still lies inside it."""
_LIMIT_FORCE = 1e9
"""Pulls a joint that would leave its limits onto its bound."""

_POINT, _CONE, _ANGLE, _PLANE = 8, 8, 9, 9
"""Parameters of one row of each kind."""


@dataclass(frozen=True)
class Structure:
    """How many rows of each kind a problem has."""

    points: int
    """Points in a box."""
    cones: int
    """Directions near another one."""
    angles: int
    """Directions at a range of angles from another one."""
    planes: int
    """Points near a plane."""

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Structure:
        """The structure of a list of rows."""
        return cls(
            points=sum(isinstance(row, PointRow) for row in rows),
            cones=sum(isinstance(row, AxisRow) and is_cone(row) for row in rows),
            angles=sum(isinstance(row, AxisRow) and not is_cone(row) for row in rows),
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
        self.n_parameters = s.points * _POINT + s.cones * _CONE + s.angles * _ANGLE + s.planes * _PLANE + 6 + 3 * n
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
        cones = [_pack_cone(r, tighten) for r in rows if isinstance(r, AxisRow) and is_cone(r)]
        angles = [_pack_angle(r, tighten) for r in rows if isinstance(r, AxisRow) and not is_cone(r)]
        planes = [_pack_plane(r, tighten) for r in rows if isinstance(r, PlaneRow)]
        inset = 1e-6 * np.array([[1.0], [-1.0]])
        return np.concatenate(
            [*points, *cones, *angles, *planes, (box + inset).ravel(), lower, upper, reference_weight]
        )

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
        lower, upper = P[-3 * n : -2 * n], P[-2 * n : -n]
        # near a limit the wish is to be away from it
        inset = ca.fmin(WISHED_MARGIN_RAD, 0.25 * (upper - lower))
        wished = ca.fmin(ca.fmax(reference, lower + inset), upper - inset)
        q = before
        for step in schedule.steps:
            q = self._step(q, wished, P, ca.DM(step))
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
        # (a_i x v).(a_j x v) = a_i.a_j - (a_i.v)(a_j.v): the dot products are the same for all directions
        dots = [[ca.dot(angular[i], angular[j]) for j in range(i + 1)] for i in range(n)] if s.cones else []
        for _ in range(s.cones):
            x, a, radius, weight = P[cursor : cursor + 3], P[cursor + 3 : cursor + 6], P[cursor + 6], P[cursor + 7]
            cursor += _CONE
            v = R @ x
            error = v - a
            length = ca.sqrt(ca.sumsqr(error) + 1e-16)
            # a negative weight is that of a wish: it counts with the reference, and not in the restoring steps
            pull = ca.if_else(weight < 0.0, -weight * schedule[2], weight * schedule[0])
            pull = ca.if_else(length > radius, pull, 0.0)
            keep = 1.0 - radius / length  # curvature of the distance across the ball's surface; 1 along its normal
            cross = ca.cross(v, error / length)
            along = [ca.dot(angular[i], cross) for i in range(n)]
            form.add(length - radius, along, pull, curvature=1.0 - keep)
            across = [ca.dot(angular[i], v) for i in range(n)]
            form.add_curvature(dots, across, pull * keep)
        for _ in range(s.angles):
            x, a = P[cursor : cursor + 3], P[cursor + 3 : cursor + 6]
            low, high, weight = P[cursor + 6], P[cursor + 7], P[cursor + 8]
            cursor += _ANGLE
            v = R @ x
            cross = ca.cross(v, a)
            r, outside = _outside(ca.dot(a, v), low, high)
            form.add(r, [ca.dot(angular[i], cross) for i in range(n)], weight * schedule[0] * outside)
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

    def add(self, residual: Any, jacobian: list[Any], weight: Any, *, curvature: Any = 1.0) -> None:
        """Adds `0.5 weight (residual + jacobian dq)^2`, its curvature scaled."""
        for i in range(self.n):
            scaled = weight * jacobian[i]
            self.g[i] += scaled * residual
            scaled = scaled * curvature
            for j in range(i + 1):
                self.H[i][j] += scaled * jacobian[j]

    def add_curvature(self, dots: list[list[Any]], across: list[Any], weight: Any) -> None:
        """Adds `0.5 weight |dq-motion of a direction|^2`, given by dot products less its part along itself."""
        for i in range(self.n):
            scaled = weight * across[i]
            for j in range(i + 1):
                self.H[i][j] += weight * dots[i][j] - scaled * across[j]


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


def is_cone(row: AxisRow) -> bool:
    """Whether the range of angles begins at 0 or ends at pi: a cone about the target or about its opposite."""
    return row.lower <= 1e-12 or row.upper >= math.pi - 1e-12


def _pack_cone(row: AxisRow, tighten: float) -> Array:
    # a ball about the unit vector, which has a slope at its centre where the cosine has none
    opposite = row.lower > 1e-12
    angle = math.pi - row.lower if opposite else row.upper
    radius = 2.0 * math.sin(min(math.pi, tighten * angle) / 2.0)
    return np.concatenate([row.x_ee, -row.target if opposite else row.target, [radius, 1.0]])


def _pack_angle(row: AxisRow, tighten: float) -> Array:
    middle, half = 0.5 * (row.lower + row.upper), 0.5 * tighten * (row.upper - row.lower)
    low, high = math.cos(middle + half), math.cos(middle - half)
    return np.concatenate([row.x_ee, row.target, [low, high, 1.0]])


def _pack_plane(row: PlaneRow, tighten: float) -> Array:
    weight = -POINT_WEIGHT if row.weight is None else row.weight
    offset = float(row.normal @ row.point)
    return np.concatenate([row.x_ee, row.normal, [offset, tighten * row.tolerance, weight]])


_PROGRAMS: weakref.WeakKeyDictionary[Kinematics, dict[Structure, Program]] = weakref.WeakKeyDictionary()


def program_of(kinematics: Kinematics, structure: Structure) -> Program:
    """The program of an arm and a structure, built on first use and kept while the arm's kinematics lives."""
    programs = _PROGRAMS.setdefault(kinematics, {})
    if structure not in programs:
        programs[structure] = Program(kinematics, structure)
    return programs[structure]
