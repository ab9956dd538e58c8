"""Reading of plain files only, of a bounded size; writing that never replaces."""

import os

import pytest

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.files import path_word, read_bounded, write_durably


def test_a_written_file_is_read_back(tmp_path):
    path = tmp_path / "a"
    write_durably(path, b"x" * 100_000)
    assert read_bounded(path, limit=100_000) == b"x" * 100_000


def test_an_existing_file_is_never_replaced(tmp_path):
    path = tmp_path / "a"
    write_durably(path, b"first")
    with pytest.raises(FileExistsError):
        write_durably(path, b"second")
    assert path.read_bytes() == b"first"


def test_a_larger_file_than_allowed_is_not_read(tmp_path):
    path = tmp_path / "a"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # takes no space
    with pytest.raises(RecordingError, match="has 1099511627776 bytes, expected at most 1000"):
        read_bounded(path, limit=1000)


def test_a_pipe_is_refused_and_does_not_block(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(RecordingError, match="is not a plain file"):
        read_bounded(path, limit=1000)


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(RecordingError, match="is not a plain file"):
        read_bounded(tmp_path, limit=1000)


def test_a_link_is_refused(tmp_path):
    (tmp_path / "true").write_bytes(b"x")
    (tmp_path / "link").symlink_to(tmp_path / "true")
    with pytest.raises(RecordingError, match="cannot be read"):
        read_bounded(tmp_path / "link", limit=1000)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(RecordingError, match=r"File '.*nothing' is missing"):
        read_bounded(tmp_path / "nothing", limit=1000)


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("data/a", "data/a"),
        ("my data", "'my data'"),
        ("lr=0.1", "./lr=0.1"),
        ("/data/lr=0.1", "/data/lr=0.1"),
        ("-x", "./-x"),
        ("Ann's", "'Ann'\"'\"'s'"),
    ],
)
def test_a_path_in_a_printed_command_is_one_word_that_is_no_key_and_no_flag(path: str, word: str):
    assert path_word(path) == word
