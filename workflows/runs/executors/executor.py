"""The small interface between a run and who makes its episodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class WorkerLimits:
    """What a worker may take, and what becomes of it and of its episode; for executors that have workers."""

    episode_timeout_s: float | None = None
    """Wall time after which an episode hangs: its worker is replaced [s]; None: never."""
    worker_memory_mb: int | None = None
    """Resident memory beyond which a worker is replaced [MB]; None: any."""
    max_retries: int = 0
    """How often an episode is made again whose worker died or was replaced, before it is kept as lost."""
    recycle_after: int | None = None
    """Episodes after which a worker gives way to a new one; None: it lives as long as the run."""


@dataclass(frozen=True)
class Outcome:
    """What the driver hears of one episode; the record itself is on disk."""

    number: int
    """Episode number."""
    success: bool
    """Whether it succeeded."""
    code: str | None = None
    """Why it failed."""
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    """Wall time by stage [ms]."""


class EpisodeMaker(Protocol):
    """Makes and keeps one episode after the other; lives as long as its worker."""

    def __call__(self, number: int) -> Outcome:
        """Makes the episode of a number and writes its record."""
        ...


class Job(Protocol):
    """What a run consists of; it is sent to every worker once, so it can be pickled."""

    def open(self, worker: str) -> AbstractContextManager[EpisodeMaker]:
        """Builds what a worker needs for all its episodes.

        Args:
            worker: Name of the worker, unique in the run.
        """
        ...

    def lost(self, number: int, reason: str, *, code: str = "error") -> Outcome:
        """Keeps a record of an episode whose worker died or was replaced; called in the driver.

        Args:
            number: Episode number.
            reason: How it died, or why it was replaced.
            code: `error`, or `timeout` of an episode that hung.
        """
        ...


class Executor(Protocol):
    """Makes the episodes of a job."""

    on_this_host: bool
    """Whether its workers share the cores of this host, one each where their number is not given."""

    def run(self, job: Job, numbers: Iterable[int], *, most: int | None = None) -> Iterator[Outcome]:
        """Makes the episodes, in any order, and gives each outcome as it comes.

        Args:
            job: What is made.
            numbers: The numbers of the episodes.
            most: How many numbers may come; no more workers are started than that. None: it is not known.

        Numbers are taken one by one as there is someone to make them, in the thread of whoever takes the outcomes: a
        source that knows what came of the others may end early.

        Closing the iterator stops at once; episodes that are finished are kept.

        Raises:
            SimCoreError: No episode can be made: the configuration or the data set is at fault.
        """
        ...
