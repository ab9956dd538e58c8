"""What the page says of data sets that grow: rates, pace, failure codes and the last failures."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unlatch.simcore.errors import ConfigError, RecordingError, UnlatchError
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
        except UnlatchError as exc:
            self.problem = exc.message

    def _count(self, data_set: DataSet) -> None:
        corrupt = CorruptEpisodes()
        written: list[tuple[float, int, str | None]] = []
        """When each episode was written, its number and its failure code."""

        def note(item: EpisodeSummary) -> EpisodeSummary:
            written.append((_modified_s(data_set.folder_of(item.number)), item.number, item.code))
            return item

        self.statistics = RunStatistics.of(map(note, data_set.each_summary(corrupt.add)))
        self.damaged = len(corrupt.numbers)
        self.pace = pace_of(read_run_times(self.path))
        self.last_number = max(written)[1] if written else None
        failures = ((ended, number, code) for ended, number, code in written if code is not None)
        self.failures = self._describe(data_set, heapq.nlargest(LAST_FAILURES, failures))

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
            "measures": [
                {
                    **vars(measure),
                    "name": word,
                    "rate": measure.rate,
                    "interval_95": measure.interval,
                    "text": str(measure),
                }
                for word, measure in _measures(statistics)
            ],
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


def _modified_s(folder: Path) -> float:
    """Returns when a folder was changed [s since 1970]; 0 while it is being replaced."""
    try:
        return folder.stat().st_mtime
    except OSError:
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
                {**vars(failure), "set": name, "age_s": max(0.0, now - failure.ended)}
                for failure, name in failures[:LAST_FAILURES]
            ],
        }
