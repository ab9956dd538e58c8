"""`unlatch.read_arrays`: the arrays of one episode from its file or its folder, and what is refused."""

import re
import shutil
from dataclasses import replace

import numpy as np
import pytest

import unlatch
from unlatch.simcore.recording import data_set as data_set_module
from unlatch.simcore.recording import episode, episode_reading
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EPISODE_FILE, FORMAT_VERSION, STATE_FILE
from unlatch.simcore.recording.episode_reading import decode_npz
from unlatch.simcore.recording.state_file import encode_npz, encode_state


@pytest.fixture
def record(make_record):
    return make_record(3)


@pytest.fixture
def folder(record, tmp_path):
    """The folder of episode 3 of a data set."""
    with DataSet.create_or_resume(tmp_path / "data", header={}) as data_set:
        data_set.write(record)
        return data_set.folder_of(3)


def encode_as_version_3(arrays):
    members = decode_npz(encode_state(arrays), where=STATE_FILE)
    return encode_npz({name.removesuffix("_delta_bytes"): member for name, member in members.items()})


def assert_equal(found, arrays):
    assert found.keys() == arrays.keys()
    for key, array in arrays.items():
        assert found[key].dtype == array.dtype
        np.testing.assert_array_equal(found[key], array)


def test_the_folder_of_an_episode_and_its_file_give_the_arrays_of_the_record(folder, record, tmp_path):
    link = tmp_path / "link.npz"
    link.symlink_to(folder / STATE_FILE)
    for path in (folder, str(folder), folder / STATE_FILE, link):
        assert_equal(unlatch.read_arrays(path), record.arrays)


@pytest.mark.parametrize(("version", "encode"), [(2, encode_npz), (3, encode_as_version_3)])
def test_a_data_set_of_an_earlier_version_is_read_and_continued(version, encode, record, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(episode, "FORMAT_VERSION", version)
        patch.setattr(data_set_module, "encode_state", encode)
        with DataSet.create_or_resume(tmp_path / "data", header={}) as earlier:
            earlier.write(record)
    with DataSet.create_or_resume(tmp_path / "data", header={}) as data_set:
        data_set.write(replace(record, number=4))
        for number in (3, 4):
            assert_equal(data_set[number].arrays, record.arrays)
            assert_equal(unlatch.read_arrays(data_set.folder_of(number)), record.arrays)
        texts = [path.read_text() for path in (data_set.path / "dataset.json", *data_set.path.rglob(EPISODE_FILE))]
    stated = sorted(re.search(r'"format_version": (\d+)', text)[1] for text in texts)
    assert stated == [str(version), str(version), str(FORMAT_VERSION)]


def test_a_program_that_reads_version_3_refuses_the_file_by_its_version(folder, monkeypatch):
    monkeypatch.setattr(episode_reading, "READ_VERSIONS", (2, 3))
    with pytest.raises(unlatch.FormatVersionError, match="has format version 4, expected 2 or 3"):
        unlatch.read_arrays(folder)


def test_a_changed_file_in_the_folder_of_an_episode_is_refused(folder, record):
    (folder / STATE_FILE).write_bytes(encode_state({**record.arrays, "time": record.arrays["time"] + 1.0}))
    with pytest.raises(unlatch.RecordingError, match="is damaged: its SHA-256 is"):
        unlatch.read_arrays(folder)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("absent", "absent' does not exist. Expected a state.npz, or the folder of an episode"),
        ("data", "data' has no episode.json. Expected a state.npz, or the folder of an episode"),
        ("data/dataset.json", "dataset.json' is not an .npz file. Expected a state.npz"),
        ("foreign.npz", "foreign.npz' has the array 'weights', which no episode has. Expected a state.npz"),
        ("cut.npz", "cut.npz' is damaged or not ours: "),
        ("a\0b", "does not exist"),
    ],
)
def test_a_wrong_path_is_named_with_what_is_expected(name, message, folder, tmp_path):
    np.savez(tmp_path / "foreign.npz", weights=np.zeros(3))
    shutil.copy(folder / STATE_FILE, tmp_path / "cut.npz")
    (tmp_path / "cut.npz").write_bytes((folder / STATE_FILE).read_bytes()[:-30])
    with pytest.raises(unlatch.RecordingError, match=re.escape(message)):
        unlatch.read_arrays(tmp_path / name)


@pytest.mark.parametrize("read", [unlatch.read_arrays, unlatch.open_dataset])
@pytest.mark.parametrize("path", [None, 3])
def test_a_value_that_is_no_path_is_refused(read, path):
    with pytest.raises(unlatch.RecordingError, match=f"'{path}' is not a path: .* Expected a folder"):
        read(path)
