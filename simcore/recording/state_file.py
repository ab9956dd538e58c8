"""An `.npz` file: named arrays in a zip of `.npy` members; equal arrays give equal bytes.

`numpy.load` reads the file too. This module writes it because `numpy.savez_compressed` adds the time of day and keeps
the caller's key order, and reads it because `numpy.load` allocates any size that a damaged header claims.

`state.npz` of an episode is packed: it has one member of bytes for each type, so that the arrays take half the space.
Its name says so: `float64_delta_bytes`. In version 3 of the format it was `float64`, which reads as if it had values.
The values of a type stand one after another: array by array, sorted by key, each in column order. So neighbours are
mostly one number in two frames that follow each other. Their bits are read as unsigned integers, and each integer is
replaced by its difference from the one before, modulo its size: the leading bytes are then mostly 0 or 255. All first
bytes come first, then all second bytes, and so on. Nothing is rounded.
"""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping

import numpy as np

from unlatch.simcore.errors import RecordingError

Array = np.ndarray

MAX_STATE_BYTES = 1 << 30
"""Largest sum of unpacked arrays of one episode that is written or read [bytes]."""
MAX_KEYS = 10_000
"""Largest number of arrays in one episode."""

_KEY = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\Z")
_KINDS = "biuf"
_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00.{2}"
    rb"\{'descr': '(?P<dtype>[<|](b1|[iu][1248]|f[248]))', 'fortran_order': False, "
    rb"'shape': \((?P<shape>[0-9, ]{0,200})\), \} *\n",
    re.DOTALL,
)
_LAYOUT = "layout"
"""Name of the member that has type and shape of each array by key, as JSON."""
_DELTA_BYTES = "_delta_bytes"
"""Ending of the name of a member: the name of its type comes before it."""
_TYPES = frozenset(np.dtype(code).name for code in "?bBhHiIqQefd")
_MAX_DIMENSIONS = 8
_PACKED_LEVEL = 6
"""Level of compression: 3 % smaller than level 3, for 1 ms more an episode."""
_EPOCH = (1980, 1, 1, 0, 0, 0)


def _checked_array(key: str, array: Array) -> Array:
    """Returns an array in little-endian byte order.

    Raises:
        RecordingError: The key or the array cannot be stored. Only booleans, integers and floats can.
    """
    array = np.asarray(array)
    if not _KEY.match(key) or array.dtype.kind not in _KINDS or array.dtype.itemsize > 8:
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
            array = _checked_array(key, arrays[key])
            array = np.ascontiguousarray(array).reshape(array.shape)
            total += array.nbytes
            member = io.BytesIO()
            np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)
            info = zipfile.ZipInfo(f"{key}.npy", date_time=_EPOCH)
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
                if key == member.filename or not _KEY.match(key) or key in arrays:
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
    packed = {name + _DELTA_BYTES: _pack(np.concatenate(values)) for name, values in blocks.items()}
    text = json.dumps(layout, separators=(",", ":")).encode()
    return encode_npz({**packed, _LAYOUT: np.frombuffer(text, dtype=np.uint8)}, level=_PACKED_LEVEL)


def decode_state(data: bytes, *, where: str) -> dict[str, Array]:
    """Returns the arrays of `state.npz` by key, of version 3 of the format or later.

    Raises:
        RecordingError: The file is damaged, foreign or larger than allowed.
    """
    return _unpack_members(decode_npz(data, where=where), where)


def decode_any_state(data: bytes, *, where: str) -> dict[str, Array]:
    """Returns the arrays of `state.npz` by key, of any version of the format that is read.

    Raises:
        RecordingError: The file is damaged, foreign or larger than allowed.
    """
    members = decode_npz(data, where=where)
    return _unpack_members(members, where) if _LAYOUT in members else members


def _unpack_members(members: dict[str, Array], where: str) -> dict[str, Array]:
    """Returns the arrays by key from the packed members by name."""
    layout = _read_layout(members.pop(_LAYOUT, None), where)
    values = {name.removesuffix(_DELTA_BYTES): _unpack(name, planes, where) for name, planes in members.items()}
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


def _pack(values: Array) -> Array:
    """Returns the (bytes of a value, N) uint8 planes of (N,) values."""
    bits: Array = values.view(f"<u{values.itemsize}")
    steps: Array = bits.copy()
    steps[1:] -= bits[:-1]
    return steps.view(np.uint8).reshape(-1, values.itemsize).T


def _unpack(name: str, planes: Array, where: str) -> Array:
    """Returns the (N,) values of a type from its (bytes of a value, N) planes and the name of their member."""
    found = name.removesuffix(_DELTA_BYTES)
    dtype = np.dtype(found if found in _TYPES else "V1").newbyteorder("<")
    if dtype.kind == "V" or planes.dtype != np.uint8 or planes.ndim != 2 or len(planes) != dtype.itemsize:
        raise _damage_error(where, f"the member '{name}' of {planes.dtype} and shape {list(planes.shape)}")
    steps = np.ascontiguousarray(planes.T).view(f"<u{dtype.itemsize}").reshape(-1)
    bits: Array = np.cumsum(steps, dtype=steps.dtype)
    return bits.astype(dtype) if dtype.kind == "b" else bits.view(dtype)


def _read_layout(text: Array | None, where: str) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Returns the name of the type and the shape of every array by key."""
    if text is None:
        raise _damage_error(where, f"it has no member '{_LAYOUT}'")
    try:
        layout = json.loads(text.tobytes())
        return dict(_checked_items(layout))
    except (ValueError, TypeError, AttributeError, RecursionError) as exc:
        raise _damage_error(where, f"the member '{_LAYOUT}' ({exc})") from exc


def _checked_items(layout: dict[str, tuple[str, list[int]]]) -> Iterator[tuple[str, tuple[str, tuple[int, ...]]]]:
    """Yields the items of a layout.

    Raises:
        ValueError, TypeError, AttributeError: It has another form.
    """
    if len(layout) > MAX_KEYS:
        raise ValueError(f"{len(layout)} arrays, more than {MAX_KEYS}")
    for key, (name, shape) in layout.items():
        sizes = shape if isinstance(shape, list) and len(shape) <= _MAX_DIMENSIONS else [None]
        wrong_size = any(type(size) is not int or not 0 <= size <= MAX_STATE_BYTES for size in sizes)
        if not _KEY.match(key) or not isinstance(name, str) or wrong_size:
            raise ValueError(f"{key!r} of shape {shape!r}")
        yield key, (name, tuple(shape))
