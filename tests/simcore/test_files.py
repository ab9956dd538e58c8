"""Reading of plain files only, of a bounded size; writing that never replaces."""

import os
from pathlib import Path

import pytest

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.files import path_word, read_bounded, write_durably


def test_a_written_file_is_read_back_and_never_replaced(tmp_path):
    path = tmp_path / "a"
    write_durably(path, b"x" * 100_000)
    with pytest.raises(FileExistsError):
        write_durably(path, b"second")
    assert read_bounded(path, limit=100_000) == b"x" * 100_000


def make_large(path):
    with path.open("wb") as file:
        file.truncate(1 << 40)  # takes no space


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (make_large, "has 1099511627776 bytes, expected at most 1000"),
        (os.mkfifo, "is not a plain file"),  # and does not block
        (Path.mkdir, "is not a plain file"),
        (lambda path: path.symlink_to(__file__), "cannot be read"),
        (lambda path: None, r"File '.*thing' is missing"),
    ],
)
def test_only_a_plain_file_of_a_bounded_size_is_read(tmp_path, make, message):
    make(tmp_path / "thing")
    with pytest.raises(RecordingError, match=message):
        read_bounded(tmp_path / "thing", limit=1000)


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
def test_a_path_in_a_printed_command_is_one_word_that_is_no_key_and_no_flag(path, word):
    assert path_word(path) == word
