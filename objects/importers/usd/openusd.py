"""Imports OpenUSD, which comes with the extra `usd`; no other module imports it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from unlatch.simcore.errors import AssetError
from unlatch.simcore.extras import import_extra

_MODULES = ("Ar", "Gf", "Sdf", "Tf", "Usd", "UsdGeom", "UsdPhysics", "UsdShade", "UsdUtils", "Vt")


def import_openusd(needed_by: str = "USD output") -> Any:
    """Imports OpenUSD and returns it; its modules are attributes, such as `pxr.UsdGeom`.

    `needed_by` says in the error what needs it.

    Raises:
        AssetError: It is not installed; the message names the extra.
    """
    pxr = import_extra("pxr", extra="usd", needed_by=needed_by, error=AssetError)
    for name in _MODULES:
        import_module(f"pxr.{name}")
    return pxr
