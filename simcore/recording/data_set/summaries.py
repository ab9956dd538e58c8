"""Summaries of all episodes of a data set, read in one pass."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

from unlatch.simcore.errors import FormatVersionError, RecordingError
from unlatch.simcore.recording.data_set.index import EpisodeSummary
from unlatch.simcore.recording.data_set.index_digest import IndexDigest
from unlatch.simcore.recording.data_set.shards import SHARD_SIZE, episode_folder, numbers_in, shard_folders
from unlatch.simcore.recording.episode import STATE_FILE, EpisodeRecord

OnDamaged = Callable[[int, RecordingError], None]
"""Called with the number of an episode that cannot be read, and why."""


def each_summary_of(
    data_set: Path, read: Callable[[int], EpisodeRecord], on_damaged: OnDamaged | None
) -> Iterator[EpisodeSummary]:
    """Yields one summary an episode, in any order: from the index, or from the folder where index lines lack or differ.

    Args:
        data_set: Folder of the data set.
        read: Reads an episode, verified.
        on_damaged: See `OnDamaged`; None: the error is raised.

    Raises:
        RecordingError: An episode without a line in the index cannot be read.
        FormatVersionError: It was written in a format that this version does not read.
    """
    digest = IndexDigest(data_set, shards=map(numbers_in, shard_folders(data_set)), shard_size=SHARD_SIZE)
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
    return EpisodeSummary.of(record, state_sha256=hashlib.sha256(state).hexdigest(), n_actions=record.n_actions)
