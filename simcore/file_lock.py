"""Locks that the system releases when a process ends for any reason."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

HAS_LOCKS = fcntl is not None
"""Whether this system has such locks; without them, every lock counts as free."""


def try_lock(descriptor: int) -> bool:
    """Tries to lock an open file, and returns whether it did; always true on a system without such locks.

    Closing the descriptor releases the lock.

    Raises:
        OSError: The file system has no such locks.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Lets one process or thread of this host at a time run a block for an existing folder; others wait.

    No lock file is made. On a file system without locks of folders, nobody waits.

    Raises:
        OSError: It cannot be opened.
    """
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # a child that was forked meanwhile has the file open, too
        os.close(descriptor)
