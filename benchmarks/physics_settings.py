"""Compares success, forces and CPU time of the same episodes under two settings of the physics.

    python benchmarks/physics_settings.py n=30                 # the object library, opened and closed
    python benchmarks/physics_settings.py tasks=turn_stove_knob,store_in_drawer n=10
    python benchmarks/physics_settings.py exact=world.solver_iterations=1000 cheap=world.solver_iterations=100

Each episode is made with `exact` and then with `cheap`: the same layout, plan and object. Bullet's own tolerance is
0.0003. Forces are the largest on a finger in an episode; the table has their medians over the episodes that succeed
with both settings, and the median of the ratio. `speed` is the largest of a joint of an object. `steps` is the CPU time
of Bullet's physics steps in ms an episode. Both settings run in turns, so that other programs slow both down.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from unlatch.configs.group_files import option_names
from unlatch.simcore.errors import UnlatchError
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.terminal import OK, run_guarded
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.statistics import wilson_interval


@dataclass
class PhysicsSettingsCfg:
    """The keys of the benchmark."""

    tasks: str = ""
    """Shipped tasks, separated by commas; empty: the object library with `skills`."""
    skills: str = "open,close"
    """Skills for the categories of the object library, separated by commas."""
    n: int = 30
    """Episodes of each task, or of each category and skill."""
    seed: int = 0
    exact: str = "world.solver_tolerance=0.0003"
    """Override of the first setting."""
    cheap: str = "world.solver_tolerance=0.003"
    """Override of the second setting."""


@dataclass
class Measured:
    """What episodes of one setting gave, episode by episode."""

    successes: list[bool] = field(default_factory=list)
    forces_n: list[float] = field(default_factory=list)
    """Largest force on a finger [N]."""
    speeds: list[float] = field(default_factory=list)
    """Largest speed of a joint of an object [rad/s or m/s]."""
    steps_s: float = 0.0
    """CPU time of all physics steps [s]."""
    whole_s: float = 0.0
    """CPU time of all episodes [s]."""

    def add(self, record: EpisodeRecord, robot: str) -> None:
        """Adds an episode."""
        self.successes.append(record.success)
        self.forces_n.append(_largest(record, ".fingers.force_max_n"))
        self.speeds.append(_largest(record, ".max", first="speeds.", without=f"speeds.{robot}.max"))


def _largest(record: EpisodeRecord, last: str, *, first: str = "", without: str = "") -> float:
    found = [
        values.max()
        for key, values in record.arrays.items()
        if key.startswith(first) and key.endswith(last) and key != without and values.size
    ]
    return float(max(found, default=0.0))


def _measure(words: Sequence[str], cfg: PhysicsSettingsCfg) -> tuple[Measured, Measured]:
    """Makes all episodes of a task or category with both settings in turns."""
    found = Measured(), Measured()
    runs = [load(words[0], *words[1:], setting, seed=cfg.seed) for setting in (cfg.exact, cfg.cheap)]
    with EpisodeRunner(runs[0]) as exact, EpisodeRunner(runs[1]) as cheap:
        for runner in (exact, cheap):
            runner.warm_up()
        for number in range(cfg.n):
            for runner, measured in zip((exact, cheap), found, strict=True):
                core = runner.episode(number)._world.core
                core.measure_time()
                start = time.process_time()
                record = runner.run(number)
                measured.whole_s += time.process_time() - start
                measured.steps_s += core.times["physics"]
                measured.add(record, runs[0].robot.name)
    return found


def _print_row(name: str, exact: Measured, cheap: Measured) -> None:
    n = len(exact.successes)
    both = np.flatnonzero(np.array(exact.successes) & np.array(cheap.successes))
    cells = [f"{sum(exact.successes)}/{n}", f"{sum(cheap.successes)}/{n}"]
    if len(both):
        forces = np.array([exact.forces_n, cheap.forces_n])[:, both]
        speeds = np.array([exact.speeds, cheap.speeds])[:, both]
        cells += [f"{value:.1f}" for value in np.median(forces, axis=1)]
        cells += [f"{np.median(forces[1] / np.maximum(forces[0], 1e-9)):.2f}"]
        cells += [f"{value:.2f}" for value in speeds.max(axis=1)]
    else:
        cells += ["-"] * 5
    cells += [f"{1e3 * each.steps_s / n:.0f}" for each in (exact, cheap)]
    cells += [f"{1e3 * each.whole_s / n:.0f}" for each in (exact, cheap)]
    print(f"{name:<30} " + " ".join(f"{cell:>7}" for cell in cells), flush=True)


def main() -> int:
    """Prints a row for each task or category, and one for all."""
    cfg = read_pairs(PhysicsSettingsCfg, sys.argv[1:])
    if cfg.tasks:
        jobs = {name: [f"task={name}"] for name in cfg.tasks.split(",")}
    else:
        jobs = {
            f"{name} {skill}": [f"object={name}", f"skill={skill}"]
            for skill in cfg.skills.split(",")
            for name in option_names("object")
        }
    print(f"exact: {cfg.exact}; cheap: {cfg.cheap}; seed {cfg.seed}")
    titles = "success (cheap) force_N (cheap) ratio speed (cheap) steps (cheap) whole (cheap)"
    print(f"{'':<30} " + " ".join(f"{title:>7}" for title in titles.split()), flush=True)
    everything = (Measured(), Measured())
    for name, words in jobs.items():
        try:
            found = _measure(words, cfg)
        except UnlatchError as exc:
            print(f"{name:<30} left out: {str(exc).splitlines()[0][:90]}", flush=True)
            continue
        _print_row(name, *found)
        for total, part in zip(everything, found, strict=True):
            total.successes += part.successes
            total.forces_n += part.forces_n
            total.speeds += part.speeds
            total.steps_s += part.steps_s
            total.whole_s += part.whole_s
    _print_row("all", *everything)
    for label, total in zip(("exact", "cheap"), everything, strict=True):
        successes, n = sum(total.successes), len(total.successes)
        low, high = wilson_interval(successes, n)
        print(f"{label}: {successes}/{n}, 95 % interval {100 * low:.1f} to {100 * high:.1f} %")
    return OK


if __name__ == "__main__":
    sys.exit(run_guarded(main, usage=__doc__))
