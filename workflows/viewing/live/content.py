"""What the page says of data sets that grow: rates, pace, failure codes and the last failures."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unlatch.simcore.errors import ConfigError, RecordingError, SimCoreError
from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.simcore.recording.data_set.index import INDEX_FOLDER, EpisodeSummary
from unlatch.simcore.recording.data_set.location import DATASET_FILE
from unlatch.workflows.runs.corrupt_episodes import CorruptEpisodes
from unlatch.workflows.runs.data_folders import data_sets_below, short_names
from unlatch.workflows.runs.run_times.pace import Pace, pace_of
from unlatch.workflows.runs.run_times.run_clock import RUNS, read_run_times
from unlatch.workflows.runs.statistics import RunStatistics, SuccessMeasure
from unlatch.workflows.viewing.report.reproduction import view_command

LAST_FAILURES = 10
"""How many failures the page lists."""


@dataclass(frozen=True)
class FailedEpisode:
    """A failure in the list."""

    ended: float
    """When its episode was written [s since 1970]."""
    number: int
    code: str
    message: str
    command: str
    """The command that shows it."""


@dataclass
class GrowingDataSet:
    """A data set that is counted again once it has grown."""

    path: Path
    statistics: RunStatistics = field(default_factory=lambda: RunStatistics.of([]))
    pace: Pace = field(default_factory=lambda: pace_of([]))
    damaged: int = 0
    """Episodes that cannot be read."""
    failures: list[FailedEpisode] = field(default_factory=list)
    """The last failures, the newest first."""
    last_number: int | None = None
    """Number of the episode that was written last; None: there is none."""
    problem: str = ""
    """Why the data set cannot be read."""
    _seen: list[tuple[str, int, int]] = field(default_factory=list)
    _messages: dict[tuple[int, float], FailedEpisode] = field(default_factory=dict)

    def update(self) -> None:
        """Counts the episodes, if there are others than before."""
        seen = self._read_sizes()
        if seen == self._seen:
            return
        self._seen = seen
        try:
            self._count(DataSet.open(self.path))
            self.problem = ""
        except SimCoreError as exc:
            self.problem = exc.message

    def _count(self, data_set: DataSet) -> None:
        corrupt = CorruptEpisodes()
        latest = _LatestEpisodes(data_set)
        self.statistics = RunStatistics.of(latest.watch(data_set.each_summary(corrupt.add)))
        self.damaged = len(corrupt.numbers)
        self.pace = pace_of(read_run_times(self.path))
        self.failures = self._describe(data_set, latest.failures())
        self.last_number = latest.last_number

    def _describe(self, data_set: DataSet, failures: Iterable[tuple[float, int, str]]) -> list[FailedEpisode]:
        """Returns the failures with their messages; the records of those that were described before are not read."""
        before, self._messages = self._messages, {}
        for ended, number, code in failures:
            found = before.get((number, ended))
            if found is None:
                try:
                    message = data_set.read(number, arrays=False).message
                except RecordingError as exc:
                    message = exc.message
                found = FailedEpisode(ended, number, code, message, view_command(data_set, number))
            self._messages[number, ended] = found
        return list(self._messages.values())

    def _read_sizes(self) -> list[tuple[str, int, int]]:
        """Returns name, size and time of the files that change with every episode."""
        found = []
        for path in sorted([*(self.path / INDEX_FOLDER).glob("*.jsonl"), *(self.path / RUNS).glob("*.json")]):
            try:
                status = path.stat()
            except OSError:
                continue
            found.append((path.name, status.st_size, status.st_mtime_ns))
        return found or [("", 0, 0)]

    def to_dict(self, name: str, *, now: float) -> dict[str, Any]:
        """Returns plain values for the page; `now` is the time [s since 1970]."""
        statistics, ended = self.statistics, self.pace.ended
        return {
            "name": name,
            "n": statistics.n,
            "measures": [_measure_dict(word, measure) for word, measure in _measures(statistics)],
            "codes": statistics.codes,
            "damaged": self.damaged,
            "per_hour": self.pace.per_hour,
            "last_age_s": None if ended is None else max(0.0, now - ended),
            "problem": self.problem,
        }


def _measures(statistics: RunStatistics) -> Iterator[tuple[str, SuccessMeasure]]:
    """Yields the measures of success by name; a policy has two in place of one.

    `strict` comes once an episode meets it: `open` and `rotate` do not try to.
    """
    if statistics.goal is None or statistics.clean is None:
        yield "success", SuccessMeasure(statistics.n, statistics.successes)
    else:
        yield "goal", statistics.goal
        yield "clean", statistics.clean
    if statistics.strict is not None and statistics.strict.successes:
        yield "strict", statistics.strict


def _measure_dict(word: str, measure: SuccessMeasure) -> dict[str, Any]:
    low, high = measure.interval
    return {
        "name": word,
        "n": measure.n,
        "successes": measure.successes,
        "rate": measure.rate,
        "interval_95": [low, high],
        "text": str(measure),
    }


class _LatestEpisodes:
    """Finds the episodes that were written last, in one pass over the summaries of a data set."""

    def __init__(self, data_set: DataSet) -> None:
        self.last_number: int | None = None
        """Number of the episode that was written last."""
        self._data_set = data_set
        self._last = 0.0
        self._failures: list[tuple[float, int, str]] = []

    def watch(self, summaries: Iterable[EpisodeSummary]) -> Iterator[EpisodeSummary]:
        """Yields the summaries."""
        for item in summaries:
            ended = self._read_time(item.number)
            if self.last_number is None or ended >= self._last:
                self._last, self.last_number = ended, item.number
            if item.code is not None:
                entry = (ended, item.number, item.code)
                if len(self._failures) < LAST_FAILURES:
                    heapq.heappush(self._failures, entry)
                else:
                    heapq.heappushpop(self._failures, entry)
            yield item

    def failures(self) -> list[tuple[float, int, str]]:
        """Returns time, number and code of the last failures, the newest first."""
        return sorted(self._failures, reverse=True)

    def _read_time(self, number: int) -> float:
        try:
            return self._data_set.folder_of(number).stat().st_mtime
        except OSError:  # it is being replaced
            return 0.0


class PageContent:
    """Rates and last failures of data sets, of those also that do not exist yet."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.sets: list[GrowingDataSet] = []
        """The data sets that exist, in the order of the paths."""
        self._paths = list(paths)

    def update(self) -> None:
        """Looks for data sets, and counts those that have grown."""
        known = {item.path: item for item in self.sets}
        found = {path: known.get(path) or GrowingDataSet(path) for path in self._find()}
        for item in found.values():
            item.update()
        self.sets = list(found.values())

    def _find(self) -> Iterator[Path]:
        for path in self._paths:
            if (path / DATASET_FILE).exists():
                yield path
                continue
            try:
                yield from data_sets_below(path)
            except ConfigError:  # not made yet
                continue

    def names(self) -> dict[Path, str]:
        """Returns a short name for each data set."""
        paths = [item.path for item in self.sets]
        return dict(zip(paths, short_names(paths), strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Returns plain values for the page."""
        now, names, sets = time.time(), self.names(), self.sets
        failures = sorted(
            ((failure, names[item.path]) for item in sets for failure in item.failures),
            key=lambda pair: pair[0].ended,
            reverse=True,
        )
        return {
            "sets": [item.to_dict(names[item.path], now=now) for item in sets],
            "waiting_for": "" if sets else ", ".join(map(str, self._paths[:3])),
            "failures": [
                {
                    "set": name,
                    "number": failure.number,
                    "code": failure.code,
                    "message": failure.message,
                    "age_s": max(0.0, now - failure.ended),
                    "command": failure.command,
                }
                for failure, name in failures[:LAST_FAILURES]
            ],
        }
