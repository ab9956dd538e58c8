"""When a run ends before it has made every episode that it may: it has enough, or nothing works."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unlatch.simcore.recording.data_set.index import EpisodeSummary
    from unlatch.workflows.runs.executors.executor import Outcome


class Ending:
    """Counts attempts, and hands out numbers until the run is to end."""

    def __init__(self, *, successes: int | None = None, give_up_after: int | None = None) -> None:
        """Counts from nothing.

        Args:
            successes: So many are enough; None: all are made.
            give_up_after: Where so many attempts all failed, no more are made; None: the run goes on.
        """
        self.wanted = successes
        self.give_up_after = give_up_after
        self.attempts = 0
        self.successes = 0
        self.codes: Counter[str] = Counter()
        self.example: int | None = None
        """The lowest number of those that failed."""

    def count(self, episode: Outcome | EpisodeSummary) -> None:
        """Takes notice of an attempt."""
        self.attempts += 1
        self.successes += episode.success
        if not episode.success:
            self.codes[episode.code or "error"] += 1
            self.example = episode.number if self.example is None else min(episode.number, self.example)

    @property
    def has_enough(self) -> bool:
        """Whether as many have succeeded as were asked for."""
        return self.wanted is not None and self.successes >= self.wanted

    @property
    def is_hopeless(self) -> bool:
        """Whether all of the first attempts failed."""
        return self.give_up_after is not None and self.successes == 0 and self.attempts >= self.give_up_after

    def until(self, numbers: Iterable[int]) -> Iterator[int]:
        """Numbers, one by one, until the run is to end; what was handed out is still made."""
        for number in numbers:
            if self.has_enough or self.is_hopeless:
                return
            yield number

    def hopeless_text(self) -> str:
        """Why the run was given up, in one line."""
        codes = ", ".join(f"{code} {count}" for code, count in self.codes.most_common())
        return (
            f"given up: the first {self.attempts} attempts all failed ({codes}). Look at one with `unlatch phases DATA "
            f"episode={self.example}`, or go on with give_up_after=null."
        )
