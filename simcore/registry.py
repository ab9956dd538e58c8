"""What is imported on its first use: plugins by name, packages of extras, and libraries that take long to import."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, reduce
from importlib import import_module
from importlib.metadata import (
    Distribution,
    EntryPoint,
    EntryPoints,
    PackageNotFoundError,
    entry_points,
    requires,
    version,
)
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from unlatch.simcore.errors import DuplicateEntryError, PluginError, UnknownEntryError, UnlatchError, describe_choices

DISTRIBUTION = "unlatch"
"""Name of this distribution."""


def installed_version(distribution: str) -> str | None:
    """Returns the version of an installed distribution; None if it is not installed."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def clone_folder() -> Path | None:
    """Returns the folder of the repository that this code is in; None if it was installed from a package."""
    folder = Path(__file__).resolve().parents[1]  # the files lie in `simcore/` of the repository
    return folder if (folder / "pyproject.toml").is_file() and (folder / DISTRIBUTION).is_dir() else None


def install_command(extra: str) -> str:
    """Returns the command that installs what an extra brings, into the environment that Unlatch is in.

    It never names Unlatch itself: pip would look it up in an index, where anybody may have registered that name. In a
    clone of the repository it names the folder; elsewhere, the packages of the extra.
    """
    if (clone := clone_folder()) is not None:
        return f"pip install -e {shlex.quote(f'{clone}[{extra}]')}"
    packages = extra_packages(DISTRIBUTION, extra)
    if not packages:  # files without an installation
        return f"pip install -e '.[{extra}]' in a clone of the repository"
    return f"pip install {' '.join(map(shlex.quote, packages))}"


def extra_packages(distribution: str, extra: str) -> list[str]:
    """Returns the packages that an extra of an installed distribution brings on this machine: `pygfx>=0.17,<0.18`."""
    from packaging.requirements import Requirement  # 0.03 s to import, for messages alone

    try:
        texts = requires(distribution) or []
    except PackageNotFoundError:
        return []
    found = []
    for item in map(Requirement, texts):
        marker, item.marker = item.marker, None
        if marker is not None and marker.evaluate({"extra": extra}) and not marker.evaluate({"extra": ""}):
            found.append(str(item))
    return found


def import_extra(
    module: str, *, extra: str, needed_by: str | None = None, error: type[UnlatchError] = PluginError
) -> ModuleType:
    """Imports and returns a module of a package that an extra brings.

    Args:
        module: Full name of the module.
        extra: Name of the extra.
        needed_by: What needs the package, for the message.
        error: Class of the error.

    Raises:
        UnlatchError: The package is not installed; the message says how to install it.
    """
    try:
        return import_module(module)
    except ImportError as exc:
        raise explain_missing_package(exc, module=module, extra=extra, needed_by=needed_by, error=error) from exc


def require_package(
    package: str, *, extra: str, needed_by: str | None = None, error: type[UnlatchError] = PluginError
) -> None:
    """Checks that a package of an extra is installed, without importing it; arguments as for `import_extra`.

    Raises:
        UnlatchError: It is not; the message says how to install it.
    """
    if find_spec(package) is None:
        missing = ModuleNotFoundError(f"No module named '{package}'", name=package)
        raise explain_missing_package(missing, extra=extra, needed_by=needed_by, error=error)


def explain_missing_package(
    exc: ImportError,
    *,
    extra: str,
    module: str | None = None,
    needed_by: str | None = None,
    error: type[UnlatchError] = PluginError,
) -> UnlatchError:
    """Returns the error for a package of an extra that cannot be imported; it says how to install the package.

    Args:
        exc: The error of the import.
        extra: Name of the extra.
        module: Full name of the module; None: the one that `exc` names.
        needed_by: What needs the package.
        error: Class of the error.
    """
    module = module or exc.name or ""
    package = module.partition(".")[0]
    subject = f"{needed_by} needs package '{package}', which" if needed_by else f"Package '{package}'"
    return error(
        f"{subject} cannot be imported ({exc}). It comes with the extra '{extra}'. "
        f"Install it: {install_command(extra)}",
        module=module,
        extra=extra,
    )


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
