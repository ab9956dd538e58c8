"""Summaries of all episodes of a data set, read in one pass with a few bytes per episode in memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from unlatch.simcore.errors import FormatVersionError, RecordingError
from unlatch.simcore.recording.data_set import index
from unlatch.simcore.recording.data_set.index import EpisodeSummary
from unlatch.simcore.recording.data_set.shards import SHARD_SIZE, episode_folder, numbers_in, shard_folders
from unlatch.simcore.recording.episode import STATE_FILE, EpisodeRecord

Array = np.ndarray

OnDamaged = Callable[[int, RecordingError], None]
"""Called with the number of an episode that cannot be read, and why."""

_NUMBER = re.compile(rb'"number": (\d{1,10})[,}]')
_MASK = (1 << 64) - 1
_NO_EPISODE, _NO_LINE, _LINES_DIFFER, _YIELDED, _LEAST_FINGERPRINT = 0, 1, 2, 3, 4


def each_summary_of(
    data_set: Path, read: Callable[[int], EpisodeRecord], on_damaged: OnDamaged | None
) -> Iterator[EpisodeSummary]:
    """Yields one summary an episode, in any order: from the index, or from the folder where index lines lack or differ.

    `read` reads and verifies an episode. Without `on_damaged`, the error of an episode that cannot be read is raised.

    Raises:
        RecordingError: An episode without a line in the index cannot be read.
        FormatVersionError: It was written in a format that this version does not read.
    """
    digest = _IndexDigest(data_set)
    yield from digest.indexed()
    for number in digest.unindexed():
        try:
            summary = summary_from_folder(data_set, read(number))
        except FormatVersionError:
            raise
        except RecordingError as exc:
            if on_damaged is None:
                raise
            on_damaged(number, exc)
        else:
            yield summary


def summary_from_folder(data_set: Path, record: EpisodeRecord) -> EpisodeSummary:
    """Returns the summary of an episode, made from its folder."""
    state = (episode_folder(data_set, record.number) / STATE_FILE).read_bytes()
    return EpisodeSummary.of(record, state)


class _IndexDigest:
    """Reads an index in two passes without holding its lines in memory: a set may have ten million."""

    def __init__(self, data_set: Path) -> None:
        """Reads the index once."""
        self._data_set = data_set
        self._marks: dict[int, Array] = {}
        """By shard, (SHARD_SIZE,) uint64: one of the marks above, or the fingerprint of the episode's only line."""
        for folder in shard_folders(data_set):
            for number in numbers_in(folder):
                shard, place = divmod(number, SHARD_SIZE)
                self._marks.setdefault(shard, np.zeros(SHARD_SIZE, dtype=np.uint64))[place] = _NO_LINE
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
                yield shard * SHARD_SIZE + int(place)

    def _lines(self) -> Iterator[tuple[bytes, Array, int]]:
        """Yields every line about an existing episode, with the marks of its shard and its place in them."""
        for line in index.read_raw_lines(self._data_set):
            match = _NUMBER.search(line)
            if match is None:
                continue
            shard, place = divmod(int(match[1]), SHARD_SIZE)
            marks = self._marks.get(shard)
            if marks is not None and marks[place] != _NO_EPISODE:
                yield line, marks, place


def _fingerprint(line: bytes) -> int:
    return max(hash(line.rstrip(b"\n")) & _MASK, _LEAST_FINGERPRINT)  # compared within this process only
