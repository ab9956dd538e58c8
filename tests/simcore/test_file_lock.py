"""Locks of files and folders, and systems that have none."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from unlatch.simcore import file_lock
from unlatch.simcore.errors import AssetError
from unlatch.simcore.file_lock import locked_folder, try_lock
from unlatch.simcore.locked_area import clean_areas
from unlatch.simcore.scratch import PREFIX, ScratchArea, scratch_files


def opened(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT)


@pytest.fixture
def without_locks(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Makes the file system one that has none."""

    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    return lambda: monkeypatch.setattr(file_lock.fcntl, "flock", refuse)


def test_a_lock_has_one_owner_and_is_released_with_its_file(tmp_path: Path):
    first, second = opened(tmp_path / "lock"), opened(tmp_path / "lock")
    assert try_lock(first)
    assert not try_lock(second)
    os.close(first)
    assert try_lock(second)
    os.close(second)


def test_a_second_writer_waits_for_the_folder(tmp_path: Path):
    order: list[str] = []
    inside = threading.Event()

    def other() -> None:
        inside.set()
        with locked_folder(tmp_path):
            order.append("other")

    with locked_folder(tmp_path):
        thread = threading.Thread(target=other)
        thread.start()
        assert inside.wait(10.0)
        thread.join(0.2)
        order.append("first")
    thread.join(10.0)
    assert order == ["first", "other"]
    assert list(tmp_path.iterdir()) == []


def test_without_locks_nothing_waits(
    tmp_path: Path, without_locks: Callable[[], None], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "unlatch-objects-old").mkdir()
    os.close(opened(tmp_path / "unlatch-objects-old.lock"))
    without_locks()
    with locked_folder(tmp_path):
        pass
    descriptor = opened(tmp_path / "lock")
    with pytest.raises(OSError, match="No locks available"):
        try_lock(descriptor)
    os.close(descriptor)
    assert clean_areas(tmp_path, prefix=PREFIX) == 0  # nothing shows whether their processes run
    monkeypatch.setattr("unlatch.simcore.scratch._get_area", lambda pid: ScratchArea())
    with pytest.raises(AssetError, match="No locks available"):
        scratch_files("object", {})
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "lock",
        "unlatch-objects-old",
        "unlatch-objects-old.lock",
    ]
