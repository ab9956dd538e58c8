"""What executors with workers share: the loop of a run, limits of workers, and retries of lost episodes."""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import ClassVar, Generic, TypeVar

from unlatch.simcore.errors import UnlatchError
from unlatch.workflows.runs.executors.executor import Job, Outcome, WorkerLimits, never_ended

logger = logging.getLogger(__name__)

_SETUP_TRIES = 3
"""Number of workers that may die during setup, one after the other, before the run ends."""


class WorkerError(UnlatchError):
    """A worker cannot be set up, or a bug ended it."""

    exit_code = 1


@dataclass(kw_only=True, eq=False)
class Worker:
    """The state of one worker."""

    label: str
    """How messages name it, such as `w0 (pid 4711)`."""
    number: int | None = None
    """Number of its current episode; None during setup and while it is idle."""
    made: int = 0
    """Number of finished episodes."""
    since: float = 0.0
    """Start of its current episode, on the monotonic clock [s]."""
    used_mb: float = 0.0
    """Memory in use when it was last measured [MB]."""
    ready: bool = False
    """Whether its setup is done."""
    gone: bool = False
    """Whether it has ended."""
    exceeded_limit: tuple[str, str] | None = None
    """Failure code and reason of a worker that was killed because it exceeded a limit."""


AnyWorker = TypeVar("AnyWorker", bound=Worker)


class EpisodeQueue:
    """Hands out episode numbers one by one; a lost episode is retried a few times, then recorded as lost."""

    def __init__(
        self, job: Job, numbers: Iterable[int], *, max_retries: int, is_ended: Callable[[], bool] = never_ended
    ) -> None:
        self.failed_setups = 0
        """Number of workers in a row that died during setup."""
        self._job = job
        self._numbers = iter(numbers)
        self._put_back: list[int] = []
        self._max_retries = max_retries
        self._is_ended = is_ended
        self._losses: Counter[int] = Counter()

    def take(self) -> int | None:
        """Returns the next number, one that was put back first; None if there is none, or the run is ended."""
        if self._is_ended():
            return None
        return self._put_back.pop() if self._put_back else next(self._numbers, None)

    def put_back(self, number: int) -> None:
        """Makes a number the next one."""
        self._put_back.append(number)

    def has_more(self) -> bool:
        """Returns whether there is a next number."""
        number = self.take()
        if number is not None:
            self.put_back(number)
        return number is not None

    def count_loss(self, number: int, code: str, reason: str, *, worker: str) -> Outcome | None:
        """Counts the loss of an episode and says so; returns its outcome if it is recorded as lost, None if it is
        retried.

        Args:
            number: Episode number.
            code: Failure code of the episode if it is recorded as lost.
            reason: How its worker died, or why it was replaced; it begins with `worker`.
            worker: The worker's label.
        """
        self._losses[number] += 1
        tries = self._losses[number]
        died = f"Worker {worker} {reason.removeprefix('worker ')}"
        if tries <= self._max_retries:
            logger.warning("%s; episode %d is made again, retry %d of %d", died, number, tries, self._max_retries)
            self.put_back(number)
            return None
        logger.warning("%s; episode %d is recorded as `%s`, as max_retries=%d", died, number, code, self._max_retries)
        return self._job.record_loss(number, reason if tries == 1 else f"{reason}, {tries} times", code=code)


class WorkerExecutor(ABC, Generic[AnyWorker]):
    """Makes episodes in workers and replaces workers that die, hang or use too much memory.

    The episode of a replaced worker is made again; after `max_retries` retries it is recorded as `error` or `timeout`.
    A subclass starts, stops and kills its workers and exchanges messages with them.
    """

    name_prefix: ClassVar[str]
    """Beginning of the workers' names."""
    setup_advice: ClassVar[str]
    """What the user should do if workers die during setup."""

    def __init__(self, limits: WorkerLimits | None) -> None:
        self.limits = limits or WorkerLimits()
        self._names = (f"{self.name_prefix}{number}" for number in count())

    def run(
        self,
        job: Job,
        numbers: Iterable[int],
        *,
        max_episodes: int | None = None,
        is_ended: Callable[[], bool] = never_ended,
    ) -> Generator[Outcome]:
        """See `Executor`."""
        queue = EpisodeQueue(job, numbers, max_retries=self.limits.max_retries, is_ended=is_ended)
        workers: list[AnyWorker] = []
        try:
            while any(worker.number is not None for worker in workers) or queue.has_more():
                while len(workers) < self._most_workers(max_episodes) and queue.has_more():
                    workers.append(self._start_worker(job, next(self._names)))
                for worker in self._wait_for_events(workers):
                    outcome = self._receive(worker)
                    if outcome is not None:
                        worker.number, worker.made = None, worker.made + 1
                        yield outcome
                    if worker.gone or worker.exceeded_limit is not None:
                        workers.remove(worker)
                        lost = self._count_end(worker, queue)
                        if lost is not None:
                            yield lost
                    elif worker.ready and worker.number is None and not self._assign(worker, queue):
                        workers.remove(worker)
                        self._stop_workers([worker])
                self._kill_workers_beyond_limits(workers)
        finally:
            self._stop_workers(workers)

    @abstractmethod
    def _most_workers(self, max_episodes: int | None) -> int:
        """Returns how many workers there may be now; `max_episodes` is the largest count of numbers."""

    @abstractmethod
    def _start_worker(self, job: Job, name: str) -> AnyWorker:
        """Starts a worker, which sets itself up."""

    @abstractmethod
    def _wait_for_events(self, workers: Sequence[AnyWorker]) -> list[AnyWorker]:
        """Waits a short time for messages and ends of workers; returns the workers concerned."""

    @abstractmethod
    def _receive(self, worker: AnyWorker) -> Outcome | None:
        """Reads one message of a worker and notes whether it is `ready` or `gone`; returns the outcome of an episode.

        Raises:
            UnlatchError: No episode can be made, or a bug ended the worker.
        """

    @abstractmethod
    def _send_number(self, worker: AnyWorker, number: int) -> None:
        """Lets a worker make an episode.

        Raises:
            ConnectionError: The worker has died.
        """

    @abstractmethod
    def _reason_of_death(self, worker: AnyWorker) -> str:
        """Returns why a worker died; releases what belongs to it."""

    @abstractmethod
    def _stop_workers(self, workers: Sequence[AnyWorker]) -> None:
        """Ends workers: idle ones clean up first, the others end at once. Finished episodes stay whole."""

    @abstractmethod
    def _kill_worker(self, worker: AnyWorker) -> None:
        """Kills a worker at once."""

    def _assign(self, worker: AnyWorker, queue: EpisodeQueue) -> bool:
        """Gives an idle worker its next episode; returns False if the worker must end instead."""
        if worker.made == 0:
            queue.failed_setups = 0  # its setup has just succeeded
        too_large = self.limits.worker_memory_mb is not None and worker.used_mb > self.limits.worker_memory_mb
        number = None if too_large or worker.made == self.limits.recycle_after else queue.take()
        if number is None:
            return False
        try:
            self._send_number(worker, number)
        except ConnectionError:
            queue.put_back(number)  # it died between two episodes: another worker makes this one
        else:
            worker.number, worker.since = number, time.monotonic()
        return True

    def _count_end(self, worker: AnyWorker, queue: EpisodeQueue) -> Outcome | None:
        """Counts what a dead worker lost; returns the outcome of an episode that is recorded as lost.

        Raises:
            WorkerError: Several workers in a row died during setup.
        """
        reason = self._reason_of_death(worker)
        if worker.number is not None:
            code, reason = worker.exceeded_limit or ("error", reason)
            return queue.count_loss(worker.number, code, reason, worker=worker.label)
        died = f"Worker {worker.label} {reason.removeprefix('worker ')}"
        logger.warning("%s %s; no episode is lost", died, "between two episodes" if worker.ready else "during setup")
        if not worker.ready:
            queue.failed_setups += 1
            if queue.failed_setups == _SETUP_TRIES:
                raise WorkerError(f"{_SETUP_TRIES} workers in a row died during setup ({reason}). {self.setup_advice}")
        return None

    def _kill_workers_beyond_limits(self, workers: Sequence[AnyWorker]) -> None:
        """Kills busy workers that exceed a limit; `run` then handles their end like any other."""
        timeout_s, most_mb = self.limits.episode_timeout_s, self.limits.worker_memory_mb
        for worker in workers:
            if worker.number is None or worker.exceeded_limit is not None:
                continue
            if timeout_s is not None and time.monotonic() - worker.since > timeout_s:
                reason = f"worker killed: it was not done after episode_timeout_s={timeout_s:g}"
                worker.exceeded_limit = ("timeout", reason)
            elif most_mb is not None and worker.used_mb > most_mb:
                reason = f"worker killed: it used {worker.used_mb:.0f} MB, worker_memory_mb={most_mb}"
                worker.exceeded_limit = ("error", reason)
            if worker.exceeded_limit is not None:
                self._kill_worker(worker)
