"""Compares solvers and numbers of starts on the same goal problems.

Usage: python benchmarks/goal_methods.py [problems=FILE] [every=6]

The general solvers get the same rows and cost as ours, in the form that suits them best: an angle as its cosine, and
exact Hessians from CasADi. They start from the present joints, or from these and the most promising configurations of
our table. The best solution counts. Times include everything except building the programs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any

import goal_problems as goals
import kpam_problems as kpam
import numpy as np
from rich.console import Console

from unlatch.solver.kinematics import Kinematics
from unlatch.solver.parameter_layout import ParameterLayout, RowCounts
from unlatch.solver.row_model import RowModel, add_cost
from unlatch.solver.start_library import start_library_of
from unlatch.workflows.cli.terminal import run_guarded

Array = np.ndarray

METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "IPOPT, exact Hessian": (
        "ipopt",
        {"print_time": False, "ipopt": {"print_level": 0, "sb": "yes", "max_iter": 200, "tol": 1e-6}},
    ),
    "fatrop": ("fatrop", {"print_time": False, "fatrop": {"print_level": 0, "max_iter": 200, "tolerance": 1e-6}}),
    "SQP with daqp": (
        "sqpmethod",
        {
            "qpsol": "daqp",
            "qpsol_options": {"error_on_fail": False, "print_problem": False},
            "print_time": False,
            "print_header": False,
            "print_iteration": False,
            "print_status": False,
            "convexify_strategy": "eigen-clip",
            "max_iter": 60,
        },
    ),
}


class NonlinearProgram:
    """A general solver for one arm; the numbers of a problem are parameters."""

    def __init__(self, kinematics: Kinematics, layout: ParameterLayout, plugin: str, options: dict[str, Any]) -> None:
        import casadi as ca

        q, P = ca.SX.sym("q", kinematics.n_q), ca.SX.sym("P", layout.size + kinematics.n_q)
        model = RowModel(kinematics, q)
        add_cost(model, layout, P[layout.size :], P)
        rows = layout.unpacked(P)
        g = [4.0 * (model.R @ x + model.p - target) for x, target, _, _ in rows.points]
        g += [ca.dot(model.R @ x, target) for x, target, _, _ in rows.cones]
        g += [ca.dot(model.R @ x, target) for x, target, *_ in rows.angles]
        problem = {"x": q, "p": P, "f": model.cost, "g": ca.vertcat(*g, 4.0 * model.p)}
        self.layout, self.plugin = layout, plugin
        self.solver = ca.nlpsol("goal", plugin, problem, {**options, "error_on_fail": False})

    def solve(self, start: Array, reference: Array, P: Array) -> tuple[Array, float, bool]:
        """Returns joints, cost and whether the solver reports convergence."""
        rows = self.layout.unpacked(P)
        low: list[float] = []
        high: list[float] = []
        for _, _, tolerance, _ in rows.points:
            low, high = [*low, *[-4.0 * tolerance] * 3], [*high, *[4.0 * tolerance] * 3]
        for _, _, radius, weight in rows.cones:  # |v - a| <= radius is v.a >= 1 - radius^2 / 2
            low, high = [*low, 1.0 - 0.5 * radius**2 if weight > 0 else -10.0], [*high, 10.0]
        for _, _, lowest, highest, weight in rows.angles:
            low, high = [*low, lowest if weight > 0 else -10.0], [*high, highest if weight > 0 else 10.0]
        box_low, box_high = 4.0 * np.array(rows.box_low), 4.0 * np.array(rows.box_high)
        answer = self.solver(
            x0=start,
            p=np.concatenate([P, reference]),
            lbx=rows.lower,
            ubx=rows.upper,
            lbg=np.concatenate([low, box_low]),
            ubg=np.concatenate([high, box_high]),
        )
        q = answer["x"].toarray().ravel()
        return q, float(answer["f"]), bool(self.solver.stats()["success"])


def method(common: Mapping[str, Any], name: str, starts: int) -> goals.Solve:
    """Returns a function that runs a general solver from a number of starts."""
    arm, near = kpam.arm_of(common), kpam.nearness_of(common)
    programs: dict[RowCounts, NonlinearProgram] = {}

    def solve(problem: Mapping[str, Any]) -> tuple[Array | None, float]:
        terms = kpam.terms_of(problem, arm.tool_keypoints)
        rows = [term.fixed for term in terms]
        row_counts = RowCounts.of(rows)
        layout = ParameterLayout(row_counts, arm.n_q, True)
        if row_counts not in programs:
            programs[row_counts] = NonlinearProgram(arm.kinematics, layout, *METHODS[name])
        P = layout.pack(
            rows,
            lower=arm.q_lower,
            upper=arm.q_upper,
            box=arm.workspace,
            tighten=1.0,
            nearness=near,
        )
        library = start_library_of(arm)
        score = library.score(rows, arm.q_home, near.weights)
        first = np.vstack([arm.q_home, library.pick(score, count=starts - 1)]) if starts > 1 else arm.q_home[None]
        best: tuple[Array | None, float] = (None, float("inf"))
        for start in first:
            q, cost, converged = programs[row_counts].solve(start, arm.q_home, P)
            if converged and cost < best[1] and max(kpam.violation(terms, arm, q)) <= goals.TOLERANCE:
                best = (q, cost)
        return best

    return solve


def main() -> int:
    """Runs the methods and prints the table."""
    goals.single_thread()
    options = dict(a.split("=", 1) for a in sys.argv[1:])
    data = kpam.load(options.get("problems"))
    common, problems = data["common"], data["problems"][:: int(options.get("every", 6))]
    problems = [p for p in problems if p["feasibility"] in kpam.FEASIBLE]
    solvers = [goals.ours(common, compiled=goals.find_compiler() is not None), goals.ours(common, compiled=False)]
    solvers += [(f"{name}, {n} start{'s' * (n > 1)}", method(common, name, n)) for name in METHODS for n in (1, 4)]
    began = time.perf_counter()
    tallies = goals.run(problems, solvers, warm_up_all=True)
    console = Console(width=140)
    goals.report(console, "methods", problems, tallies, common)
    console.print(f"{time.perf_counter() - began:.0f} s in total")
    return 0


if __name__ == "__main__":
    sys.exit(run_guarded(main, usage=__doc__))
