"""The live display of a run: one tidy block on a terminal, nothing where there is none (`unlatch watch` shows that)."""

from __future__ import annotations

import time
from collections import Counter
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from unlatch.workflows.cli.interruption import Interruption
from unlatch.workflows.runs.executors.executor import Outcome


class Progress:
    """Counts outcomes and shows them; use as a context manager."""

    def __init__(
        self,
        *,
        total: int,
        done: int = 0,
        good: str = "succeeded",
        successes_only: bool = False,
        console: Console | None = None,
        interruption: Interruption | None = None,
    ) -> None:
        """Starts the clock.

        Args:
            total: Episodes asked for.
            done: Those that were there before.
            good: What is said of those that went well.
            successes_only: Whether `total` and `done` are counts of successes.
            console: Where to show it; stderr by default.
            interruption: Whether the run is to end early, which is said.
        """
        self.total = total
        self.before = done
        self.good = good
        self.successes_only = successes_only
        self.interruption = interruption
        self.made = 0
        self.successes = 0
        self.codes: Counter[str] = Counter()
        self._started = time.perf_counter()
        console = console or Console(stderr=True)
        self._live = Live(self, console=console, refresh_per_second=4, transient=True) if console.is_terminal else None

    def update(self, outcome: Outcome) -> None:
        """Takes notice of one episode."""
        self.made += 1
        self.successes += outcome.success
        if outcome.code is not None:
            self.codes[outcome.code] += 1

    @property
    def per_hour(self) -> float:
        """Episodes an hour since the start."""
        return 3600.0 * self.made / max(time.perf_counter() - self._started, 1e-9)

    @property
    def left_s(self) -> float | None:
        """Time left at this pace [s]; None before the first episode."""
        gained = self.successes if self.successes_only else self.made
        left = max(self.total - self._done, 0)
        return left * (time.perf_counter() - self._started) / gained if gained else None

    @property
    def _done(self) -> int:
        return self.before + (self.successes if self.successes_only else self.made)

    def __rich__(self) -> Group:
        done = min(self._done, self.total)
        bar = Table.grid(padding=(0, 2))
        left = "" if self.left_s is None else f"{_duration(self.left_s)} left"
        pace = f"{self.per_hour:,.0f}/h" if self.made else "starting workers"
        bar.add_row(ProgressBar(total=self.total, completed=done, width=30), f"{done}/{self.total}", pace, left)
        share = f" ({100 * self.successes / self.made:.0f} %)" if self.made else ""
        counts = Text.assemble((f"{self.successes} {self.good}{share}", "green"))
        for code, count in self.codes.most_common():
            counts.append(f"   {code} {count}", style="red")
        if self.interruption is not None and self.interruption.asked:
            return Group(
                bar, counts, Text("ends after the episodes that are being made; Ctrl-C again: at once", "yellow")
            )
        return Group(bar, counts)

    def __enter__(self) -> Progress:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
