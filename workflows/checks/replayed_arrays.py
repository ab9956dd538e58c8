"""Replays the actions of a data set's episodes, and compares every array with the record."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from loky import cpu_count

from unlatch.configs.schema import EpisodeCfg
from unlatch.simcore.errors import UnlatchError
from unlatch.simcore.recording.check import MISFITS
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.episode_fields import SKILL_FIELDS
from unlatch.simcore.recording.verdict import POSSIBLE, RECORDED, Criteria
from unlatch.workflows.episode.criteria import PolicyRules
from unlatch.workflows.episode.episode import Episode
from unlatch.workflows.runs.code_versions import describe_machine
from unlatch.workflows.runs.executors import EXECUTORS, EpisodeMaker, Outcome
from unlatch.workflows.runs.recorded_config import config_of
from unlatch.workflows.runs.replay import ReplayOutcome, deviations
from unlatch.workflows.runs.runner import EpisodeRunner

_OF_PLANNER = ("skills.", "labels.")
"""Beginnings of the keys of arrays that the planner or the policy writes."""
_OF_JUDGE = ("first_violation", "zero_force_contacts")
"""Keys of an entry of `skills` that the judge writes."""
_JUDGED_CODES = ("collision", "overload", "overspeed", "timeout")
"""Failure codes that the judge alone finds, in the forces, speeds and times of frames."""
_IN_WORDS = ("message", "phase")
"""Keys of evidence that depend on what the planner does."""


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
        evaluation = self.data_set.header.get("evaluate")
        policy = PolicyRules.of(evaluation) if isinstance(evaluation, Mapping) else None
        with EpisodeRunner(self.cfg) as runner:

            def replay_episode(number: int) -> Outcome:
                try:
                    record = self.data_set.read(number)
                except UnlatchError:  # `check_data_set` reports it
                    return ReplayOutcome(number, False, "damaged")
                try:
                    problems = list(replay_problems(runner, record, policy))
                except MISFITS as exc:
                    problems = [f"it cannot be replayed: {type(exc).__name__}: {exc}"]
                if problems:
                    problems[0] += self.machine
                return ReplayOutcome(number, not problems, "deviates" if problems else None, problems=tuple(problems))

            yield replay_episode

    def record_loss(self, number: int, reason: str, *, code: str = "error") -> Outcome:
        """See `Job`."""
        del code
        return ReplayOutcome(number, False, "lost", problems=(f"its replay was lost: {reason}",))


def replay_problems(runner: EpisodeRunner, record: EpisodeRecord, policy: PolicyRules | None = None) -> Iterator[str]:
    """Yields each array, and each value that the randomization or the judge wrote, that a replay does not reproduce.

    Args:
        runner: An open runner with the configuration of the record.
        record: The record.
        policy: How it was judged if a policy moved the arms; None: it is a demonstration.

    Raises:
        UnlatchError: The record does not fit the present objects or the present robot.
    """
    if not record.arrays:
        return
    episode = runner.replay_judged(record, policy)
    yield from Criteria(_replayed_statements(episode, record)).differences(record, by="a replay of its actions")
    arrays = episode.frames.recorder.arrays()
    compared = {key: array for key, array in arrays.items() if not key.startswith(_OF_PLANNER)}
    for key in sorted(record.arrays.keys() - arrays.keys()):
        if not key.startswith(_OF_PLANNER):
            yield f"'{key}' is in the record, expected no such array by a replay of its actions."
    for item in sorted(deviations(compared, record.arrays), key=lambda item: (item.first_frame, item.key)):
        other = record.arrays.get(item.key)
        if other is None or other.shape != arrays[item.key].shape:
            shape = "missing" if other is None else f"of shape {list(other.shape)}"
            yield f"'{item.key}' is {shape}, expected shape {list(arrays[item.key].shape)} by a replay of its actions."
            continue
        yield (
            f"'{item.key}' is {item.recorded:.9g} at frame {item.first_frame}, expected {item.replayed:.9g} by a "
            "replay of its actions."
        )


def _replayed_statements(episode: Episode, record: EpisodeRecord) -> dict[str, Any]:
    """Returns what the record must state of what its simulation decided."""
    skills = [
        {**dict.fromkeys(SKILL_FIELDS, POSSIBLE), **{key: entry[key] for key in _OF_JUDGE}}
        for entry in (run.to_entry(last_frame=record.n_actions, draw=0.0) for run in episode.judge.runs)
    ]
    applied = {} if episode.randomization is None else episode.randomization.applied()
    statements: dict[str, Any] = {"applied": applied, "skills": skills}
    failure = episode.judge.failure
    if failure is not None and failure.code == record.code and record.code in _JUDGED_CODES:
        evidence = failure.to_evidence(episode.cfg.world, last_frame=record.n_actions)
        statements["evidence"] = {key: RECORDED if key in _IN_WORDS else value for key, value in evidence.items()}
    return statements
