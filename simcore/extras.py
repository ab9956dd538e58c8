"""Packages of extras: imports them on their first use, and says how to install one that is missing."""

from __future__ import annotations

import shlex
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from types import ModuleType

from unlatch.simcore.errors import PluginError, UnlatchError

DISTRIBUTION = __name__.partition(".")[0]
"""Name of this distribution, which is that of its package."""


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
