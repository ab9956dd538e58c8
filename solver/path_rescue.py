"""The whole path at once: a nonlinear program over all waypoints, for goals that the step-by-step way loses.

    min  sum_w |q_w - q_{w-1}|^2 + stiffness |R x - a_soft|^2
    s.t. q_0 the goal; the contact point on the part; the held direction kept; the approach axis in its cone;
         joint limits; |q_w - q_{w-1}| <= step.

Built once per arm and size, with the waypoints as parameters; solved by IPOPT from the step-by-step path.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np

from solver.kinematics import Kinematics

Array = np.ndarray

_MAX_ITERATIONS = 80
_HELD_SLACK = 5e-4
"""Half width of the equality rows of a direction [1]: three rows fix two angles, exactly they would be dependent."""
_POINT_SLACK_M = 5e-5
_CENTRING = 1e-3
_PARAMETERS = 19


@dataclass(frozen=True)
class RescueProblem:
    """What is asked of W waypoints; base frame, one row a waypoint."""

    x_point: Array
    """(3,) contact point, ee frame [m]."""
    points: Array
    """(W, 3) where it must be [m]."""
    x_held: Array
    """(3,) held direction, ee frame."""
    held: Array
    """(W, 3) what it keeps its angle to."""
    held_cosine: float | None
    """Cosine of that angle; None = nothing is held."""
    x_approach: Array
    """(3,) approach axis, ee frame."""
    approach: Array
    """(W, 3) axis of the cone."""
    cone_cosine: float
    """Cosine of its angle."""
    soft: Array
    """(W, 3) where the approach axis would be in a fixed grasp."""
    stiffness: float
    """Weight of that."""


class RescueProgram:
    """The program for one arm and one number of waypoints."""

    def __init__(self, kinematics: Kinematics, waypoints: int) -> None:
        self.n_q = kinematics.n_q
        self.waypoints = waypoints
        self._solver = self._build(kinematics)

    def solve(
        self, problem: RescueProblem, first_guess: Array, *, lower: Array, upper: Array, box: Array, max_step: float
    ) -> Array | None:
        """The waypoints, or None where IPOPT finds none within its iterations.

        Args:
            problem: The waypoints after the goal.
            first_guess: (W + 1, n_q) path to start from, the first row the goal [rad].
            lower: (n_q,) lower joint limits [rad].
            upper: (n_q,) upper joint limits [rad].
            box: (2, 3) workspace of the ee origin [m].
            max_step: Largest change of a joint between two waypoints [rad].

        Returns:
            (W + 1, n_q) path with the goal in front [rad].
        """
        W, n = self.waypoints, self.n_q
        ones = np.ones((W, 1))
        rows = np.hstack(
            [
                problem.points,
                problem.held,
                problem.approach,
                problem.soft,
                ones * problem.x_held,
                ones * problem.stiffness,
                ones * problem.x_point,
            ]
        )
        held = problem.held_cosine
        # rows a waypoint: point 3, held direction 3, its cosine 1, cone 1, box 3, step n
        is_direction = held is not None and held > 1.0 - 1e-6
        free = np.full(3, 10.0)
        slack_held = np.full(3, _HELD_SLACK) if is_direction else free
        if held is None or is_direction:
            low_cosine, high_cosine = -10.0, 10.0
        else:
            low_cosine, high_cosine = held - _HELD_SLACK, held + _HELD_SLACK
        low = np.concatenate(
            [
                np.full(3, -_POINT_SLACK_M),
                -slack_held,
                [low_cosine],
                [problem.cone_cosine],
                box[0],
                np.full(n, -max_step),
            ]
        )
        high = np.concatenate(
            [np.full(3, _POINT_SLACK_M), slack_held, [high_cosine], [10.0], box[1], np.full(n, max_step)]
        )
        middle = 0.5 * (lower + upper)
        parameters = np.concatenate([first_guess[0], problem.x_approach, middle, rows.ravel()])
        answer = self._solver(
            x0=np.clip(first_guess[1:], lower, upper).ravel(),
            p=parameters,
            lbx=np.tile(lower, W),
            ubx=np.tile(upper, W),
            lbg=np.tile(low, W),
            ubg=np.tile(high, W),
        )
        if not self._solver.stats()["success"]:
            return None
        path = answer["x"].toarray().reshape(W, n)
        return np.vstack([first_guess[0], path])

    def _build(self, kinematics: Kinematics) -> Any:
        import casadi as ca

        n, W = self.n_q, self.waypoints
        q, before, P = ca.SX.sym("q", n), ca.SX.sym("before", n), ca.SX.sym("P", _PARAMETERS)
        x_approach, middle = ca.SX.sym("xa", 3), ca.SX.sym("middle", n)
        R, p, _, _ = kinematics.expressions(q)
        points, held, approach, soft = P[0:3], P[3:6], P[6:9], P[9:12]
        x_held, stiffness, x_point = P[12:15], P[15], P[16:19]
        direction, axis = R @ x_held, R @ x_approach
        rows = ca.vertcat(
            R @ x_point + p - points, direction - held, ca.dot(direction, held), ca.dot(axis, approach), p, q - before
        )
        cost = ca.sumsqr(q - before) + stiffness * ca.sumsqr(axis - soft) + _CENTRING * ca.sumsqr(q - middle)
        stage = ca.Function("stage", [q, before, P, x_approach, middle], [rows, cost])
        x, parameters = ca.SX.sym("x", n * W), ca.SX.sym("p", 2 * n + 3 + _PARAMETERS * W)
        all_rows: list[Any] = []
        total: Any = 0.0
        last: Any = parameters[0:n]
        for w in range(W):
            begin = 2 * n + 3 + _PARAMETERS * w
            here = x[n * w : n * (w + 1)]
            g, c = stage(
                here,
                last,
                parameters[begin : begin + _PARAMETERS],
                parameters[n : n + 3],
                parameters[n + 3 : 2 * n + 3],
            )
            all_rows.append(g)
            total = total + c
            last = here
        options: dict[str, Any] = {
            "print_time": False,
            "error_on_fail": False,
            "ipopt": {"print_level": 0, "sb": "yes", "max_iter": _MAX_ITERATIONS, "tol": 1e-4, "mu_init": 1e-2},
        }
        problem = {"x": x, "p": parameters, "f": total, "g": ca.vertcat(*all_rows)}
        return ca.nlpsol("path", "ipopt", problem, options)


_PROGRAMS: weakref.WeakKeyDictionary[Kinematics, dict[int, RescueProgram]] = weakref.WeakKeyDictionary()


def rescue_program_of(kinematics: Kinematics, waypoints: int) -> RescueProgram:
    """The program of an arm and a number of waypoints, built on first use."""
    programs = _PROGRAMS.setdefault(kinematics, {})
    if waypoints not in programs:
        programs[waypoints] = RescueProgram(kinematics, waypoints)
    return programs[waypoints]
