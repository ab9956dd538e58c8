"""Finds the episodes that the index covers and those that it does not, with a few bytes an episode."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from unlatch.simcore.recording.data_set import index
from unlatch.simcore.recording.data_set.index import EpisodeSummary

Array = np.ndarray

_NUMBER = re.compile(rb'"number": (\d{1,10})[,}]')
_MASK = (1 << 64) - 1
_NO_EPISODE, _NO_LINE, _LINES_DIFFER, _YIELDED, _LEAST_FINGERPRINT = 0, 1, 2, 3, 4


class IndexDigest:
    """Reads an index in two passes without holding its lines in memory: a set may have ten million."""

    def __init__(self, data_set: Path, *, shards: Iterable[Iterable[int]], shard_size: int) -> None:
        """Reads the index once.

        Args:
            data_set: Folder of the data set.
            shards: The numbers of the existing episodes, shard by shard.
            shard_size: Most episodes in one shard.
        """
        self._data_set = data_set
        self._size = shard_size
        self._marks: dict[int, Array] = {}
        """By shard, (shard_size,) uint64: one of the marks above, or the fingerprint of the episode's only line."""
        for numbers in shards:
            for number in numbers:
                shard, place = divmod(number, shard_size)
                self._marks.setdefault(shard, np.zeros(shard_size, dtype=np.uint64))[place] = _NO_LINE
        for line, marks, place in self._lines():
            fingerprint = _fingerprint(line)
            if marks[place] != fingerprint:
                marks[place] = fingerprint if marks[place] == _NO_LINE else _LINES_DIFFER

    def indexed(self) -> Iterator[EpisodeSummary]:
        """Yields the summary of every existing episode whose index lines agree, once, in the order of the index."""
        for line, marks, place in self._lines():
            if marks[place] != _fingerprint(line):
                continue  # lines differ, or the summary was yielded before
            summary = index.parse_line(line)
            marks[place] = _LINES_DIFFER if summary is None else _YIELDED
            if summary is not None:
                yield summary

    def unindexed(self) -> Iterator[int]:
        """Yields the numbers of the existing episodes that `indexed` has not yielded; call it after `indexed`."""
        for shard in sorted(self._marks):
            marks = self._marks[shard]
            for place in np.flatnonzero((marks != _NO_EPISODE) & (marks != _YIELDED)):
                yield shard * self._size + int(place)

    def _lines(self) -> Iterator[tuple[bytes, Array, int]]:
        """Yields every line about an existing episode, with the marks of its shard and its place in them."""
        for line in index.read_raw_lines(self._data_set):
            match = _NUMBER.search(line)
            if match is None:
                continue
            shard, place = divmod(int(match[1]), self._size)
            marks = self._marks.get(shard)
            if marks is not None and marks[place] != _NO_EPISODE:
                yield line, marks, place


def _fingerprint(line: bytes) -> int:
    return max(hash(line.rstrip(b"\n")) & _MASK, _LEAST_FINGERPRINT)  # compared within this process only
