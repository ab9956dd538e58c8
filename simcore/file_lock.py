"""Locks that the system gives back when a process ends, however it ends; a system without them has none."""

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
"""Whether this system has them; without, nobody is ever told to wait."""


def try_lock(descriptor: int) -> bool:
    """Takes the lock of an open file; whether nobody else has it. Always true on a system without such locks.

    Args:
        descriptor: The file's; closing it gives the lock back.

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
    """Waits until no other process or thread of this host is in such a block for a folder; no file of it is touched.

    Where the file system has no locks of folders, there is no waiting.

    Args:
        folder: It exists.

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
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # a child that was forked meanwhile has the file open too
        os.close(descriptor)
