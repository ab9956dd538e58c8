"""Measures how long the page of `unlatch studio` takes from an edit to its answer, without a browser.

Usage: python benchmarks/studio.py [task=open_microwave] [runs=20]

Every run moves the region by a few millimetres, as a drag does, and waits for the scene and then for the plan of the
whole chain; a quarter of the runs also makes the episode. The workers are warm: the first answers are not counted.
Prints the median and the slowest of the runs, for how long the worker computed (the rest of the time it waited for a
processor), and the load of the machine. Exit code 1 if the median from an edit to its plan is above 1 s.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import psutil

from unlatch.simcore.errors import UnlatchError, check_range
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.terminal import FAILED, OK, print_line, run_guarded
from unlatch.workflows.studio.document import new_document
from unlatch.workflows.studio.jobs import PLAN, REACH, SCENE
from unlatch.workflows.studio.session import StudioSession
from unlatch.workflows.studio.worker import WorkerProcess

LIMIT_S = 1.0
"""Largest median time from an edit to its plan [s]."""
_WAIT_S = 300.0
_STEP_M = 0.002


@dataclass
class StudioBenchCfg:
    """The keys of the benchmark."""

    task: str = "open_microwave"
    """The task that is edited."""
    runs: int = 20
    """Edits that are timed."""

    def __post_init__(self) -> None:
        check_range("runs", self.runs, 1, 1000)


def main(arguments: list[str]) -> int:
    """Runs the benchmark; returns its exit code."""
    cfg = read_pairs(StudioBenchCfg, arguments)
    runners = {kind: WorkerProcess() for kind in (SCENE, PLAN, REACH)}
    session = StudioSession(new_document([f"task={cfg.task}"]), runners)
    try:
        _wait(session, lambda: session.scene is not None and not session.is_old(PLAN))
        times = _measure(session, runners, cfg.runs)
    finally:
        session.close()
        for runner in runners.values():
            runner.close()
    print_line(f"| from an edit of the region of {cfg.task} to | median [s] | slowest [s] | computed [s] | n |")
    print_line("|---|---|---|---|---|")
    for name, pairs in times.items():
        wall, computed = np.array(pairs).T
        print_line(f"| {name} | {np.median(wall):.2f} | {max(wall):.2f} | {np.median(computed):.2f} | {len(pairs)} |")
    print_line(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.0f}")
    return OK if float(np.median([wall for wall, _ in times["the plan"]])) <= LIMIT_S else FAILED


def _measure(
    session: StudioSession, runners: Mapping[str, WorkerProcess], runs: int
) -> dict[str, list[tuple[float, float]]]:
    """Returns how long every stage took, and for how long its worker computed [s]."""
    times: dict[str, list[tuple[float, float]]] = {"the scene": [], "the plan": [], "the end of a run": []}
    x, y = session.to_dict()["scene"]["regions"][0]["center_m"]
    for run in range(1 + runs):
        before = {kind: _process_times(runner) for kind, runner in runners.items()}
        started = time.perf_counter()
        session.set_value(("task", "regions", 0, "center_m"), [round(x + _STEP_M * (1 + run % 7), 3), y])
        _wait(session, lambda: SCENE not in session.since)
        scene = time.perf_counter() - started, _process_times(runners[SCENE]) - before[SCENE]
        _wait(session, lambda: PLAN not in session.since)
        plan = time.perf_counter() - started, _process_times(runners[PLAN]) - before[PLAN]
        if run == 0:
            continue  # it compiles what later plans use
        times["the scene"].append(scene)
        times["the plan"].append(plan)
        if run % 4 == 1:
            before_run, started = _process_times(runners[PLAN]), time.perf_counter()
            session.ask_run()
            _wait(session, lambda: "run" not in session.since)
            times["the end of a run"].append(
                (time.perf_counter() - started, _process_times(runners[PLAN]) - before_run)
            )
    return times


def _process_times(runner: WorkerProcess) -> float:
    """Returns for how long the processor has worked for a worker [s]."""
    times = psutil.Process(runner.pid).cpu_times()
    return float(times.user + times.system)


def _wait(session: StudioSession, condition: Callable[[], bool]) -> None:
    with session.changed:
        if not session.changed.wait_for(condition, timeout=_WAIT_S):
            raise UnlatchError(f"No answer within {_WAIT_S:.0f} s.")
    if session.problem is not None:
        raise UnlatchError(session.problem.message)


if __name__ == "__main__":
    sys.exit(run_guarded(lambda: main(sys.argv[1:]), usage=__doc__))
