"""How far a command is that makes many things of one kind, live on a terminal."""

from __future__ import annotations

import time

from rich.console import Console, RenderableType
from rich.text import Text

from unlatch.workflows.runs.progress import Display, describe_left, progress_bar


class StepProgress(Display):
    """How far a command is that makes many things of one kind, such as the pictures of a clip."""

    def __init__(self, noun: str, *, is_shown: bool = True, console: Console | None = None) -> None:
        """Takes the plural of what is counted, such as `pictures`; without `is_shown`, it only counts."""
        super().__init__(console, is_shown=is_shown)
        self._noun = noun
        self._done, self._total = 0, 0
        self._first: tuple[int, float] | None = None
        """How many there were at the first call, and when that was: what comes before does not count for the rate."""

    def begin(self, total: int) -> None:
        """Notes how many there will be; none is done yet."""
        self.update(0, total)

    def advance(self) -> None:
        """Counts one more."""
        self._done += 1

    def update(self, done: int, total: int) -> None:
        """Notes how many there are so far, and how many there will be."""
        self._done, self._total = done, total
        self._first = self._first or (done, time.perf_counter())

    def _rate(self) -> list[str]:
        """Returns the rate and the time left in words; nothing before the first one is done."""
        before, since = self._first or (self._done, 0.0)
        if self._done == before:
            return []
        per_s = (self._done - before) / max(time.perf_counter() - since, 1e-9)
        rate = f"{per_s:.1f} a second" if per_s >= 1.0 else f"{1.0 / per_s:.1f} s each"
        return [rate, describe_left((self._total - self._done) / per_s)]

    def line(self) -> str:
        """Returns the counts so far as one line."""
        if not self._total:
            return f"no {self._noun} yet after {self._elapsed_s():.0f} s"
        done = f"{self._done:,} of {self._total:,} {self._noun} after {self._elapsed_s():.0f} s"
        return ", ".join([done, *self._rate()])

    def __rich__(self) -> RenderableType:
        if not self._total:
            return Text(self.line())
        return progress_bar(self._done, self._total, f"{self._done:,}/{self._total:,} {self._noun}", *self._rate())
