"""Packages that only one format needs, and how to get them."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from unlatch.simcore.errors import PluginError


def import_extra(module: str, *, extra: str) -> ModuleType:
    """Imports a package that an extra of this distribution brings.

    Args:
        module: The package.
        extra: Name of the extra.

    Raises:
        PluginError: It is not installed; the message says how to install it.
    """
    try:
        return import_module(module)
    except ImportError as exc:
        raise PluginError(
            f"Package '{module}' cannot be imported ({exc}). It comes with the extra '{extra}'. "
            f"Install it: pip install 'unlatch[{extra}]'.",
            module=module,
            extra=extra,
        ) from exc
