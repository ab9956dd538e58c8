"""The tables of a LeRobot set: frames, episodes, statistics, and the small files beside them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import BufferedWriter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.files import read_bounded
from unlatch.simcore.recording.export.trajectory import ExportLayout, Trajectory
from unlatch.simcore.recording.json_values import decode_json_object

Array = np.ndarray
Statistics = dict[str, Array]
"""`min`, `max`, `mean`, `std`, `q01` ... `q99`, float64 of one shape, and `count` (1,) int64."""

QUANTILES = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}
"""Quantiles by name."""
_MAX_ROWS = 1 << 16


def compute_statistics(values: Array) -> Statistics:
    """Returns the statistics of (N, n) numbers over the first axis; N is at least 1."""
    numbers = np.asarray(values, dtype=float)
    return {
        "min": numbers.min(axis=0),
        "max": numbers.max(axis=0),
        "mean": numbers.mean(axis=0),
        "std": numbers.std(axis=0),
        "count": np.array([len(numbers)]),
        **_quantiles(numbers),
    }


def _quantiles(numbers: Array) -> Statistics:
    return dict(zip(QUANTILES, np.quantile(numbers, list(QUANTILES.values()), axis=0), strict=True))


class RunningStatistics:
    """Accumulates the statistics of rows block by block.

    Minimum, maximum, mean and standard deviation are those of all rows. Quantiles are those of all rows if there
    are at most 65,536. Else they are those of every second row, every fourth row and so on: 32,768 to 65,536 rows.
    """

    def __init__(self) -> None:
        self._count = 0
        self._mean = self._squares = self._least = self._largest = np.zeros(0)
        self._kept: list[Array] = []
        self._stride = 1

    def update(self, rows: Array) -> None:
        """Adds a block of (N, n) numbers."""
        if not len(rows):
            return
        block = np.asarray(rows, dtype=float)
        n, mean, squares = len(block), block.mean(axis=0), block.var(axis=0) * len(block)
        self._kept.append(block[-self._count % self._stride :: self._stride].copy())
        while sum(map(len, self._kept)) > _MAX_ROWS:
            self._kept = [np.concatenate(self._kept)[::2]]
            self._stride *= 2
        if not self._count:
            self._mean, self._squares = mean, squares
            self._least, self._largest = block.min(axis=0), block.max(axis=0)
        else:
            total = self._count + n
            delta = mean - self._mean
            self._mean = self._mean + delta * n / total
            self._squares = self._squares + squares + delta**2 * self._count * n / total
            self._least = np.minimum(self._least, block.min(axis=0))
            self._largest = np.maximum(self._largest, block.max(axis=0))
        self._count += n

    def result(self) -> Statistics:
        """Returns the statistics of all rows."""
        return {
            "min": self._least,
            "max": self._largest,
            "mean": self._mean,
            "std": np.sqrt(self._squares / self._count),
            "count": np.array([self._count]),
            **_quantiles(np.concatenate(self._kept)),
        }


def combine_statistics(parts: Sequence[Statistics]) -> Statistics:
    """Combines the statistics of several episodes of one shape; quantiles are weighted means, as in LeRobot."""
    counts = np.array([float(part["count"][0]) for part in parts])
    total = counts.sum()

    def weighted(values: Sequence[Array]) -> Array:
        return np.tensordot(counts, np.stack(values), axes=1) / total

    mean = weighted([part["mean"] for part in parts])
    return {
        "min": np.min([part["min"] for part in parts], axis=0),
        "max": np.max([part["max"] for part in parts], axis=0),
        "mean": mean,
        "std": np.sqrt(weighted([part["std"] ** 2 + (part["mean"] - mean) ** 2 for part in parts])),
        "count": np.array([int(total)]),
        **{name: weighted([part[name] for part in parts]) for name in QUANTILES},
    }


INFO_FILE = "meta/info.json"
STATS_FILE = "meta/stats.json"
TASKS_FILE = "meta/tasks.parquet"
EPISODES_FOLDER = "meta/episodes"
CONVENTIONS_FILE = "meta/unlatch.json"
"""Our conventions; LeRobot does not read this file."""
CARD_FILE = "README.md"
"""The card: what the set contains, for people."""
VIDEO_PATH = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
_MAX_BYTES = 64 << 20


def read_json(path: Path) -> dict[str, Any]:
    """Reads a JSON file of a set.

    Raises:
        RecordingError: It is missing or damaged.
    """
    return decode_json_object(read_bounded(path, limit=_MAX_BYTES), where=str(path))


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Writes a JSON file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=4, ensure_ascii=False), encoding="utf-8")


def is_lerobot_set(folder: Path) -> bool:
    """Whether a folder is a LeRobot set of any version."""
    return (folder / INFO_FILE).is_file()


def read_tasks(root: Path) -> list[str]:
    """Reads the instructions of a set in the order of their indices; errors as for `report_damage`."""
    table = pq.read_table(root / TASKS_FILE)
    # pandas' name of an unnamed index
    (column,) = [name for name in table.column_names if name in ("task", "__index_level_0__")]
    pairs = zip(table.column("task_index").to_pylist(), table.column(column).to_pylist(), strict=True)
    return [task for _, task in sorted(pairs)]


def write_tasks(root: Path, tasks: Sequence[str]) -> None:
    """Writes the instructions as a table that pandas reads with the instruction as index."""
    table = pa.table({"task_index": pa.array(range(len(tasks)), pa.int64()), "task": pa.array(tasks, pa.string())})
    keys = ("name", "field_name", "pandas_type", "numpy_type", "metadata")
    columns = [("task_index", "task_index", "int64", "int64", None), ("task", "task", "unicode", "object", None)]
    metadata = {
        "index_columns": ["task"],
        "column_indexes": [dict(zip(keys, (None, None, "unicode", "object", {"encoding": "UTF-8"}), strict=True))],
        "columns": [dict(zip(keys, column, strict=True)) for column in columns],
        "creator": {"library": "pyarrow", "version": pa.__version__},
        "pandas_version": "2.0.0",
    }
    path = root / TASKS_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table.replace_schema_metadata({"pandas": json.dumps(metadata)}), path)


DATA_PATH = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
"""Path of a data file in a set."""
MIB = 1 << 20


@dataclass(frozen=True)
class FilePlace:
    """Place of a file in a numbered sequence, with a fixed number of files per folder."""

    index: int
    """Number of the file in the whole set, from 0."""
    chunks_size: int
    """Files per folder."""

    @property
    def chunk_index(self) -> int:
        """Number of its folder."""
        return self.index // self.chunks_size

    @property
    def file_index(self) -> int:
        """Number in its folder."""
        return self.index % self.chunks_size

    def path(self, root: Path, template: str, **words: str) -> Path:
        """Returns its path by a template of `info.json`."""
        return root / template.format(chunk_index=self.chunk_index, file_index=self.file_index, **words)

    def next(self) -> FilePlace:
        """Returns the place of the next file."""
        return replace(self, index=self.index + 1)


class DataFiles:
    """Writes tables of episodes; starts a new file when the next episode would exceed the size limit."""

    def __init__(self, root: Path, first: FilePlace, *, size_mb: int) -> None:
        """Takes the place of the first file in a set, and the size limit of a file with more than one episode [MiB]."""
        self._root = root
        self._limit = size_mb * MIB
        self.place = first
        """Place of the file with the last episode."""
        self._file: BufferedWriter | None = None
        self._writer: pq.ParquetWriter | None = None
        self._largest = 0

    def add(self, table: pa.Table) -> None:
        """Writes an episode."""
        if self._file is not None and self._file.tell() + self._largest > self._limit:
            self.close()
            self.place = self.place.next()
        if self._writer is None or self._file is None:
            path = self.place.path(self._root, DATA_PATH)
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("xb")
            self._writer = pq.ParquetWriter(self._file, table.schema, compression="snappy")
        before = self._file.tell()
        self._writer.write_table(table, row_group_size=max(1, len(table)))
        self._largest = max(self._largest, self._file.tell() - before)

    def close(self) -> None:
        """Closes the current file."""
        if self._writer is not None:
            self._writer.close()
        if self._file is not None:
            self._file.close()
        self._writer, self._file = None, None


def data_files(root: Path) -> list[Path]:
    """Returns all data files of a set in order."""
    return sorted((root / "data").glob("*/*.parquet"))


def read_blocks(root: Path) -> Iterator[pa.Table]:
    """Yields the frames of a set, one row group at a time."""
    for path in data_files(root):
        with pq.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                yield file.read_row_group(group)


Features = dict[str, dict[str, Any]]
"""Content of `info.json` by key: `dtype`, `shape`, `names`, and `info` for videos."""

VIDEO = "video"
BOOKKEEPING = {
    "timestamp": "float32",
    "frame_index": "int64",
    "episode_index": "int64",
    "index": "int64",
    "task_index": "int64",
}
"""Columns of every set, with their types."""


def features_of(layout: ExportLayout, *, float_type: str, videos: Mapping[str, dict[str, Any]]) -> Features:
    """Returns the features of an export: its columns of numbers of one type, the videos by key, the bookkeeping."""
    # a point cloud has two axes
    features: Features = {
        key: {
            "dtype": float_type,
            "shape": list(layout.shapes[key]),
            "names": list(names) if len(layout.shapes[key]) == 1 else ["point", ",".join(names)],
        }
        for key, names in layout.names.items()
    }
    features.update(videos)
    features.update({key: {"dtype": dtype, "shape": [1], "names": None} for key, dtype in BOOKKEEPING.items()})
    return features


def table_features(features: Features) -> Features:
    """Returns the features that are columns of the data files."""
    return {key: feature for key, feature in features.items() if feature["dtype"] != VIDEO}


def data_schema(features: Features) -> pa.Schema:
    """Returns the Arrow schema of the data files."""
    fields = []
    for key, feature in table_features(features).items():
        number, shape = pa.from_numpy_dtype(np.dtype(feature["dtype"])), feature["shape"]
        # lists of lists as `datasets.Array2D` stores them
        row = pa.list_(pa.list_(number)) if len(shape) == 2 else pa.list_(number, shape[0])
        fields.append(pa.field(key, number if shape == [1] else row))
    return pa.schema(fields)


def frame_columns(
    trajectory: Trajectory, *, index: int, first_frame: int, task: int, fps: int, float_type: str
) -> dict[str, Array]:
    """Returns the columns of an episode, (T, n) or (T,) each; the last of its T+1 states is left out.

    Args:
        trajectory: The episode.
        index: Its index in the set.
        first_frame: Index of its first frame among all frames.
        task: Index of its instruction.
        fps: Frames per second.
        float_type: Type of its numbers.
    """
    steps = np.arange(trajectory.n_actions)
    values = {key: column.values[: len(steps)] for key, column in trajectory.columns.items()}
    return {
        **{key: array.astype(np.dtype(float_type)) for key, array in values.items()},
        "timestamp": (steps / fps).astype(np.float32),
        "frame_index": steps,
        "episode_index": np.full(len(steps), index),
        "index": first_frame + steps,
        "task_index": np.full(len(steps), task),
    }


def as_rows(values: Array) -> Array:
    """Returns values (N, n) or (N,) as (N, n), and point clouds (N, points, n) as (N * points, n)."""
    return values.reshape(-1, values.shape[-1]) if values.ndim == 3 else values.reshape(len(values), -1)


def column_array(table: pa.Table, key: str) -> Array:
    """Returns the numbers of a column: (N, n) for lists, (N, points, n) for lists of lists, (N,) for numbers."""
    column = table.column(key).combine_chunks()
    if pa.types.is_list(column.type):
        flat = column.flatten().flatten().to_numpy(zero_copy_only=False)
        points = len(column[0]) if len(column) else 0
        return flat.reshape(len(column), points, -1 if len(flat) else 0)
    if pa.types.is_fixed_size_list(column.type):
        return column.flatten().to_numpy(zero_copy_only=False).reshape(len(column), column.type.list_size)
    return column.to_numpy(zero_copy_only=False)


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
    except (OSError, KeyError, ValueError, pa.ArrowException) as exc:
        raise RecordingError(
            f"'{root}' is damaged or cannot be read: {exc}. Export it again, or choose another folder.",
            path=str(root),
        ) from exc


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
            # our columns have their declared types, the others inferred ones
            row = self._rows[0]
            inferred = pa.Table.from_pylist([row]).schema
            schema = pa.schema([pa.field(name, OWN_COLUMNS.get(name, inferred.field(name).type)) for name in row])
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
