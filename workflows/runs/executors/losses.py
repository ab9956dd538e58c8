"""Numbers that are to be made, and what becomes of episodes whose worker died or was replaced."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable

from unlatch.workflows.runs.executors.executor import Job, Outcome

logger = logging.getLogger(__name__)


class NumberSource:
    """Numbers that are to be made: what was put back first, then what comes, each taken when it is needed."""

    def __init__(self, numbers: Iterable[int]) -> None:
        """Takes none yet.

        Args:
            numbers: The numbers.
        """
        self._numbers = iter(numbers)
        self._back: list[int] = []

    def take(self) -> int | None:
        """The next one; None where there is none."""
        return self._back.pop() if self._back else next(self._numbers, None)

    def put_back(self, number: int) -> None:
        """Makes a number the next one."""
        self._back.append(number)

    def has_more(self) -> bool:
        """Whether there is at least one more; it is taken next."""
        number = self.take()
        if number is not None:
            self.put_back(number)
        return number is not None


class Losses:
    """Counts how often each episode was lost: it is made again a few times, then kept as lost."""

    def __init__(self, job: Job, source: NumberSource, *, max_retries: int) -> None:
        """Counts from nothing.

        Args:
            job: Keeps the record of an episode that is given up.
            source: Where an episode goes that is made again.
            max_retries: How often.
        """
        self._job = job
        self._source = source
        self._max_retries = max_retries
        self._counts: Counter[int] = Counter()

    def count(self, number: int, code: str, reason: str) -> Outcome | None:
        """Takes notice of a loss.

        Args:
            number: The episode.
            code: `error`, or `timeout` of one that hung.
            reason: How its worker died, or why it was replaced.

        Returns:
            The outcome of an episode that is kept as lost; None if it is made again.
        """
        self._counts[number] += 1
        tries = self._counts[number]
        if tries <= self._max_retries:
            logger.info("Episode %d is made again (%d of %d): %s", number, tries, self._max_retries, reason)
            self._source.put_back(number)
            return None
        return self._job.lost(number, reason if tries == 1 else f"{reason}, {tries} times", code=code)
