"""Output of commands: results go to stdout, everything else to stderr."""

from __future__ import annotations

import shutil
import sys
import textwrap
from pathlib import Path

from rich.console import Console

OK = 0
FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130

_CONTINUATION_INDENT = 4
"""Spaces that the continuation of a wrapped line is indented by."""


def print_line(text: str = "") -> None:
    """Writes a line of the result to stdout."""
    sys.stdout.write(text + "\n")


def terminal_width() -> int:
    """Returns the columns of the terminal; 0 if stdout is not a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 0


def print_wrapped(text: str) -> None:
    """Writes a line of the result; wraps it to the terminal and indents its continuation."""
    width = terminal_width()
    if len(text) <= width or not width:
        print_line(text)
        return
    indent = " " * (len(text) - len(text.lstrip()) + _CONTINUATION_INDENT)
    print_line(textwrap.fill(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False))


def print_row(name: str, text: str, *, width: int) -> None:
    """Writes a row of a table with two columns, of which the first has a width; on a terminal, wraps the second one.

    Where names are so long that they leave less than half of the terminal, such as paths, each has a line of its own.
    """
    room = terminal_width()
    line = f"{name:<{width}}  {text}".rstrip()
    if not room or len(line) <= room:
        print_line(line)
    elif width > room // 2:
        print_line(name)
        print_wrapped(f"{'':{_CONTINUATION_INDENT}}{text}")
    else:
        print_line(textwrap.fill(line, room, subsequent_indent=" " * (width + 2), break_on_hyphens=False))


def print_note(text: str) -> None:
    """Writes a line about the run to stderr."""
    sys.stderr.write(text + "\n")


def result_console() -> Console:
    """Returns a console for tables on stdout; 160 columns wide if stdout is not a terminal."""
    console = Console(highlight=False, markup=False, soft_wrap=False)
    return console if console.is_terminal else Console(highlight=False, markup=False, width=160)


def relative_path(path: Path) -> str:
    """Returns a path relative to the current directory if it lies below it, else the path itself."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
