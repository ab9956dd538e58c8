"""Makes, reads and compares plain JSON values."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.simcore.errors import FormatVersionError, RecordingError, shorten
from unlatch.simcore.files import read_bounded
from unlatch.simcore.geometry import Pose

SEAL = "sha256"
"""Key of the checksum in a sealed file."""
_ABSENT = object()


def plain(value: Any, *, where: str = "value") -> Any:
    """Returns a value as plain JSON: maps, lists, strings, numbers, booleans and None.

    Arrays become lists, enums their values, dataclasses maps, poses `{"p": ..., "quat_xyzw": ...}`. An object with a
    method `to_plain` becomes what that method returns. Numbers that are not finite, which JSON lacks, become the
    strings "nan", "inf" and "-inf".

    Raises:
        RecordingError: A value has no JSON form.
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Enum):
        return plain(value.value, where=where)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        number = float(value)
        return number if math.isfinite(number) else repr(number)
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.ndarray):
        return plain(value.tolist(), where=where)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Pose):
        return {"p": plain(value.p), "quat_xyzw": plain(value.quat_xyzw)}
    if isinstance(value, Mapping):
        return {_plain_key(key, where): plain(item, where=f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, where=f"{where}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, set | frozenset):
        return sorted((plain(item, where=where) for item in value), key=str)
    if hasattr(value, "to_plain"):
        return plain(value.to_plain(), where=where)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {f.name: plain(getattr(value, f.name), where=f"{where}.{f.name}") for f in fields}
    raise RecordingError(
        f"'{where}' holds a {type(value).__name__}, which has no JSON form. Expected maps, lists, strings, numbers, "
        "booleans, arrays or None. Convert it before recording.",
        key=where,
    )


def _plain_key(key: Any, where: str) -> str:
    if isinstance(key, Enum):
        key = key.value
    if isinstance(key, bool) or not isinstance(key, str | int | np.integer):
        raise RecordingError(
            f"'{where}' has the key {key!r} of type {type(key).__name__}. Expected a string. Rename it.", key=where
        )
    return str(key)


def encode_sealed(content: Mapping[str, Any]) -> bytes:
    """Returns a map, made plain, as UTF-8 JSON with one line per key and its checksum under `sha256`.

    Keys are sorted: equal maps give equal bytes.
    """
    body = plain(content)
    return _encode_lines({**body, SEAL: hashlib.sha256(_encode_lines(body)).hexdigest()})


def _encode_lines(content: dict[str, Any]) -> bytes:
    lines = (
        f"{json.dumps(key)}: {json.dumps(content[key], sort_keys=True, allow_nan=False, ensure_ascii=False)}"
        for key in sorted(content)
    )
    # a lone surrogate (a file name that cannot be decoded, in a traceback) must not lose the episode
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode("utf-8", errors="backslashreplace")


def read_sealed(path: Path, *, expected: str, versions: Sequence[int], limit: int) -> dict[str, Any]:
    """Reads and verifies a file that `encode_sealed` made.

    Args:
        path: The file.
        expected: Its `format`.
        versions: The values of `format_version` that are read.
        limit: Largest size that is read [bytes].

    Raises:
        RecordingError: It is missing, damaged, changed or not ours.
        FormatVersionError: It is of no such version.
    """
    content = decode_json_object(read_bounded(path, limit=limit), where=str(path))
    if content.get("format") != expected:
        raise RecordingError(
            f"File '{path}' is not ours: its format is {content.get('format')!r}, expected '{expected}'. "
            "Name a data set made by this program.",
            path=str(path),
        )
    found = content.get("format_version")
    if found not in versions or isinstance(found, bool):
        *others, last = map(str, versions)
        wanted = " or ".join(filter(None, (", ".join(others), last)))
        raise FormatVersionError(
            f"File '{path}' has format version {found!r}, expected {wanted}. Make it again with its command, "
            "or read it with the version of unlatch that wrote it; dataset.json has both.",
            path=str(path),
            version=found,
        )
    return open_sealed(content, where=str(path))


def open_sealed(content: dict[str, Any], *, where: str) -> dict[str, Any]:
    """Verifies the checksum of a map that `encode_sealed` wrote, and returns the map without it.

    Raises:
        RecordingError: The file was changed.
    """
    body = {key: value for key, value in content.items() if key != SEAL}
    if content.get(SEAL) != hashlib.sha256(_encode_lines(body)).hexdigest():
        raise RecordingError(
            f"File '{where}' was changed since it was written: its content does not have the checksum under '{SEAL}'. "
            "Restore it from a copy, or remove its folder: the command that made it makes it again.",
            path=where,
        )
    return body


def decode_json_object(data: bytes, *, where: str) -> dict[str, Any]:
    """Reads a map from UTF-8 JSON; nothing is executed or constructed from it.

    Raises:
        RecordingError: It is not JSON, or not a map.
    """
    try:
        value = json.loads(data.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as exc:
        raise RecordingError(
            f"File '{where}' is not valid JSON ({exc}). It is damaged or not ours. Remove or restore it.",
            path=where,
        ) from exc
    if not isinstance(value, dict):
        raise RecordingError(
            f"File '{where}' holds a {type(value).__name__}, expected a JSON map. It is damaged or not ours. "
            "Remove it or restore it from a copy.",
            path=where,
        )
    return value


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"the number {name} is not JSON")


def differences(old: Any, new: Any, *, key: str = "") -> Iterator[tuple[str, str, str]]:
    """Yields every key in which two plain values differ, with both values as text ("absent" for a missing one)."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted(old.keys() | new.keys()):
            inner = f"{key}.{name}" if key else name
            yield from differences(old.get(name, _ABSENT), new.get(name, _ABSENT), key=inner)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (a, b) in enumerate(zip(old, new, strict=True)):
            yield from differences(a, b, key=f"{key}[{index}]")
    elif (names := _names(old)) and (others := _names(new)) and names != others:
        yield f"{key}[].name", _format_value(names), _format_value(others)
    elif old != new or (type(old) is not type(new) and not (_is_number(old) and _is_number(new))):
        ours, theirs = _format_value(new), _format_value(old)
        if ours == theirs:  # both are cut before the first difference
            whole = [json.dumps(value, sort_keys=True, ensure_ascii=False) for value in (old, new)]
            same = next((index for index, (a, b) in enumerate(zip(*whole, strict=False)) if a != b), 0)
            theirs, ours = (shorten(f"...{text[max(0, same - 30) :]}", 80) for text in whole)
        yield key, theirs, ours


def _names(value: Any) -> list[Any]:
    """Returns the names of the entries of a list of mappings; an empty list for any other value."""
    entries = value if isinstance(value, list) and all(isinstance(item, dict) for item in value) else []
    return [item["name"] for item in entries] if all("name" in item for item in entries) else []


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _format_value(value: Any) -> str:
    if value is _ABSENT:
        return "absent"
    return shorten(json.dumps(value, sort_keys=True, ensure_ascii=False), 80)
