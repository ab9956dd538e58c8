"""Writes help texts, fitted to the width of the terminal."""

from __future__ import annotations

import re
import textwrap

from unlatch.workflows.cli.console import print_line, terminal_width

_WRITTEN_WIDTH = 120
"""Width of the texts as they are written [columns]."""
_USAGE_INDENT = 15
_KEYS_INDENT = 2
_WIDE_KEY_INDENT = 6
_KEY = re.compile(r"  \S.*?\s{2,}(?=\S)")
"""The beginning of a line of a table: a key, and at least two blanks."""


def print_help(text: str) -> None:
    """Writes a help text to stdout; its lines are wrapped anew if the terminal is narrower than the text."""
    print_line(fit_to_width(text.rstrip(), terminal_width() or _WRITTEN_WIDTH))


def fit_to_width(text: str, width: int) -> str:
    """Returns a help text with lines of at most `width` columns, if its words allow.

    Table lines begin with two blanks and a key; their continuation is indented as far as their words are, or a little
    where the key takes more than half of the width.
    """
    if max(map(len, text.splitlines()), default=0) <= width:
        return text
    return "\n".join(_wrap_line(line, width) for line in _join_continuations(text.splitlines()))


def _join_continuations(lines: list[str]) -> list[str]:
    """Joins each line of a paragraph or a table with the lines that continue it."""
    found: list[str] = []
    for line in lines:
        before = found[-1] if found else ""
        goes_on = _indent_of(line) == _text_column(before) != _KEYS_INDENT and not before.startswith("usage:")
        if line and before and goes_on:
            found[-1] = f"{before} {line.strip()}"
        else:
            found.append(line)
    return found


def _wrap_line(line: str, width: int) -> str:
    column = _text_column(line)
    indent = _USAGE_INDENT if line.startswith(("usage:", "       unlatch")) else column
    if column > width // 2:  # behind a long key there is no room for a column of words
        indent = _WIDE_KEY_INDENT
    wrapped = textwrap.fill(line, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)
    return wrapped or line


def _indent_of(line: str) -> int:
    return len(line) - len(line.lstrip())


def _text_column(line: str) -> int:
    """Returns the column in which the words of a line begin."""
    key = _KEY.match(line)
    return key.end() if key else _indent_of(line)
