"""Writes the table of robots: the test in physics of each, and how often it succeeds in three tasks.

Usage: python benchmarks/robots.py [n=20] [cores=2] [seed=0] [seed_is=fresh] [robots=franka_panda,so101,...]
       [tasks=open_drawer,close_drawer,close_microwave] [out=data/bench-robots] [results=FILE.json] [table=FILE.md]

`robots=` is every robot of the catalog unless it is given. A task is the name of a shipped one, which draws one layout,
or CATEGORY:SKILL, whose layout is derived for the robot and searched. A robot that lacks what a task needs has a dash,
with the reason below the table. The test in physics is that of `unlatch check robot=NAME`: it closes on a bar, lifts a
weight and follows a path with each arm. The same command again continues an interrupted benchmark; `results=` saves the
counts, `table=` the table.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from success_runs import TASK, Job, Result, RunCfg, run_or_read, with_interval

from unlatch.robots.catalog import ROBOTS, load_robot
from unlatch.simcore.errors import UnlatchError
from unlatch.workflows.assets.new_robot import try_robot
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.terminal import OK, print_line, run_guarded


@dataclass
class RobotsCfg(RunCfg):
    """The keys of this benchmark."""

    n: int = 20
    """Episodes of each robot and task."""
    cores: int = 2
    """Number of jobs that run in parallel."""
    robots: str = ""
    """Robots, separated by commas; empty: all of the catalog."""
    tasks: str = "open_drawer,close_drawer,close_microwave"
    """Tasks, separated by commas."""
    out: str = "data/bench-robots"
    """Folder of the data sets."""
    table: str | None = None
    """File of the table."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.workers = self.cores
        self.robots = self.robots or ",".join(ROBOTS.names())
        for name in self.robots.split(","):
            ROBOTS.entry(name)


def make_job(robot: str, task: str) -> Job:
    """Returns the job of a robot and a task, or a CATEGORY:SKILL."""
    category, _, skill = task.partition(":")
    if skill:
        return Job("library", category, skill, category, robot=robot)
    return Job("tasks", task, TASK, task, robot=robot)


def try_in_physics(robot: str) -> list[str]:
    """Returns a line for each test of each arm, or the reason why there is none."""
    try:
        return [result.line for result in try_robot(load_robot(robot))]
    except UnlatchError as exc:
        return [f"FAILED: {exc}"]


def table_lines(results: Sequence[Result], tests: dict[str, list[str]], tasks: Sequence[str]) -> list[str]:
    """Returns the table, and below it what failed."""
    by_robot: dict[str, dict[str, Result]] = {}
    for result, task in zip(results, [task for _ in tests for task in tasks], strict=True):
        by_robot.setdefault(result.job.robot, {})[task] = result
    lines = [f"| robot | {' | '.join(tasks)} | test in physics |", "|---|" + "---|" * (len(tasks) + 1)]
    notes = []
    for robot, own in by_robot.items():
        failed = [line for line in tests[robot] if "FAILED" in line]
        passed = f"{len(tests[robot]) - len(failed)} of {len(tests[robot])}"
        lines.append(f"| `{robot}` | {' | '.join(with_interval(own[task].successes()) for task in tasks)} | {passed} |")
        codes: Counter[str] = sum((own[task].codes for task in tasks), Counter())
        notes += (
            [f"- `{robot}`: {', '.join(f'`{code}` {count}' for code, count in codes.most_common())}"] if codes else []
        )
        notes += [f"- `{robot}`, {task}: {own[task].problem}" for task in tasks if own[task].problem]
        notes += [f"- `{robot}`: {line}" for line in failed]
    return [*lines, "", *notes]


def main(arguments: list[str]) -> int:
    """Runs every job and prints the table."""
    cfg = read_pairs(RobotsCfg, arguments)
    robots, tasks = cfg.robots.split(","), cfg.tasks.split(",")
    with ProcessPoolExecutor(cfg.cores) as pool:
        tests = dict(zip(robots, pool.map(try_in_physics, robots), strict=True))
    results = run_or_read([make_job(robot, task) for robot in robots for task in tasks], cfg)
    lines = table_lines(results, tests, tasks)
    for line in lines:
        print_line(line)
    if cfg.table is not None:
        Path(cfg.table).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return OK


if __name__ == "__main__":
    sys.exit(run_guarded(lambda: main(sys.argv[1:]), usage=__doc__))
