"""Replays successful episodes in MuJoCo: the recorded actions, open loop, on the same objects.

Usage: python benchmarks/second_engine.py [n=20] [seed=0] [robot=franka_panda] [workers=1]
       [tasks=open_microwave,close_microwave,open_drawer,close_drawer | tasks=library]
       [skills=open,close,rotate] [only=TEXT] [out=data/bench-second-engine] [results=false]

Makes n episodes of each task with Unlatch, then replays each success in MuJoCo. `tasks=library` takes every category of
the object library with each of `skills` that fits it. An episode reaches the goal in MuJoCo if the joints end where the
rule of success asks, and stay there for the settling time. Prints, for each task or entry:

  recorded     successes in Bullet of the episodes made
  MuJoCo       how many of these reach the goal in MuJoCo, with the Wilson 95 % interval
  part         difference of the part's joint at the end, median and largest over episodes
  arm          largest difference of a joint of the arm at any frame, median and largest over episodes
  CPU          CPU time of one replay

Below the table stands each episode that misses the goal, with the rule that it breaks. Data sets stay in the folder.
The same command again continues an interrupted benchmark. `results=true` keeps the counts for the README. Needs the
extra `bench`. benchmarks/notes/second_engine.md explains the method.

Exit code 3 if fewer reach the goal than aimed at (97 % of the tasks, 90 % of the library), or if nothing was replayed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from fingerprint import made_with
from mujoco_replay import Deviation, compare, replay_in_mujoco
from rich.box import MARKDOWN
from rich.table import Table
from success_runs import DOES_NOT_FIT, ROBOT, with_interval
from summary_tables import BELOW_AIM, keep_other, read_others

import unlatch
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.simcore.errors import UnlatchError
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.terminal import OK, print_line, result_console, run_guarded
from unlatch.workflows.runs.recorded_config import config_of

BASE_TASKS = "open_microwave,close_microwave,open_drawer,close_drawer"
LIBRARY = "library"
"""Value of `tasks` that stands for all entries of the object library."""
AIM_TASKS, AIM_LIBRARY = 0.97, 0.90


@dataclass
class SecondEngineCfg:
    """The keys of this benchmark."""

    n: int = 20
    """Episodes of each task or entry."""
    seed: int = 0
    """Seed of the runs."""
    robot: str = ROBOT
    """The robot."""
    tasks: str = BASE_TASKS
    """Tasks, separated by commas; `library`: every entry of the object library."""
    skills: str = "open,close,rotate"
    """Skills of the library, separated by commas."""
    only: str = ""
    """Only entries whose name contains one of these texts, separated by commas."""
    workers: int = 1
    """Processes that make episodes; replays run in one process."""
    out: str = "data/bench-second-engine"
    """Folder of the data sets."""
    results: bool = False
    """Whether the counts are kept for the README, in place of those of the same tasks."""

    def wants(self, name: str) -> bool:
        """Returns whether `only` selects a name."""
        parts = [part for part in self.only.split(",") if part]
        return not parts or any(part in name for part in parts)


@dataclass(frozen=True)
class Entry:
    """One task, or one skill on one category."""

    name: str
    words: tuple[str, ...]
    """Arguments of `unlatch.load`."""


@dataclass
class Result:
    """What one entry gave."""

    entry: Entry
    made: int
    """Episodes made."""
    deviations: dict[int, Deviation] = field(default_factory=dict)
    """Of each success, by number."""
    cpu_s: list[float] = field(default_factory=list)
    """CPU time of each replay."""

    @property
    def reached(self) -> list[bool]:
        """Returns whether each replay reached the goal."""
        return [deviation.reached for deviation in self.deviations.values()]


def entries_of(cfg: SecondEngineCfg) -> Iterator[Entry]:
    """Yields the selected entries; those of the library may not fit."""
    robot = f"robot={cfg.robot}"
    if cfg.tasks != LIBRARY:
        found = [Entry(task, (task, robot)) for task in cfg.tasks.split(",")]
    else:
        found = [
            Entry(f"{skill} {name}", (f"object={name}", f"skill={skill}", robot))
            for name in GENERATORS.names()
            for skill in cfg.skills.split(",")
        ]
    yield from (entry for entry in found if cfg.wants(entry.name))


def run_entry(entry: Entry, cfg: SecondEngineCfg) -> Result | None:
    """Makes the episodes of an entry and replays its successes; None if it is left out."""
    folder = Path(cfg.out) / f"{cfg.robot}-{entry.name.replace(' ', '-')}-s{cfg.seed}"
    try:
        data = unlatch.collect(
            unlatch.load(*entry.words, seed=cfg.seed), episodes=cfg.n, out=folder, workers=cfg.workers
        )
    except UnlatchError as exc:
        if cfg.tasks != LIBRARY:
            raise
        if DOES_NOT_FIT not in str(exc):
            print_line(f"{entry.name} is left out: {exc}")
        return None
    episode_cfg = config_of(data)
    result = Result(entry, cfg.n)
    for item in data.summaries():
        if item.number < cfg.n and item.success:
            record, start = data.read(item.number), time.process_time()
            replayed = replay_in_mujoco(record, episode_cfg)
            result.cpu_s.append(time.process_time() - start)
            result.deviations[item.number] = compare(record, replayed)
    return result


def result_table(results: Sequence[Result]) -> Table:
    """Returns the table, one row an entry."""
    table = Table(box=MARKDOWN)
    for column in ("entry", "recorded", "MuJoCo", "part, median / largest", "arm, median / largest", "CPU"):
        table.add_column(column, no_wrap=True)
    for result in results:
        found = list(result.deviations.values())
        table.add_row(
            result.entry.name,
            f"{len(found)}/{result.made}",
            with_interval(result.reached),
            ", ".join(
                _median_and_largest(values, unit, scale)
                for values, unit, scale in (
                    ([each.hinge_end_rad for each in found if each.hinge_end_rad is not None], "rad", 1.0),
                    ([each.slider_end_m for each in found if each.slider_end_m is not None], "mm", 1e3),
                )
                if values
            ),
            _median_and_largest([each.arm_most_rad for each in found], "rad", 1.0) if found else "-",
            f"{median(result.cpu_s):.1f} s" if result.cpu_s else "-",
        )
    return table


def _median_and_largest(values: Sequence[float], unit: str, scale: float) -> str:
    return f"{scale * median(values):.3f} / {scale * max(values):.3f} {unit}"


def missed_lines(results: Sequence[Result]) -> list[str]:
    """Returns a line for each episode that misses the goal in MuJoCo."""
    return [
        f"  {result.entry.name}, episode {number}: {deviation.missed[0].code} {deviation.missed[0].evidence}"
        for result in results
        for number, deviation in result.deviations.items()
        if not deviation.reached
    ]


def keep_counts(cfg: SecondEngineCfg, arguments: Sequence[str], results: Sequence[Result]) -> None:
    """Writes the counts into the file of other results."""
    name = f"object library, {len(results)} entries" if cfg.tasks == LIBRARY else "base tasks"
    words = [word for word in arguments if not word.startswith(("out=", "workers=", "results="))]
    counts = {
        "name": name,
        "attempts": sum(result.made for result in results),
        "n": sum(len(result.reached) for result in results),
        "reached": sum(sum(result.reached) for result in results),
        "command": " ".join(["python benchmarks/second_engine.py", *words]),
    }
    others = [run for run in read_others()["second_engine"] if run["name"].split(",")[0] != name.split(",")[0]]
    keep_other("second_engine", sorted([*others, counts | made_with()], key=lambda run: run["name"]))


def main(arguments: list[str]) -> int:
    """Makes and replays the episodes, and prints the table."""
    cfg = read_pairs(SecondEngineCfg, arguments)
    results = []
    for entry in entries_of(cfg):
        result = run_entry(entry, cfg)
        if result is not None:
            results.append(result)
            print_line(f"{entry.name}: {with_interval(result.reached)}")
    result_console().print(result_table(results))
    reached = [value for result in results for value in result.reached]
    print_line(f"{cfg.robot}, {len(results)} entries, pooled: {with_interval(reached)} reach the goal in MuJoCo")
    for line in missed_lines(results):
        print_line(line)
    if cfg.results:
        keep_counts(cfg, arguments, results)
    aim = AIM_LIBRARY if cfg.tasks == LIBRARY else AIM_TASKS
    return OK if reached and sum(reached) >= aim * len(reached) else BELOW_AIM


if __name__ == "__main__":
    sys.exit(run_guarded(lambda: main(sys.argv[1:]), usage=__doc__))
