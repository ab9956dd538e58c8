"""Keeps the wall time of each run in the data set."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from unlatch.simcore.files import write_whole_file
from unlatch.workflows.runs.executors.executor import Outcome

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
