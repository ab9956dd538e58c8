"""What executors with workers share: the numbers to make, limits of workers, and retries of lost episodes."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from unlatch.simcore.errors import SimCoreError
from unlatch.workflows.runs.executors.executor import Job, Outcome, WorkerLimits

logger = logging.getLogger(__name__)


_SETUP_TRIES = 3


class WorkerError(SimCoreError):
    """A worker cannot be set up, or a bug ended it."""

    exit_code = 1


@dataclass
class Worker:
    """The state of a worker that every executor needs."""

    number: int | None = field(default=None, kw_only=True)
    """Number of its current episode; None while it is set up or idle."""
    made: int = field(default=0, kw_only=True)
    """Number of finished episodes."""
    since: float = field(default=0.0, kw_only=True)
    """Start of its current episode, on the monotonic clock [s]."""
    replaced_because: tuple[str, str] | None = field(default=None, kw_only=True)
    """Failure code and reason once it is being replaced."""

    def begin(self, number: int) -> None:
        """Notes that the worker makes an episode from now on."""
        self.number, self.since = number, time.monotonic()

    def end(self) -> None:
        """Notes that the worker has finished its episode."""
        self.number = None
        self.made += 1

    def is_late(self, limits: WorkerLimits) -> bool:
        """Returns whether its episode takes longer than the limits allow."""
        timeout_s = limits.episode_timeout_s
        return timeout_s is not None and self.number is not None and time.monotonic() - self.since > timeout_s


def seconds_to_timeout(workers: Iterable[Worker], limits: WorkerLimits) -> list[float]:
    """Returns the time that the current episode of each busy worker has left [s]; empty without a limit."""
    timeout_s, now = limits.episode_timeout_s, time.monotonic()
    busy = [worker for worker in workers if worker.number is not None]
    return [] if timeout_s is None else [max(worker.since + timeout_s - now, 0.0) for worker in busy]


class NumberSource:
    """Hands out episode numbers one by one; numbers that were put back come first."""

    def __init__(self, numbers: Iterable[int]) -> None:
        self._numbers = iter(numbers)
        self._put_back: list[int] = []

    def take(self) -> int | None:
        """Returns the next number; None if there is none."""
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


class LostEpisodes:
    """Counts how often each episode was lost: it is retried a few times, then recorded as lost."""

    def __init__(self, job: Job, source: NumberSource, *, max_retries: int, advice: str) -> None:
        """Starts with no losses; `advice` ends the error about workers that cannot be set up."""
        self._job = job
        self._source = source
        self._max_retries = max_retries
        self._advice = advice
        self._counts: Counter[int] = Counter()
        self._failed_setups = 0

    def count_setup(self) -> None:
        """Notes that a worker was set up: failures before it are forgotten."""
        self._failed_setups = 0

    def count(self, number: int | None, code: str, reason: str) -> Outcome | None:
        """Counts the loss of an episode, or of a worker that was being set up (None).

        Returns:
            The outcome of an episode that is recorded as lost; None if it is retried.

        Raises:
            WorkerError: Several workers in a row died while they were set up.
        """
        if number is None:
            self._failed_setups += 1
            if self._failed_setups >= _SETUP_TRIES:
                raise WorkerError(
                    f"Workers die while they are being set up ({reason}), {_SETUP_TRIES} times in a row. {self._advice}"
                )
            return None
        self._counts[number] += 1
        tries = self._counts[number]
        if tries <= self._max_retries:
            logger.info("Episode %d is made again (%d of %d): %s", number, tries, self._max_retries, reason)
            self._source.put_back(number)
            return None
        return self._job.lost(number, reason if tries == 1 else f"{reason}, {tries} times", code=code)
