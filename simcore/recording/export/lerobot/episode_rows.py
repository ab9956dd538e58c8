"""The table of episodes of a LeRobot set: place, properties and statistics of each episode."""

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

EpisodeRow = dict[str, Any]

SOURCE = "unlatch/source"
"""Column with the digest of the data set of an episode."""
NUMBER = "unlatch/number"
"""Column with the number of an episode in its data set."""
OWN_COLUMNS: dict[str, pa.DataType] = {
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
"""Columns that we add to those of LeRobot."""


@contextmanager
def report_damage(root: Path) -> Iterator[None]:
    """Turns errors while reading a set into one that names the damaged set.

    Raises:
        RecordingError: A file or an entry is missing, or cannot be read.
    """
    try:
        yield
    except (OSError, KeyError, pa.ArrowException) as exc:
        raise RecordingError(
            f"'{root}' is damaged or cannot be read: {exc}. Export it again, or choose another folder.",
            path=str(root),
        ) from exc


def own_columns(trajectory: Trajectory, *, source: str) -> EpisodeRow:
    """Returns the columns of an episode that we add; `source` is the digest of the data set."""
    return {
        **{key: getattr(trajectory, key) for key in ("success", "code", "seed", "robot")},
        "object": list(trajectory.objects),
        "part": list(trajectory.parts),
        "phrasings": list(trajectory.phrasings),
        **{SOURCE: source, NUMBER: trajectory.number},
    }


def statistics_columns(statistics: Mapping[str, Statistics]) -> EpisodeRow:
    """Returns the columns `stats/<key>/<name>` of an episode."""
    return {
        f"stats/{key}/{name}": np.atleast_1d(value).tolist()
        for key, found in statistics.items()
        for name, value in found.items()
    }


def statistics_in(row: Mapping[str, Any], key: str) -> Statistics | None:
    """Returns the statistics of one column from an episode's row; None if there are none."""
    prefix = f"stats/{key}/"
    found = {name[len(prefix) :]: np.array(value) for name, value in row.items() if name.startswith(prefix)}
    return found if found and all(value.dtype != object for value in found.values()) else None


class EpisodeTable:
    """Writes the rows, a few at a time."""

    _AT_ONCE = 64

    def __init__(self, folder: Path) -> None:
        """Takes the folder `meta/episodes`; nothing is written yet."""
        self._path = folder / "chunk-000" / "file-000.parquet"
        self._writer: pq.ParquetWriter | None = None
        self._rows: list[EpisodeRow] = []

    def add(self, row: EpisodeRow) -> None:
        """Adds an episode. All rows have the same columns; a row of another program may lack ours."""
        place = {"meta/episodes/chunk_index": 0, "meta/episodes/file_index": 0}
        self._rows.append({**dict.fromkeys(OWN_COLUMNS), **row, **place})
        if len(self._rows) >= self._AT_ONCE:
            self._flush()

    def close(self) -> None:
        """Writes the remaining rows."""
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


def read_rows(folder: Path, *, columns: list[str] | None = None) -> Iterator[EpisodeRow]:
    """Yields the rows of all files of the folder `meta/episodes` in order.

    Only the given columns are read, those that a file has; None: all.
    """
    for path in sorted(folder.glob("*/*.parquet")):
        with pq.ParquetFile(path) as file:
            there = None if columns is None else [name for name in columns if name in file.schema_arrow.names]
            for batch in file.iter_batches(batch_size=64, columns=there):
                yield from batch.to_pylist()


def _schema_of(row: EpisodeRow) -> pa.Schema:
    """Returns the types of a row's columns: ours as declared, the others as inferred."""
    inferred = pa.Table.from_pylist([row]).schema
    return pa.schema([pa.field(name, OWN_COLUMNS.get(name, inferred.field(name).type)) for name in row])
