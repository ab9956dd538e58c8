"""What processes write to stdout and stderr: that of native libraries is hidden, and one worker speaks for all."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

WORKER_VARIABLE = "UNLATCH_WORKER"
"""The environment variable with the number of a worker, from 0; executors set it."""


def speaks_for_all() -> bool:
    """Returns whether this process says what all workers of a run would say: it is the first of them, or none."""
    return os.environ.get(WORKER_VARIABLE, "0") == "0"


@contextmanager
def hide_native_output() -> Iterator[None]:
    """Hides what native libraries print during the block, such as the banners of Bullet and of graphics drivers."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    try:
        saved = [(number, os.dup(number)) for number in (1, 2)]
    except OSError:  # there is no stdout or stderr, as in a daemon
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        for number, _ in saved:
            os.dup2(nowhere, number)
        yield
    finally:
        ctypes.CDLL(None).fflush(None)  # C keeps a buffer of its own and would write it later
        for number, copy in saved:
            os.dup2(copy, number)
            os.close(copy)
        os.close(nowhere)
