"""Collects the arrays of one attempt frame by frame.

The rate of frames is `WorldCfg.record_hz` (`simcore/sim/world.py`), 30 Hz.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.keys import ACTION, INTERVAL, STATE, kind_of, match_key

Array = np.ndarray

_ACCEPTED = {"f": "biuf", "i": "biu", "b": "b"}


class _Table:
    """Growing arrays of rows of one kind; the first row fixes keys, shapes and types."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.n_rows = 0
        self._arrays: dict[str, Array] = {}
        self._capacity = 256

    def add(self, row: Mapping[str, ArrayLike]) -> None:
        if self.n_rows == 0:
            self._start(row)
        elif row.keys() != self._arrays.keys():
            odd = sorted(row.keys() ^ self._arrays.keys())
            raise RecordingError(
                f"The {self.kind} row {self.n_rows} has other keys than the first: {odd} are in only one of them. "
                "Record the same keys in every frame.",
                keys=odd,
            )
        if self.n_rows == self._capacity:
            self._capacity *= 2
            self._arrays = {key: np.concatenate([a, np.empty_like(a)]) for key, a in self._arrays.items()}
        n = self.n_rows
        for key, value in row.items():
            array = self._arrays[key]
            given = np.asarray(value)
            fits = given.shape == array.shape[1:]
            if not fits or (given.dtype is not array.dtype and given.dtype.kind not in _ACCEPTED[array.dtype.kind]):
                raise RecordingError(
                    f"'{key}' of {self.kind} row {n} is {given.dtype}{list(given.shape)}, expected "
                    f"{array.dtype}{list(array.shape[1:])}. Record the same shape and type in every frame.",
                    key=key,
                )
            array[n] = given
        self.n_rows = n + 1

    def _start(self, row: Mapping[str, ArrayLike]) -> None:
        self._arrays = {}
        for key, value in row.items():
            if kind_of(key) != self.kind:
                raise RecordingError(
                    f"'{key}' is not a key of {self.kind} rows. See docs/record_format.md for the keys of each kind.",
                    key=key,
                )
            first = np.asarray(value)
            if first.dtype.kind not in "biuf":
                raise RecordingError(
                    f"'{key}' has type {first.dtype}, expected booleans, integers or floats. Convert it.", key=key
                )
            self._arrays[key] = np.empty((self._capacity, *first.shape), dtype=_stored_type(key, first.dtype))

    def arrays(self, n_rows: int) -> dict[str, Array]:
        return {key: array[:n_rows].copy() for key, array in self._arrays.items()}


def _stored_type(key: str, dtype: np.dtype) -> np.dtype:
    """Returns the type in the table of keys; for other keys doubles, 64-bit integers or booleans.

    The type of a record does not depend on the type of the first value.
    """
    known = match_key(key)
    if known is not None and known[0].shape is not None:
        return np.dtype(known[0].dtype)
    return np.dtype({"f": np.float64, "b": np.bool_}.get(dtype.kind, np.int64))


class EpisodeRecorder:
    """Collects the arrays of one attempt: T actions, T+1 states.

    The order is fixed: `add_frame`, then for each action `add_action` and, once it is executed,
    `add_frame` with the state it led to and the contacts and speeds measured meanwhile. `arrays` may be called at any
    time; an action without its frame is left out.
    """

    def __init__(self) -> None:
        self._states = _Table(STATE)
        self._actions = _Table(ACTION)
        self._intervals = _Table(INTERVAL)

    @property
    def n_states(self) -> int:
        """Number of states so far."""
        return self._states.n_rows

    @property
    def n_actions(self) -> int:
        """Number of actions with a following state, so far."""
        return max(0, self._states.n_rows - 1)

    def add_action(self, action: Mapping[str, ArrayLike]) -> None:
        """Adds the next action, before it is executed; its keys start with `actions.`.

        Raises:
            RecordingError: The call is out of order, or keys or shapes differ from those of the first action.
        """
        if self._states.n_rows != self._actions.n_rows + 1:
            raise self._out_of_order("add_action")
        self._actions.add(action)

    def add_frame(self, state: Mapping[str, ArrayLike], interval: Mapping[str, ArrayLike] | None = None) -> None:
        """Adds a state, and the values that were measured since the last one.

        Args:
            state: State by key.
            interval: `contacts.` and `speeds.` values over the physics steps since the last state; None for the first.

        Raises:
            RecordingError: The call is out of order, or keys or shapes differ from those of the first frame.
        """
        if self._states.n_rows != self._actions.n_rows or (self._states.n_rows == 0) != (interval is None):
            raise self._out_of_order("add_frame")
        if interval is not None:
            self._intervals.add(interval)
        try:
            self._states.add(state)
        except RecordingError:
            if interval is not None:
                self._intervals.n_rows -= 1
            raise

    def arrays(self) -> dict[str, Array]:
        """Returns copies of the arrays of `state.npz` by key."""
        counts = {self._states: self.n_states, self._actions: self.n_actions, self._intervals: self.n_actions}
        return {key: array for table, n_rows in counts.items() for key, array in table.arrays(n_rows).items()}

    def _out_of_order(self, call: str) -> RecordingError:
        return RecordingError(
            f"{call} out of order after {self._states.n_rows} states and {self._actions.n_rows} actions. Expected "
            "add_frame(state), then add_action(action) and add_frame(state, interval) in turn.",
            call=call,
        )

    def __repr__(self) -> str:
        return f"EpisodeRecorder(states={self._states.n_rows}, actions={self._actions.n_rows})"
