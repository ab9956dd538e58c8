"""The frames of a LeRobot set: Parquet files with many episodes each, one row group per episode."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from io import BufferedWriter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

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
