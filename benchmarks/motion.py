"""Measures whether the motion of the arms is one that a real arm could make, and whether the record says what happened.

Usage: python benchmarks/motion.py [n=10] [seed=0] [workers=2] [only=TEXT]
       [robots=franka_panda,dual_panda,ur5,xarm6,baxter] [tasks=TASK,TASK] [detours=true]

Makes n episodes of the four base tasks and of ten entries of the object library with each robot, and reads arms, parts
and contacts after every physics step (240 Hz). The library has 43 entries (category and skill) besides those of
microwave and drawer, which the base tasks use. In alphabetical order, the ten are evenly spaced, from the first one on.
Prints two tables with a row for each robot and entry, and a row for each robot over all its steps. The first:

  success       successful episodes
  saturated     steps of free transit in which a motor has at least 99 % of its largest effort
  acc.          steps in which the acceleration of a joint, the change of its velocity in one step, is above the limit
                of the robot; in brackets the largest, as a multiple of the limit. "Contact" steps are those of the
                phases grasp, follow, release and hold; "all" are the steps of an arm that carries out a skill
  vel.          the same for joint velocities
  alternating   steps outside the phases of contact in which the effort of a motor jumps up and then down, or the
                reverse, both by more than 1 % of its largest effort: a steady oscillation has many
  CPU           CPU time of an episode, median, without that of measuring
  failures      number of failed episodes by code; their steps count too

The second:

  recorded v    recorded joint velocity over the central difference of recorded positions, in transit, where it is above
                0.1 rad/s: median
  chatter       share of the part's travel in the follow phase in which no finger touches the part
  joint error   joint position against the target of the same physics step: root mean square and largest
  hand error    the point between the fingertips against where the targets would put it: the same
  depth         how deep fingers are inside objects, in steps in which a finger touches something: median, 99th
                percentile, largest
  force         force on a finger, as for the failure code `overload` but in each physics step: median over episodes of
                the peak, 99th percentile of the steps with a force, largest

In the end prints a line for each limit, with the figure of each robot. Exit code 1 if a limit is missed.

With `tasks`, measures the commands in n episodes of these tasks in place of all this; `tasks=all` are eleven tasks.
Prints one table, of the successful episodes:

  duration      mean, and longest
  idle          record frames in which each joint is slower than 1 % of its limit and no gripper changes its opening by
                1 mm/s; over all episodes, and in the episode with the most
  detour        length of the way to the object over the shortest way that six searches of 12,000 collision queries
                find, each shortened 240 times, without a margin: mean and largest. `detours=false` leaves it out: the
                searches take most of the time
  force N       largest sustained force on a finger, median over episodes
  velocity, ... largest velocity, acceleration and jerk of the commands, and largest rate of the torques that they need
                without contact, as a share of the maker's limit, at 1 kHz; in brackets the episodes above it. Jerk and
                torque rates are those of Franka's robots
"""

from __future__ import annotations

import math
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

import numpy as np
from motion_commands import CommandFigures, command_table, measure_task
from motion_samples import EpisodeMeter, EpisodeMotion, MotionSamples
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table
from success_runs import TASK, Job, rate

import unlatch
from unlatch.robots.catalog import ROBOTS
from unlatch.simcore.errors import ConfigError, check_range
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.terminal import FAILED, OK, print_line, run_guarded
from unlatch.workflows.runs.schema import MAX_WORKERS
from unlatch.workflows.runs.success_bench import TASKS

Array = np.ndarray

LIBRARY = (
    ("bottle", "open"),
    ("cabinet", "close"),
    ("desk_drawers", "close"),
    ("door", "close"),
    ("faucet", "open"),
    ("laptop", "close"),
    ("oven", "rotate"),
    ("safe", "close"),
    ("sliding_window", "open"),
    ("toilet", "open"),
)
"""Entries number 43 * i // 10, i from 0 to 9, of the sorted entries of the library without microwave and drawer."""
COMMAND_TASKS = (
    *TASKS,
    "store_in_drawer",
    "take_from_drawer",
    "put_in_cabinet",
    "put_in_microwave",
    "tidy_drawer",
    "turn_faucet",
    "set_table",
)
"""The tasks of the table of commands: the base tasks, and tasks with several skills."""
_POOLED = "all entries"
_TABLE_WIDTH = 240


@dataclass
class MotionCfg:
    """The keys of this benchmark."""

    n: int = 10
    """Number of episodes of each robot and entry."""
    seed: int = 0
    """Seed of the runs."""
    workers: int = 2
    """Number of processes."""
    only: str = ""
    """Only entries whose name contains one of these texts, separated by commas."""
    robots: str = "franka_panda,dual_panda,ur5,xarm6,baxter"
    """Robots, separated by commas."""
    tasks: str = ""
    """Tasks whose commands are measured, separated by commas, or `all`; empty: physics steps are measured."""
    detours: bool = True
    """Whether ways are compared with those of a slow search; with `tasks`."""

    def __post_init__(self) -> None:
        check_range("n", self.n, 1)
        check_range("workers", self.workers, 1, MAX_WORKERS)
        for name in self.robots.split(","):
            ROBOTS.entry(name)

    def jobs(self) -> list[Job]:
        """Returns the entries of every robot, base tasks first."""
        parts = [part for part in self.only.split(",") if part]
        jobs = [
            job
            for robot in self.robots.split(",")
            for job in (
                *(Job("tasks", task, TASK, task, robot=robot) for task in TASKS),
                *(Job("library", name, skill, name, robot=robot) for name, skill in LIBRARY),
            )
            if not parts or any(part in entry_name(job) for part in parts)
        ]
        if not jobs:
            raise ConfigError(f"only={self.only} selects no entry. Expected a part of a name such as door.", key="only")
        return jobs


@dataclass
class Measurement:
    """The episodes of one or more entries of a robot."""

    robot: str
    entry: str
    episodes: list[EpisodeMotion] = field(default_factory=list)
    problem: str = ""
    """Reason if there is no episode."""

    @property
    def samples(self) -> MotionSamples | None:
        """Returns the samples of all episodes; None if no arm moved."""
        found = [episode.samples for episode in self.episodes if episode.samples is not None]
        return MotionSamples.pooled(found) if found else None

    @property
    def successes(self) -> str:
        """Returns `18/20`, or a dash without episodes."""
        return rate(episode.success for episode in self.episodes)

    @property
    def codes(self) -> Counter[str]:
        """Returns the number of failed episodes by code."""
        return Counter(episode.code for episode in self.episodes if episode.code is not None)


def entry_name(job: Job) -> str:
    """Returns `open_microwave` of a task, `door close` of an entry of the library."""
    return job.name if job.skill == TASK else f"{job.name} {job.skill}"


def measure(job: Job, n: int, seed: int) -> Measurement:
    """Makes and measures the episodes of one entry."""
    found = Measurement(job.robot, entry_name(job))
    try:
        cfg = unlatch.load(*job.words, seed=seed)
    except ConfigError as exc:
        found.problem = str(exc)
        return found
    with EpisodeMeter(cfg) as meter:
        found.episodes += [meter.measure(number) for number in range(n)]
    return found


def measure_all(jobs: Sequence[Job], cfg: MotionCfg) -> Iterator[Measurement]:
    """Yields the measurement of every entry, in this order."""
    if cfg.workers == 1:
        yield from (measure(job, cfg.n, cfg.seed) for job in jobs)
        return
    with ProcessPoolExecutor(cfg.workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(measure, jobs, [cfg.n] * len(jobs), [cfg.seed] * len(jobs))


def percent(flags: Array) -> float:
    """Returns the share of true values [%]; NaN without values."""
    return 100.0 * float(np.mean(flags)) if flags.size else math.nan


def largest(values: Array) -> float:
    """Returns the largest value; NaN without values."""
    return float(np.max(values)) if values.size else math.nan


def percentile(values: Array, share: float) -> float:
    """Returns a percentile; NaN without values."""
    return float(np.percentile(values, share)) if values.size else math.nan


def rms(values: Array) -> float:
    """Returns the root of the mean square; NaN without values."""
    return float(np.sqrt(np.mean(np.square(values)))) if values.size else math.nan


def chatter(samples: MotionSamples) -> float:
    """Returns the share of the part's travel without contact [%]; NaN if no part moved."""
    travel = samples.travel.sum()
    return 100.0 * float(samples.free_travel.sum() / travel) if travel > 0.0 else math.nan


def depths_mm(samples: MotionSamples) -> Array:
    """Returns the depths of fingers inside objects in steps with contact [mm]."""
    return 1e3 * samples.depth_m[samples.touches]


@dataclass(frozen=True)
class Limit:
    """A figure that must not be above a limit."""

    text: str
    figure: Callable[[MotionSamples], float]
    most: float
    unit: str

    def line(self, samples: Sequence[tuple[str, MotionSamples | None]]) -> tuple[bool, str]:
        """Returns whether every robot keeps the limit, and a line that says so with the figure of each."""
        figures = {robot: math.nan if each is None else self.figure(each) for robot, each in samples}
        met = all(value <= self.most for value in figures.values())
        missed = any(value > self.most for value in figures.values())
        result = "met" if met else "MISSED" if missed else "not measured for every robot"
        values = ", ".join(f"{robot} {_number(value, self.unit)}" for robot, value in figures.items())
        return met, f"{result}: {self.text}, at most {self.most:g}{self.unit}: {values}"


def _number(value: float, unit: str = "") -> str:
    return "-" if math.isnan(value) else f"{value:.2f}{unit}"


def _ratio_limits(what: str, where: str, ratios: Callable[[MotionSamples], Array]) -> tuple[Limit, Limit]:
    """Returns the limits of accelerations or velocities, given as multiples of the robot's limit (n,)."""
    return (
        Limit(f"steps with {what} above the robot's limit, {where}", lambda s: percent(ratios(s) > 1.0), 1.0, " %"),
        Limit(f"largest {what} as a multiple of the robot's limit, {where}", lambda s: largest(ratios(s)), 1.5, " x"),
    )


LIMITS = (
    Limit("steps of free transit with a saturated motor", lambda s: percent(s.saturated[s.in_transit]), 1.0, " %"),
    *_ratio_limits("joint acceleration", "free transit", lambda s: s.acceleration[s.in_transit]),
    *_ratio_limits("joint acceleration", "all steps", lambda s: s.acceleration),
    *_ratio_limits("joint velocity", "free transit", lambda s: s.velocity[s.in_transit]),
    *_ratio_limits("joint velocity", "all steps", lambda s: s.velocity),
    Limit(
        "recorded velocity off the difference of positions, median",
        lambda s: 100.0 * abs(percentile(s.velocity_ratio, 50) - 1.0),
        2.0,
        " %",
    ),
    Limit("travel of the part without contact while the hand moves it", chatter, 5.0, " %"),
    Limit("depth of fingers inside objects, 99th percentile", lambda s: percentile(depths_mm(s), 99), 1.5, " mm"),
    Limit(
        "steps outside the phases of contact with an alternating effort (our own limit)",
        lambda s: percent(s.alternates[~s.in_contact]),
        1.0,
        " %",
    ),
)


def limits_table(measurements: Sequence[Measurement]) -> Table:
    """Returns the table of success, saturated motors, and accelerations and velocities beyond the limits."""
    columns = ("robot", "entry", "success", "saturated", *(f"acc. {of}" for of in ("transit", "contact", "all")))
    table = _table(*columns, *(f"vel. {of}" for of in ("transit", "contact", "all")), "alternating", "CPU", "failures")
    for each in measurements:
        failures = each.problem or ", ".join(f"{code} {count}" for code, count in each.codes.most_common())
        cells = list(_limit_cells(each))
        table.add_row(each.robot, each.entry, *cells, *[""] * (len(table.columns) - len(cells) - 3), failures)
    return table


def _limit_cells(each: Measurement) -> Iterator[str]:
    s = each.samples
    yield each.successes
    if s is None:
        return
    yield f"{_number(percent(s.saturated[s.in_transit]))} %"
    for ratios in (s.acceleration, s.velocity):
        for steps in (s.in_transit, s.in_contact, np.ones_like(s.in_transit)):
            yield f"{_number(percent(ratios[steps] > 1.0))} % ({_number(largest(ratios[steps]))})"
    yield f"{_number(percent(s.alternates[~s.in_contact]))} %"
    yield f"{np.median([episode.cpu_s for episode in each.episodes]):.2f} s"


def contact_table(measurements: Sequence[Measurement]) -> Table:
    """Returns the table of recorded velocities, tracking and contacts."""
    columns = ("robot", "entry", "recorded v", "chatter")
    errors = (f"{what}, {of}" for of in ("transit", "all") for what in ("joint error mrad", "hand error mm"))
    table = _table(*columns, *errors, "depth mm", "force N")
    for each in measurements:
        table.add_row(each.robot, each.entry, *_contact_cells(each))
    return table


def _contact_cells(each: Measurement) -> Iterator[str]:
    s = each.samples
    if s is None:
        return
    yield _number(percentile(s.velocity_ratio, 50))
    yield f"{_number(chatter(s))} %"
    for steps in (s.in_transit, np.ones_like(s.in_transit)):
        for errors in (s.joint_error_rad[steps], s.hand_error_m[steps]):
            yield f"{1e3 * rms(errors):.1f} / {1e3 * largest(np.abs(errors)):.1f}"
    depths = depths_mm(s)
    yield " / ".join(_number(value) for value in (*(percentile(depths, q) for q in (50, 99)), largest(depths)))
    peaks = np.array([largest(e.samples.force_n) for e in each.episodes if e.samples is not None])
    forces = (percentile(peaks, 50), percentile(s.force_n[s.force_n > 0.0], 99), largest(peaks))
    yield " / ".join("-" if math.isnan(value) else f"{value:.0f}" for value in forces)


def _table(*columns: str) -> Table:
    table = Table(box=MARKDOWN)
    for column in columns:
        table.add_column(
            column,
            no_wrap=column != "failures",
            justify="left" if column in ("robot", "entry", "failures") else "right",
        )
    return table


def pooled(measurements: Sequence[Measurement]) -> list[Measurement]:
    """Returns the measurements of each robot as one."""
    found = {each.robot: Measurement(each.robot, _POOLED) for each in measurements}
    for each in measurements:
        found[each.robot].episodes += each.episodes
    return list(found.values())


def measure_commands(cfg: MotionCfg) -> int:
    """Measures the commands of tasks and prints their table."""
    tasks = list(COMMAND_TASKS) if cfg.tasks == "all" else cfg.tasks.split(",")
    figures: list[CommandFigures] = []
    numbers = [[value] * len(tasks) for value in (cfg.n, cfg.seed, cfg.detours)]
    with ProcessPoolExecutor(cfg.workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        for found in pool.map(measure_task, tasks, *numbers):
            figures += found
            print_line(f"{found[0].task}: {rate(each.success for each in found)}")
    Console(width=_TABLE_WIDTH).print(command_table(figures))
    return OK


def main(arguments: list[str]) -> int:
    """Measures every entry and prints the results; exit code 1 if a limit is missed."""
    cfg = read_pairs(MotionCfg, arguments)
    if cfg.tasks:
        return measure_commands(cfg)
    start, jobs, measurements = time.perf_counter(), cfg.jobs(), []
    print_line(f"{len(jobs)} entries of {cfg.n} episodes")
    for each in measure_all(jobs, cfg):
        measurements.append(each)
        result = each.problem or f"{each.successes} {dict(each.codes) or ''}"
        print_line(f"{len(measurements)}/{len(jobs)} {each.robot} {each.entry}: {result}")
    robots = pooled(measurements)
    rows = [each for robot in robots for each in (*(m for m in measurements if m.robot == robot.robot), robot)]
    console = Console(highlight=False, width=_TABLE_WIDTH)
    console.print(limits_table(rows))
    console.print(contact_table(rows))
    results = [limit.line([(robot.robot, robot.samples) for robot in robots]) for limit in LIMITS]
    for _, line in results:
        print_line(line)
    cpu_s = sum(episode.cpu_s for robot in robots for episode in robot.episodes)
    episodes = sum(len(robot.episodes) for robot in robots)
    print_line(
        f"{episodes} episodes, {cpu_s:.0f} s of CPU time without measuring, {time.perf_counter() - start:.0f} s of time"
    )
    return OK if all(met for met, _ in results) else FAILED


if __name__ == "__main__":
    sys.exit(run_guarded(lambda: main(sys.argv[1:]), usage=__doc__))
