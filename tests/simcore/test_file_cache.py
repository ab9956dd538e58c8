"""A value is read once, and again when one of its files changes, comes or goes."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from unlatch.simcore.cache import FileCache


class Reader:
    """Reads a text file and counts how often."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "value.txt"
        self.note = folder / "note.txt"
        self.folder = folder
        self.count = 0
        self.cache: FileCache[str] = FileCache(2)
        self.path.write_text("one")

    def read(self) -> str:
        self.count += 1
        return self.path.read_text()

    def get(self, key: str = "key") -> str:
        return self.cache.get(key, self.read, files_of=lambda _: [self.folder, self.path, self.note])


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    return Reader(tmp_path)


@pytest.fixture
def _an_hour_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """No file has changed lately: the time of the last change of metadata cannot be set on a file."""
    later_ns = time.time_ns() + 3_600_000_000_000
    monkeypatch.setattr(time, "time_ns", lambda: later_ns)


@pytest.mark.usefixtures("_an_hour_later")
def test_a_value_is_read_once(reader: Reader) -> None:
    assert [reader.get(), reader.get()] == ["one", "one"]
    assert reader.count == 1


@pytest.mark.usefixtures("_an_hour_later")
def test_a_changed_file_is_read_again_even_with_its_size_and_time_of_before(reader: Reader) -> None:
    reader.get()
    before = reader.path.stat()
    reader.path.write_text("two")
    os.utime(reader.path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert reader.get() == "two"


@pytest.mark.usefixtures("_an_hour_later")
def test_a_file_that_comes_to_exist_counts(reader: Reader) -> None:
    reader.get()
    reader.note.write_text("new")
    reader.get()
    assert reader.count == 2


def test_a_file_that_changed_just_now_is_not_kept(reader: Reader) -> None:
    reader.path.write_text("two")
    reader.get()
    reader.get()
    assert reader.count == 2


def test_without_files_nothing_is_kept(reader: Reader) -> None:
    for _ in range(2):
        reader.cache.get("key", reader.read, files_of=lambda _: [])
    assert reader.count == 2


@pytest.mark.usefixtures("_an_hour_later")
def test_the_value_that_was_not_used_for_longest_is_dropped(reader: Reader) -> None:
    for key in ("a", "b", "a", "c", "a", "b"):
        reader.get(key)
    assert reader.count == 4  # a, b, c, and b again
