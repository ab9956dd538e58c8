"""Imports packages that only an extra of this distribution brings."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from unlatch.simcore.errors import PluginError, SimCoreError


def import_extra(
    module: str, *, extra: str, needed_by: str | None = None, error: type[SimCoreError] = PluginError
) -> ModuleType:
    """Imports and returns a module of a package that an extra brings.

    Args:
        module: Full name of the module.
        extra: Name of the extra.
        needed_by: What needs the package, for the message.
        error: Class of the error.

    Raises:
        SimCoreError: The package is not installed; the message says how to install it.
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
