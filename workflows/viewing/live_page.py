"""The page that shows runs while they are made: rates, pace and last failures of data sets, and the current episode."""

from __future__ import annotations

import heapq
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.configs.schema import EpisodeCfg
from unlatch.simcore.errors import ConfigError, RecordingError, UnlatchError
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode_folders import DATASET_FILE
from unlatch.simcore.recording.index import INDEX_FOLDER, EpisodeSummary
from unlatch.simcore.recording.success_rules import INITIAL_S
from unlatch.skills.commands import Phase
from unlatch.workflows.runs.data_sets import data_sets_below, short_names
from unlatch.workflows.runs.live_state import LiveState, live_files, read_live_state
from unlatch.workflows.runs.progress import RUNS, Pace, pace_of, read_run_times
from unlatch.workflows.runs.recorded_config import config_of
from unlatch.workflows.runs.statistics import CorruptEpisodes, RunStatistics, SuccessMeasure
from unlatch.workflows.viewing.episode_files import view_command
from unlatch.workflows.viewing.page_server import SCENE, ScenePageHandler, ScenePageServer
from unlatch.workflows.viewing.picture import fill_template
from unlatch.workflows.viewing.scene_nodes import LiveScene, ShownEpisode

Array = np.ndarray

LAST_FAILURES = 10
"""How many failures the page lists."""


@dataclass
class GrowingDataSet:
    """A data set that is counted again once it has grown."""

    path: Path
    statistics: RunStatistics = field(default_factory=lambda: RunStatistics.of([]))
    pace: Pace = field(default_factory=lambda: pace_of([]))
    damaged: int = 0
    """Episodes that cannot be read."""
    failures: dict[tuple[float, int], dict[str, Any]] = field(default_factory=dict)
    """The last failures for the page, by when their episodes were written [s since 1970] and their numbers."""
    last_number: int | None = None
    """Number of the episode that was written last; None: there is none."""
    problem: str = ""
    """Why the data set cannot be read."""
    _seen: list[tuple[str, int, int]] | None = None

    def update(self) -> None:
        """Counts the episodes, if a file that changes with every episode has changed."""
        files = sorted([*(self.path / INDEX_FOLDER).glob("*.jsonl"), *(self.path / RUNS).glob("*.json")])
        seen = [(path.name, stat.st_size, stat.st_mtime_ns) for path in files for stat in [path.stat()]]
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
            written.append((1e-9 * _modified_ns(data_set.folder_of(item.number)), item.number, item.code))
            return item

        self.statistics = RunStatistics.of(map(note, data_set.each_summary(corrupt.add)))
        self.damaged = len(corrupt.numbers)
        self.pace = pace_of(read_run_times(self.path))
        self.last_number = max(written)[1] if written else None
        last = heapq.nlargest(LAST_FAILURES, ((ended, n, code) for ended, n, code in written if code is not None))
        # records of failures that were described before are not read again
        self.failures = {
            (ended, number): self.failures.get((ended, number)) or _describe_failure(data_set, number, code)
            for ended, number, code in last
        }

    def to_dict(self, name: str, *, now: float) -> dict[str, Any]:
        """Returns plain values for the page; `now` is the time [s since 1970]."""
        ended = self.pace.ended
        return {
            "name": name,
            "n": self.statistics.n,
            "measures": list(_describe_measures(self.statistics)),
            "codes": self.statistics.codes,
            "damaged": self.damaged,
            "per_hour": self.pace.per_hour,
            "last_age_s": None if ended is None else max(0.0, now - ended),
            "problem": self.problem,
        }


def _describe_failure(data_set: DataSet, number: int, code: str) -> dict[str, Any]:
    try:
        message = data_set.read(number, arrays=False).message
    except RecordingError as exc:
        message = exc.message
    return {"number": number, "code": code, "message": message, "command": view_command(data_set, number)}


def _describe_measures(statistics: RunStatistics) -> Iterator[dict[str, Any]]:
    """Yields the measures of success by name; a policy has two in place of one.

    `strict` comes once an episode meets it: `open` and `rotate` do not try to.
    """
    measures = {"goal": statistics.goal, "clean": statistics.clean}
    if None in measures.values():
        measures = {"success": SuccessMeasure(statistics.n, statistics.successes)}
    if statistics.strict is not None and statistics.strict.successes:
        measures["strict"] = statistics.strict
    for name, found in measures.items():
        if found is not None:
            numbers = {**vars(found), "rate": found.rate, "interval_95": found.interval}
            yield {**numbers, "name": name, "text": str(found)}


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
            try:
                yield from [path] if (path / DATASET_FILE).exists() else data_sets_below(path)
            except ConfigError:  # not made yet
                continue

    def names(self) -> dict[str, str]:
        """Returns a short name for the path of each data set."""
        paths = [item.path for item in self.sets]
        return dict(zip(map(str, paths), short_names(paths), strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Returns plain values for the page."""
        now, names, sets = time.time(), self.names(), self.sets
        failures = [
            {**failure, "set": names[str(item.path)], "age_s": max(0.0, now - ended)}
            for item in sets
            for (ended, _), failure in item.failures.items()
        ]
        return {
            "sets": [item.to_dict(names[str(item.path)], now=now) for item in sets],
            "waiting_for": "" if sets else ", ".join(map(str, self._paths[:3])),
            "failures": heapq.nsmallest(LAST_FAILURES, failures, key=lambda failure: failure["age_s"]),
        }


_PAUSE_S = 1.5
"""Time that the last state of a recorded episode stays before it is played again [s]."""


@dataclass(frozen=True)
class _RecordedEpisode:
    shown: ShownEpisode
    arrays: Mapping[str, Array]
    acted_on: set[str]
    words: dict[str, Any]
    times_s: Array
    """(T,) times from 0 on [s]; empty if it ended before its first state."""
    since: float = field(default_factory=time.monotonic)

    @property
    def length_s(self) -> float:
        """Time in which it is shown once [s]."""
        return float(self.times_s[-1]) + _PAUSE_S if len(self.times_s) else 0.0


class CurrentEpisode:
    """Shows the current episode of data sets; `about` says which one it is."""

    def __init__(self, scene: LiveScene) -> None:
        self.about: dict[str, Any] | None = None
        """Plain values for the page; None: there is no episode yet."""
        self._scene = scene
        self._live: Path | None = None
        self._read_at = 0
        self._state: LiveState | None = None
        self._next_look = 0.0
        self._cfgs: dict[tuple[Path, int], EpisodeCfg] = {}
        """Configurations of data sets, by path and time of change."""
        self._running: ShownEpisode | None = None
        self._recorded: _RecordedEpisode | None = None

    def update(self, last: Sequence[tuple[Path, int | None]]) -> None:
        """Shows the present state.

        Args:
            last: Each data set, and the number of the episode that was written last in it; the newest data set last.
        """
        try:
            self._find_running([path for path, _ in last])
            if self._live is not None and self._state is not None:
                self._show_running(self._live.parent.parent, self._state)
            else:
                self._show_recorded(last)
        except (UnlatchError, OSError, ValueError, LookupError) as exc:  # of a damaged file, or one that is being moved
            problem = exc.message if isinstance(exc, UnlatchError) else f"{type(exc).__name__}: {exc}"
            self.about = None if self.about is None else {**self.about, "problem": problem}

    def _find_running(self, data_sets: Sequence[Path]) -> None:
        """Reads the newest state of the run that is shown; if it has none for a while, that of another run."""
        age_s = float("inf") if self._state is None else time.time() - self._state.at
        # time without a new state, such as while a motion is planned, after which another run is looked for [s]
        if age_s > 3.0 and time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + 1.0
            newest = max((path for each in data_sets for path in live_files(each)), key=_modified_ns, default=None)
            # age of a state after which its run counts as ended: it was killed [s]
            if newest is not None and time.time() - 1e-9 * _modified_ns(newest) > 120.0:
                newest = None
            if newest != self._live:
                self._live, self._read_at, self._state = newest, 0, None
        modified = 0 if self._live is None else _modified_ns(self._live)
        if self._live is None or modified == 0:  # the run has ended
            self._live, self._state = None, None
        elif modified != self._read_at:
            self._read_at = modified
            try:
                self._state = read_live_state(self._live)
            except RecordingError:
                self._live, self._state = None, None

    def _show_running(self, data_set: Path, state: LiveState) -> None:
        self._recorded = None
        key, shown = (self._live, state.number), self._running
        if shown is None or shown.key != key:
            cfg = self._read_config(data_set)
            self._running = shown = ShownEpisode(key, cfg, state.number, state.layout, state.assets)
        phase = describe_phase(state, initial_frames=shown.cfg.world.frames(INITIAL_S))
        self.about = {
            **_describe_episode(data_set, state.number, instruction=state.instruction, phase=phase),
            "is_running": True,
            "time_s": state.time_s,
            "age_s": max(0.0, time.time() - state.at),
        }
        self._scene.show(shown, state.arrays(), 0, acted_on={".".join(pair) for pair in state.acted_on})

    def _show_recorded(self, last: Sequence[tuple[Path, int | None]]) -> None:
        """Plays the episode that was written last, again and again."""
        path, number = next(((path, n) for path, n in reversed(last) if n is not None), (None, None))
        if path is None or number is None:
            self.about, self._recorded = None, None
            return
        recorded = self._recorded
        was_played = recorded is not None and time.monotonic() - recorded.since > recorded.length_s
        if recorded is None or (recorded.shown.key != (path, number) and was_played):
            recorded = self._recorded = _read_recorded(path, number, self._read_config(path))
        times = recorded.times_s
        self.about = dict(recorded.words)
        if not len(times):
            self.about["problem"] = "It ended before its first state."
            return
        now = (time.monotonic() - recorded.since) % recorded.length_s
        frame = min(int(np.searchsorted(times, now)), len(times) - 1)
        self.about["time_s"] = float(times[frame])
        self._scene.show(recorded.shown, recorded.arrays, frame, acted_on=recorded.acted_on)

    def _read_config(self, data_set: Path) -> EpisodeCfg:
        key = (data_set, _modified_ns(data_set / DATASET_FILE))
        if key not in self._cfgs:
            self._cfgs[key] = config_of(DataSet.open(data_set))
        return self._cfgs[key]


def _read_recorded(path: Path, number: int, cfg: EpisodeCfg) -> _RecordedEpisode:
    record = DataSet.open(path).read(number)
    times: Array = record.arrays.get("time", np.zeros(0))
    return _RecordedEpisode(
        ShownEpisode((path, number), cfg, number, record.layout, record.assets),
        record.arrays,
        {f"{skill.get('object')}.{skill.get('part')}" for skill in record.skills},
        _describe_episode(path, number, instruction=next(iter(record.language), ""), phase=record.outcome),
        times - times[0] if len(times) else times,
    )


def _describe_episode(data_set: Path, number: int, *, instruction: str, phase: str) -> dict[str, Any]:
    """Returns plain values about an episode at its start."""
    words = {"set": str(data_set), "number": number, "instruction": instruction, "phase": phase, "problem": ""}
    return {**words, "is_running": False, "time_s": 0.0, "age_s": 0.0}


def describe_phase(state: LiveState, *, initial_frames: int) -> str:
    """Returns what the arm does; no skill moves it in the `initial_frames`, and while a policy does."""
    if state.phase != Phase.idle.name:
        return state.phase
    return "planning" if state.frame <= initial_frames else "moved by the policy"


def _modified_ns(path: Path) -> int:
    """Returns when a file or folder was changed [ns since 1970]; 0 if it is gone, or being replaced."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


class _Handler(ScenePageHandler):
    server: PageServer

    def read_state(self, query: str) -> bytes:
        """See `ScenePageHandler`."""
        return self.server.read_state()


class PageServer(ScenePageServer):
    """Serves the page of data sets; numbers and scene are kept up to date while somebody looks at the page."""

    def __init__(self, listening: socket.socket, paths: list[Path], *, title: str, token: str) -> None:
        """Starts viser and the threads of the page."""
        super().__init__(listening, _Handler, token=token)
        self.scene.gui.configure_theme(show_logo=False, show_share_button=False)
        self.html = fill_template("live.html", title=title, scene=f"{SCENE}/").encode()
        self._content = PageContent(paths)
        self._about: dict[str, Any] | None = None
        self._asked, self._counted, self._ended = threading.Event(), threading.Event(), threading.Event()
        self._asked_at = 0.0
        self._problem = ""
        for target in (self._count_sets, self._show_scene):
            threading.Thread(target=target, daemon=True).start()

    def server_close(self) -> None:
        """Ends the threads and viser."""
        self._ended.set()
        self._asked.set()
        super().server_close()

    def read_state(self) -> bytes:
        """Returns the numbers of the page as JSON; waits until they were counted for the first time."""
        self._asked_at = time.monotonic()
        self._asked.set()
        self._counted.wait()
        about = self._about
        if about is not None:
            about = {**about, "set": self._content.names().get(about["set"], "")}
        return json.dumps({**self._content.to_dict(), "current": about, "problem": self._problem}).encode()

    def _wait_for_reader(self) -> bool:
        """Waits until somebody looks at the page; returns False at its end."""
        # time after the last request in which data sets are read; without a reader, nothing is
        if time.monotonic() - self._asked_at > 10.0:
            self._asked.clear()
            self._asked.wait()
        return not self._ended.is_set()

    def _count_sets(self) -> None:
        while self._wait_for_reader():
            started = time.monotonic()
            try:
                self._content.update()
                self._problem = ""
            except (OSError, UnlatchError) as exc:  # a folder that cannot be read now
                self._problem = str(exc)
            self._counted.set()
            # at most a tenth of the time is spent on counting, and there is a second between two counts
            self._ended.wait(max(1.0, 10.0 * (time.monotonic() - started)))

    def _show_scene(self) -> None:
        current = CurrentEpisode(LiveScene(self.scene))
        while self._wait_for_reader():
            self._counted.wait()
            newest_last = sorted(self._content.sets, key=lambda item: item.pace.ended or 0.0)
            current.update([(item.path, item.last_number) for item in newest_last])
            self._about = current.about
            self._ended.wait(0.1)  # time between two states of the scene [s]


def serve(descriptor: int, paths: Sequence[str], title: str) -> None:
    """Serves the page on an open socket until stdin, whose first line is the token, is closed by the parent's end."""
    os.nice(10)  # the page gets the time that a run leaves
    token = sys.stdin.buffer.readline().decode("ascii").strip()
    server = PageServer(socket.socket(fileno=descriptor), [Path(path) for path in paths], title=title, token=token)

    def end_with_parent() -> None:
        sys.stdin.buffer.read()
        os._exit(0)  # at once: it has nothing to save, and its threads may be waiting for a browser

    threading.Thread(target=end_with_parent, daemon=True).start()
    server.serve_forever()


if __name__ == "__main__":  # in a process of its own, see `PageProcess`
    serve(int(sys.argv[1]), **json.loads(sys.argv[2]))
