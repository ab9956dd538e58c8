"""Text for the shell with few imports: help that fits the terminal, and the words that complete a command line."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from itertools import pairwise
from pathlib import Path
from typing import Any, get_type_hints

from unlatch import command_table
from unlatch.configs.config_files import config_dir, group_names, plugin_folders
from unlatch.configs.dataclass_reader import split_optional
from unlatch.configs.group_files import option_names
from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.procedural import catalog
from unlatch.simcore.cache import cache_root, make_cache_folder
from unlatch.simcore.catalogs import AUTO, EXPORTERS, RENDERERS
from unlatch.simcore.files import user_path, write_whole_file
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


CACHE_FILE = "completion.json"
"""Name of the file in the cache folder."""


def load_catalog() -> dict[str, Any]:
    """Returns the words from the cache; if a file that they come from has changed, makes them anew."""
    file = cache_root() / CACHE_FILE
    with suppress(OSError, ValueError, KeyError, TypeError):  # there is none yet, or it is not whole
        kept: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if kept["sources"] == _modification_times(kept["sources"]):
            return kept

    catalog = make_catalog()
    catalog["sources"] = _modification_times(catalog["sources"])
    with suppress(OSError):  # without the file, the next answer is slower and the same
        make_cache_folder(file.parent)
        write_whole_file(file, json.dumps(catalog).encode())
    return catalog


def _modification_times(paths: Iterable[str]) -> dict[str, int]:
    """Returns when each file or folder was changed [ns]; 0 if it is not there."""
    found = dict.fromkeys(paths, 0)
    for path in found:
        with suppress(OSError):
            found[path] = Path(path).stat().st_mtime_ns
    return found


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
    own = _own_folders(before)
    key, equals, start = word.partition("=")
    if before[-1] in ("--config-dir", "-cd"):
        return []
    if equals:
        if "/" in start and key in _FILE_KEYS:
            return []
        *several, last = start.split(",")
        values = [
            *known["values"].get(key, catalog["values"].get(key, [])),
            *([path.stem for folder in own for path in (folder / key).glob("*.yaml")] if "/" not in key else []),
        ]
        return [f"{key}={','.join([*several, value])}" for value in _starting_with(last, sorted(set(values)))]
    if word.startswith("-"):
        return _starting_with(word, known["flags"])
    given = {item.partition("=")[0] for item in before}
    keys = [f"{key}=" for key in known["keys"] if key not in given]
    return _starting_with(word, [*(known["words"] if len(before) == 1 else []), *_next_parts(word, keys)])


def _next_parts(word: str, keys: Sequence[str]) -> list[str]:
    """Returns keys, cut after the dot that comes next: `world.` stands for all keys of the world."""
    cut = [key[: key.find(".", len(word)) + 1] or key for key in keys if key.startswith(word)]
    return list(dict.fromkeys(cut))


def _starting_with(word: str, words: Sequence[str] | Mapping[str, Any]) -> list[str]:
    return [item for item in words if item.startswith(word)]


def _own_folders(words: Sequence[str]) -> list[Path]:
    """Returns the folders that `--config-dir` names."""
    follow = [value for flag, value in pairwise(words) if flag in ("--config-dir", "-cd")]
    joined = [word.partition("=")[2] for word in words if word.startswith("--config-dir=")]
    return [user_path(folder) for folder in (*follow, *joined)]


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
    """Returns the words of each command, the values of the groups, and the files that these come from."""
    values = {group: option_names(group) for group in group_names()}
    values |= {"skill": SKILLS.names(), "format": EXPORTERS.names(), "renderer": [AUTO, *RENDERERS.names()]}
    seen: set[type] = set()
    commands = {name: _command_words(name, seen) for name in command_table.COMMANDS}
    commands["config"]["words"] = values["task"]
    return {"commands": commands, "values": values, "sources": _source_paths(seen)}


def _source_paths(classes: set[type]) -> list[str]:
    """Returns files and folders whose change makes the words stale.

    A new file changes the time of its folder. An installed or removed plugin changes the folders of packages.
    """
    configs = config_dir()
    folders = [configs, *configs.glob("*/"), *(folder.path for folder in plugin_folders())]
    helps = Path(command_table.__file__).parent / "workflows" / "commands" / "help"
    code = [
        __file__,
        command_table.__file__,
        catalog.__file__,
        *(inspect.getfile(cls) for cls in classes),
        *map(str, helps.glob("*.txt")),
    ]
    return sorted({*code, *map(str, folders), *(path for path in sys.path if Path(path).is_dir())})


def _command_words(name: str, seen: set[type]) -> dict[str, Any]:
    """Returns the keys, their values and the flags of a command: those of its configuration, then those of its help."""
    text = command_table.read_help(name)
    values = dict(_keys_of(_SCHEMAS[name], seen)) if name in _SCHEMAS else {}
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


def _keys_of(cls: type, seen: set[type], prefix: str = "", depth: int = _DEPTH) -> Iterator[tuple[str, list[str]]]:
    """Yields each key of a configuration, with its values where these are names or booleans."""
    seen.update(base for base in cls.__mro__ if dataclasses.is_dataclass(base))
    hints = get_type_hints(cls)
    for item in dataclasses.fields(cls):
        key = prefix + str(item.metadata.get("key", item.name))
        hint, _ = split_optional(hints[item.name])
        if isinstance(hint, type) and dataclasses.is_dataclass(hint):
            if depth:
                yield from _keys_of(hint, seen, f"{key}.", depth - 1)
        elif isinstance(hint, type) and issubclass(hint, Enum):
            yield key, [str(member.value) for member in hint]
        else:
            yield key, _BOOLEANS if hint is bool else []
