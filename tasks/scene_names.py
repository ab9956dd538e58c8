"""Names of what stands in a scene beside robots and objects; no object may have one of them."""

from __future__ import annotations

TABLE = "table"
"""The table on which everything stands."""


def plinth_of(name: str) -> str:
    """Name of the box that an object may stand on.

    Args:
        name: Name of the object.
    """
    return f"{name}_plinth"
