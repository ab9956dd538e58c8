"""Reads the record of an episode from its files, and checks it."""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.files import read_bounded
from unlatch.simcore.recording.episode import (
    EPISODE_FILE,
    EPISODE_FORMAT,
    MAX_JSON_BYTES,
    READ_VERSIONS,
    RECORD_FIELDS,
    STATE_FILE,
    EpisodeRecord,
)
from unlatch.simcore.recording.episode_folders import absolute_folder
from unlatch.simcore.recording.episode_structure import has_form, kind_problems
from unlatch.simcore.recording.json_values import read_sealed
from unlatch.simcore.recording.keys import kind_of
from unlatch.simcore.recording.state_file import DELTA_BYTES, KEY_FORM, LAYOUT, MAX_KEYS, MAX_STATE_BYTES

Array = np.ndarray


def verify_episode(folder: Path) -> None:
    """Raises unless the record in a folder is complete: both files exist and are unchanged.

    Raises:
        FormatVersionError: It was written in a format that this version does not read.
        RecordingError: A file is missing, damaged, truncated or not ours.
    """
    _read_state_bytes(folder, _read_content(folder)[1]["state"])


def read_episode(folder: Path, *, arrays: bool = True) -> EpisodeRecord:
    """Reads and verifies the record in a folder, without its arrays if `arrays` is false.

    Raises:
        FormatVersionError: It was written in a format that this version does not read.
        RecordingError: A file is missing, damaged, truncated or not ours.
    """
    record, content = _read_content(folder)
    record.state_sha256 = str(content["state"]["sha256"])
    if arrays:
        record.arrays = decode_state(_read_state_bytes(folder, content["state"]), where=str(folder / STATE_FILE))
    return record


def read_arrays(path: str | Path) -> dict[str, Array]:
    """Reads the arrays of one episode; use it instead of `numpy.load`, as `state.npz` has encoded bytes.

    Args:
        path: A `state.npz`, or the folder of an episode, which has one. Every version of the format that
            `open_dataset` reads is read.

    Returns:
        The arrays by key: T+1 rows of states, T rows of actions. `docs/record_format.md` has shapes, units and frames.

    Raises:
        FormatVersionError: The episode was written in a format that this version does not read.
        RecordingError: The path does not exist, or is neither a `state.npz` nor the folder of an episode, or a file is
            damaged.

    Example:
        >>> arrays = unlatch.read_arrays("data/demo/episodes/0000000/0000000003/state.npz")
        >>> arrays["robots.franka_panda.left.joint_positions"].shape  # (T+1, 7) [rad]
        (128, 7)
    """
    found = absolute_folder(path)
    if (found / EPISODE_FILE).is_file():
        return read_episode(found).arrays
    if not found.is_file():
        raise _path_error(path, f"has no {EPISODE_FILE}" if found.is_dir() else "does not exist")
    data = read_bounded(found.resolve(), limit=MAX_STATE_BYTES)  # a cache of the Hub has links
    if not data.startswith(b"PK"):
        raise _path_error(path, "is not an .npz file")
    arrays = decode_state(data, where=str(path))
    foreign = next((key for key in arrays if kind_of(key) is None), None)
    if foreign is not None:
        raise _path_error(path, f"has the array '{foreign}', which no episode has")
    return arrays


def _path_error(path: str | Path, what: str) -> RecordingError:
    return RecordingError(
        f"'{path}' {what}. Expected a {STATE_FILE}, or the folder of an episode, such as "
        "DATA/episodes/0000000/0000000003. Name one, or read a data set by unlatch.open_dataset(DATA).",
        path=str(path),
    )


def content_problems(folder: Path, record: EpisodeRecord) -> Iterator[str]:
    """Yields what `episode.json` in a folder states that `read_episode` does not return, where it is wrong.

    Raises:
        FormatVersionError, RecordingError: See `read_episode`.
    """
    from unlatch.simcore.recording.episode_fields import EPISODE_FIELDS

    head = {key: value for key, value in _read_content(folder)[1].items() if key not in RECORD_FIELDS}
    fields = {key: EPISODE_FIELDS[key] for key in ("format", "format_version", "state")}
    yield from kind_problems(head, fields, "", complete=True)
    about = {"bytes": (folder / STATE_FILE).stat().st_size, "n_actions": record.n_actions}
    for key, value in about.items():
        if head["state"].get(key) != value:
            yield f"state.{key} is {head['state'].get(key)!r} in the record, its arrays have {value}."


def _read_content(folder: Path) -> tuple[EpisodeRecord, dict[str, Any]]:
    """Returns the record without its arrays, and all that `episode.json` holds."""
    path = folder / EPISODE_FILE
    content = read_sealed(path, expected=EPISODE_FORMAT, versions=READ_VERSIONS, limit=MAX_JSON_BYTES)
    from unlatch.simcore.recording.episode_fields import EPISODE_FIELDS

    for name in RECORD_FIELDS:
        if name not in content or not has_form(content[name], EPISODE_FIELDS[name].kind):
            raise _field_error(path, name, content.get(name))
    state = content.get("state")
    if not isinstance(state, dict) or state.get("file") != STATE_FILE or not isinstance(state.get("sha256"), str):
        raise _field_error(path, "state", state)
    try:
        record = EpisodeRecord(**{name: content[name] for name in RECORD_FIELDS})
    except RecordingError as exc:
        raise RecordingError(f"File '{path}' contradicts itself: {exc}", path=str(path)) from exc
    return record, content


def _read_state_bytes(folder: Path, state: dict[str, Any]) -> bytes:
    state_path = folder / STATE_FILE
    data = read_bounded(state_path, limit=MAX_STATE_BYTES)
    digest = hashlib.sha256(data).hexdigest()
    if digest != state["sha256"]:
        raise RecordingError(
            f"File '{state_path}' is damaged: its SHA-256 is {digest[:12]}..., expected {state['sha256'][:12]}... "
            f"({len(data)} bytes, expected {state.get('bytes')}). Run the same `unlatch collect` again to remake it.",
            path=str(state_path),
        )
    return data


def _field_error(path: Path, name: str, value: Any) -> RecordingError:
    return RecordingError(
        f"File '{path}' has {name}={str(value)[:60]!r} of type {type(value).__name__}, which is missing or of "
        "the wrong type. It is damaged or not ours. Remove the episode's folder: the command that made it makes it "
        "again.",
        path=str(path),
        key=name,
    )


_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00.{2}"
    rb"\{'descr': '(?P<dtype>[<|](b1|[iu][1248]|f[248]))', 'fortran_order': False, "
    rb"'shape': \((?P<shape>[0-9, ]{0,200})\), \} *\n",
    re.DOTALL,
)
_TYPES = frozenset(np.dtype(code).name for code in "?bBhHiIqQefd")
_MAX_DIMENSIONS = 8


def decode_npz(data: bytes, *, where: str) -> dict[str, Array]:
    """Returns the arrays of an `.npz` file by key.

    Raises:
        RecordingError: The file is damaged, foreign or larger than allowed.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            total = sum(member.file_size for member in members)
            if total > MAX_STATE_BYTES or len(members) > MAX_KEYS:
                raise _damage_error(where, f"{total} bytes in {len(members)} arrays, more than {MAX_STATE_BYTES}")
            arrays: dict[str, Array] = {}
            for member in members:
                key = member.filename.removesuffix(".npy")
                if key == member.filename or not KEY_FORM.match(key) or key in arrays:
                    raise _damage_error(where, f"the member name {member.filename!r}")
                arrays[key] = _decode_array(archive.read(member), key, where)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError) as exc:
        raise _damage_error(where, str(exc)) from exc
    return arrays


def _decode_array(data: bytes, key: str, where: str) -> Array:
    # NumPy's own reader uses a tokenizer for odd headers, which may raise any error; this program writes one form only
    header = _HEADER.match(data)
    if header is None or len(data) < 10 or header.end() != 10 + int.from_bytes(data[8:10], "little"):
        raise _damage_error(where, f"'{key}' has a header that we never write")
    dtype = np.dtype(header["dtype"].decode())
    shape = tuple(int(n) for n in header["shape"].replace(b" ", b"").split(b",") if n)
    n_bytes = len(data) - header.end()
    # checked before memory is allocated: a damaged header may claim any shape
    if math.prod(shape) * dtype.itemsize != n_bytes:
        raise _damage_error(where, f"'{key}' has shape {list(shape)} but {n_bytes} bytes")
    return np.frombuffer(data, dtype=dtype, offset=header.end()).reshape(shape).copy()


def _damage_error(where: str, what: str) -> RecordingError:
    return RecordingError(
        f"File '{where}' is damaged or not ours: {what}. Expected arrays as this version writes them. "
        "If it belongs to a data set, remove the episode's folder: the command that made the set makes it again.",
        path=where,
    )


def decode_state(data: bytes, *, where: str) -> dict[str, Array]:
    """Returns the arrays of `state.npz` by key, of any version of the format that is read.

    Raises:
        RecordingError: The file is damaged, foreign or larger than allowed.
    """
    members = decode_npz(data, where=where)
    return _unpack_members(members, where) if LAYOUT in members else members


def _unpack_members(members: dict[str, Array], where: str) -> dict[str, Array]:
    """Returns the arrays by key from the packed members by name."""
    layout = _read_layout(members.pop(LAYOUT), where)
    values = {name.removesuffix(DELTA_BYTES): _unpack(name, planes, where) for name, planes in members.items()}
    if len(values) != len(members):
        raise _damage_error(where, "it has two members of one type")
    used = dict.fromkeys(values, 0)
    arrays = {}
    for key, (name, shape) in layout.items():
        begin = used.get(name, 0)
        used[name] = end = begin + math.prod(shape)
        # checked before memory is allocated: a damaged layout may claim any shape
        if name not in values or end > values[name].size:
            raise _damage_error(where, f"'{key}' has shape {list(shape)} but too few values of type {name}")
        arrays[key] = values[name][begin:end].reshape(shape, order="F").copy(order="C")
    if any(used[name] != block.size for name, block in values.items()):
        raise _damage_error(where, "it has more values than its arrays")
    return arrays


def _unpack(name: str, planes: Array, where: str) -> Array:
    """Returns the (N,) values of a type from its (bytes of a value, N) planes and the name of their member."""
    found = name.removesuffix(DELTA_BYTES)
    dtype = np.dtype(found if found in _TYPES else "V1").newbyteorder("<")
    if dtype.kind == "V" or planes.dtype != np.uint8 or planes.ndim != 2 or len(planes) != dtype.itemsize:
        raise _damage_error(where, f"the member '{name}' of {planes.dtype} and shape {list(planes.shape)}")
    steps = np.ascontiguousarray(planes.T).view(f"<u{dtype.itemsize}").reshape(-1)
    bits: Array = np.cumsum(steps, dtype=steps.dtype)
    return bits.astype(dtype) if dtype.kind == "b" else bits.view(dtype)


def _read_layout(text: Array, where: str) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Returns the name of the type and the shape of every array by key."""
    try:
        layout = json.loads(text.tobytes())
        if len(layout) > MAX_KEYS:
            raise ValueError(f"{len(layout)} arrays, more than {MAX_KEYS}")
        for key, (name, shape) in layout.items():
            sizes = shape if isinstance(shape, list) and len(shape) <= _MAX_DIMENSIONS else [None]
            wrong_size = any(type(size) is not int or not 0 <= size <= MAX_STATE_BYTES for size in sizes)
            if not KEY_FORM.match(key) or not isinstance(name, str) or wrong_size:
                raise ValueError(f"{key!r} of shape {shape!r}")
        return {key: (name, tuple(shape)) for key, (name, shape) in layout.items()}
    except (ValueError, TypeError, AttributeError, RecursionError) as exc:
        raise _damage_error(where, f"the member '{LAYOUT}' ({exc})") from exc
