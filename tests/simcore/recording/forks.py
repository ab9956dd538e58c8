"""Forked processes of tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable


def fork(function: Callable[[], int | None]) -> int:
    """Starts a function in a forked process and returns its process id; its exit status is what it returns."""
    pid = os.fork()
    if pid == 0:
        status = 99
        try:
            status = function() or 0
        finally:
            os._exit(status)
    return pid


def status_of(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def in_child(function: Callable[[], int | None]) -> int:
    """Returns the exit status of a function in a forked process; 99 if it raised."""
    return status_of(fork(function))


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    assert status_of(pid) == -signal.SIGKILL
