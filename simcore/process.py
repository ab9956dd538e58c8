"""What a process does with Ctrl-C, with native libraries and their output, and which worker speaks for all.

Ctrl-C ends a command at once while modules are imported, and raises `KeyboardInterrupt` later. Python's own handler
raises the exception anywhere, also where a library turns it into another exception or prints it. So a command notes
that Ctrl-C was pressed: whatever exception follows, it ended by Ctrl-C.
"""

from __future__ import annotations

import atexit
import ctypes
import hashlib
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from types import FrameType
from typing import IO, Any

from unlatch.simcore.errors import WorldError

INTERRUPTED = 130
"""Exit code after Ctrl-C, as a shell has it."""
MESSAGE = "unlatch: interrupted\n"
_was_pressed = False


def end_at_ctrl_c() -> None:
    """Lets Ctrl-C end the process at once, until `raise_at_ctrl_c`; for the time in which modules are imported.

    A process that ignores Ctrl-C, such as a background command of a script, still ignores it.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def raise_at_ctrl_c() -> None:
    """Lets Ctrl-C raise `KeyboardInterrupt` from now on, after `end_at_ctrl_c`; `was_pressed` tells it."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, _note)


def was_pressed() -> bool:
    """Returns whether Ctrl-C has raised `KeyboardInterrupt` since `raise_at_ctrl_c`."""
    return _was_pressed


def end_interrupted() -> None:
    """Ends the process with the exit code of Ctrl-C, after the functions that are registered for its end.

    A further Ctrl-C is ignored. `sys.exit` would let Python kill itself by the signal if the exception came through
    `exec`, which dataclasses call.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(INTERRUPTED)


def _end(number: int, frame: FrameType | None) -> None:
    os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, MESSAGE.encode())
    os._exit(INTERRUPTED)


def _note(number: int, frame: FrameType | None) -> None:
    global _was_pressed
    _was_pressed = True
    signal.default_int_handler(number, frame)


CARD_VARIABLE = "UNLATCH_CARD"
"""The environment variable with the number of the graphics card that every process draws on."""
WORKER_VARIABLE = "UNLATCH_WORKER"
"""The environment variable with the number of a worker, from 0; executors set it."""


def speaks_for_all() -> bool:
    """Returns whether this process says what all workers of a run would say: it is the first of them, or none."""
    return os.environ.get(WORKER_VARIABLE, "0") == "0"


@contextmanager
def hide_native_output() -> Iterator[None]:
    """Hides what native libraries print during the block, such as the banners of Bullet and of graphics drivers."""
    with Path(os.devnull).open("wb") as nowhere, _redirect_output((nowhere, nowhere)):
        yield


@contextmanager
def hold_native_output() -> Iterator[list[str]]:
    """Holds what is printed during the block and prints it afterwards; if the block fails, it is put into the list."""
    said: list[str] = []
    with TemporaryFile() as out, TemporaryFile() as err:
        try:
            with _redirect_output((out, err)):
                yield said
        except BaseException:
            said += [_content(file).decode(errors="replace") for file in (out, err)]
            raise
        for number, file in ((1, out), (2, err)):
            if content := _content(file):
                os.write(number, content)


def _content(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


@contextmanager
def _redirect_output(files: tuple[IO[bytes], IO[bytes]]) -> Iterator[None]:
    """Sends stdout and stderr of the whole process to two files during the block."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    try:
        saved = [(number, os.dup(number)) for number in (1, 2)]
    except OSError:  # there is no stdout or stderr, as in a daemon
        yield
        return
    try:
        for (number, _), file in zip(saved, files, strict=True):
            os.dup2(file.fileno(), number)
        yield
    finally:
        ctypes.CDLL(None).fflush(None)  # C keeps a buffer of its own and would write it later
        for number, copy in saved:
            os.dup2(copy, number)
            os.close(copy)


@cache
def load_library() -> Any:
    """Loads the compiled code of `simcore/sim/native`, which needs neither PyBullet nor a renderer to load.

    Raises:
        WorldError: It is not built, or is older than its sources.
    """
    folder = Path(__file__).parent / "sim" / "native"
    found = sorted(folder.glob("_core*.so"))
    if not found:
        raise WorldError(
            f"The compiled part of Unlatch is missing: there is no '_core*.so' in '{folder}'. Install Unlatch "
            "anew, in a clone with: pip install -e ."
        )
    library: Any = ctypes.CDLL(str(found[0]))
    library.core_sources.restype = ctypes.c_char_p
    check_sources(folder, library.core_sources().decode())
    return library


def check_sources(folder: Path, digest: str) -> None:
    """Checks that a library was compiled from the C files in a folder: that their SHA-256 is `digest`.

    Raises:
        WorldError: They have changed since. An installation from a wheel has none.
    """
    sources = sorted(path for path in folder.iterdir() if path.suffix in (".c", ".h"))
    if sources and digest not in ("", hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()):
        raise WorldError(
            f"The compiled library in '{folder}' is older than the C files beside it. Compile it again, in the clone "
            "with: pip install -e ."
        )
