"""Imports packages that only an extra of this distribution brings."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from unlatch.simcore.errors import PluginError, SimCoreError


def import_extra(
    module: str, *, extra: str, needed_by: str | None = None, error: type[SimCoreError] = PluginError
) -> ModuleType:
    """Imports a module of a package that an extra brings; `needed_by` says in the error what needs it.

    Raises:
        SimCoreError: The package is not installed; the message says how to install it. Of the class `error`.
    """
    try:
        return import_module(module)
    except ImportError as exc:
        package = module.partition(".")[0]
        subject = f"{needed_by} needs package '{package}', which" if needed_by else f"Package '{package}'"
        raise error(
            f"{subject} cannot be imported ({exc}). It comes with the extra '{extra}'. "
            f"Install it: pip install 'unlatch[{extra}]'.",
            module=module,
            extra=extra,
        ) from exc
