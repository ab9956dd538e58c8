"""Handles of what is drawn in a scene of viser, by what they belong to."""

from __future__ import annotations

from contextlib import suppress
from typing import Any


class HandleGroups:
    """Handles that are removed together."""

    def __init__(self) -> None:
        self._handles: dict[str, list[Any]] = {}

    def keep(self, group: str, handle: Any) -> Any:
        """Adds a handle to a group; returns it."""
        self._handles.setdefault(group, []).append(handle)
        return handle

    def clear(self, group: str) -> None:
        """Removes everything that a group has drawn."""
        for handle in reversed(self._handles.pop(group, [])):
            with suppress(KeyError):  # it went with its parent
                handle.remove()
