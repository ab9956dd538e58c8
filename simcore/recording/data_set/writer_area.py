"""A place inside the data set where one writer prepares episodes before they are renamed into their place.

A writer that is killed leaves its area behind. Who cleans up must not touch the area of a writer that lives, possibly
in another container or on another host: each holds a lock on a file beside its area, which the system gives back when
the process ends, however it ends.
"""

from __future__ import annotations

import logging
import os
import shutil
import time
import uuid
from contextlib import suppress
from pathlib import Path

from unlatch.simcore.file_lock import HAS_LOCKS, try_lock

logger = logging.getLogger(__name__)

FOLDER = ".tmp"
"""Name of the folder of all areas in a data set."""
_STALE_S = 24 * 3600.0
_CLOEXEC = getattr(os, "O_CLOEXEC", 0)


class WriterArea:
    """The area of one writer in one process; released by `close` or by the end of the process."""

    def __init__(self, data_set: Path) -> None:
        """Makes and locks a new area.

        Raises:
            OSError: The data set cannot be written, or its file system has no locks.
        """
        root = data_set / FOLDER
        root.mkdir(exist_ok=True)
        self.pid = os.getpid()
        while True:
            name = uuid.uuid4().hex
            self.folder = root / name
            self._lock_path = root / f"{name}.lock"
            self._lock = os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _CLOEXEC, 0o644)
            try:
                # who cleans up at this very moment may have taken the lock first and removed the file: then once more
                if try_lock(self._lock) and self._lock_path.exists():
                    break
            except OSError:
                self._lock_path.unlink(missing_ok=True)
                os.close(self._lock)
                raise
            os.close(self._lock)
        try:
            self.folder.mkdir()
        except OSError:
            self._lock_path.unlink(missing_ok=True)
            os.close(self._lock)
            raise

    def new_folder(self, name: str) -> Path:
        """An empty folder in the area; what an earlier failure left under the name is removed."""
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return folder

    def close(self) -> None:
        """Removes the area."""
        if self.pid != os.getpid():  # a forked child: the area is its parent's
            os.close(self._lock)
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        with suppress(OSError):  # the folder has become read-only: who cleans up next removes it
            self._lock_path.unlink(missing_ok=True)
        os.close(self._lock)


def clean_areas(data_set: Path) -> int:
    """Removes the areas of writers that have ended, and returns how many there were."""
    root = data_set / FOLDER
    if not root.is_dir():
        return 0
    cleaned = 0
    locks = {path.stem: path for path in root.glob("*.lock")}
    for path in sorted(root.iterdir()):
        if path.suffix == ".lock" or path.name in locks:
            continue
        # an area is made after its lock and removed before it, so it has none only if someone else removed that
        if _age_s(path) > _STALE_S:
            shutil.rmtree(path, ignore_errors=True)
            cleaned += 1
    for name, lock_path in locks.items():
        cleaned += _clean_one(root / name, lock_path)
    return cleaned


def _clean_one(folder: Path, lock_path: Path) -> int:
    try:
        descriptor = os.open(lock_path, os.O_RDWR)
    except OSError:
        return 0
    try:
        # without locks on this system or file system, only age tells a dead writer
        if (not HAS_LOCKS and _age_s(lock_path) < _STALE_S) or not try_lock(descriptor):
            return 0
        shutil.rmtree(folder, ignore_errors=True)
        lock_path.unlink(missing_ok=True)
    except OSError as exc:
        logger.warning("Leftover '%s' could not be removed (%s). Remove it by hand once nobody writes.", folder, exc)
        return 0
    finally:
        os.close(descriptor)
    return 1


def _age_s(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return 0.0
