"""Measures how often a robot works the mechanisms of objects, and what a wrong order does.

Usage: python benchmarks/mechanisms.py [n=20] [seed=0] [robot=NAME] [only=TEXT] [wrong=true]
       [out=data/bench-mechanisms]

Runs `unlatch collect` for each task whose object has mechanisms. With `wrong=true`, runs the tasks a second time with
skills that ignore mechanisms: a hand pulls a latched door without turning its lever. None of these must succeed, and no
finger may bear more than its limit for longer than 20 ms without the episode failing. Data sets stay in the folder; the
same command again continues an interrupted benchmark.

For every task, prints the successes with their Wilson interval and the failures; of wrong orders also the largest force
that a finger bore for 20 ms.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from rich.box import MARKDOWN
from rich.table import Table

from unlatch.data import open_dataset
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.terminal import OK, result_console, run_guarded
from unlatch.workflows.runs.statistics import wilson_interval

TASKS = (
    "pull_door_with_lever",
    "push_door_with_lever",
    "microwave_by_button",
    "push_latch_cupboard",
    "telescopic_drawer_full",
    "second_drawer_of_filing_cabinet",
    "both_cabinet_doors",
    "set_oven_knob_to_3",
    "open_safe_by_dial",
    "childproof_bottle",
    "toolbox_clasps",
    "flip_light_switch",
    "switch_breaker_off",
    "open_pedal_bin",
    "trash_into_pedal_bin",
    "open_light_box",
    "open_light_box_alone",
    "drawer_by_held_button",
)
HELD = (
    "pull_door_with_lever",
    "push_door_with_lever",
    "second_drawer_of_filing_cabinet",
    "both_cabinet_doors",
    "open_safe_by_dial",
    "childproof_bottle",
    "toolbox_clasps",
    "drawer_by_held_button",
)
"""Tasks in which a robot can try to move what is held."""


@dataclass
class MechanismsCfg:
    """The keys of this benchmark."""

    n: int = 20
    """Episodes of each task."""
    seed: int = 0
    """Seed of the runs."""
    robot: str = ""
    """The robot; empty: that of each task, a Panda or, where two arms act, two."""
    only: str = ""
    """Only tasks whose name contains one of these texts, separated by commas."""
    wrong: bool = True
    """Whether wrong orders are measured, too."""
    right: bool = True
    """Whether right orders are measured."""
    out: str = "data/bench-mechanisms"
    """Folder of the data sets."""


def run_task(task: str, cfg: MechanismsCfg, *, wrong: bool) -> Path:
    """Makes the data set of a task, or continues it, and returns its folder."""
    folder = Path(cfg.out) / (f"{task}_wrong" if wrong else task)
    words = [f"task={task}", f"episodes={cfg.n}", f"seed={cfg.seed}", "pictures=0"]
    words += [f"robot={cfg.robot}"] if cfg.robot else []
    words += ["skills.1.ignores_mechanisms=true"] if wrong else []
    command = [sys.executable, "-m", "unlatch", "collect", *words, f"out={folder}"]
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
    return folder


def add_row(table: Table, name: str, folder: Path) -> None:
    """Adds the counts of a data set to a table."""
    records = list(open_dataset(folder))
    successes = sum(bool(record.success) for record in records)
    low, high = wilson_interval(successes, len(records))
    codes = Counter(record.code for record in records if not record.success)
    forces = [
        float(values.max())
        for record in records
        for key, values in record.arrays.items()
        if key.endswith("fingers.force_sustained_n")
    ]
    table.add_row(
        name,
        f"{successes}/{len(records)}",
        f"{100 * low:.0f} to {100 * high:.0f} %",
        f"{max(forces, default=0.0):.0f}",
        ", ".join(f"{code} {count}" for code, count in codes.most_common()),
    )


def main(arguments: list[str]) -> int:
    """Runs every task and prints the results."""
    cfg = read_pairs(MechanismsCfg, arguments)
    table = Table(box=MARKDOWN)
    for column in ("task", "successes", "95 % interval", "largest finger force [N]", "failures"):
        table.add_column(column)
    chosen = [task for task in TASKS if any(text in task for text in cfg.only.split(","))]
    for task in chosen if cfg.right else ():
        add_row(table, task, run_task(task, cfg, wrong=False))
    for task in chosen if cfg.wrong else ():
        if task in HELD:
            add_row(table, f"{task}, wrong order", run_task(task, cfg, wrong=True))
    result_console().print(table)
    return OK


if __name__ == "__main__":
    sys.exit(run_guarded(lambda: main(sys.argv[1:]), usage=__doc__))
