"""Who makes the episodes of a run: the interface, the executors by name, and the one of this process."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Annotated, Protocol

from unlatch.simcore.ranges import Count, Range, Ranged
from unlatch.simcore.registry import Catalog, CatalogEntry


@dataclass
class WorkerLimits(Ranged, where="executor"):
    """Limits of a worker, for executors that have workers; without limits by default."""

    episode_timeout_s: Annotated[float, Range(1.0)] | None = None
    """Wall time after which the worker of an episode is replaced [s]; None: never."""
    worker_memory_mb: Annotated[int, Range(100)] | None = None
    """Resident memory above which a worker is replaced [MB]; None: no limit."""
    max_retries: Annotated[int, Range(0)] = 0
    """How often an episode is retried after its worker died or was replaced; then it is recorded as `error` or
    `timeout`."""
    recycle_after: Count | None = None
    """Number of episodes after which a worker is replaced; None: it lives as long as the run."""


@dataclass(frozen=True)
class Outcome:
    """The result of one episode for the driver; the record itself is on disk."""

    number: int
    """Episode number."""
    success: bool
    """Whether it succeeded."""
    code: str | None = None
    """Why it failed."""
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    """Wall time by stage [ms]."""


EpisodeMaker = Callable[[int], Outcome]
"""Makes the episode of a number and writes its record; lives as long as its worker."""


class Job(Protocol):
    """The work of a run; it is pickled and sent to every worker once."""

    def open(self, worker: str) -> AbstractContextManager[EpisodeMaker]:
        """Builds what a worker needs for its episodes.

        Args:
            worker: Name of the worker, unique in the run.
        """
        ...

    def record_loss(self, number: int, reason: str, *, code: str = "error") -> Outcome:
        """Writes a record of an episode whose worker died or was replaced; called in the driver.

        Args:
            number: Episode number.
            reason: How the worker died, or why it was replaced.
            code: `error`, or `timeout` of an episode that hung.
        """
        ...


def never_ended() -> bool:
    """Returns False: a run that ends only with its numbers."""
    return False


class Executor(Protocol):
    """Makes the episodes of a job."""

    on_this_host: bool
    """Whether its workers share the cores of this host; then there is one for each core by default."""

    def run(
        self,
        job: Job,
        numbers: Iterable[int],
        *,
        max_episodes: int | None = None,
        is_ended: Callable[[], bool] = never_ended,
    ) -> Generator[Outcome]:
        """Makes the episodes in any order and yields each outcome as it comes.

        Args:
            job: Makes the episodes.
            numbers: The numbers of the episodes.
            max_episodes: The largest count of numbers; no more workers are started than that. None: not known.
            is_ended: Whether no further episode may begin; those that have begun are finished.

        Numbers are taken one by one when a worker is free, in the thread that takes the outcomes. So a source of
        numbers can end early, depending on the outcomes so far.

        Closing the generator stops at once; finished episodes are kept.

        Raises:
            UnlatchError: No episode can be made: the configuration or the data set is wrong.
        """
        ...


EXECUTORS = Catalog(
    "executor",
    {
        "process": CatalogEntry(
            "unlatch.workflows.runs.worker_processes:ProcessExecutor", "worker processes; one that dies is replaced"
        ),
        "ray": CatalogEntry(
            "unlatch.workflows.runs.ray_cluster:RayExecutor",
            "workers on every node of a Ray cluster (extra ray)",
        ),
        "serial": CatalogEntry("unlatch.workflows.runs.executors:SerialExecutor", "this process, one after the other"),
    },
    listed_by="unlatch list executors",
)
"""Executors by name; each is called with `workers` and `limits`."""


def make_executor(name: str, *, workers: int | None, limits: WorkerLimits | None = None) -> Executor:
    """Makes an executor; by default it has one worker for each CPU core of this host or of its cluster."""
    executor_type = EXECUTORS.load(name)
    if workers is None and executor_type.on_this_host and executor_type is not SerialExecutor:
        from loky import cpu_count

        workers = cpu_count()
    return executor_type(workers=workers, limits=limits)


class SerialExecutor:
    """Makes episodes in this process; a crash of native code ends the run."""

    on_this_host = True

    def __init__(self, workers: int = 1, limits: WorkerLimits | None = None) -> None:
        del workers, limits  # this process is the only worker, and nothing can replace it
        self.workers = 1

    def run(
        self,
        job: Job,
        numbers: Iterable[int],
        *,
        max_episodes: int | None = None,
        is_ended: Callable[[], bool] = never_ended,
    ) -> Generator[Outcome]:
        """See `Executor`."""
        with job.open("w0") as make_episode:
            for number in numbers:
                if is_ended():
                    break
                yield make_episode(number)

    def __repr__(self) -> str:
        return "SerialExecutor()"
