"""What a worker does that collects demonstrations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.workflows.runs.runner import EpisodeRunner, RecordingJob
from unlatch.workflows.runs.schema import CollectCfg

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class CollectJob(RecordingJob):
    """Makes demonstrations of one configuration."""

    cfg: CollectCfg

    @contextmanager
    def open_episode_source(self) -> Iterator[Callable[[int], EpisodeRecord]]:
        """See `RecordingJob`."""
        if self.cfg.policy is not None:
            from unlatch.workflows.policies.takeover import open_corrections

            with open_corrections(self.cfg, self.options) as run:
                yield run
            return
        with EpisodeRunner(self.cfg, self.options) as runner:
            runner.warm_up()
            yield runner.run
