"""Catalogs: what is imported by its name on its first use, of this distribution and of others."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, reduce
from importlib import import_module
from importlib.metadata import Distribution, EntryPoint, EntryPoints, PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import Any

from unlatch.simcore.errors import DuplicateEntryError, PluginError, UnknownEntryError, describe_choices

DISTRIBUTION = "unlatch"
"""Name of this distribution."""


def installed_version(distribution: str) -> str | None:
    """Returns the version of an installed distribution; None if it is not installed."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


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
    """Versions of Unlatch for which the distribution is made, as in `>=0.2,<0.3`; empty: any."""
    extra: str = ""
    """The extra of Unlatch with the packages that it imports; empty: it needs none."""

    @property
    def description(self) -> str:
        """Its target and its origin as text: `unlatch_press.press:Press (unlatch-press)`."""
        return f"{self.target} ({self.origin})"


def own_entries(package: str, rows: Mapping[str, tuple[str, str]]) -> dict[str, CatalogEntry]:
    """Returns our entries by name, from their places below a package of Unlatch and one line about each."""
    return {name: CatalogEntry(f"unlatch.{package}{target}", summary) for name, (target, summary) in rows.items()}


def installed_entry_points(group: str) -> EntryPoints:
    """Returns the entry points of a group; all distributions are read once, and again after one was installed."""
    folders = [folder for place in sys.path if (folder := Path(place or ".")).exists()]
    return _read_entry_points(tuple((folder, folder.stat().st_mtime_ns) for folder in folders)).select(group=group)


@lru_cache(maxsize=1)
def _read_entry_points(places: tuple[tuple[Path, int], ...]) -> Any:
    """Returns all entry points on `sys.path`, whose folders and times of change [ns] are `places`.

    Their class differs between versions of Python.
    """
    return entry_points()


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
        product: str | None = None,
        listed_by: str = "",
        default: str = "",
        stand_ins: Sequence[str] = (),
        former: Mapping[str, str] | None = None,
    ) -> None:
        """Makes a catalog.

        Args:
            kind: What an entry is, for messages: "skill".
            entries: The built-in entries by name.
            group: Entry-point group in which other distributions register entries; None: they cannot.
            contract: Class from which every entry derives, as `module:Class`; None if the entries are functions.
            product: Class of what an entry returns, as `module:Class`, if the entries are functions; None: any.
            listed_by: The command that prints the names; empty: there is none.
            default: The name that is used if none is given; empty: there is none.
            stand_ins: Words that may be given in place of a name, such as `auto`; messages list them, too.
            former: Names of entries that are gone, and what to take in their place.
        """
        self.kind = kind
        self.group = group
        self._contract = contract
        self._product = product
        self.listed_by = listed_by
        self.default = default
        self._stand_ins = tuple(stand_ins)
        self._former = dict(former or {})
        self._builtin = dict(entries)
        self._all: dict[str, CatalogEntry] | None = None

    def entries(self) -> dict[str, CatalogEntry]:
        """All entries by name, sorted.

        Raises:
            DuplicateEntryError: Two distributions use one name.
        """
        if self._all is None:
            merged = dict(self._builtin)
            for point in installed_entry_points(self.group) if self.group else ():
                found = _read_entry_point(point)
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

    def own_names(self) -> list[str]:
        """The names of the built-in entries, sorted, without those of other distributions."""
        return sorted(self._builtin)

    def entry(self, name: str) -> CatalogEntry:
        """The entry of a name.

        Raises:
            UnknownEntryError: No such name; the message lists the close and the known ones.
        """
        entries = self.entries()
        if name not in entries:
            known = [*self._stand_ins, *entries]
            if name in self._former:
                raise UnknownEntryError(self.explain_former(name), name=name, available=known)
            choices = describe_choices(name, known, listed_by=self.listed_by, default=self.default)
            raise UnknownEntryError(f"Unknown {self.kind} '{name}'.{choices}", name=name, available=known)
        return entries[name]

    def explain_former(self, name: str) -> str:
        """Returns what to take in place of an entry that is gone; empty for other names."""
        return f"The {self.kind} '{name}' is gone. Take '{self._former[name]}'." if name in self._former else ""

    def load(self, name: str) -> Any:
        """Imports and returns the plugin.

        Raises:
            UnknownEntryError: No such name.
            PluginError: The plugin is made for another version, cannot be imported, or does not derive from the
                contract.
        """
        entry = self.entry(name)
        self._check_version(name, entry)
        try:
            found = _import_entry(entry.target)
        except ImportError as exc:
            if entry.extra:
                from unlatch.simcore.extras import explain_missing_package  # only messages need it

                raise explain_missing_package(exc, extra=entry.extra, needed_by=f"The {self.kind} '{name}'") from exc
            raise self._explain_broken(name, entry, exc) from exc
        except Exception as exc:
            raise self._explain_broken(name, entry, exc) from exc
        self._check_contract(name, entry, found)
        return found

    def check(self, name: str) -> None:
        """Imports the plugin and, if `product` is the class of its result, makes one.

        Raises:
            PluginError: As for `load` and `make`.
        """
        self.load(name) if self._product is None else self.make(name)

    def make(self, name: str) -> Any:
        """Imports the plugin, a function without arguments, calls it and returns its result.

        Raises:
            UnknownEntryError: No such name.
            PluginError: As for `load`; or the function raises, or its result is of another class than `product`.
        """
        make, entry = self.load(name), self.entry(name)
        try:
            found = make()
        except Exception as exc:
            if name in self._builtin:
                raise
            problem = f" cannot be made by '{entry.target}': {type(exc).__name__}: {exc}"
            raise self._make_error(name, f"{problem}. Fix that package.") from exc
        expected = _import_entry(self._product or "builtins:object")
        if not isinstance(found, expected):
            problem = f", '{entry.target}', returns {type(found).__name__}. Expected a {expected.__name__}"
            raise self._make_error(name, f"{problem}. Fix that package.")
        return found

    def _check_version(self, name: str, entry: CatalogEntry) -> None:
        if not entry.requires:
            return
        from packaging.specifiers import SpecifierSet  # of plugins alone, and 0.03 s to import

        here = installed_version(DISTRIBUTION)
        if here is not None and not SpecifierSet(entry.requires).contains(here, prereleases=True):
            problem = f" was made for {DISTRIBUTION} {entry.requires}, and this is {here}."
            advice = f"Install a version of {entry.origin} for this one."
            raise self._make_error(name, f"{problem} {advice}")

    def _check_contract(self, name: str, entry: CatalogEntry, found: Any) -> None:
        if self._contract is None or name in self._builtin:
            return
        base = _import_entry(self._contract)
        if not (isinstance(found, type) and issubclass(found, base)):
            problem = f", '{entry.target}', is {found!r}. Expected a subclass of {base.__module__}.{base.__qualname__}"
            raise self._make_error(name, f"{problem}. Fix that package.")

    def _explain_broken(self, name: str, entry: CatalogEntry, exc: Exception) -> PluginError:
        """Returns the error for a plugin that cannot be imported."""
        problem = f" cannot be loaded from '{entry.target}': {type(exc).__name__}: {exc}"
        return self._make_error(name, f"{problem}. Reinstall or fix that package.")

    def _make_error(self, name: str, problem: str) -> PluginError:
        origin = self.entry(name).origin
        message = f"The {self.kind} '{name}' of {origin}{problem}"
        return PluginError(message, name=name, origin=origin)

    def __repr__(self) -> str:
        return f"Catalog({self.kind}: {', '.join(self.names())})"


def _read_entry_point(point: EntryPoint) -> CatalogEntry:
    target = point.value.partition("[")[0].replace(" ", "")  # without extras
    if point.dist is None:
        return CatalogEntry(target, "from an unknown package", "an unknown package")
    origin, metadata = point.dist.name, point.dist.metadata
    summary = f"{metadata['Summary']} (from {origin})" if "Summary" in metadata else f"from {origin}"
    return CatalogEntry(target, summary, origin, _find_requirement(point.dist))


def _find_requirement(dist: Distribution) -> str:
    """Returns the versions of this distribution that another one declares to work with."""
    from packaging.requirements import InvalidRequirement, Requirement  # as in `Catalog._check_version`

    for text in dist.requires or ():
        with suppress(InvalidRequirement):
            requirement = Requirement(text)
            if requirement.name == DISTRIBUTION:
                return str(requirement.specifier)
    return ""


def _import_entry(target: str) -> Any:
    module_name, _, attribute = target.partition(":")
    return reduce(getattr, attribute.split("."), import_module(module_name))
