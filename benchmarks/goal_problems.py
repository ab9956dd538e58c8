"""Compares the goal solver with Drake and SNOPT on the same goal problems, in the same run, with one thread each.

Usage: python benchmarks/goal_problems.py [problems=FILE] [every=1] [moved=200] [seed=0] [drake=true] [interpreted=true]

  problems     problems.json or its folder; default: the environment variable UNLATCH_KPAM_PROBLEMS
  every        take every n-th problem
  moved        number of problems repeated with the object moved rigidly at random, to exclude tuning; 0 = none
  seed         seed of those moves
  drake        whether to run Drake (extra `bench`)
  interpreted  whether to run ours a second time without compiled programs

The solvers take turns, problem by problem. CPU times cover everything from the problem's numbers to a checked solution.
They do not include Drake's plant and our compiled programs, which are built once. This script measures all violations
itself. The columns are:

  found         solutions that the solver returned
  to 1e-6       solutions that exceed no tolerance by more than 1e-6 m or rad (Drake bounds cosines to 1e-6, which is
                coarser)
  claimed       solutions returned for problems that provably have none
  cost at best  solutions within 1e-3 of the lowest cost that any solver found
  worst out     largest violation [m or rad]
  ratio         Drake's time divided by ours
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import kpam_problems as kpam
import numpy as np
from rich.console import Console
from rich.table import Table

from unlatch.solver.compiled_functions import COMPILE_VARIABLE, find_compiler
from unlatch.solver.contradiction import find_contradictions
from unlatch.solver.goal_solver import GoalSolver
from unlatch.workflows.cli.terminal import run_guarded

Array = np.ndarray
Solve = Callable[[Mapping[str, Any]], tuple["Array | None", float]]

TOLERANCE = 1e-6
"""Largest violation of a valid solution [m and rad]."""
CLOSE = 1e-3
"""Largest difference to the lowest known cost that counts as equal."""


@dataclass
class Tally:
    """Results of one solver on one set."""

    name: str
    q: list[Array | None] = field(default_factory=list)
    cost: list[float] = field(default_factory=list)
    ms: list[float] = field(default_factory=list)


def single_thread() -> None:
    """Restarts the command with one thread if it has more."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    if any(os.environ.get(name) != "1" for name in names):
        os.environ.update(dict.fromkeys(names, "1"))
        os.execv(sys.executable, [sys.executable, *sys.argv])


def ours(common: Mapping[str, Any], *, compiled: bool) -> tuple[str, Solve]:
    """Returns our solver with its own programs, and its name."""
    arm = kpam.arm_of(common)
    solver, scene, near = GoalSolver(arm), kpam.scene(), kpam.nearness_of(common)
    mode = "now" if compiled else "0"

    def solve(problem: Mapping[str, Any]) -> tuple[Array | None, float]:
        os.environ[COMPILE_VARIABLE] = mode  # read when a program is built
        terms: Any = kpam.terms_of(problem, arm.tool_keypoints)
        found = solver.solve(terms, scene, q_reference=arm.q_home, nearness=near)
        return (np.array(found.q), found.cost) if found.found else (None, float("inf"))

    return ("ours" if compiled else "ours, interpreted"), solve


def run(
    problems: list[Mapping[str, Any]], solvers: list[tuple[str, Solve]], *, warm_up_all: bool = False
) -> list[Tally]:
    """Runs every solver on every problem, in turns. Before that, builds the programs of ours (or of all)."""
    tallies = [Tally(name) for name, _ in solvers]
    for problem in problems[:: max(1, len(problems) // 40)]:  # builds the programs of all structures
        for name, solve in solvers:
            if warm_up_all or name.startswith("ours"):
                solve(problem)
    for problem in problems:
        for tally, (_, solve) in zip(tallies, solvers, strict=True):
            began = time.process_time()
            q, cost = solve(problem)
            tally.ms.append(1e3 * (time.process_time() - began))
            tally.q.append(q)
            tally.cost.append(cost)
    return tallies


def report(
    console: Console, title: str, problems: list[Mapping[str, Any]], tallies: list[Tally], common: Mapping[str, Any]
) -> None:
    """Prints the results on one set as a table."""
    arm = kpam.arm_of(common)
    terms = [kpam.terms_of(problem, arm.tool_keypoints) for problem in problems]
    measured = [
        [None if q is None else kpam.violation(t, arm, q) for q, t in zip(tally.q, terms, strict=True)]
        for tally in tallies
    ]
    holds = [[m is not None and max(m) <= TOLERANCE for m in row] for row in measured]
    known = [problem.get("feasibility") in kpam.FEASIBLE for problem in problems]
    feasible = [i for i in range(len(problems)) if known[i] or any(row[i] for row in holds)]
    infeasible = [i for i, p in enumerate(problems) if p.get("feasibility") == kpam.CONTRADICTING]
    if not feasible:
        console.print(f"{title}: none of {len(problems)} problems is known to be feasible, and none was solved.")
    best = [
        min([kpam.best_known(p), *(t.cost[i] for t, row in zip(tallies, holds, strict=True) if row[i])])
        for i, p in enumerate(problems)
    ]
    peer = next((t for t in tallies if t.name.startswith("Drake")), None)
    table = Table(title=f"Goal solvers, {title}: {len(problems)} problems, {len(feasible)} known to be feasible")
    columns = ["solver", "found", "to 1e-6", "cost at best", "worst out", "median ms", "p95 ms", "max ms"]
    if infeasible:
        columns.insert(3, "claimed")
    if peer is not None:
        columns += ["ratio median", "ratio p95"]
    for column in columns:
        table.add_column(column, justify="left" if column == "solver" else "right")
    for tally, row, violations in zip(tallies, holds, measured, strict=True) if feasible else ():
        ms = np.array([tally.ms[i] for i in feasible])
        worst = max((max(m) for m in violations if m is not None), default=0.0)
        close = sum(row[i] and tally.cost[i] <= best[i] + CLOSE for i in feasible)
        cells = [
            tally.name,
            f"{sum(tally.q[i] is not None for i in feasible)}",
            f"{sum(row[i] for i in feasible)}",
            f"{close} ({100.0 * close / len(feasible):.1f} %)",
            f"{max(worst, 0.0):.1e}",
            f"{np.median(ms):.2f}",
            f"{np.percentile(ms, 95):.2f}",
            f"{ms.max():.1f}",
        ]
        if infeasible:
            cells.insert(3, f"{sum(tally.q[i] is not None for i in infeasible)} of {len(infeasible)}")
        if peer is not None and tally is not peer:
            theirs = np.array([peer.ms[i] for i in feasible])
            cells += [f"{np.percentile(theirs, p) / np.percentile(ms, p):.1f}" for p in (50, 95)]
        table.add_row(*cells)
    if feasible:
        console.print(table)
    for i in infeasible:
        found: Any = find_contradictions(terms[i], arm, kpam.scene())
        console.print(
            f"  {problems[i].get('id', i)}: {found[0].message if found else 'NO CONTRADICTION NAMED'}", soft_wrap=True
        )


def main() -> int:
    """Runs the sets and prints their tables."""
    single_thread()
    options = dict(a.split("=", 1) for a in sys.argv[1:])
    unknown = set(options) - {"problems", "every", "moved", "seed", "drake", "interpreted"}
    if unknown:
        raise SystemExit(f"Unknown: {', '.join(sorted(unknown))}.\n\n{__doc__}")
    data = kpam.load(options.get("problems"))
    common, problems = data["common"], data["problems"][:: int(options.get("every", 1))]
    solvers = [ours(common, compiled=find_compiler() is not None)]
    if options.get("interpreted", "true") == "true":
        solvers.append(ours(common, compiled=False))
    if options.get("drake", "true") == "true":
        from drake_peer import DrakePeer

        solvers.append(("Drake, 9 starts", DrakePeer(common).solve))
    console = Console(width=140)
    if find_compiler() is None:
        console.print("There is no C compiler: our solver runs interpreted.")
    report(console, "as given", problems, run(problems, solvers), common)
    count = int(options.get("moved", 200))
    if count:
        rng = np.random.default_rng(int(options.get("seed", 0)))
        fit = [p for p in problems if p.get("feasibility") != kpam.CONTRADICTING]
        chosen = [fit[int(i)] for i in rng.permutation(len(fit))[:count]]
        if not chosen:
            return 0
        shifted = [kpam.moved(p, rng) for p in chosen]
        report(console, "moved rigidly at random", shifted, run(shifted, solvers), common)
    return 0


if __name__ == "__main__":
    sys.exit(run_guarded(main, usage=__doc__))
