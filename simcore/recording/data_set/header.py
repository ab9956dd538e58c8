"""`dataset.json`: the values of a data set that must be equal on resume, and the notes of its first run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.files import publish_once, read_bounded, write_durably
from unlatch.simcore.recording.data_set.location import DATASET_FILE, check_same_header
from unlatch.simcore.recording.episode import FORMAT_VERSION, check_format
from unlatch.simcore.recording.json_values import decode_json_object, encode_sealed, open_sealed

DATASET_FORMAT = "unlatch-dataset"
_MAX_HEADER_BYTES = 16 << 20


class DatasetHeader(NamedTuple):
    """The content of `dataset.json`."""

    header: dict[str, Any]
    """Values that must be equal for two runs to write into one data set."""
    info: dict[str, Any]
    """Notes of the first run; they may differ."""


def read_header(folder: Path) -> DatasetHeader:
    """Reads the file of a data set.

    Raises:
        RecordingError: It is damaged or not ours.
        FormatVersionError: It was written in a format that this version does not read.
    """
    path = folder / DATASET_FILE
    content = decode_json_object(read_bounded(path, limit=_MAX_HEADER_BYTES), where=str(path))
    check_format(content, expected=DATASET_FORMAT, where=str(path))
    content = open_sealed(content, where=str(path))
    header, info = content.get("header"), content.get("info")
    if not isinstance(header, dict) or not isinstance(info, dict):
        raise RecordingError(
            f"File '{path}' has no 'header' or no 'info' map. It is damaged. Restore it from a copy.",
            path=str(path),
        )
    return DatasetHeader(header, info)


def publish_header(folder: Path, found: DatasetHeader, *, scratch: Path) -> DatasetHeader:
    """Writes the file in one step unless another writer was faster, and returns its content.

    Raises:
        RecordingError: The existing file has another header.
        OSError: The folder cannot be written.
    """
    target = folder / DATASET_FILE
    if not target.exists():
        content = {"format": DATASET_FORMAT, "format_version": FORMAT_VERSION, **found._asdict()}
        draft = scratch / DATASET_FILE
        write_durably(draft, encode_sealed(content))
        publish_once(draft, target)
    there = read_header(folder)
    check_same_header(there.header, found.header, folder)
    return there
