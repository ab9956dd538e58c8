"""Measures how often each task succeeds and what an episode costs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import numpy as np
from rich.box import MARKDOWN
from rich.table import Table

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.ranges import Count, Range, Ranged
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.verdict import recompute_success
from unlatch.workflows.checks.criteria_source import CriteriaSource
from unlatch.workflows.runs.loading import load_config
from unlatch.workflows.runs.replay import replay_actions
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.schema import MAX_WORKERS, CollectCfg
from unlatch.workflows.runs.statistics import STAGES, RunStatistics

TASKS = ("open_microwave", "close_microwave", "open_drawer", "close_drawer")
REAL_OBJECT_TASKS = (
    ("open_microwave", "partnet_microwave"),
    ("open_drawer", "partnet_drawer"),
    ("open_microwave", "partnet_refrigerator"),
    ("open_microwave", "partnet_safe"),
)
"""Tasks with real objects: (task, object)."""
_TIMED_EPISODES = 10


@dataclass
class SuccessBenchCfg(Ranged):
    """`unlatch bench success`."""

    n: Count = 400
    """Attempts of each task."""
    workers: Annotated[int, Range(1, MAX_WORKERS)] | None = None
    """Processes; null: one for each CPU core."""
    seed: int = 0
    """Seed of the runs."""
    out: str = "data/bench-success"
    """Folder of the data sets, one for each task."""
    tasks: list[str] = field(default_factory=lambda: list(TASKS))
    """Tasks to run."""
    real: Annotated[int, Range(0)] = 0
    """Attempts with each PartNet-Mobility category; 0: none."""


@dataclass(frozen=True)
class TaskMeasurement:
    """The measurements of one task."""

    name: str
    statistics: RunStatistics
    agreeing: int
    """Episodes whose recomputed verdict is the recorded one."""
    sensor_ratio: float | None
    """Time of execution with all sensors and recording, divided by that of a replay with sensors off."""


def bench_runs(cfg: SuccessBenchCfg) -> Iterator[tuple[str, CollectCfg]]:
    """Yields the name and the run of every task.

    Raises:
        ConfigError: There are no PartNet-Mobility objects, or a task is unknown.
    """
    runs = [(task, task, [f"task={task}"], cfg.n) for task in cfg.tasks]
    if cfg.real:
        if "UNLATCH_PARTNET_DIR" not in os.environ:
            raise ConfigError(
                f"real={cfg.real} needs PartNet-Mobility objects. Set UNLATCH_PARTNET_DIR to their folder.", key="real"
            )
        runs += [
            (f"{task.split('_')[0]} {item}", f"{task}-{item}", [f"task={task}", f"object={item}"], cfg.real)
            for task, item in REAL_OBJECT_TASKS
        ]
    for name, folder, overrides, n in runs:
        common = [f"episodes={n}", f"seed={cfg.seed}", "pictures=0", f"out={Path(cfg.out).absolute() / folder}"]
        workers = [] if cfg.workers is None else [f"workers={cfg.workers}"]
        yield name, load_config("collect", CollectCfg, [*overrides, *common, *workers]).cfg


def measure(name: str, cfg: CollectCfg) -> TaskMeasurement:
    """Reads the data set of a finished run, recomputes every verdict, and times a few episodes again."""
    data_set = DataSet.open(str(cfg.out))
    numbers = set(cfg.numbers())
    summaries = [item for item in data_set.summaries() if item.number in numbers]
    records = (data_set.read(item.number) for item in summaries)
    derive = CriteriaSource.of(data_set).derive
    agreeing = sum(recompute_success(record, derive(record)).success == record.success for record in records)
    timed = [item.number for item in summaries if item.success][:_TIMED_EPISODES]
    return TaskMeasurement(name, RunStatistics.of(summaries), agreeing, sensor_ratio(cfg, timed))


def sensor_ratio(cfg: CollectCfg, numbers: list[int]) -> float | None:
    """Returns the median of execution time over replay time of the same actions with sensors off; None: no episodes.

    Both are measured here, one after the other in one process, so that nothing else competes.
    """
    ratios = []
    with EpisodeRunner(cfg) as runner:
        runner.warm_up()
        for number in numbers:
            record = runner.run(number)
            replay_s, _ = replay_actions(runner, record)
            ratios.append(record.timings_ms["execute"] / (1e3 * replay_s))
    return float(np.median(ratios)) if ratios else None


def success_table(results: list[TaskMeasurement]) -> Table:
    """Returns successes, their interval, agreeing verdicts and failures; one row for each task."""
    table = Table(box=MARKDOWN)
    for column in ("task", "successes", "95 % interval", "verdict agrees", "failures"):
        table.add_column(column, no_wrap=column != "failures")
    for result in results:
        statistics = result.statistics
        low, high = statistics.interval
        table.add_row(
            result.name,
            f"{statistics.successes}/{statistics.n} = {100 * statistics.successes / max(statistics.n, 1):.1f} %",
            f"{100 * low:.1f} to {100 * high:.1f} %",
            f"{result.agreeing}/{statistics.n}",
            statistics.codes_text(),
        )
    return table


def cost_table(results: list[TaskMeasurement]) -> Table:
    """Returns median times by stage, and the cost of sensors and recording; one row for each task."""
    table = Table(box=MARKDOWN)
    for column in ("median ms", *STAGES, "execute / replay without sensors"):
        table.add_column(column, no_wrap=True, justify="left" if column == "median ms" else "right")
    for result in results:
        medians = result.statistics.medians_ms
        table.add_row(
            result.name,
            *(f"{medians[stage]:.0f}" if stage in medians else "-" for stage in STAGES),
            "-" if result.sensor_ratio is None else f"{result.sensor_ratio:.2f}",
        )
    return table
