"""Measures how often and how fast the planner solves goal, approach and path at 25 waypoints, on random problems.

Usage: python benchmarks/path_problems.py [n=200] [seed=0] [clearance=false]

A problem is a Panda in front of a hinge (vertical or horizontal), a slider, a knob or a lid. Sizes and places are drawn
from the ranges of real objects. Nobody selects the problems, so some are out of reach. With `clearance=true`, it plans
the shipped tasks with their generated objects. It then checks collisions of arm, hand and robot along the whole motion.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from path_scenes import Problem, panda, problems

from unlatch.solver.goal_search import GoalFinder, GoalRanker
from unlatch.solver.path_solver import PathSolver
from unlatch.solver.plan import KeyframePlan
from unlatch.solver.plan_log import PlanLog
from unlatch.solver.planner import plan_keyframes
from unlatch.solver.scene import ArmModel
from unlatch.workflows.cli.terminal import run_guarded

Array = np.ndarray
TASKS = ("open_microwave", "close_microwave", "open_drawer", "close_drawer")


@dataclass(frozen=True)
class Outcome:
    """The result of one problem."""

    kind: str
    found: bool
    code: str
    ms: float
    """Time of goal, path and approach, including collision checks if there are any [ms]."""
    limits_left: int
    """Number of keyframes and samples outside the joint limits."""
    largest_step_rad: float


def main(arguments: list[str]) -> int:
    """Runs the problems and prints the results."""
    options = {"n": "200", "seed": "0", "clearance": "false"}
    given = dict(argument.partition("=")[::2] for argument in arguments)
    if set(given) - set(options):
        print(
            f"Unknown: {', '.join(sorted(set(given) - set(options)))}. Expected {', '.join(options)}.", file=sys.stderr
        )
        return 2
    options.update(given)
    n, seed = int(options["n"]), int(options["seed"])
    if options["clearance"] == "true":
        _print_outcomes("shipped tasks with collision checks", list(_plan_tasks(n, seed)))
        return 0
    arm = panda()
    for problem in problems(arm, n=10, seed=seed + 1):  # the first use builds the programs
        _plan_problem(problem, rescues=0)
        _plan_problem(problem)
    drawn = list(problems(arm, n=n, seed=seed))
    tracked = [_make_outcome(problem.kind, arm, _plan_problem(problem, rescues=0)) for problem in drawn]
    outcomes = [_make_outcome(problem.kind, arm, _plan_problem(problem)) for problem in drawn]
    _print_outcomes("goal, path and approach", outcomes)
    _print_outcomes(
        "one program alone, from the most promising goal", [_solve_as_program(problem) for problem in drawn]
    )
    alone = sum(o.found for o in tracked)
    print(f"step by step alone: {alone} of {n}; the program adds {sum(o.found for o in outcomes) - alone}")
    return 0


def _plan_problem(problem: Problem, *, rescues: int | None = None) -> KeyframePlan:
    request = problem.request
    if rescues is not None:
        request = replace(request, budget=replace(request.budget, rescues=rescues))
    return plan_keyframes(request, None, np.random.default_rng(0))


def _solve_as_program(problem: Problem) -> Outcome:
    """Solves goal, approach and path as one program, from the goal with the best coarse path."""
    request, log = problem.request, PlanLog()
    paths = PathSolver(request.arm)
    goals = GoalFinder(request, paths, np.random.default_rng(0), log)
    stage = GoalRanker(request, goals, paths, log)
    reached = goals.offset_goals(goals.find(0))
    ranked = stage.rank(reached, stage.slips()[0])
    if ranked:
        stage.keep_for_rescue(ranked[0])
    began = time.perf_counter()
    found = stage.rescue(1)
    ms = 1e3 * (time.perf_counter() - began)
    if not found or found[0].path is None:
        return Outcome(problem.kind, False, "path" if reached else "goal", ms, 0, 0.0)
    q = found[0].path.q
    left = int(np.any((q < request.arm.q_lower) | (q > request.arm.q_upper), axis=1).sum())
    return Outcome(problem.kind, True, "", ms, left, float(np.abs(np.diff(q, axis=0)).max()))


def _make_outcome(kind: str, arm: ArmModel, plan: KeyframePlan) -> Outcome:
    ms = sum(plan.timings_ms[stage] for stage in ("goal", "path", "collision"))
    code = "" if plan.diagnosis is None else plan.diagnosis.code
    if not plan.found:
        return Outcome(kind, False, code, ms, 0, 0.0)
    rows = [keyframe.q for keyframe in plan.keyframes] + [q for segment in plan.segments for q in segment.q]
    left = sum(bool(np.any(q < arm.q_lower) or np.any(q > arm.q_upper)) for q in rows)
    follow = [s.q for s in plan.segments if s.kind == "follow"]
    step = max((float(np.abs(np.diff(q, axis=0)).max()) for q in follow), default=0.0)
    return Outcome(kind, True, code, ms, left, step)


def _plan_tasks(n: int, seed: int) -> Iterator[Outcome]:
    """Yields the results of planning the shipped tasks, in turn, with their objects."""
    from unlatch.workflows.cli.run_report import load_configs
    from unlatch.workflows.cli.terminal import CommandLine
    from unlatch.workflows.runs.runner import EpisodeRunner
    from unlatch.workflows.runs.schema import CollectCfg

    for task in TASKS:
        (loaded,) = load_configs("collect", CollectCfg, CommandLine(overrides=[f"task={task}", f"seed={seed}"]))
        with EpisodeRunner(loaded.cfg) as runner:
            runner.warm_up()
            for number in range(n // len(TASKS)):
                skill = runner.plan(number)
                plan = skill.keyframe_plan
                if plan is not None:
                    yield _make_outcome(task, skill.context.arm_model, plan)


def _print_outcomes(title: str, outcomes: list[Outcome]) -> None:
    found = [o for o in outcomes if o.found]
    print(f"{title}: {len(found)} of {len(outcomes)} solved")
    for name, group in (("all", outcomes), ("solved", found), ("not solved", [o for o in outcomes if not o.found])):
        if group:
            ms = np.array([o.ms for o in group])
            median, p95 = np.percentile(ms, [50, 95])
            print(f"  {name:10} n={len(group):4}  median {median:6.1f} ms  p95 {p95:6.1f}  max {ms.max():7.1f}")
    print(f"  rows outside the joint limits: {sum(o.limits_left for o in found)}")
    print(f"  largest step of a joint: {max((o.largest_step_rad for o in found), default=0.0):.3f} rad")
    for kind in sorted({o.kind for o in outcomes}):
        group = [o for o in outcomes if o.kind == kind]
        codes = Counter(o.code for o in group if not o.found)
        lost = ", ".join(f"{code} {count}" for code, count in sorted(codes.items()))
        print(f"  {kind:24} {sum(o.found for o in group):4} of {len(group):4}   {lost}")


if __name__ == "__main__":
    sys.exit(run_guarded(lambda: main(sys.argv[1:]), usage=__doc__))
