"""What commands say: results to stdout, everything else to stderr."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

from unlatch.simcore.errors import SimCoreError
from unlatch.simcore.native_output import hide_native_output

OK = 0
FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130

_GOES_ON = 4
"""Blanks by which the rest of a broken line stands further right."""


def say(text: str = "") -> None:
    """Writes a line of the result."""
    sys.stdout.write(text + "\n")


def terminal_width() -> int:
    """Columns of the terminal that stdout is; 0 where it is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 0


def say_fitted(text: str) -> None:
    """Writes a line of the result; on a terminal that is narrower, what goes on below is indented."""
    width = terminal_width()
    if len(text) <= width or not width:
        say(text)
        return
    indent = " " * (len(text) - len(text.lstrip()) + _GOES_ON)
    say(textwrap.fill(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False))


def note(text: str) -> None:
    """Writes a line about the run."""
    sys.stderr.write(text + "\n")


def result_console() -> Console:
    """For tables on stdout; as wide as needed where stdout is no terminal."""
    console = Console(highlight=False, soft_wrap=False)
    return console if console.is_terminal else Console(highlight=False, width=160)


def guarded(function: Callable[[], int]) -> int:
    """Runs a command; a mistake in its input is one line on stderr.

    Args:
        function: The command, with its arguments bound.

    Returns:
        Its exit code, `BAD_INPUT` after an error of ours (or the `exit_code` that the error has), `INTERRUPTED` after
        Ctrl-C.
    """
    try:
        return function()
    except SimCoreError as exc:
        code: int = getattr(exc, "exit_code", BAD_INPUT)
        note("unlatch: " + (" ".join(exc.message.split()) if code == BAD_INPUT else exc.message))
        return code
    except KeyboardInterrupt:
        note("unlatch: interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()  # the reader of a pipe is gone; Python would complain about it at exit
        return OK


def command(argv: Sequence[str], help_text: str, run: Callable[[list[str]], int]) -> int:
    """Runs a command, or prints its help where that is asked for.

    Args:
        argv: Its arguments.
        help_text: What `--help` prints.
        run: The command.

    Returns:
        Its exit code, see `guarded`.
    """
    arguments = list(argv)

    def show_help() -> int:
        from unlatch.workflows.cli.help_text import say_help

        say_help(help_text)
        return OK

    wants_help = any(argument in ("-h", "--help") for argument in arguments)
    return guarded(show_help if wants_help else lambda: run(arguments))


def cores() -> int:
    """CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


banner_hidden = hide_native_output


def shown(path: Path) -> str:
    """A path as short as it can be said from here."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
