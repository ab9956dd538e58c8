"""Values that were read from files, kept in memory until one of the files changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable
from pathlib import Path
from typing import Generic, TypeAlias

from unlatch.simcore.lru_cache import LRUCache, ValueT

FileState: TypeAlias = tuple[int, int, int, int] | None
"""Number, size [bytes], and times of the last change of content and of metadata [ns]; None: there is no such file."""

_SETTLED_NS = 2_000_000_000
"""A file that changed later than this before its state was taken may change again within one tick of its clock [ns]."""


class FileCache(Generic[ValueT]):
    """The least recently used values are dropped; a value is read again once a file that it was read from changes."""

    def __init__(self, max_size: int) -> None:
        self._entries: LRUCache[list[_Entry[ValueT]]] = LRUCache(max_size)

    def get(self, key: Hashable, read: Callable[[], ValueT], *, files_of: Callable[[ValueT], Iterable[Path]]) -> ValueT:
        """Returns the value of a key.

        Args:
            key: What the value depends on, apart from the content of files.
            read: Reads the value.
            files_of: Returns the files and folders that a value was read from, also those that may come to exist. A
                folder changes when a file in it comes or goes. No files: the value is not kept.
        """
        entries = self._entries.get(key, list)
        if entries and entries[0].is_current():
            return entries[0].value
        entries.clear()
        began = time.time_ns()
        value = read()
        entry = _Entry(value, {path: _state_of(path) for path in files_of(value)})
        if entry.states and entry.is_older_than(began - _SETTLED_NS):
            entries.append(entry)
        return value


class _Entry(Generic[ValueT]):
    def __init__(self, value: ValueT, states: dict[Path, FileState]) -> None:
        self.value = value
        self.states = states

    def is_current(self) -> bool:
        return all(_state_of(path) == state for path, state in self.states.items())

    def is_older_than(self, limit_ns: int) -> bool:
        return all(state is None or max(state[2:]) < limit_ns for state in self.states.values())


def _state_of(path: Path) -> FileState:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
