"""What a worker of a run does: it makes episodes and writes them into one data set.

A worker imports this module, and nothing that the driver alone needs: the reading of configurations and the display.
"""

from __future__ import annotations

import platform
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field

from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.rng import episode_seed
from unlatch.workflows.episode.episode import EpisodeOptions
from unlatch.workflows.runs.executors.executor import EpisodeMaker, Outcome
from unlatch.workflows.runs.retries.code_versions import CodeVersions
from unlatch.workflows.runs.schema import RunCfg


def writer_name(worker: str) -> str:
    """Returns a name for a worker's index that no worker on another host has.

    Appending to one file is safe within one host only.
    """
    host = re.sub(r"[^A-Za-z0-9]+", "-", platform.node().partition(".")[0]).strip("-")[:40] or "host"
    return f"{host}-{worker}"


@dataclass(frozen=True)
class RecordingJob(ABC):
    """Makes episodes and writes them into one data set; see `Job`."""

    cfg: RunCfg
    data_set: DataSet
    code: CodeVersions = field(default=CodeVersions({}), kw_only=True)
    """The code that makes the episodes, noted in those that end as `error`."""
    options: EpisodeOptions = field(default=EpisodeOptions(), kw_only=True)
    """Those of its episodes. They are sent to the workers: only a serial run can have `on_bug`."""

    @abstractmethod
    def open_episode_source(self) -> AbstractContextManager[Callable[[int], EpisodeRecord]]:
        """Builds what a worker needs; returns the function that makes the episode of a number."""

    @contextmanager
    def open(self, worker: str) -> Iterator[EpisodeMaker]:
        """See `Job`."""
        with (
            self.open_episode_source() as make_record,
            DataSet.open(self.data_set.path, worker=writer_name(worker)) as data_set,
        ):
            data_set.replaceable = self.data_set.replaceable
            data_set.replaces_outcomes = self.data_set.replaces_outcomes

            def make_episode(number: int) -> Outcome:
                record = make_record(number)
                self.code.note_in(record)
                data_set.write(record)
                return Outcome(number, record.success, record.code, dict(record.timings_ms))

            yield make_episode

    def record_loss(self, number: int, reason: str, *, code: str = "error") -> Outcome:
        """See `Job`."""
        evidence = {"message": f"Episode {number} was lost: {reason}.", "reason": reason}
        seed = episode_seed(self.cfg.seed, number)
        record = EpisodeRecord(number=number, seed=seed, success=False, code=code, evidence=evidence)
        self.code.note_in(record)
        self.data_set.write(record)
        return Outcome(number, False, code)
