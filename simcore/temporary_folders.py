"""Locks of folders, and temporary folders of running processes that are removed however their process ends.

Nobody may remove the folder of a running process, even if that process is in another container or on another host,
where its process id has no meaning. So each process locks a file beside its folder. The system releases the lock
when the process ends. Generated objects, which can be generated again from their seed, lie in such a folder.
"""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from filelock import lock_descriptor, unlock_descriptor

from unlatch.simcore.errors import AssetError

logger = logging.getLogger(__name__)

_LOCK_SUFFIX = ".lock"
_STALE_S = 24 * 3600.0
"""Age at which a folder without a lock file counts as left behind [s]."""


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Lets one process or thread of this host at a time run a block for an existing folder; others wait.

    No lock file is made. On a file system without locks of folders, nobody waits.

    Raises:
        OSError: It cannot be opened.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            lock_descriptor(descriptor, poll_interval=0.01)  # time between two attempts to lock a folder [s]
        yield
    finally:
        with suppress(OSError):
            unlock_descriptor(descriptor)  # a child that was forked meanwhile has the file open, too
        os.close(descriptor)


class LockedArea:
    """A temporary folder of one process; `close` or the end of the process releases it."""

    def __init__(self, root: Path, *, prefix: str = "", mode: int = 0o777) -> None:
        """Makes and locks an empty folder in `root`, named `prefix` and a random word; makes `root`, too.

        Raises:
            OSError: `root` cannot be written, or its file system has no locks.
        """
        root.mkdir(exist_ok=True)
        self.pid = os.getpid()
        self._closed = False
        while True:
            self.folder = root / f"{prefix}{uuid.uuid4().hex}"
            self._lock_path = self.folder.with_name(self.folder.name + _LOCK_SUFFIX)
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            self._lock = os.open(self._lock_path, flags, mode & 0o644)
            try:
                # a concurrent clean-up may have taken the lock first and removed the file: try again
                if lock_descriptor(self._lock, blocking=False) and self._lock_path.exists():
                    self.folder.mkdir(mode)
                    return
            except OSError:
                self._lock_path.unlink(missing_ok=True)
                os.close(self._lock)
                raise
            os.close(self._lock)

    def close(self) -> None:
        """Removes the folder; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        if self.pid == os.getpid():  # in a forked child, the folder belongs to the parent
            shutil.rmtree(self.folder, ignore_errors=True)
            with suppress(OSError):  # `root` has become read-only: the next clean-up removes the file
                self._lock_path.unlink(missing_ok=True)
        os.close(self._lock)


def clean_areas(root: Path, *, prefix: str = "") -> int:
    """Removes the areas of ended processes from `root`, and returns how many there were."""
    found = sorted(root.glob(f"{prefix}*"))
    locks = {path.stem: path for path in found if path.suffix == _LOCK_SUFFIX}
    cleaned = 0
    for path in found:
        # a folder exists only while its lock file does, unless another program removed the lock file
        if path.suffix != _LOCK_SUFFIX and path.name not in locks:
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > _STALE_S:
                    shutil.rmtree(path, ignore_errors=True)
                    cleaned += 1
    return cleaned + sum(_clean_area(root / name, lock_path) for name, lock_path in locks.items())


def is_in_use(folder: Path) -> bool:
    """Returns whether the process of an area still runs; false where the system or the file system cannot tell."""
    lock_path = folder.with_name(folder.name + _LOCK_SUFFIX)
    try:
        # NFS locks only what is open for writing; the file of another user can only be read
        descriptor = os.open(lock_path, os.O_RDWR if os.access(lock_path, os.W_OK) else os.O_RDONLY)
    except OSError:
        return False
    try:
        return not lock_descriptor(descriptor, blocking=False)
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _clean_area(folder: Path, lock_path: Path) -> bool:
    try:
        descriptor = os.open(lock_path, os.O_RDWR)
    except OSError:  # another user's, or just removed
        return False
    try:
        if not lock_descriptor(descriptor, blocking=False):
            return False
        shutil.rmtree(folder, ignore_errors=True)
        lock_path.unlink(missing_ok=True)
    except OSError as exc:
        logger.warning("Leftover '%s' could not be removed (%s). Remove it by hand when no run writes.", folder, exc)
        return False
    finally:
        os.close(descriptor)
    return True


PREFIX = "unlatch-objects-"
"""Beginning of the folder's name, below the system's temporary folder."""
_MAX_FOLDERS = 512
"""Largest number of objects that a process keeps, so that a long run does not fill the disk."""


def scratch_files(name: str, files: Mapping[str, bytes]) -> Path:
    """Writes files by relative name into the folder `name` in the temporary folder of this process, and returns it.

    The caller derives `name` from the content of the files, so that equal objects share a folder.

    Raises:
        AssetError: The temporary folder cannot be written.
    """
    try:
        return _get_area(os.getpid()).write(name, files)
    except OSError as exc:
        raise AssetError(
            f"The temporary folder {tempfile.gettempdir()} cannot be written ({exc.strerror or exc}). "
            "Set TMPDIR to a folder that this user can write to.",
            path=tempfile.gettempdir(),
        ) from exc


class ScratchArea(LockedArea):
    """The temporary folder of one process, with the objects that it used last."""

    def __init__(self) -> None:
        """Makes and locks the folder, and removes those of processes that have ended.

        Raises:
            OSError: The temporary folder cannot be written, or has no locks.
        """
        root = Path(tempfile.gettempdir())
        clean_areas(root, prefix=PREFIX)
        super().__init__(root, prefix=PREFIX, mode=0o700)
        self._folders: dict[str, Path] = {}
        """Folders of the objects by name, the one that was used last at the end."""
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
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_bytes(data)
        self._folders.pop(name, None)
        self._folders[name] = folder
        if len(self._folders) > _MAX_FOLDERS:
            shutil.rmtree(self._folders.pop(next(iter(self._folders))), ignore_errors=True)
        return folder


@lru_cache(maxsize=1)
def _get_area(pid: int) -> ScratchArea:
    """Returns the folder of a process; a forked child has another process id and makes its own."""
    return ScratchArea()
