"""Writes folders of a data set completely or not at all: a writer fills them in its own area, then renames them.

A writer that is killed leaves its area behind. Cleaning up must not touch the area of a running writer, possibly in
another container or on another host. So each writer locks a file beside its area; the system releases the lock when the
process ends.
"""

from __future__ import annotations

import logging
import os
import shutil
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from unlatch.simcore.file_lock import HAS_LOCKS, try_lock

logger = logging.getLogger(__name__)

FOLDER = ".tmp"
"""Name of the folder of all areas in a data set."""
_STALE_S = 24 * 3600.0
_CLOEXEC = getattr(os, "O_CLOEXEC", 0)


class WriterArea:
    """The area of one writer in one process; `close` or the end of the process releases it."""

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
                # a concurrent clean-up may have taken the lock first and removed the file: try again
                if try_lock(self._lock) and self._lock_path.exists():
                    self.folder.mkdir()
                    return
            except OSError:
                self._lock_path.unlink(missing_ok=True)
                os.close(self._lock)
                raise
            os.close(self._lock)

    def new_folder(self, name: str) -> Path:
        """Makes an empty folder in the area; what an earlier failure left under the name is removed."""
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return folder

    def close(self) -> None:
        """Removes the area."""
        if self.pid != os.getpid():  # a forked child: the area belongs to its parent
            os.close(self._lock)
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        with suppress(OSError):  # the folder has become read-only: the next clean-up removes it
            self._lock_path.unlink(missing_ok=True)
        os.close(self._lock)


class FolderWriter:
    """Writes folders into a data set in one step each. It may be sent to another process, where it makes a new area."""

    def __init__(self, data_set: Path) -> None:
        """Takes the folder of the data set; nothing is made yet."""
        self._data_set = data_set
        self._area: WriterArea | None = None

    @property
    def area(self) -> WriterArea:
        """The area of this process, made on first use.

        Raises:
            OSError: The data set cannot be written, or its file system has no locks.
        """
        if self._area is None or self._area.pid != os.getpid():
            self._area = WriterArea(self._data_set)
        return self._area

    def write(self, target: Path, fill: Callable[[Path], None]) -> bool:
        """Makes the folder `target`; `fill` writes all files into the empty folder that it is given.

        Returns:
            Whether it was written; False if another writer was faster, whose folder then stays as it is.

        Raises:
            OSError: The data set cannot be written.
        """
        draft = self.area.new_folder(target.name)
        try:
            fill(draft)
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                draft.rename(target)
            except OSError:
                if target.exists():
                    return False
                raise
            # folders are not synced: a power cut may take the newest folders, which the rerun makes again, but never
            # leaves one with half its content, since its files were on the disk before the rename
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        return True

    def close(self) -> None:
        """Removes the area; the writer can go on writing."""
        if self._area is not None:
            self._area.close()
            self._area = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_area": None}


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
        # an area is made after its lock and removed before it: it lacks one only if another program removed the lock
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
        logger.warning("Leftover '%s' could not be removed (%s). Remove it by hand when no run writes.", folder, exc)
        return 0
    finally:
        os.close(descriptor)
    return 1


def _age_s(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return 0.0
