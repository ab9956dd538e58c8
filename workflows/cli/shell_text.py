"""Text for the shell with few imports: help that fits the terminal, and the words that complete a command line."""

from __future__ import annotations

import dataclasses
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from itertools import pairwise
from typing import Any, get_type_hints

from unlatch import command_table
from unlatch.configs.config_files import group_names
from unlatch.configs.dataclass_reader import split_optional
from unlatch.configs.group_files import option_names
from unlatch.configs.schema import EpisodeCfg
from unlatch.simcore.catalogs import AUTO, EXPORTERS, RENDERERS
from unlatch.simcore.files import user_path
from unlatch.skills.catalog import SKILLS
from unlatch.workflows.cli.terminal import print_line, terminal_width
from unlatch.workflows.runs.schema import CollectCfg, EvaluateCfg, PlanCfg, PreviewCfg

_USAGE_INDENT = 15
_KEYS_INDENT = 2
_WIDE_KEY_INDENT = 6
_KEY = re.compile(r"  \S.*?\s{2,}(?=\S)")
"""The beginning of a line of a table: a key, and at least two blanks."""


def print_help(text: str) -> None:
    """Writes a help text to stdout; its lines are wrapped anew if the terminal is narrower than the text."""
    print_line(fit_to_width(text.rstrip(), terminal_width() or 120))  # width of the texts as they are written [columns]


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


SHELLS = ("bash", "zsh", "fish")
"""Shells with a script."""
_FILE_KEYS = ("object",)
"""Groups whose value may be a path: with a slash in it, the shell completes files."""


def complete(words: Sequence[str], catalog: Mapping[str, Any]) -> list[str]:
    """Returns the whole words that the last of `words` may become; empty if the shell is to complete files.

    Args:
        words: The words after `unlatch`, up to the cursor; the last one may be empty.
        catalog: All words, see `make_catalog`.
    """
    commands: Mapping[str, Any] = catalog["commands"]
    *before, word = list(words) or [""]
    if not before:
        return _starting_with(word, commands)
    if before[0] not in commands:
        return []
    known = commands[before[0]]
    folders = [value for flag, value in pairwise(before) if flag in ("--config-dir", "-cd")]
    folders += [item.partition("=")[2] for item in before if item.startswith("--config-dir=")]
    key, equals, start = word.partition("=")
    if before[-1] in ("--config-dir", "-cd"):
        return []
    if equals:
        if "/" in start and key in _FILE_KEYS:
            return []
        *several, last = start.split(",")
        values = [
            *known["values"].get(key, catalog["values"].get(key, [])),
            *(path.stem for folder in folders for path in user_path(folder).glob(f"{key}/*.yaml") if "/" not in key),
        ]
        return [f"{key}={','.join([*several, value])}" for value in _starting_with(last, sorted(set(values)))]
    if word.startswith("-"):
        return _starting_with(word, known["flags"])
    given = {item.partition("=")[0] for item in before}
    keys = [f"{key}=" for key in known["keys"] if key not in given and f"{key}=".startswith(word)]
    # a key is cut after the dot that comes next: `world.` stands for all keys of the world
    parts = dict.fromkeys(key[: key.find(".", len(word)) + 1] or key for key in keys)
    return _starting_with(word, [*(known["words"] if len(before) == 1 else []), *parts])


def _starting_with(word: str, words: Sequence[str] | Mapping[str, Any]) -> list[str]:
    return [item for item in words if item.startswith(word)]


_SCHEMAS: dict[str, type] = {
    "check": EpisodeCfg,
    "collect": CollectCfg,
    "config": EpisodeCfg,
    "evaluate": EvaluateCfg,
    "plan": PlanCfg,
    "preview": PreviewCfg,
}
"""The configuration that each composing command takes."""
_HELP_KEY = re.compile(r"(?<![\w.])([a-z_]+)=([\w|]*)")
_HELP_FLAG = re.compile(r"^ +(?:-\w, )?(--[\w-]+)", re.MULTILINE)
_HELP_WORDS = re.compile(r"usage:unlatch(?:list|completion)\[?([a-z|]+)")
"""The words that follow the two commands which take one of a few, in their help without blanks."""
_BOOLEANS = ["true", "false"]
_DEPTH = 4
"""Dots in the longest key that is completed, less one."""


def make_catalog() -> dict[str, Any]:
    """Returns the words of each command, and the values of the groups."""
    values = {group: option_names(group) for group in group_names()}
    values |= {"skill": SKILLS.names(), "format": EXPORTERS.names(), "renderer": [AUTO, *RENDERERS.names()]}
    commands = {name: _command_words(name) for name in command_table.COMMANDS}
    commands["config"]["words"] = values["task"]
    return {"commands": commands, "values": values}


def _command_words(name: str) -> dict[str, Any]:
    """Returns the keys, their values and the flags of a command: those of its configuration, then those of its help."""
    text = command_table.read_help(name)
    values = dict(_keys_of(_SCHEMAS[name])) if name in _SCHEMAS else {}
    keys = [*values, *(group for group in group_names() if name in _SCHEMAS)]
    # of a command with a configuration, the rest of the help also names keys inside of its parts
    usage = text.partition("\n\n")[0] if name in _SCHEMAS else text
    keys += [key for key, _ in _HELP_KEY.findall(usage)]
    for key, choice in _HELP_KEY.findall(text):
        if "|" in choice.strip("|"):
            values.setdefault(key, choice.strip("|").split("|"))
        elif choice in _BOOLEANS:
            values.setdefault(key, _BOOLEANS)
    flags = dict.fromkeys(_HELP_FLAG.findall(text))
    named = {key: found for key, found in values.items() if found and key not in group_names()}
    first = _HELP_WORDS.match("".join(text.split()))
    words = first[1].split("|") if first else []
    return {"words": words, "keys": sorted(set(keys)), "values": named, "flags": list(flags)}


def _keys_of(cls: type, prefix: str = "", depth: int = _DEPTH) -> Iterator[tuple[str, list[str]]]:
    """Yields each key of a configuration, with its values where these are names or booleans."""
    hints = get_type_hints(cls)
    for item in dataclasses.fields(cls):
        key = prefix + str(item.metadata.get("key", item.name))
        hint, _ = split_optional(hints[item.name])
        if isinstance(hint, type) and dataclasses.is_dataclass(hint):
            if depth:
                yield from _keys_of(hint, f"{key}.", depth - 1)
        elif isinstance(hint, type) and issubclass(hint, Enum):
            yield key, [str(member.value) for member in hint]
        else:
            yield key, _BOOLEANS if hint is bool else []
