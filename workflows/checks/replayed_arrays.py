"""Replays the actions of a data set's episodes, and compares every array with the record."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from loky import cpu_count

from unlatch.configs.schema import EpisodeCfg
from unlatch.simcore.errors import SimCoreError
from unlatch.simcore.recording.criteria import Criteria
from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.workflows.runs.executors.catalog import EXECUTORS
from unlatch.workflows.runs.executors.executor import EpisodeMaker, Outcome
from unlatch.workflows.runs.header import describe_machine
from unlatch.workflows.runs.recorded_config import config_of
from unlatch.workflows.runs.replay import ReplayOutcome, deviations
from unlatch.workflows.runs.runner import EpisodeRunner


def replay_arrays(data_set: DataSet, *, workers: int | None = None) -> Generator[ReplayOutcome]:
    """Replays every episode from its configuration and its actions; yields an outcome with every difference.

    Layout and randomization are drawn again. Of the record, the replay takes the actions, the number of the layout that
    a search chose, and when which arm acts on which part.

    Args:
        data_set: The data set.
        workers: Processes; None: one for each CPU core.

    Raises:
        RecordingError: Its configuration cannot be read.
    """
    numbers = data_set.numbers()
    if numbers:
        n = min(workers or cpu_count(), len(numbers))
        executor = EXECUTORS.load("process" if n > 1 else "serial")(workers=n)
        yield from executor.run(ReplayArraysJob(config_of(data_set), data_set, describe_machine(data_set)), numbers)


@dataclass(frozen=True)
class ReplayArraysJob:
    """Replays episodes of one data set; see `Job`."""

    cfg: EpisodeCfg
    data_set: DataSet
    machine: str
    """What differs from the machine that made the data set; empty: nothing is known to differ."""

    @contextmanager
    def open(self, worker: str) -> Iterator[EpisodeMaker]:
        """See `Job`."""
        with EpisodeRunner(self.cfg) as runner:

            def replay_episode(number: int) -> Outcome:
                try:
                    record = self.data_set.read(number)
                except SimCoreError:  # `check_data_set` reports it
                    return ReplayOutcome(number, False, "damaged")
                try:
                    problems = list(replay_problems(runner, record))
                except (SimCoreError, KeyError, TypeError) as exc:
                    problems = [f"it cannot be replayed: {type(exc).__name__}: {exc}"]
                if problems:
                    problems[0] += self.machine
                return ReplayOutcome(number, not problems, "deviates" if problems else None, problems=tuple(problems))

            yield replay_episode

    def record_loss(self, number: int, reason: str, *, code: str = "error") -> Outcome:
        """See `Job`."""
        del code
        return ReplayOutcome(number, False, "lost", problems=(f"its replay was lost: {reason}",))


def replay_problems(runner: EpisodeRunner, record: EpisodeRecord) -> Iterator[str]:
    """Yields each array, and each value of the randomization, that a replay of the actions does not reproduce.

    Raises:
        SimCoreError: The record does not fit the present objects or the present robot.
    """
    if not record.arrays:
        return
    arrays, applied = runner.replay_redrawn(record)
    yield from Criteria({"applied": applied}).differences(record)
    for item in sorted(deviations(arrays, record.arrays), key=lambda item: (item.first_frame, item.key)):
        other = record.arrays.get(item.key)
        if other is None or other.shape != arrays[item.key].shape:
            shape = "missing" if other is None else f"of shape {list(other.shape)}"
            yield f"'{item.key}' is {shape}, expected shape {list(arrays[item.key].shape)} by a replay of its actions."
            continue
        yield (
            f"'{item.key}' is {item.recorded:.9g} at frame {item.first_frame}, expected {item.replayed:.9g} by a "
            "replay of its actions."
        )
