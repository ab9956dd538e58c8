"""Ends a run before it has made every episode: enough have succeeded, or none of the first ones has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import takewhile

from unlatch.simcore.recording.data_set.index import EpisodeSummary
from unlatch.workflows.runs.executors.executor import Outcome


class StopCondition:
    """Counts attempts, and hands out episode numbers until the run ends."""

    def __init__(self, *, successes: int | None = None, give_up_after: int | None = None) -> None:
        """Starts with no attempts.

        Args:
            successes: The run ends after this number of successes; None: it makes all episodes.
            give_up_after: The run ends if this number of first attempts all failed; None: it goes on.
        """
        self.wanted = successes
        self.give_up_after = give_up_after
        self.attempts = 0
        self.successes = 0
        self.codes: Counter[str] = Counter()
        self.first_failure: int | None = None
        """The lowest number of a failed episode."""

    def count(self, episode: Outcome | EpisodeSummary) -> None:
        """Counts an attempt."""
        self.attempts += 1
        self.successes += episode.success
        if not episode.success:
            self.codes[episode.code or "error"] += 1
            first = self.first_failure
            self.first_failure = episode.number if first is None else min(first, episode.number)

    @property
    def has_enough(self) -> bool:
        """Whether as many have succeeded as were asked for."""
        return self.wanted is not None and self.successes >= self.wanted

    @property
    def is_hopeless(self) -> bool:
        """Whether all of the first attempts failed."""
        return self.give_up_after is not None and self.successes == 0 and self.attempts >= self.give_up_after

    @property
    def is_met(self) -> bool:
        """Whether the run ends."""
        return self.has_enough or self.is_hopeless

    def until(self, numbers: Iterable[int]) -> Iterator[int]:
        """Returns the numbers until the run ends; episodes that have begun are still made."""
        return takewhile(lambda _: not self.is_met, numbers)

    def hopeless_text(self) -> str:
        """Says in one line why the run was given up."""
        codes = ", ".join(f"{code} {count}" for code, count in self.codes.most_common())
        return (
            f"given up: the first {self.attempts} attempts all failed ({codes}). Look at one with `unlatch phases DATA "
            f"episode={self.first_failure}`, or go on with give_up_after=null."
        )
