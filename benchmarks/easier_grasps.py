"""Measures what success is without each simplification that makes grasping easier than in reality.

Usage: python benchmarks/easier_grasps.py [n=10] [seed=0] [workers=2] [tasks=[open_drawer,...]]
       [out=data/bench-easier-grasps]

Runs every task with the Panda as shipped, then without each simplification and without all of them. The same number
draws the same objects and layouts in every row. Prints a table in Markdown, and the failures by code. The page
docs/limits.md explains the rows. Data sets stay in the folder. The same command again continues an interrupted
benchmark.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rich.box import MARKDOWN
from rich.table import Table

from unlatch.simcore.errors import check_range
from unlatch.simcore.recording.data_set import DataSet
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.terminal import OK, print_line, result_console, run_guarded
from unlatch.workflows.commands.collect import collect_and_report
from unlatch.workflows.runs.loading import load_config
from unlatch.workflows.runs.schema import MAX_WORKERS, CollectCfg
from unlatch.workflows.runs.statistics import RunStatistics, wilson_interval
from unlatch.workflows.runs.success_bench import TASKS

_GRIPPER = "robot.arms.0.gripper"
_NO_ANCHOR = (f"{_GRIPPER}.friction_anchor=false",)
_HALF_FRICTION = (f"{_GRIPPER}.friction=0.6",)
_NO_SPINNING = (f"{_GRIPPER}.spinning_friction=0",)
_RIGID_PADS = (f"{_GRIPPER}.pad_stiffness_n_m=0", f"{_GRIPPER}.pad_damping_n_s_m=0")
ROWS: Mapping[str, tuple[str, ...]] = {
    "as shipped": (),
    "no friction anchors": _NO_ANCHOR,
    "half the friction": _HALF_FRICTION,
    "no anchors, half the friction": _NO_ANCHOR + _HALF_FRICTION,
    "no spinning friction": _NO_SPINNING,
    "rigid pads": _RIGID_PADS,
    "all of these": _NO_ANCHOR + _HALF_FRICTION + _NO_SPINNING + _RIGID_PADS,
}
"""The changes of the configuration by row; 0.6 is half of the friction of the Panda's pads."""

Results = Mapping[tuple[str, str], RunStatistics]
"""Results by row and task."""


@dataclass
class EasierGraspsCfg:
    """The keys of the benchmark."""

    n: int = 10
    """Number of episodes of each task and row."""
    seed: int = 0
    """Seed of the runs."""
    workers: int = 2
    """Number of processes."""
    tasks: list[str] = field(default_factory=lambda: list(TASKS))
    """Tasks to run."""
    out: str = "data/bench-easier-grasps"
    """Folder of the data sets."""

    def __post_init__(self) -> None:
        check_range("n", self.n, 1)
        check_range("workers", self.workers, 1, MAX_WORKERS)


def run_row(cfg: EasierGraspsCfg, row: str, task: str) -> RunStatistics:
    """Runs a task without one simplification, and returns the counts."""
    out = Path(cfg.out, f"{task}-{row.replace(',', '').replace(' ', '-')}").absolute()
    overrides = [
        f"task={task}",
        "robot=franka_panda",
        *ROWS[row],
        f"episodes={cfg.n}",
        f"seed={cfg.seed}",
        f"workers={cfg.workers}",
        "pictures=0",
        "give_up_after=null",
        f"out={out}",
    ]
    collect_and_report(load_config("collect", CollectCfg, overrides).cfg)
    return RunStatistics.of(item for item in DataSet.open(str(out)).summaries() if item.number < cfg.n)


def grasp_table(results: Results) -> Table:
    """Returns successes; one row per simplification, one column per task, and all tasks with their interval."""
    tasks = list(dict.fromkeys(task for _, task in results))
    table = Table(box=MARKDOWN)
    for column in ("configuration", *tasks, "all", "95 % interval"):
        table.add_column(column, no_wrap=True)
    for row in dict.fromkeys(row for row, _ in results):
        counts = [results[row, task] for task in tasks]
        successes, n = sum(each.successes for each in counts), sum(each.n for each in counts)
        low, high = wilson_interval(successes, n)
        table.add_row(
            row,
            *(f"{each.successes} of {each.n}" for each in counts),
            f"{successes} of {n}",
            f"{100 * low:.0f} to {100 * high:.0f} %",
        )
    return table


def main(arguments: list[str]) -> int:
    """Runs every row and prints the results."""
    cfg = read_pairs(EasierGraspsCfg, arguments)
    results: dict[tuple[str, str], RunStatistics] = {}
    for row in ROWS:
        for task in cfg.tasks:
            print_line(f"== {task}, {row}")
            results[row, task] = run_row(cfg, row, task)
    result_console().print(grasp_table(results))
    for (row, task), each in results.items():
        if each.codes:
            print_line(f"{task}, {row}: {each.codes_text()}")
    return OK


if __name__ == "__main__":
    sys.exit(run_guarded(lambda: main(sys.argv[1:]), usage=__doc__))
