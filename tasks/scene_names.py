"""Names of the bodies of a scene other than robots and objects; no object may have one of them."""

from __future__ import annotations

TABLE = "table"
"""The table that carries everything."""


def plinth_name(name: str) -> str:
    """Returns the name of the box that may carry an object."""
    return f"{name}_plinth"
