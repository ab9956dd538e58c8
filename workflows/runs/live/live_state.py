"""The file with the present state of an episode that is being made."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.files import read_bounded
from unlatch.workflows.runs.run_times.run_clock import RUNS

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
            _check_types(found)
            state.arrays()
        except (ValueError, TypeError, RecursionError) as exc:
            raise RecordingError(f"The state of a running episode cannot be read: {exc}. Remove the file.") from exc
        return state


def _check_types(values: Mapping[str, Any]) -> None:
    types: dict[str, Any] = {"int": int, "float": (int, float), "str": str, "list": list, "dict": dict}
    for item in fields(LiveState):
        wanted = types[str(item.type).partition("[")[0]]
        if not isinstance(values[item.name], wanted) or isinstance(values[item.name], bool):
            raise TypeError(f"'{item.name}' is {type(values[item.name]).__name__}")


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
