"""Catalogs: plugins by name, imported only when they are used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from simcore.errors import DuplicateEntryError, PluginError, UnknownEntryError, close_matches


@dataclass(frozen=True)
class CatalogEntry:
    """One plugin: where it is and what it does, in one line."""

    target: str
    """`module:attribute`; imported on first use."""
    summary: str
    """One line for `unlatch list`."""
    origin: str = "unlatch"
    """The distribution that brought it."""


class Catalog:
    """Plugins of one kind by name: the built-in ones and those of other distributions.

    Nothing is imported to list names; a broken plugin is an error only for who asks for it.
    """

    def __init__(self, kind: str, entries: Mapping[str, CatalogEntry], *, group: str | None = None) -> None:
        """Makes a catalog.

        Args:
            kind: What an entry is ("skill"); used in messages.
            entries: The built-in entries, sorted by name.
            group: Entry-point group that other distributions register under.
        """
        self.kind = kind
        self.group = group
        self._builtin = dict(entries)
        self._all: dict[str, CatalogEntry] | None = None

    def entries(self) -> dict[str, CatalogEntry]:
        """All entries by name, sorted.

        Raises:
            DuplicateEntryError: Two distributions use one name.
        """
        if self._all is None:
            merged = dict(self._builtin)
            for point in entry_points(group=self.group) if self.group else ():
                found = _entry_of(point)
                if point.name in merged:
                    raise DuplicateEntryError(
                        f"{self.kind} '{point.name}' is registered twice: by {merged[point.name].origin} "
                        f"({merged[point.name].target}) and by {found.origin} ({found.target}). "
                        "Uninstall one of the two or rename its entry point.",
                        name=point.name,
                    )
                merged[point.name] = found
            self._all = dict(sorted(merged.items()))
        return self._all

    def names(self) -> list[str]:
        """All names, sorted."""
        return list(self.entries())

    def entry(self, name: str) -> CatalogEntry:
        """The entry of a name.

        Raises:
            UnknownEntryError: No such name; the message lists the close and the known ones.
        """
        entries = self.entries()
        if name not in entries:
            raise UnknownEntryError(
                f"Unknown {self.kind} '{name}'.{close_matches(name, entries)} Known: {', '.join(entries)}.",
                name=name,
                available=list(entries),
            )
        return entries[name]

    def load(self, name: str) -> Any:
        """Imports and returns the plugin.

        Raises:
            UnknownEntryError: No such name.
            PluginError: The plugin's module or attribute cannot be imported.
        """
        entry = self.entry(name)
        module_name, _, attribute = entry.target.partition(":")
        try:
            return reduce(getattr, attribute.split("."), import_module(module_name))
        except Exception as exc:
            raise PluginError(
                f"The {self.kind} '{name}' of {entry.origin} cannot be loaded from '{entry.target}': "
                f"{type(exc).__name__}: {exc}. "
                "Reinstall or mend that distribution.",
                name=name,
                origin=entry.origin,
            ) from exc

    def __repr__(self) -> str:
        return f"Catalog({self.kind}: {', '.join(self.names())})"


def _entry_of(point: EntryPoint) -> CatalogEntry:
    origin = point.dist.name if point.dist is not None else "an unknown distribution"
    target = point.value.partition("[")[0].replace(" ", "")  # without the extras it may name
    return CatalogEntry(target=target, summary=f"from {origin}", origin=origin)
