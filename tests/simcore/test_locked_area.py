"""Locks of folders, temporary folders of processes, and file systems without locks."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from unlatch.simcore.errors import AssetError
from unlatch.simcore.temporary_folders import PREFIX, LockedArea, ScratchArea, clean_areas, locked_folder, scratch_files


@pytest.fixture
def without_locks(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Makes the file system one that has none."""

    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    return lambda: monkeypatch.setattr("fcntl.flock", refuse)


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
    (tmp_path / "unlatch-objects-old.lock").touch()
    without_locks()
    with locked_folder(tmp_path):
        pass
    assert clean_areas(tmp_path, prefix=PREFIX) == 0  # nothing shows whether their processes run
    monkeypatch.setattr("unlatch.simcore.temporary_folders._get_area", lambda pid: ScratchArea())
    with pytest.raises(AssetError, match="No locks available"):
        scratch_files("object", {})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["unlatch-objects-old", "unlatch-objects-old.lock"]


def test_an_area_is_closed_even_if_its_files_cannot_be_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    area = LockedArea(tmp_path)

    def refuse(self: Path, *, missing_ok: bool = False) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", refuse)
        area.close()
    assert clean_areas(tmp_path) == 1
    assert not list(tmp_path.iterdir())
