"""Hides what native libraries write to stdout and stderr."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


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
