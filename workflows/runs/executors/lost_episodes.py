"""Numbers of the episodes to make, and retries of episodes whose worker died or was replaced."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable

from unlatch.workflows.runs.executors.executor import Job, Outcome

logger = logging.getLogger(__name__)


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

    def __init__(self, job: Job, source: NumberSource, *, max_retries: int) -> None:
        """Starts with no losses.

        Args:
            job: Records an episode that is given up.
            source: Takes back the number of an episode that is retried.
            max_retries: Retries of an episode.
        """
        self._job = job
        self._source = source
        self._max_retries = max_retries
        self._counts: Counter[int] = Counter()

    def count(self, number: int, code: str, reason: str) -> Outcome | None:
        """Counts a loss; queues the episode again or records it as lost.

        Args:
            number: The episode.
            code: `error`, or `timeout` of an episode that hung.
            reason: How its worker died, or why it was replaced.

        Returns:
            The outcome of an episode that is recorded as lost; None if it is retried.
        """
        self._counts[number] += 1
        tries = self._counts[number]
        if tries <= self._max_retries:
            logger.info("Episode %d is made again (%d of %d): %s", number, tries, self._max_retries, reason)
            self._source.put_back(number)
            return None
        return self._job.lost(number, reason if tries == 1 else f"{reason}, {tries} times", code=code)
