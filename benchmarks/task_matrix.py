"""Measures how often each shipped task succeeds with each robot, and says why a robot cannot do a task.

Usage: python benchmarks/task_matrix.py [n=20] [seed=0] [workers=2] [only=TEXT]
       [robots=franka_panda,dual_panda,xarm6,ur5,baxter] [out=data/bench-task-matrix] [results=FILE.json]

Runs `unlatch collect task=TASK robot=ROBOT` for every task of `configs/task`. `skill_matrix.py` explains the columns. A
row without episodes says why the robot cannot run the task at all. Data sets stay in the folder. The same command again
continues an interrupted benchmark. `results=` saves the counts.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from skill_matrix import CountedCfg, matrix_table, robot_lines
from success_runs import TASK, Job, run_or_read

from unlatch.configs.group_files import own_option_names
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.terminal import OK, print_line, result_console, run_guarded


@dataclass
class TaskMatrixCfg(CountedCfg):
    """The keys of this benchmark."""

    n: int = 20
    """Number of episodes of each task and robot."""
    robots: str = "franka_panda,dual_panda,xarm6,ur5,baxter"
    """Robots, separated by commas."""
    out: str = "data/bench-task-matrix"
    """Folder of the data sets."""


def main(arguments: list[str]) -> int:
    """Runs every job and prints the results."""
    cfg = read_pairs(TaskMatrixCfg, arguments)
    names = [name for name in own_option_names(TASK) if cfg.wants(name)]
    jobs = [Job("tasks", name, TASK, name, robot=robot) for robot in cfg.robots.split(",") for name in names]
    results = run_or_read(jobs, cfg)
    result_console().print(matrix_table(results))
    for line in robot_lines(results):
        print_line(line)
    return OK


if __name__ == "__main__":
    sys.exit(run_guarded(lambda: main(sys.argv[1:]), usage=__doc__))
