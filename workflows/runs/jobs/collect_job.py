"""What a worker does that collects demonstrations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.workflows.runs.jobs.recording_job import RecordingJob
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.schema import CollectCfg


@dataclass(frozen=True)
class CollectJob(RecordingJob):
    """Makes demonstrations of one configuration."""

    cfg: CollectCfg

    @contextmanager
    def open_episode_source(self) -> Iterator[Callable[[int], EpisodeRecord]]:
        """See `RecordingJob`."""
        if self.cfg.policy is not None:
            from unlatch.workflows.runs.corrections import open_corrections

            with open_corrections(self.cfg, self.options) as run:
                yield run
            return
        with EpisodeRunner(self.cfg, self.options) as runner:
            runner.warm_up()
            yield runner.run
