"""Makes demonstrations of one configuration: what a worker does, and the function `collect`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from unlatch.configs.schema import EpisodeCfg
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.workflows.runs.loading import config_as
from unlatch.workflows.runs.progress import OnProgress
from unlatch.workflows.runs.run import RunDisplay, RunRequest, run_episodes
from unlatch.workflows.runs.runner import EpisodeRunner, RecordingJob
from unlatch.workflows.runs.schema import CollectCfg


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


def collect(
    cfg: EpisodeCfg,
    *,
    episodes: int | None = None,
    out: str | Path | None = None,
    workers: int | None = None,
    progress: OnProgress = None,
) -> DataSet:
    """Makes demonstrations and writes every attempt into a data set, with the reason for each failure.

    Episodes that exist already are not made again, so the same call resumes a run. The calling script needs no
    `if __name__ == "__main__"`: workers do not import it.

    Args:
        cfg: The configuration, see `load`.
        episodes: Episodes 0 to `episodes - 1` are made; None: as configured, 20 by default.
        out: Folder of the data set; None: as configured, `data/<task>-<robot>-s<seed>` by default.
        workers: Worker processes; None: as configured, one for each CPU core by default.
        progress: True: a live display on stderr. A function: called after each episode with a `Progress`. None:
            nothing is shown.

    Returns:
        The data set: `data[3]` is a record, `data.summaries()` one line an episode.

    Raises:
        ConfigError: A value is wrong. Nothing is written.
        RecordingError: The folder holds a data set of another configuration, or cannot be written.
        KeyboardInterrupt: Ctrl-C; finished episodes are kept.

    Example:
        >>> cfg = unlatch.load("open_microwave", seed=7)
        >>> data = unlatch.collect(cfg, episodes=20, out="data/demo", progress=True)
        >>> sum(summary.success for summary in data.summaries())
        19
    """
    run = config_as(CollectCfg, cfg, episodes=episodes, out=None if out is None else str(out), workers=workers)
    request = RunRequest(run, lambda data_set: CollectJob(run, data_set))
    return run_episodes(request, RunDisplay(progress)).data_set
