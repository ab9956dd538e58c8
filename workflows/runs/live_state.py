"""The present state of an episode that is being made: workers write it a few times a second, pages show it."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from filelock import lock_descriptor

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.files import read_bounded, write_whole_file
from unlatch.skills.commands import Phase
from unlatch.workflows.episode.episode import Episode
from unlatch.workflows.runs.progress import RUNS

Array = np.ndarray

SUFFIX = ".live"
"""Ending of the files in the folder `runs` of a data set; there is one for each run that is shown."""
_MAX_BYTES = 4 << 20


@dataclass(frozen=True)
class LiveState:
    """The state of an episode in its last frame."""

    number: int
    """Number of the episode."""
    at: float
    """When it was written [s since 1970]."""
    time_s: float
    """Simulated time [s]."""
    frame: int
    """Record frame, from 0."""
    phase: str
    """What the arm does: the name of a `Phase`."""
    instruction: str
    """The episode's own phrasing of the instruction."""
    assets: dict[str, str]
    """Content hash of each object, as in a record."""
    layout: dict[str, Any]
    """What the reset applied, as in a record."""
    acted_on: list[list[str]]
    """Object and part of each skill that has begun."""
    values: dict[str, Any]
    """Positions of robot, objects and keypoints, by the key of the record."""

    def arrays(self) -> dict[str, Array]:
        """Returns the values as arrays with one frame, (1, ...) each."""
        return {key: np.asarray(value, dtype=float)[None] for key, value in self.values.items()}

    def to_bytes(self) -> bytes:
        """Returns the content of the file."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> LiveState:
        """Reads the content of a file.

        Raises:
            RecordingError: It cannot be read.
        """
        try:
            found: Any = json.loads(content)
            state = cls(**found)
            types: dict[str, Any] = {"int": int, "float": (int, float), "str": str, "list": list, "dict": dict}
            for key, value in found.items():
                wanted = types[str(cls.__annotations__[key]).partition("[")[0]]
                if not isinstance(value, wanted) or isinstance(value, bool):
                    raise TypeError(f"'{key}' is {type(value).__name__}")
            state.arrays()
        except (ValueError, TypeError, RecursionError) as exc:
            raise RecordingError(f"The state of a running episode cannot be read: {exc}. Remove the file.") from exc
        return state


def live_files(data_set: Path) -> list[Path]:
    """Returns the files of a data set with the state of a running episode, the newest last."""
    return [path for _, path in sorted(_dated(data_set))]


def _dated(data_set: Path) -> Iterator[tuple[float, Path]]:
    for path in (data_set / RUNS).glob(f"*{SUFFIX}"):
        try:
            yield path.stat().st_mtime, path
        except OSError:  # its run has just ended
            continue


def read_live_state(path: Path) -> LiveState:
    """Reads the state of a running episode.

    Raises:
        RecordingError: The file is gone, or cannot be read.
    """
    return LiveState.from_bytes(read_bounded(path, limit=_MAX_BYTES))


logger = logging.getLogger(__name__)

_PERIOD_S = 0.1
"""Shortest time between two states [s]."""
_SHOWN = ("robots.", "objects.", "keypoints.")
"""Beginnings of the record keys whose values are written."""
_NOT_SHOWN = ("_velocities", "_efforts")
"""Endings of those that are not."""


class StatePublisher:
    """Called with an episode after each of its states, in every worker of a run; one worker at a time writes.

    It reads the episode and changes nothing of it. An error in it ends the writing, not the episode. The driver uses
    it as a context manager: at the end nothing of it is left in the data set.
    """

    def __init__(self, data_set: Path, run: str) -> None:
        """Makes the publisher of a run; `run` is a name that no other run has. Writes nothing yet."""
        self._path = data_set / RUNS / f"{run}{SUFFIX}"
        self._lock: int | None = None
        """File whose lock this worker holds."""
        self._next = 0.0
        self._episode: Episode | None = None
        self._constant: dict[str, Any] = {}
        """Values that one episode keeps."""

    def __call__(self, episode: Episode) -> None:
        """Writes the present state of an episode, if it is time to."""
        started = time.monotonic()
        # another episode is shown at once, as its planning may take long
        if started < self._next and not (
            self._lock is not None and episode is not self._episode and self._next < float("inf")
        ):
            return
        try:
            if not self._takes_turn():
                # time after which a worker that does not write asks whether the one that does has ended [s]
                self._next = started + 2.0
                return
            write_whole_file(self._path, self._describe(episode).to_bytes())
        except Exception as exc:  # noqa: BLE001 - what only shows a run must not end it
            logger.warning("The page does not show episode %d: %s: %s.", episode.number, type(exc).__name__, exc)
            self._next = float("inf")
            return
        ended = time.monotonic()
        # largest share of a worker's time that is spent on writing states
        self._next = ended + max(_PERIOD_S, (ended - started) / 0.02)

    def __enter__(self) -> StatePublisher:
        """Removes what runs that were killed have left."""
        for path in live_files(self._path.parent.parent):
            with suppress(OSError):
                # age of a state after which its run counts as killed, and the file is removed [s]
                if time.time() - path.stat().st_mtime > 3600.0:
                    _remove(path)
        return self

    def __exit__(self, *exc: object) -> None:
        """Removes what the workers of this run wrote; called by the driver when they end."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
        self._episode = None
        _remove(self._path)

    def _takes_turn(self) -> bool:
        """Returns whether this worker writes: the first one does, and another one once its process has ended."""
        if self._lock is None:
            lock = _lock_path(self._path)
            lock.parent.mkdir(exist_ok=True)
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
            if not lock_descriptor(descriptor, blocking=False):
                os.close(descriptor)
                return False
            self._lock = descriptor
        return True

    def _describe(self, episode: Episode) -> LiveState:
        if episode is not self._episode:
            language = episode.language()
            self._constant = {
                "number": episode.number,
                "instruction": language[0] if language else "",
                "assets": episode.content_hashes(),
                "layout": episode.layout(),
            }
            self._episode = episode
        state = episode.frames.state
        return LiveState(
            **self._constant,
            at=time.time(),
            time_s=float(state["time"]),
            frame=episode.frames.frame,
            phase=Phase(int(state["skills.phase"])).name,
            acted_on=[[run.object_name, run.part] for run in episode.judge.runs if run.part is not None],
            values={
                key: np.asarray(value, dtype=float).tolist()
                for key, value in state.items()
                if key.startswith(_SHOWN) and not key.endswith(_NOT_SHOWN)
            },
        )


def _lock_path(path: Path) -> Path:
    return path.with_suffix(f"{SUFFIX}-lock")


def _remove(path: Path) -> None:
    for file in (path, _lock_path(path)):
        with suppress(OSError):
            file.unlink(missing_ok=True)
