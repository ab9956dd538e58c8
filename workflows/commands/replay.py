"""`unlatch replay`: replays recorded episodes and measures the deviation."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from loky import cpu_count

from unlatch.simcore.errors import ConfigError, RecordingError
from unlatch.workflows.cli.command import run_command
from unlatch.workflows.cli.console import FAILED, INTERRUPTED, OK, banner_hidden, print_line, print_note
from unlatch.workflows.runs.executors.executor import EpisodeMaker, Outcome
from unlatch.workflows.runs.schema import MAX_WORKERS

if TYPE_CHECKING:
    import numpy as np

    from unlatch.configs.schema import EpisodeCfg
    from unlatch.simcore.recording.data_set.data_set import DataSet
    from unlatch.simcore.recording.episode import EpisodeRecord
    from unlatch.workflows.runs.runner import EpisodeRunner

HELP = """usage: unlatch replay DATA episode=N [mode=action|state] [check=true]
       unlatch replay DATA all=true [mode=action|state] [check=true] [workers=2]

Replays recorded episodes and prints the largest deviation from the record. It is 0 on the machine and with the versions
that made the record.

  mode=action        apply the recorded reset values, actions and hold events in a new world (default)
  mode=state         write every recorded state into the world and read it again
  all=true           replay every episode of the data set
  check=true         also verify files, shapes and verdicts; exit code 1 if anything deviates or is damaged
  workers=2          processes for all=true; default: one per CPU core
"""

MAX_SHOWN = 20
"""Episodes that are named one by one where many deviate."""
_MEASURED = (".joint_efforts",)
"""Endings of state keys that cannot be written into a world: what the motors did in the last physics step."""
_SENSORS = "sensors."
"""Beginning of state keys that cannot either: a sensor may look at more than one state."""


class ReplayMode(Enum):
    """The keys of `unlatch replay`."""

    action = "action"
    state = "state"


@dataclass
class ReplayCfg:
    """`unlatch replay`."""

    episode: int | None = None
    """Episode number."""
    all: bool = False
    """Whether every episode is replayed."""
    mode: ReplayMode = ReplayMode.action
    """How."""
    check: bool = False
    """Whether files and verdicts are verified too, and a deviation is a failure."""
    workers: int | None = None
    """Processes for `all`; null: one a CPU core."""

    def __post_init__(self) -> None:
        if (self.episode is None) != self.all:
            raise ConfigError(
                "replay expects either episode=N or all=true. Example: unlatch replay data/demo episode=3",
                key="episode",
            )
        if self.workers is not None and not 1 <= self.workers <= MAX_WORKERS:
            raise ConfigError(f"workers={self.workers} is out of range. Expected 1 to {MAX_WORKERS}.", key="workers")


@dataclass(frozen=True)
class Deviation:
    """The largest difference between two sets of arrays."""

    value: float = 0.0
    """In the unit of the array; infinite where shapes or keys differ."""
    key: str = ""
    """The array."""
    frame: int = 0
    """The first row in which it is that large."""
    arrays: int = 0
    """How many arrays were compared."""

    def __str__(self) -> str:
        if self.value == 0.0:
            return f"largest deviation 0 in {self.arrays} arrays"
        return f"largest deviation {self.value:.3g} in '{self.key}', frame {self.frame}"


@dataclass(frozen=True)
class ReplayOutcome(Outcome):
    """What came of one replay."""

    deviation: Deviation = Deviation()
    """How far it went from the record."""
    problems: tuple[str, ...] = ()
    """What else is wrong with the episode."""
    frames: int = 0
    """Actions replayed."""


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit code."""
    return run_command(argv, HELP, _main)


def _main(arguments: list[str]) -> int:
    from unlatch.simcore.recording.data_set.data_set import DataSet
    from unlatch.workflows.cli.arguments import read_pairs, split_paths
    from unlatch.workflows.runs.recorded import config_of

    (path,), pairs = split_paths("replay", arguments, count=1)
    cfg = read_pairs(ReplayCfg, pairs)
    data_set = DataSet.open(path)
    job = ReplayJob(config_of(data_set), data_set, cfg.mode, cfg.check)
    _say_versions(data_set)
    return _replay_all(job, cfg) if cfg.all else _replay_one(job, int(cfg.episode or 0))


def _say_versions(data_set: DataSet) -> None:
    from unlatch.workflows.runs.versions import differing_versions

    for name, (then, now) in differing_versions(data_set).items():
        print_note(f"note: the data set was made with {name} {then}, here is {now}; replays may deviate")


def _replay_one(job: ReplayJob, number: int) -> int:
    record = job.data_set.read(number)  # bad input if it is not there or damaged
    with banner_hidden():
        from unlatch.workflows.runs.runner import EpisodeRunner

    with EpisodeRunner(job.cfg) as runner:
        outcome = job.outcome(runner, record)
    said = "success" if record.success else str(record.code)
    print_line(f"episode {number} ({said}), {job.mode.value} replay of {outcome.frames} frames: {outcome.deviation}")
    for problem in outcome.problems:
        print_line(f"episode {number}: {problem}")
    return FAILED if job.check and not outcome.success else OK


def _replay_all(job: ReplayJob, cfg: ReplayCfg) -> int:
    from unlatch.workflows.cli.progress import Progress
    from unlatch.workflows.runs.executors.catalog import EXECUTORS

    numbers = job.data_set.numbers()
    if not numbers:
        raise ConfigError(f"Data set '{job.data_set.path}' has no episodes yet. Collect some first.")
    workers = min(cfg.workers or cpu_count(), len(numbers))
    executor = EXECUTORS.load("process" if workers > 1 else "serial")(workers=workers)
    started = time.perf_counter()
    outcomes = executor.run(job, numbers)
    found: list[ReplayOutcome] = []
    with Progress(total=len(numbers), good="exact") as progress:
        try:
            for outcome in outcomes:
                progress.update(outcome)
                found.append(outcome)
        except KeyboardInterrupt:
            outcomes.close()
            print_note("unlatch: interrupted")
            return INTERRUPTED
    bad = sorted((item for item in found if not item.success), key=lambda item: item.number)
    for item in bad[:MAX_SHOWN]:
        for text in item.problems or (str(item.deviation),):
            print_line(f"episode {item.number}: {text}")
    if len(bad) > MAX_SHOWN:
        print_line(f"... and {len(bad) - MAX_SHOWN} more")
    largest = max((item.deviation for item in found), key=lambda deviation: deviation.value)
    frames = sum(item.frames for item in found)
    print_line(
        f"{len(found)} episodes, {frames} frames, {job.mode.value} replay in {time.perf_counter() - started:.1f} s: "
        f"{len(found) - len(bad)} exact; {largest}"
    )
    return FAILED if job.check and bad else OK


@dataclass(frozen=True)
class ReplayJob:
    """Replays of the episodes of one data set; see `Job`."""

    cfg: EpisodeCfg
    """What the episodes are made of."""
    data_set: DataSet
    """Where they are."""
    mode: ReplayMode
    """How they are replayed."""
    check: bool
    """Whether files and verdicts are verified too."""

    @contextmanager
    def open(self, worker: str) -> Iterator[EpisodeMaker]:
        """See `Job`."""
        with banner_hidden():
            from unlatch.workflows.runs.runner import EpisodeRunner

        with EpisodeRunner(self.cfg) as runner:

            def replay(number: int) -> Outcome:
                try:
                    return self.outcome(runner, self.data_set.read(number))
                except RecordingError as exc:
                    return ReplayOutcome(number, False, "damaged", problems=(exc.message,))

            yield replay

    def lost(self, number: int, reason: str, *, code: str = "error") -> Outcome:
        """See `Job`."""
        del code
        return ReplayOutcome(number, False, "lost", problems=(f"its replay was lost: {reason}",))

    def outcome(self, runner: EpisodeRunner, record: EpisodeRecord) -> ReplayOutcome:
        """Replays one record.

        Args:
            runner: A runner of the data set's configuration.
            record: The record, with its arrays.

        Raises:
            RecordingError: It does not fit the objects and the robot that are there now.
        """
        from unlatch.simcore.recording.check import check_record

        problems = tuple(check_record(record)) if self.check else ()
        deviation = replay_deviation(runner, record, self.mode)
        code = "damaged" if problems else "deviates" if deviation.value else None
        return ReplayOutcome(
            record.number, code is None, code, deviation=deviation, problems=problems, frames=record.n_actions
        )


def replay_deviation(runner: EpisodeRunner, record: EpisodeRecord, mode: ReplayMode) -> Deviation:
    """Replays a record and compares.

    Args:
        runner: A runner of the record's configuration.
        record: The record, with its arrays; one without any deviates by nothing.
        mode: How it is replayed.

    Raises:
        RecordingError: The record does not fit the objects and the robot that are there now.
    """
    if not record.arrays:
        return Deviation()
    if mode is ReplayMode.action:
        replayed = runner.replay(record)
    else:
        read = runner.write_states(record)
        replayed = {
            key: array for key, array in read.items() if not (key.endswith(_MEASURED) or key.startswith(_SENSORS))
        }
    return largest_deviation(replayed, record.arrays)


def largest_deviation(found: Mapping[str, np.ndarray], wanted: Mapping[str, np.ndarray]) -> Deviation:
    """The largest difference of arrays by key.

    Args:
        found: What came out.
        wanted: What is recorded; keys that were not made again are left out.
    """
    import numpy as np

    worst = Deviation(arrays=len(found))
    for key, array in sorted(found.items()):
        other = wanted.get(key)
        if other is None or other.shape != array.shape:
            return Deviation(float("inf"), key, 0, len(found))
        if array.tobytes() == other.tobytes() or not array.size:
            continue
        a: np.ndarray = array.astype(float)
        b: np.ndarray = other.astype(float)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        difference = np.where(same, 0.0, np.nan_to_num(np.abs(a - b), nan=np.inf, posinf=np.inf))
        rows = difference.reshape(len(array), -1).max(axis=1)
        if rows.max() > worst.value:
            worst = Deviation(float(rows.max()), key, int(np.argmax(rows)), len(found))
    return worst
