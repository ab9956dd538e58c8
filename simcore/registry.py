"""Catalogs: plugins by name, imported only when they are used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from importlib.metadata import Distribution, EntryPoint, PackageNotFoundError, entry_points, version
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet

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
        """Makes a catalog of entries by name.

        `kind` says in messages what an entry is ("skill"); other distributions register under the entry-point `group`.
        An entry derives from the class `contract`, as `module:Class`; None for functions. The result of an entry that
        is a function without arguments is of the class `makes`, see `made`.
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
        self._check_version(name, entry)
        try:
            found = _import_entry(entry.target)
        except Exception as exc:
            problem = f" cannot be loaded from '{entry.target}': {type(exc).__name__}: {exc}"
            raise self._make_error(name, f"{problem}. Reinstall or mend that distribution.") from exc
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
            problem = f" cannot be made by '{entry.target}': {type(exc).__name__}: {exc}"
            raise self._make_error(name, f"{problem}. Fix that distribution.") from exc
        expected = _import_entry(self._makes or "builtins:object")
        if not isinstance(found, expected):
            problem = f", '{entry.target}', returns {type(found).__name__}. Expected a {expected.__name__}"
            raise self._make_error(name, f"{problem}. Fix that distribution.")
        return found

    def _check_version(self, name: str, entry: CatalogEntry) -> None:
        if not entry.requires:
            return
        try:
            here = version(OURS)
        except PackageNotFoundError:
            return
        if not SpecifierSet(entry.requires).contains(here, prereleases=True):
            problem = f" was made for {OURS} {entry.requires}, and this is {here}. Install a version of {entry.origin}"
            raise self._make_error(name, f"{problem} for this one: pip install --upgrade {entry.origin}.")

    def _check_contract(self, name: str, entry: CatalogEntry, found: Any) -> None:
        if self._contract is None or name in self._builtin:
            return
        base = _import_entry(self._contract)
        if not (isinstance(found, type) and issubclass(found, base)):
            problem = f", '{entry.target}', is {found!r}. Expected a subclass of {base.__module__}.{base.__qualname__}"
            raise self._make_error(name, f"{problem}. Fix that distribution.")

    def _make_error(self, name: str, problem: str) -> PluginError:
        origin = self.entry(name).origin
        message = f"The {self.kind} '{name}' of {origin}{problem}"
        return PluginError(message, name=name, origin=origin)

    def __repr__(self) -> str:
        return f"Catalog({self.kind}: {', '.join(self.names())})"


def _entry_of(point: EntryPoint) -> CatalogEntry:
    target = point.value.partition("[")[0].replace(" ", "")  # without extras
    if point.dist is None:
        return CatalogEntry(target, "from an unknown distribution", "an unknown distribution")
    origin, metadata = point.dist.name, point.dist.metadata
    summary = f"{metadata['Summary']} (from {origin})" if "Summary" in metadata else f"from {origin}"
    return CatalogEntry(target, summary, origin, _find_requirement(point.dist))


def _find_requirement(dist: Distribution) -> str:
    """Returns the versions of this distribution that another one declares to work with."""
    for text in dist.requires or ():
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue
        if requirement.name == OURS:
            return str(requirement.specifier)
    return ""


def _import_entry(target: str) -> Any:
    module_name, _, attribute = target.partition(":")
    return reduce(getattr, attribute.split("."), import_module(module_name))
