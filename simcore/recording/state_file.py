"""The arrays of one episode, collected frame by frame and packed into `state.npz`; equal arrays give equal bytes."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.keys import ACTION, INTERVAL, STATE, kind_of, match_key

Array = np.ndarray

_ACCEPTED = {"f": "biuf", "i": "biu", "b": "b"}


class _Table:
    """Rows of one kind; the first row fixes keys, shapes and types."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.keys: list[str] = []
        self.rows: list[list[Array]] = []
        """The arrays of each row, in the order of the keys."""
        self._forms: list[tuple[np.dtype, tuple[int, ...]]] = []
        """Type and shape of each array of a row."""

    def add(self, row: Mapping[str, ArrayLike]) -> None:
        if not self.rows:
            self.keys = list(row)
            self.rows.append([self._copy_value(key, np.asarray(value)) for key, value in row.items()])
            self._forms = [(value.dtype, value.shape) for value in self.rows[0]]
            return
        if list(row) != self.keys:
            if odd := sorted({*row} ^ {*self.keys}):
                raise RecordingError(
                    f"The {self.kind} row {len(self.rows)} has other keys than the first: {odd} are in only one of "
                    "them. Record the same keys in every frame.",
                    keys=odd,
                )
            row = {key: row[key] for key in self.keys}
        # what nobody can write to any more needs no copy
        given = [
            value if type(value) is np.ndarray and not value.flags.writeable else np.array(value)
            for value in row.values()
        ]
        if [(value.dtype, value.shape) for value in given] != self._forms:
            given = [self._copy_value(key, value) for key, value in zip(row, given, strict=True)]
        self.rows.append(given)

    def row(self, index: int) -> dict[str, Array]:
        """Returns a row by key."""
        return dict(zip(self.keys, self.rows[index], strict=True))

    def _copy_value(self, key: str, given: Array) -> Array:
        if self.rows:
            first = self.rows[0][self.keys.index(key)]
            shape, dtype = first.shape, first.dtype
        else:
            shape, dtype = given.shape, self._first_type(key, given.dtype)
        if given.shape != shape or given.dtype.kind not in _ACCEPTED[dtype.kind]:
            raise RecordingError(
                f"'{key}' of {self.kind} row {len(self.rows)} is {given.dtype}{list(given.shape)}, expected "
                f"{dtype}{list(shape)}. Record the same shape and type in every frame.",
                key=key,
            )
        return given.astype(dtype)

    def _first_type(self, key: str, given: np.dtype) -> np.dtype:
        """Returns the type in the table of keys, doubles for floats; for other keys the 64-bit type or booleans.

        So the type of a record does not depend on the type of the first value.
        """
        if kind_of(key) != self.kind:
            raise RecordingError(
                f"'{key}' is not a key of {self.kind} rows. See docs/record_format.md for the keys of each kind.",
                key=key,
            )
        if given.kind not in "biuf":
            raise RecordingError(
                f"'{key}' has type {given}, expected booleans, integers or floats. Convert it.", key=key
            )
        known = match_key(key)
        if known is not None and known[0].shape is not None:
            given = np.dtype(known[0].dtype)
        return np.dtype({"f": np.float64, "b": np.bool_}.get(given.kind, np.int64))

    def arrays(self, n_rows: int) -> dict[str, Array]:
        if not self.rows:
            return {}
        columns = zip(*self.rows[:n_rows], strict=True) if n_rows else [()] * len(self.keys)
        return {
            key: np.array(column, dtype=dtype).reshape(n_rows, *shape)
            for key, column, (dtype, shape) in zip(self.keys, columns, self._forms, strict=True)
        }


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
        return len(self._states.rows)

    @property
    def n_actions(self) -> int:
        """Number of actions with a following state, so far."""
        return max(0, self.n_states - 1)

    def add_action(self, action: Mapping[str, ArrayLike]) -> None:
        """Adds the next action, before it is executed; its keys start with `actions.` or `labels.`.

        Raises:
            RecordingError: The call is out of order, or keys or shapes differ from those of the first action.
        """
        if len(self._states.rows) != len(self._actions.rows) + 1:
            raise self._out_of_order("add_action")
        self._actions.add(action)

    def last_actions(self, key: str) -> Array:
        """Returns the last two rows of an action by key; the first one twice if there is no other."""
        n, place = len(self._actions.rows), self._actions.keys.index(key)
        return np.array([self._actions.rows[max(0, index)][place] for index in (n - 2, n - 1)])

    def add_frame(self, state: Mapping[str, ArrayLike], interval: Mapping[str, ArrayLike] | None = None) -> None:
        """Adds a state, and the values that were measured since the last one.

        Args:
            state: State by key.
            interval: `contacts.` and `speeds.` values over the physics steps since the last state; None for the first.

        Raises:
            RecordingError: The call is out of order, or keys or shapes differ from those of the first frame.
        """
        if len(self._states.rows) != len(self._actions.rows) or (len(self._states.rows) == 0) != (interval is None):
            raise self._out_of_order("add_frame")
        if interval is not None:
            self._intervals.add(interval)
        try:
            self._states.add(state)
        except RecordingError:
            if interval is not None:
                self._intervals.rows.pop()
            raise

    def last_step(self) -> dict[str, Array]:
        """Returns the last action with a following state, and the values measured over it; empty before the first."""
        rows = [table.row(self.n_actions - 1) for table in (self._actions, self._intervals) if self.n_actions]
        return {key: value for row in rows for key, value in row.items()}

    def last_state(self) -> dict[str, Array]:
        """Returns the state that was added last, by key; empty before the first."""
        return self._states.row(-1) if self._states.rows else {}

    def arrays(self) -> dict[str, Array]:
        """Returns copies of the arrays by key, all floats in double precision; see `convert_to_stored_types`."""
        counts = {self._states: self.n_states, self._actions: self.n_actions, self._intervals: self.n_actions}
        return {key: array for table, n_rows in counts.items() for key, array in table.arrays(n_rows).items()}

    def _out_of_order(self, call: str) -> RecordingError:
        return RecordingError(
            f"{call} out of order after {len(self._states.rows)} states and {len(self._actions.rows)} actions. "
            "Expected add_frame(state), then add_action(action) and add_frame(state, interval) in turn.",
            call=call,
        )

    def __repr__(self) -> str:
        return f"EpisodeRecorder(states={len(self._states.rows)}, actions={len(self._actions.rows)})"


MAX_STATE_BYTES = 1 << 30
"""Largest sum of unpacked arrays of one episode that is written or read [bytes]."""
MAX_KEYS = 10_000
"""Largest number of arrays in one episode."""

KEY_FORM = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\Z")
LAYOUT = "layout"
"""Name of the member that has type and shape of each array by key, as JSON."""
DELTA_BYTES = "_delta_bytes"
"""Ending of the name of a member: the name of its type comes before it."""
_PACKED_LEVEL = 6
"""Level of compression: 3 % smaller than level 3, for 1 ms more an episode."""


def _checked_array(key: str, array: Array) -> Array:
    """Returns an array in little-endian byte order.

    Raises:
        RecordingError: The key or the array cannot be stored. Only booleans, integers and floats can.
    """
    array = np.asarray(array)
    if not KEY_FORM.match(key) or array.dtype.kind not in _ACCEPTED["f"] or array.dtype.itemsize > 8:
        raise RecordingError(
            f"Array '{key}' of type {array.dtype} cannot be recorded. Expected a key of words joined by dots "
            "and booleans, integers or floats. Rename or convert it.",
            key=key,
        )
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def encode_npz(arrays: Mapping[str, Array], *, level: int = 1) -> bytes:
    """Returns the bytes of an `.npz` file: sorted keys, fixed timestamps, little-endian C-ordered arrays.

    Args:
        arrays: The arrays by key.
        level: Level of compression, 1 to 9. Floats hardly shrink further at higher levels, which take twice the time.

    Raises:
        RecordingError: A key or an array cannot be stored. Only booleans, integers and floats can.
    """
    total = 0
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for key in sorted(arrays):
            array = np.asarray(_checked_array(key, arrays[key]), order="C")
            total += array.nbytes
            member = io.BytesIO()
            np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)
            info = zipfile.ZipInfo(f"{key}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3
            info.external_attr = 0o644 << 16
            archive.writestr(info, member.getbuffer(), compresslevel=level)
    if total > MAX_STATE_BYTES or len(arrays) > MAX_KEYS:
        raise RecordingError(
            f"The arrays of this episode take {total} bytes in {len(arrays)} keys, expected at most {MAX_STATE_BYTES} "
            f"in {MAX_KEYS}. Record fewer frames or fewer keys.",
            n_bytes=total,
        )
    return out.getvalue()


def encode_state(arrays: Mapping[str, Array]) -> bytes:
    """Returns the bytes of `state.npz`; equal arrays give equal bytes.

    Raises:
        RecordingError: A key or an array cannot be stored. Only booleans, integers and floats can.
    """
    layout: dict[str, tuple[str, tuple[int, ...]]] = {}
    blocks: dict[str, list[Array]] = {}
    for key in sorted(arrays):
        array = _checked_array(key, arrays[key])
        layout[key] = array.dtype.name, array.shape
        blocks.setdefault(array.dtype.name, []).append(array.ravel(order="F"))
    if len(arrays) > MAX_KEYS:
        raise RecordingError(
            f"This episode has {len(arrays)} arrays, expected at most {MAX_KEYS}. Record fewer keys.",
            n_keys=len(arrays),
        )
    packed = {name + DELTA_BYTES: _pack(np.concatenate(values)) for name, values in blocks.items()}
    text = json.dumps(layout, separators=(",", ":")).encode()
    return encode_npz({**packed, LAYOUT: np.frombuffer(text, dtype=np.uint8)}, level=_PACKED_LEVEL)


def _pack(values: Array) -> Array:
    """Returns the (bytes of a value, N) uint8 planes of (N,) values."""
    bits: Array = values.view(f"<u{values.itemsize}")
    steps: Array = bits.copy()
    steps[1:] -= bits[:-1]
    return steps.view(np.uint8).reshape(-1, values.itemsize).T
