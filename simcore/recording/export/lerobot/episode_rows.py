"""The table of episodes of a LeRobot set: where each one lies, what it is, and its statistics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.export.lerobot.statistics import Statistics
from unlatch.simcore.recording.export.trajectory import Trajectory

Array = np.ndarray
Row = dict[str, Any]

SOURCE = "unlatch/source"
"""Column with the digest of the data set that an episode comes from."""
NUMBER = "unlatch/number"
"""Column with its number there."""
OURS: dict[str, pa.DataType] = {
    "success": pa.bool_(),
    "code": pa.string(),
    "seed": pa.int64(),
    "robot": pa.string(),
    "object": pa.list_(pa.string()),
    "part": pa.list_(pa.string()),
    "phrasings": pa.list_(pa.string()),
    SOURCE: pa.string(),
    NUMBER: pa.int64(),
}
"""Columns beside those that LeRobot has."""


@contextmanager
def told_as_damaged(root: Path) -> Iterator[None]:
    """While it lasts, what a set lacks is told as its damage.

    Args:
        root: Folder of the set that is read.

    Raises:
        RecordingError: A file or an entry is missing, or cannot be read.
    """
    try:
        yield
    except (OSError, KeyError, pa.ArrowException) as exc:
        raise RecordingError(
            f"'{root}' is damaged, or no set that this can read: {exc}. Export it again, or choose another folder.",
            path=str(root),
        ) from exc


def row_of(trajectory: Trajectory, *, source: str) -> Row:
    """Our columns of an episode.

    Args:
        trajectory: The episode.
        source: Digest of its data set.
    """
    return {
        "success": trajectory.success,
        "code": trajectory.code,
        "seed": trajectory.seed,
        "robot": trajectory.robot,
        "object": list(trajectory.objects),
        "part": list(trajectory.parts),
        "phrasings": list(trajectory.phrasings),
        SOURCE: source,
        NUMBER: trajectory.number,
    }


def statistics_columns(statistics: Mapping[str, Statistics]) -> Row:
    """Columns `stats/<key>/<name>` of an episode."""
    return {
        f"stats/{key}/{name}": np.atleast_1d(value).tolist()
        for key, found in statistics.items()
        for name, value in found.items()
    }


def statistics_in(row: Mapping[str, Any], key: str) -> Statistics | None:
    """Statistics of one column, out of an episode's row; None where it has none."""
    prefix = f"stats/{key}/"
    found = {name[len(prefix) :]: np.array(value) for name, value in row.items() if name.startswith(prefix)}
    return found if found and all(value.dtype != object for value in found.values()) else None


class EpisodeTable:
    """Writes the rows one file after the other, a few at a time."""

    _AT_ONCE = 64

    def __init__(self, folder: Path) -> None:
        """Makes a table.

        Args:
            folder: The folder `meta/episodes`.
        """
        self._path = folder / "chunk-000" / "file-000.parquet"
        self._writer: pq.ParquetWriter | None = None
        self._rows: list[Row] = []

    def add(self, row: Row) -> None:
        """Adds an episode; all have the same columns, ours may be missing."""
        place = {"meta/episodes/chunk_index": 0, "meta/episodes/file_index": 0}
        self._rows.append({**dict.fromkeys(OURS), **row, **place})
        if len(self._rows) >= self._AT_ONCE:
            self._flush()

    def close(self) -> None:
        """Writes what is left."""
        self._flush()
        if self._writer is not None:
            self._writer.close()

    def _flush(self) -> None:
        if not self._rows:
            return
        if self._writer is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            schema = _schema_of(self._rows[0])
            self._writer = pq.ParquetWriter(self._path, schema, compression="snappy")
        self._writer.write_table(pa.Table.from_pylist(self._rows, schema=self._writer.schema))
        self._rows = []


def read_rows(folder: Path, *, columns: list[str] | None = None) -> Iterator[Row]:
    """The rows of all files of the folder `meta/episodes`, in their order.

    Args:
        folder: The folder.
        columns: Which columns; all if None. Those that a file lacks are left out.
    """
    for path in sorted(folder.glob("*/*.parquet")):
        with pq.ParquetFile(path) as file:
            there = None if columns is None else [name for name in columns if name in file.schema_arrow.names]
            for batch in file.iter_batches(batch_size=64, columns=there):
                yield from batch.to_pylist()


def _schema_of(row: Row) -> pa.Schema:
    """The types of a row's columns: ours as they are declared, the others as their values are."""
    inferred = pa.Table.from_pylist([row]).schema
    return pa.schema([pa.field(name, OURS.get(name, inferred.field(name).type)) for name in row])
