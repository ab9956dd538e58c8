"""Which episodes the index tells of, and which it lacks or doubts, with a few bytes an episode."""

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
_NOT_THERE, _NO_LINE, _IN_DOUBT, _TOLD, _LEAST_FINGERPRINT = 0, 1, 2, 3, 4


class IndexDigest:
    """Reads an index in two passes, and holds neither its lines nor their summaries: sets may have ten million."""

    def __init__(self, data_set: Path, *, shards: Iterable[Iterable[int]], shard_size: int) -> None:
        """Looks through the index once.

        Args:
            data_set: Folder of the data set.
            shards: The numbers of the episodes that are there, shard by shard.
            shard_size: Episodes in one shard at most.
        """
        self._data_set = data_set
        self._size = shard_size
        self._marks: dict[int, Array] = {}
        """By shard, (shard_size,) uint64: one of the marks above, or the fingerprint of the episode's one line."""
        for numbers in shards:
            for number in numbers:
                shard, place = divmod(number, shard_size)
                self._marks.setdefault(shard, np.zeros(shard_size, dtype=np.uint64))[place] = _NO_LINE
        for line, marks, place in self._lines():
            fingerprint = _fingerprint(line)
            if marks[place] != fingerprint:
                marks[place] = fingerprint if marks[place] == _NO_LINE else _IN_DOUBT

    def told(self) -> Iterator[EpisodeSummary]:
        """Each episode that is there and of which the index tells one story, once, in the order of the index."""
        for line, marks, place in self._lines():
            if marks[place] != _fingerprint(line):
                continue  # in doubt, or told before
            summary = index.parse_line(line)
            marks[place] = _IN_DOUBT if summary is None else _TOLD
            if summary is not None:
                yield summary

    def untold(self) -> Iterator[int]:
        """Numbers of the episodes that are there and that `told`, once it has come to its end, has not given."""
        for shard in sorted(self._marks):
            marks = self._marks[shard]
            for place in np.flatnonzero((marks != _NOT_THERE) & (marks != _TOLD)):
                yield shard * self._size + int(place)

    def _lines(self) -> Iterator[tuple[bytes, Array, int]]:
        """Every line about an episode that is there, with the marks of its shard and its place in them."""
        for line in index.read_raw_lines(self._data_set):
            match = _NUMBER.search(line)
            if match is None:
                continue
            shard, place = divmod(int(match[1]), self._size)
            marks = self._marks.get(shard)
            if marks is not None and marks[place] != _NOT_THERE:
                yield line, marks, place


def _fingerprint(line: bytes) -> int:
    return max(hash(line.rstrip(b"\n")) & _MASK, _LEAST_FINGERPRINT)  # compared within this process only
