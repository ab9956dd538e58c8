"""`state.npz`: named arrays in a zip of `.npy` members; equal arrays give equal bytes.

`numpy.load` reads the file too. This module writes it because `numpy.savez_compressed` adds the time of day and keeps
the caller's key order, and reads it because `numpy.load` allocates any size that a damaged header claims.
"""

from __future__ import annotations

import io
import math
import re
import zipfile
import zlib
from collections.abc import Mapping

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
_EPOCH = (1980, 1, 1, 0, 0, 0)
# floating-point states hardly shrink further at higher levels, which take twice the time
_LEVEL = 1


def encode_state(arrays: Mapping[str, Array]) -> bytes:
    """Returns the bytes of `state.npz`: sorted keys, fixed timestamps, little-endian C-ordered arrays.

    Raises:
        RecordingError: A key or an array cannot be stored. Only booleans, integers and floats can.
    """
    total = 0
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
        for key in sorted(arrays):
            array = np.asarray(arrays[key])
            if not _KEY.match(key) or array.dtype.kind not in _KINDS:
                raise RecordingError(
                    f"Array '{key}' of type {array.dtype} cannot be recorded. Expected a key of words joined by dots "
                    "and booleans, integers or floats. Rename or convert it.",
                    key=key,
                )
            array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).reshape(array.shape)
            total += array.nbytes
            member = io.BytesIO()
            np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)
            info = zipfile.ZipInfo(f"{key}.npy", date_time=_EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3
            info.external_attr = 0o644 << 16
            archive.writestr(info, member.getbuffer(), compresslevel=_LEVEL)
    if total > MAX_STATE_BYTES or len(arrays) > MAX_KEYS:
        raise RecordingError(
            f"The arrays of this episode take {total} bytes in {len(arrays)} keys, expected at most {MAX_STATE_BYTES} "
            f"in {MAX_KEYS}. Record fewer frames or fewer keys.",
            n_bytes=total,
        )
    return out.getvalue()


def decode_state(data: bytes, *, where: str) -> dict[str, Array]:
    """Returns the arrays of `state.npz` by key.

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
        "Remove the episode's folder and run the same command again to remake it.",
        path=where,
    )
