"""Completes words of the command line; imports only what a fast answer needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from unlatch.simcore.files import user_path

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
        values = [*known["values"].get(key, catalog["values"].get(key, [])), *_own_names(own, key)]
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


def _own_names(folders: Sequence[Path], group: str) -> list[str]:
    return [path.stem for folder in folders for path in (folder / group).glob("*.yaml")] if "/" not in group else []
