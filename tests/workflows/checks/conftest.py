"""Writes forged records, with valid checksums."""

from collections.abc import Callable

import pytest

from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EPISODE_FILE, STATE_FILE, EpisodeRecord, encode_episode
from unlatch.simcore.recording.state_file import encode_state


@pytest.fixture
def write_forged(tmp_path) -> Callable[..., DataSet]:
    """Writes records of any values, alone, into a data set with the header of another one, and without an index."""

    def write(honest: DataSet, *records: EpisodeRecord) -> DataSet:
        with DataSet.create_or_resume(tmp_path / "set", header=honest.header, info=honest.info) as forged:
            for record in records:
                folder, state = forged.folder_of(record.number), encode_state(record.arrays)
                folder.mkdir(parents=True)
                (folder / STATE_FILE).write_bytes(state)
                (folder / EPISODE_FILE).write_bytes(encode_episode(record, state))
            return forged

    return write
