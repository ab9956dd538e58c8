"""Finds the episode that the page shows: one that is being made, else the one that was written last."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.configs.schema import EpisodeCfg
from unlatch.simcore.errors import RecordingError, UnlatchError
from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.simcore.recording.data_set.location import DATASET_FILE
from unlatch.simcore.recording.success_rules import INITIAL_S
from unlatch.skills.contract.command import Phase
from unlatch.workflows.runs.live.live_state import LiveState, live_files, read_live_state
from unlatch.workflows.runs.recorded_config import config_of
from unlatch.workflows.viewing.live.scene import LiveScene, ShownEpisode

Array = np.ndarray

_ENDED_S = 120.0
"""Age of a state after which its run counts as ended: it was killed [s]."""
_WAIT_S = 3.0
"""Time without a new state, such as while a motion is planned, after which another run is looked for [s]."""
_PAUSE_S = 1.5
"""Time that the last state of a recorded episode stays before it is played again [s]."""


@dataclass(frozen=True)
class _RecordedEpisode:
    shown: ShownEpisode
    arrays: Mapping[str, Array]
    acted_on: set[str]
    words: dict[str, Any]
    since: float = field(default_factory=time.monotonic)

    @property
    def times_s(self) -> Array:
        """(T,) times from 0 on [s]; empty if it ended before its first state."""
        times: Array = self.arrays.get("time", np.zeros(0))
        return times - times[0] if len(times) else times

    def was_played(self) -> bool:
        """Whether it was shown to its end."""
        times = self.times_s
        return not len(times) or time.monotonic() - self.since > float(times[-1]) + _PAUSE_S


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
        if age_s > _WAIT_S and time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + 1.0
            files = [path for data_set in data_sets for path in live_files(data_set)]
            newest = max(files, key=_modified_ns, default=None)
            if newest is not None and time.time() - 1e-9 * _modified_ns(newest) > _ENDED_S:
                newest = None
            if newest != self._live:
                self._live, self._read_at, self._state = newest, 0, None
        if self._live is None:
            return
        modified = _modified_ns(self._live)
        if modified == 0:  # the run has ended
            self._live, self._state = None, None
        elif modified != self._read_at:
            try:
                self._state = read_live_state(self._live)
            except RecordingError:
                self._live, self._state = None, None
            self._read_at = modified

    def _show_running(self, data_set: Path, state: LiveState) -> None:
        self._recorded = None
        key, shown = (self._live, state.number), self._running
        if shown is None or shown.key != key:
            self._running = shown = ShownEpisode(
                key, self._read_config(data_set), state.number, state.layout, state.assets
            )
        self.about = {
            "is_running": True,
            "set": str(data_set),
            "number": state.number,
            "instruction": state.instruction,
            "phase": describe_phase(state, initial_frames=shown.cfg.world.frames(INITIAL_S)),
            "time_s": state.time_s,
            "age_s": max(0.0, time.time() - state.at),
            "problem": "",
        }
        self._scene.show(shown, state.arrays(), 0, acted_on={".".join(pair) for pair in state.acted_on})

    def _show_recorded(self, last: Sequence[tuple[Path, int | None]]) -> None:
        """Plays the episode that was written last, again and again."""
        found = [(path, number) for path, number in last if number is not None]
        if not found:
            self.about, self._recorded = None, None
            return
        path, number = found[-1]
        recorded = self._recorded
        if recorded is None or (recorded.shown.key != (path, number) and recorded.was_played()):
            recorded = self._recorded = _read_recorded(path, number, self._read_config(path))
        times = recorded.times_s
        self.about = {**recorded.words, "problem": "" if len(times) else "It ended before its first state."}
        if not len(times):
            return
        now = (time.monotonic() - recorded.since) % (float(times[-1]) + _PAUSE_S)
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
    words = {
        "is_running": False,
        "set": str(path),
        "number": number,
        "instruction": record.language[0] if record.language else "",
        "phase": record.outcome,
        "time_s": 0.0,
        "age_s": 0.0,
    }
    shown = ShownEpisode((path, number), cfg, number, record.layout, record.assets)
    acted_on = {f"{skill.get('object')}.{skill.get('part')}" for skill in record.skills}
    return _RecordedEpisode(shown, record.arrays, acted_on, words)


def describe_phase(state: LiveState, *, initial_frames: int) -> str:
    """Returns what the arm does; no skill moves it in the `initial_frames`, and while a policy does."""
    if state.phase != Phase.idle.name:
        return state.phase
    return "planning" if state.frame <= initial_frames else "moved by the policy"


def _modified_ns(path: Path) -> int:
    """Returns when a file was changed [ns since 1970]; 0 if it is gone."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
