"""Measures verified episodes per hour, the time of each stage, and the gain of several workers.

    python benchmarks/throughput.py episodes=100 workers=2 task=open_microwave

Prints these figures, and the load of the machine at the start and at the end:

- the speed of the machine: how long a loop of ten million additions in Python takes;
- episodes per hour with one worker and with all, after every worker has made its first episode;
- the share of each stage in the time of the workers;
- the gain of several workers over one, compared with bare Bullet processes that step a robot and a box;
- the share of a core that the driver takes at about a hundred trivial episodes a second.

`results=true` keeps the pace for the README. `memory.py` measures memory over thousands of episodes.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
from fingerprint import made_with
from summary_tables import BELOW_AIM, keep_other

from unlatch.robots.models import model_path
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.sim.world import World, WorldCfg
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.run_report import load_configs
from unlatch.workflows.cli.terminal import OK, CommandLine, run_guarded
from unlatch.workflows.runs.code_versions import header_of
from unlatch.workflows.runs.executors import EpisodeMaker, Outcome
from unlatch.workflows.runs.progress import Progress
from unlatch.workflows.runs.run import StopCondition
from unlatch.workflows.runs.runner import CollectJob
from unlatch.workflows.runs.schema import CollectCfg
from unlatch.workflows.runs.worker_processes import ProcessExecutor

LEAST_PER_HOUR = 10_000
LEAST_GAIN = 0.95
"""Least gain, as a share of the gain of bare processes."""
MOST_OVERHEAD = 0.03
_TRIVIAL_PER_S = 100.0
ADDITIONS = 10_000_000


@dataclass
class ThroughputCfg:
    """The keys of the benchmark."""

    episodes: int = 100
    """Number of episodes of each measurement."""
    workers: int = 2
    task: str = "open_microwave"
    seed: int = 0
    bare_s: float = 10.0
    """Time that bare processes step [s]."""
    results: bool = False
    """Whether the pace is kept for the README."""


@dataclass(frozen=True)
class TrivialJob:
    """A job whose episodes only wait for a given time."""

    seconds: float

    @contextmanager
    def open(self, worker: str) -> Iterator[EpisodeMaker]:
        """See `Job`."""

        def make_episode(number: int) -> Outcome:
            time.sleep(self.seconds)
            return Outcome(number, success=True)

        yield make_episode

    def record_loss(self, number: int, reason: str, *, code: str = "error") -> Outcome:
        """See `Job`."""
        return Outcome(number, success=False, code=code)


def main() -> int:
    """Prints the figures; exit code 3 if one misses its limit."""
    cfg = read_pairs(ThroughputCfg, sys.argv[1:])
    print(f"load at the start: {_machine_load()}")
    loop_s = _measure_loop()
    print(f"speed of the machine: {ADDITIONS / 1e6:.0f} million additions in Python take {loop_s:.2f} s")
    one, _ = _measure_speed(cfg, workers=1)
    many, shares = _measure_speed(cfg, workers=cfg.workers)
    print(f"episodes per hour: 1 worker {3600 * one:,.0f}, {cfg.workers} workers {3600 * many:,.0f}")
    print("share of the workers' time: " + ", ".join(f"{stage} {100 * share:.1f} %" for stage, share in shares.items()))
    bare_one, bare_many = _measure_bare_bullet(1, cfg.bare_s), _measure_bare_bullet(cfg.workers, cfg.bare_s)
    gain = (many / one) / (bare_many / bare_one)
    gains = f"collect {many / one:.2f}, bare Bullet {bare_many / bare_one:.2f}, ratio {gain:.3f}"
    print(f"gain of {cfg.workers} over 1: {gains}")
    rate, overhead = _measure_driver(cfg.workers)
    print(f"driver: {100 * overhead:.2f} % of a core at {rate:.0f} trivial episodes per second")
    print(f"load at the end: {_machine_load()}")
    if cfg.results:
        command = f"python benchmarks/throughput.py episodes={cfg.episodes} workers={cfg.workers}"
        pace = {"episodes_per_hour": round(3600 * many), "workers": cfg.workers, "loop_s": loop_s, "command": command}
        keep_other("pace", pace | made_with())
    missed = 3600 * many < LEAST_PER_HOUR or gain < LEAST_GAIN or overhead > MOST_OVERHEAD
    return BELOW_AIM if missed else OK


def _measure_loop() -> float:
    """Returns how long a loop of additions in Python takes, the shortest of three times [s]."""
    times = []
    for _ in range(3):
        began, total = time.perf_counter(), 0
        for number in range(ADDITIONS):
            total += number
        times.append(time.perf_counter() - began)
    return round(min(times), 2)


def _machine_load() -> str:
    others = " ".join(f"{value:.1f}" for value in os.getloadavg())
    return f"{others} (1, 5, 15 min) on {psutil.cpu_count()} cores"


def _collect_cfg(cfg: ThroughputCfg, episodes: int) -> CollectCfg:
    overrides = [f"task={cfg.task}", f"seed={cfg.seed}", f"episodes={episodes}"]
    (job,) = load_configs("collect", CollectCfg, CommandLine(overrides=overrides))
    found: CollectCfg = job.cfg
    return found


def _measure_speed(cfg: ThroughputCfg, *, workers: int) -> tuple[float, dict[str, float]]:
    """Returns episodes per second in the steady state, and the share of each stage in the time of the workers."""
    run = _collect_cfg(cfg, cfg.episodes + workers)
    stages: Counter[str] = Counter()
    with (
        tempfile.TemporaryDirectory() as name,
        DataSet.create_or_resume(Path(name) / "set", header=header_of(run)) as data_set,
    ):
        outcomes = ProcessExecutor(workers).run(CollectJob(run, data_set), run.numbers())
        for _ in range(workers):  # by then, every worker is set up or almost
            next(outcomes)
        started, made = time.perf_counter(), 0
        for outcome in outcomes:
            made += 1
            stages.update(outcome.timings_ms)
        seconds = time.perf_counter() - started
    spent = {stage: ms / 1000.0 / (workers * seconds) for stage, ms in stages.items()}
    return made / seconds, {**spent, "rest": 1.0 - sum(spent.values())}


def _measure_bare_bullet(processes: int, seconds: float) -> float:
    """Returns the physics steps per second of several bare processes together."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(processes) as pool:
        return sum(pool.map(_step_for, [seconds] * processes, chunksize=1))


def _step_for(seconds: float) -> float:
    with World(WorldCfg()) as world:
        world.add_box("ground", size_m=(4.0, 4.0, 1.0), T_world_box=Pose.from_translation((0.0, 0.0, -0.5)))
        world.load_urdf(model_path("franka_panda"), name="robot", T_world_root=Pose.identity())
        world.add_box("box", size_m=(0.1, 0.1, 0.1), T_world_box=Pose.from_translation((0.5, 0, 0.05)), mass_kg=1.0)
        for _ in range(1000):
            world.step()
        started, steps = time.perf_counter(), 0
        while time.perf_counter() - started < seconds:
            for _ in range(100):
                world.step()
            steps += 100
        return steps / (time.perf_counter() - started)


def _measure_driver(workers: int) -> tuple[float, float]:
    """Returns trivial episodes per second, and the share of a core that the driver takes for them."""
    executor = ProcessExecutor(workers)
    ending = StopCondition(give_up_after=50)
    n = int(10 * _TRIVIAL_PER_S)
    with Progress(total=n) as progress:
        outcomes = executor.run(TrivialJob(workers / _TRIVIAL_PER_S), ending.until(range(n + workers)))
        for _ in range(workers):
            next(outcomes)
        started, cpu = time.perf_counter(), time.process_time()
        for outcome in outcomes:
            ending.count(outcome)
            progress.update(outcome)
        seconds = time.perf_counter() - started
        return n / seconds, (time.process_time() - cpu) / seconds


if __name__ == "__main__":
    sys.exit(run_guarded(main, usage=__doc__))
