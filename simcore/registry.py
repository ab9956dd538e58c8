"""Catalogs: plugins by name, imported only when they are used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from importlib.metadata import Distribution, EntryPoint, PackageNotFoundError, entry_points, version
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement

from unlatch.simcore.errors import DuplicateEntryError, PluginError, UnknownEntryError, close_matches

OURS = "unlatch"
"""Name of this distribution."""


@dataclass(frozen=True)
class CatalogEntry:
    """One plugin: its place, and one line about it."""

    target: str
    """`module:attribute`; imported on first use."""
    summary: str
    """One line for `unlatch list`."""
    origin: str = "unlatch"
    """The distribution that provides it."""
    requires: str = ""
    """Versions of ours that the distribution declares to work with; empty if it declares none."""

    @property
    def called(self) -> str:
        """Returns the text of its origin: `unlatch_press.press:Press (unlatch-press)`."""
        return f"{self.target} ({self.origin})"


class Catalog:
    """Plugins of one kind by name: the built-in ones and those of other distributions.

    Listing names imports nothing; a broken plugin is an error only when it is loaded.
    """

    def __init__(
        self,
        kind: str,
        entries: Mapping[str, CatalogEntry],
        *,
        group: str | None = None,
        contract: str | None = None,
        makes: str | None = None,
    ) -> None:
        """Makes a catalog.

        Args:
            kind: What an entry is ("skill"); used in messages.
            entries: The built-in entries, sorted by name.
            group: Entry-point group that other distributions register under.
            contract: `module:Class` that every entry derives from; None for functions.
            makes: `module:Class` of the result of entries that are functions without arguments; see `made`.
        """
        self.kind = kind
        self.group = group
        self._contract = contract
        self._makes = makes
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
            PluginError: The plugin was made for another version, cannot be imported, or is not what the catalog holds.
        """
        entry = self.entry(name)
        _check_version(self.kind, name, entry)
        try:
            found = _import_entry(entry.target)
        except Exception as exc:
            raise PluginError(
                f"The {self.kind} '{name}' of {entry.origin} cannot be loaded from '{entry.target}': "
                f"{type(exc).__name__}: {exc}. "
                "Reinstall or mend that distribution.",
                name=name,
                origin=entry.origin,
            ) from exc
        self._check_contract(name, entry, found)
        return found

    def made(self, name: str) -> Any:
        """Imports the plugin, a function without arguments, and returns what it makes.

        Raises:
            UnknownEntryError: No such name.
            PluginError: As for `load`; or the function raises, or returns something else than the catalog is of.
        """
        make, entry = self.load(name), self.entry(name)
        try:
            found = make()
        except Exception as exc:
            if name in self._builtin:
                raise
            raise PluginError(
                f"The {self.kind} '{name}' of {entry.origin} cannot be made by '{entry.target}': "
                f"{type(exc).__name__}: {exc}. Fix that distribution.",
                name=name,
                origin=entry.origin,
            ) from exc
        expected = _import_entry(self._makes or "builtins:object")
        if not isinstance(found, expected):
            raise PluginError(
                f"The {self.kind} '{name}' of {entry.origin}, '{entry.target}', returns {type(found).__name__}. "
                f"Expected a {expected.__name__}. Fix that distribution.",
                name=name,
                origin=entry.origin,
            )
        return found

    def _check_contract(self, name: str, entry: CatalogEntry, found: Any) -> None:
        if self._contract is None or name in self._builtin:
            return
        base = _import_entry(self._contract)
        if not (isinstance(found, type) and issubclass(found, base)):
            raise PluginError(
                f"The {self.kind} '{name}' of {entry.origin}, '{entry.target}', is {found!r}. Expected a subclass of "
                f"{base.__module__}.{base.__qualname__}. Fix that distribution.",
                name=name,
                origin=entry.origin,
            )

    def __repr__(self) -> str:
        return f"Catalog({self.kind}: {', '.join(self.names())})"


def _entry_of(point: EntryPoint) -> CatalogEntry:
    origin = point.dist.name if point.dist is not None else "an unknown distribution"
    target = point.value.partition("[")[0].replace(" ", "")  # without extras
    metadata = point.dist.metadata if point.dist is not None else None
    summary = metadata["Summary"] if metadata is not None and "Summary" in metadata else ""
    return CatalogEntry(
        target=target,
        summary=f"{summary} (from {origin})" if summary else f"from {origin}",
        origin=origin,
        requires=_asked_of_us(point.dist) if point.dist is not None else "",
    )


def _asked_of_us(dist: Distribution) -> str:
    """Returns the versions of this distribution that another one declares to work with."""
    for text in dist.requires or ():
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue
        if requirement.name == OURS:
            return str(requirement.specifier)
    return ""


def _check_version(kind: str, name: str, entry: CatalogEntry) -> None:
    """Refuses a plugin that was made for another version."""
    if not entry.requires:
        return
    try:
        here = version(OURS)
    except PackageNotFoundError:
        return
    if not Requirement(f"{OURS}{entry.requires}").specifier.contains(here, prereleases=True):
        raise PluginError(
            f"The {kind} '{name}' of {entry.origin} was made for {OURS} {entry.requires}, and this is {here}. "
            f"Install a version of {entry.origin} for this one: pip install --upgrade {entry.origin}.",
            name=name,
            origin=entry.origin,
        )


def _import_entry(target: str) -> Any:
    module_name, _, attribute = target.partition(":")
    return reduce(getattr, attribute.split("."), import_module(module_name))
