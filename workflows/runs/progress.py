"""How long a run takes, how far it is, and its end by Ctrl-C: wall times in the data set, pace and live display."""

from __future__ import annotations

import json
import logging
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from types import FrameType
from typing import TypeVar

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from unlatch.simcore.files import write_whole_file
from unlatch.workflows.runs.executors import Outcome

logger = logging.getLogger(__name__)

RUNS = "runs"
"""Name of the folder in a data set with one file for each run."""


@dataclass(frozen=True)
class RunTime:
    """When the episodes of one run were made."""

    startup_s: float
    """Time from the start of the run to that of its first episode, in which workers start and compile [s]."""
    began: float
    """When its first episode began [s since 1970]."""
    ended: float
    """When its last episode ended so far [s since 1970]."""
    episodes: int
    """How many episodes it made so far, without those that ended as `error`: they are to be made again."""
    packages: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The code that made them, see `CodeVersions.packages`; empty: it is not known, or they were made again."""

    def __post_init__(self) -> None:
        if not isinstance(self.packages, dict) or not all(isinstance(item, dict) for item in self.packages.values()):
            raise TypeError("packages is not a map of maps")


class RunClock:
    """Measures the wall time of one run and keeps it in the data set after every episode.

    So the time of a run that is killed is known up to its last episode.
    """

    def __init__(self, data_set: Path, writer: str, packages: Mapping[str, Mapping[str, str]] | None = None) -> None:
        """Starts the clock.

        Args:
            data_set: Folder of the data set.
            writer: Name of the driver, see `writer_name`.
            packages: The code of the run, see `CodeVersions.packages`; None: it is not known.
        """
        self.times: RunTime | None = None
        """The times so far; None before the first episode."""
        self._packages = packages or {}
        self._started = time.time()
        self.run = f"{writer}-{int(1e6 * self._started)}"
        """A name that no other run of the data set has."""
        self._path = data_set / RUNS / f"{self.run}.json"

    def count(self, outcome: Outcome) -> None:
        """Counts an episode that has just ended."""
        now = time.time()
        if self.times is None:
            began = max(self._started, now - 1e-3 * sum(outcome.timings_ms.values()))
            self.times = RunTime(began - self._started, began, now, 0, self._packages)
        episodes = self.times.episodes + (outcome.code != "error")
        self.times = replace(self.times, ended=max(now, self.times.ended), episodes=episodes)
        try:
            write_whole_file(self._path, json.dumps(asdict(self.times)).encode())
        except OSError as exc:  # the episode itself is safe
            logger.warning("The time of the run cannot be kept in '%s': %s.", self._path, exc)


def read_run_times(data_set: Path) -> list[RunTime]:
    """Returns the times of all runs of a data set; a file that cannot be read is left out."""
    found = []
    for path in sorted((data_set / RUNS).glob("*.json")):
        try:
            found.append(RunTime(**json.loads(path.read_text(encoding="utf-8"))))
        except (OSError, ValueError, TypeError) as exc:
            logger.warning("The time of a run cannot be read from '%s': %s.", path, exc)
    return found


def forget_code(data_set: Path, *, except_run: str) -> None:
    """Removes the code of all runs but one, whose episodes have replaced those of the others; times are kept."""
    for path in sorted((data_set / RUNS).glob("*.json")):
        if path.stem != except_run:
            try:
                times = json.loads(path.read_text(encoding="utf-8"))
                write_whole_file(path, json.dumps({**times, "packages": {}}).encode())
            except (OSError, ValueError, TypeError) as exc:
                logger.warning("The code of a run cannot be removed from '%s': %s.", path, exc)


def copy_run_times(source: Path, target: Path) -> None:
    """Copies the times of the runs of one data set to another; each run has a name of its own."""
    for path in sorted((source / RUNS).glob("*.json")):
        write_whole_file(target / RUNS / path.name, path.read_bytes())


@dataclass(frozen=True)
class Pace:
    """Speed of all runs of a data set together, start-up apart."""

    per_hour: float | None
    """Episodes per hour of wall time, without those that ended as `error`; None if there are none."""
    worked_s: float
    """Wall time in which at least one run made episodes [s]."""
    began: float | None
    """When the first episode began [s since 1970]."""
    ended: float | None
    """When the last episode ended [s since 1970]."""


def is_telling(*, episodes: int, successes: int) -> bool:
    """Returns whether a pace says something: refused episodes take next to no time, so a few of them do not."""
    return successes > 0 or episodes >= 10  # episodes of a run without a success from which on its pace is shown


def pace_of(runs: Iterable[RunTime]) -> Pace:
    """Returns the pace of runs: their episodes over the wall time in which at least one of them made episodes.

    A run whose episodes all ended as `error` adds neither.
    """
    ordered = sorted(runs, key=lambda run: run.began)
    if not ordered:
        return Pace(None, 0.0, None, None)
    worked, until = 0.0, ordered[0].began
    for run in ordered:
        if run.episodes:
            worked += max(0.0, run.ended - max(run.began, until))
            until = max(until, run.ended)
    episodes, ended = sum(run.episodes for run in ordered), max(run.ended for run in ordered)
    return Pace(3600.0 * episodes / worked if worked > 0.0 else None, worked, ordered[0].began, ended)


class Interruption:
    """Handles Ctrl-C: the first ends a run after the current episodes, the second at once.

    It replaces the handler of Ctrl-C while it is entered, unless Ctrl-C is ignored.
    """

    def __init__(self) -> None:
        self.asked = False
        """Whether Ctrl-C was pressed."""
        self._before: Callable[[int, FrameType | None], object] | None = None

    def is_asked(self) -> bool:
        """Returns whether Ctrl-C was pressed."""
        return self.asked

    def __enter__(self) -> Interruption:
        in_main = threading.current_thread() is threading.main_thread()
        before = signal.getsignal(signal.SIGINT)
        # what ignores Ctrl-C, as a script's background command does, is no function and stays in place
        if in_main and callable(before):
            self._before = before
            signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        signal.signal(signal.SIGINT, self._before)


FIRST_LINE_S = 30.0
"""Time after which the first line is printed where there is no terminal [s]."""


DisplayT = TypeVar("DisplayT", bound="Display")


class Display(ABC):
    """A live display on a terminal; elsewhere, as in a file or a pipe, a line every 30 s, and less often in long runs.

    Use as a context manager.
    """

    def __init__(self, console: Console | None, *, is_shown: bool) -> None:
        """Starts the clock; None: the console of stderr."""
        self._started = time.perf_counter()
        console = console or Console(stderr=True)
        is_live = is_shown and (console.is_terminal or console.is_jupyter)
        self._live = Live(self, console=console, refresh_per_second=4, transient=True) if is_live else None
        self._ended = threading.Event()
        prints = is_shown and not is_live
        self._printer = threading.Thread(target=self._print_lines, args=(console,), daemon=True) if prints else None

    @abstractmethod
    def __rich__(self) -> RenderableType:
        """Returns what a terminal shows."""

    @abstractmethod
    def line(self) -> str:
        """Returns the counts so far as one line."""

    def __enter__(self: DisplayT) -> DisplayT:
        if self._live is not None:
            self._live.start()
        if self._printer is not None:
            self._printer.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.end()

    def end(self) -> None:
        """Ends the display, for what is printed after it; a second call does nothing."""
        self._ended.set()
        if self._printer is not None:
            self._printer.join()
        if self._live is not None:
            self._live.stop()

    def _elapsed_s(self) -> float:
        return time.perf_counter() - self._started

    def _print_lines(self, console: Console) -> None:
        # time between two lines, as a share of the time since the start; at least `FIRST_LINE_S`
        while not self._ended.wait(max(FIRST_LINE_S, 0.1 * self._elapsed_s())):
            console.print(f"unlatch: {self.line()}", markup=False, highlight=False, soft_wrap=True)


def progress_bar(done: int, total: int, *words: str) -> Table:
    """Returns a bar with words beside it."""
    grid = Table.grid(padding=(0, 2))
    grid.add_row(ProgressBar(total=total, completed=done, width=20), *words)
    return grid


def describe_left(seconds: float) -> str:
    """Returns a time left in words [s]."""
    return f"{timedelta(seconds=round(max(seconds, 0.0)))} left"


class Progress(Display):
    """Counts of a run's episodes so far, with a live display if asked for; use as a context manager.

    It is what a `progress` function is called with after each episode.
    """

    def __init__(
        self,
        *,
        total: int,
        done: int = 0,
        success_word: str = "succeeded",
        successes_only: bool = False,
        report: OnProgress = True,
        console: Console | None = None,
        interruption: Interruption | None = None,
        clock: RunClock | None = None,
    ) -> None:
        """Starts the clock.

        Args:
            total: Episodes asked for.
            done: Episodes that existed before.
            success_word: Word for a successful episode.
            successes_only: Whether `total` and `done` count successes only.
            report: True: a live display; a function: called after each episode; None or False: neither.
            console: Where the display goes; None: stderr.
            interruption: Ends the run on Ctrl-C; the display says so.
            clock: Measures the pace without start-up; None: the pace is that since the start.
        """
        super().__init__(console, is_shown=report is True)
        self.total = total
        """Episodes asked for, those that existed before included."""
        self.before = done
        """Episodes that existed before."""
        self.success_word = success_word
        self.successes_only = successes_only
        self.interruption = interruption
        self.made = 0
        """Episodes made so far."""
        self.successes = 0
        """How many of them succeeded."""
        self.codes: Counter[str] = Counter()
        """Failures by code."""
        self._call = report if callable(report) else None
        self._clock = clock

    def update(self, outcome: Outcome) -> None:
        """Counts one episode."""
        self.made += 1
        self.successes += outcome.success
        if outcome.code is not None:
            self.codes[outcome.code] += 1
        if self._call is not None:
            self._call(self)

    @property
    def done(self) -> int:
        """Episodes that are there now, of `total`."""
        return self.before + (self.successes if self.successes_only else self.made)

    @property
    def per_hour(self) -> float:
        """Episodes made per hour, without those that ended as `error`, see `Pace`; 0 if there are none."""
        if self._clock is not None and self._clock.times is not None:
            return pace_of([self._clock.times]).per_hour or 0.0
        return 3600.0 * (self.made - self.codes["error"]) / max(self._elapsed_s(), 1e-9)

    @property
    def left_s(self) -> float | None:
        """Estimated time left [s]; None before the first episode."""
        gained = self.successes if self.successes_only else self.made
        return max(self.total - self.done, 0) * self._elapsed_s() / gained if gained else None

    def __repr__(self) -> str:
        return f"Progress({self.done}/{self.total}, successes={self.successes}, made={self.made})"

    def __rich__(self) -> Group:
        done = min(self.done, self.total)
        left = "" if self.left_s is None else describe_left(self.left_s)
        pace = f"{self.per_hour:,.0f}/h" if self.per_hour else ""
        pace = pace if self.made else f"no episode has ended yet, {self._elapsed_s():.0f} s"
        bar = progress_bar(done, self.total, f"{done}/{self.total}", pace, left)
        share = f" ({100 * self.successes / self.made:.0f} %)" if self.made else ""
        counts = Text.assemble((f"{self.successes} {self.success_word}{share}", "green"))
        for code, count in self.codes.most_common():
            counts.append(f"   {code} {count}", style="red")
        if self.interruption is not None and self.interruption.asked:
            return Group(bar, counts, Text("ends after the current episodes; Ctrl-C again: at once", "yellow"))
        return Group(bar, counts)

    def line(self) -> str:
        """Returns the counts so far as one line."""
        words = [f"{min(self.done, self.total)}/{self.total} episodes after {self._elapsed_s():.0f} s"]
        if not self.made:
            return f"{words[0]}; no episode has ended yet"
        words.append(f"{self.successes} of {self.made} {self.success_word}")
        words += [f"{self.per_hour:,.0f} an hour"] if self.per_hour else []
        words += [] if self.left_s is None else [describe_left(self.left_s)]
        words += [f"{code} {count}" for code, count in self.codes.most_common()]
        return ", ".join(words)


OnProgress = bool | Callable[[Progress], None] | None
"""How progress is reported: True: a live display on stderr; a function: called after each episode; None: not at all."""
