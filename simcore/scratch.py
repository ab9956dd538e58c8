"""Temporary files of this process: generated objects, which can be generated again from their seed.

Each process has one temporary folder. It is removed at the end of the process; the folder of a killed process is
removed by the next process. A lock in each folder shows whether its process lives; process ids would not, since
another container may share the temporary folder.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from unlatch.simcore.errors import AssetError
from unlatch.simcore.file_lock import HAS_LOCKS, try_lock
from unlatch.simcore.lru_cache import LRUCache

PREFIX = "unlatch-objects-"
"""Beginning of the folder's name, below the system's temporary folder."""

_LOCK_FILE = "lock"
_MAX_FOLDERS = 512
"""Most objects that a process keeps, so that a long run does not fill the disk."""
_STALE_S = 24 * 3600.0


def scratch_files(name: str, files: Mapping[str, bytes]) -> Path:
    """Writes files by relative name into a folder of this process, and returns it.

    The name of the folder is made from its content.

    Raises:
        AssetError: The temporary folder cannot be written.
    """
    try:
        return _get_area(os.getpid()).write(name, files)
    except OSError as exc:
        raise AssetError(
            f"The temporary folder {tempfile.gettempdir()} cannot be written ({exc.strerror or exc}). "
            "Set TMPDIR to a folder that can.",
            path=tempfile.gettempdir(),
        ) from exc


class ScratchArea:
    """The temporary folder of one process."""

    def __init__(self) -> None:
        """Makes and locks the folder, and removes those of processes that have ended.

        Raises:
            OSError: The temporary folder cannot be written, or has no locks.
        """
        root = Path(tempfile.gettempdir())
        clean_leftovers(root)
        self._pid = os.getpid()
        while True:
            self.folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=root))
            lock_path = self.folder / _LOCK_FILE
            self._lock = os.open(lock_path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                # another process that cleans up may have removed the folder before it was locked: try again
                if try_lock(self._lock) and lock_path.exists():
                    break
            except OSError:
                os.close(self._lock)
                shutil.rmtree(self.folder, ignore_errors=True)
                raise
            os.close(self._lock)
        self._closed = False
        self._folders: LRUCache[Path] = LRUCache(
            _MAX_FOLDERS, on_drop=lambda folder: shutil.rmtree(folder, ignore_errors=True)
        )
        atexit.register(self.close)

    def write(self, name: str, files: Mapping[str, bytes]) -> Path:
        """See `scratch_files`.

        Raises:
            OSError: The folder cannot be written.
        """
        folder = self.folder / name
        # always written, since a cleaner of the temporary folder may have removed some files
        folder.mkdir(parents=True, exist_ok=True)
        for file, data in files.items():
            (folder / file).write_bytes(data)
        return self._folders.get(name, lambda: folder)

    def close(self) -> None:
        """Removes the folder; may be called twice."""
        if self._closed or self._pid != os.getpid():  # in a forked child, the folder is its parent's
            return
        self._closed = True
        atexit.unregister(self.close)
        shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self._lock)


def clean_leftovers(root: Path) -> int:
    """Removes the folders of killed processes from the system's temporary folder, and returns their number."""
    return sum(_clean_one(path) for path in sorted(root.glob(f"{PREFIX}*")))


def _clean_one(folder: Path) -> bool:
    try:
        descriptor = os.open(folder / _LOCK_FILE, os.O_RDWR)
    except FileNotFoundError:  # its process has not locked it yet, or died before
        return _is_old(folder) and _remove_leftover(folder)
    except OSError:  # of another user
        return False
    try:
        # without locks, age decides
        if (not HAS_LOCKS and not _is_old(folder)) or not try_lock(descriptor):
            return False
        return _remove_leftover(folder)
    except OSError:  # a file system without locks
        return False
    finally:
        os.close(descriptor)


def _remove_leftover(folder: Path) -> bool:
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


def _is_old(folder: Path) -> bool:
    try:
        return time.time() - folder.stat().st_mtime > _STALE_S
    except OSError:
        return False


@lru_cache(maxsize=1)
def _get_area(pid: int) -> ScratchArea:
    """Returns the folder of a process; a forked child has another process id and makes its own."""
    return ScratchArea()
