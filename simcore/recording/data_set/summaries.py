"""Summaries of all episodes of a data set, read in one pass with a few bytes per episode in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from unlatch.simcore.errors import FormatVersionError, RecordingError
from unlatch.simcore.recording.data_set.episode_folders import SHARD_SIZE, EpisodeFolders
from unlatch.simcore.recording.data_set.index import EpisodeSummary, number_of_line, parse_line, read_raw_lines
from unlatch.simcore.recording.episode import STATE_FILE, EpisodeRecord

Array = np.ndarray

OnDamaged = Callable[[int, RecordingError], None]
"""Called with the number of an episode that cannot be read, and why."""

_MASK = (1 << 64) - 1
_NO_EPISODE, _NO_LINE, _LINES_DIFFER, _YIELDED, _LEAST_FINGERPRINT = 0, 1, 2, 3, 4


def each_summary_of(
    data_set: EpisodeFolders, read: Callable[[int], EpisodeRecord], on_damaged: OnDamaged | None
) -> Iterator[EpisodeSummary]:
    """Yields the summary of every episode, in any order.

    It comes from the index. If an episode has no line there, or lines that differ, it comes from the episode's folder.
    `read` reads and verifies an episode. Without `on_damaged`, the error of an episode that cannot be read is raised.

    Raises:
        RecordingError: An episode without a line in the index cannot be read.
        FormatVersionError: It was written in a format that this version does not read.
    """
    reader = _IndexReader(data_set)
    yield from reader.indexed()
    for number in reader.unindexed():
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


def summary_from_folder(data_set: EpisodeFolders, record: EpisodeRecord) -> EpisodeSummary:
    """Returns the summary of an episode, made from its folder."""
    return EpisodeSummary.of(record, (data_set.folder_of(record.number) / STATE_FILE).read_bytes())


class _IndexReader:
    """Reads an index in two passes without holding its lines in memory: a set may have ten million."""

    def __init__(self, data_set: EpisodeFolders) -> None:
        """Reads the index once."""
        self._path = data_set.path
        self._marks: dict[int, Array] = {}
        """By shard, (SHARD_SIZE,) uint64: one of the marks above, or the fingerprint of the episode's only line."""
        for number in data_set.each_number():
            shard, place = divmod(number, SHARD_SIZE)
            if shard not in self._marks:
                self._marks[shard] = np.zeros(SHARD_SIZE, dtype=np.uint64)
            self._marks[shard][place] = _NO_LINE
        for line, marks, place in self._lines():
            fingerprint = _fingerprint(line)
            if marks[place] != fingerprint:
                marks[place] = fingerprint if marks[place] == _NO_LINE else _LINES_DIFFER

    def indexed(self) -> Iterator[EpisodeSummary]:
        """Yields the summary of every existing episode whose index lines agree, once, in the order of the index."""
        for line, marks, place in self._lines():
            if marks[place] != _fingerprint(line):
                continue  # lines differ, or the summary was yielded before
            summary = parse_line(line)
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
        for line in read_raw_lines(self._path):
            number = number_of_line(line)
            if number is None:
                continue
            shard, place = divmod(number, SHARD_SIZE)
            marks = self._marks.get(shard)
            if marks is not None and marks[place] != _NO_EPISODE:
                yield line, marks, place


def _fingerprint(line: bytes) -> int:
    return max(hash(line.rstrip(b"\n")) & _MASK, _LEAST_FINGERPRINT)  # compared within this process only
