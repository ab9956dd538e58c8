"""Raises an error where a contract is broken."""

from __future__ import annotations


def require(holds: bool, message: str) -> None:
    """Raises unless a condition of a contract holds.

    Raises:
        AssertionError: It does not hold; the message names it.
    """
    if not holds:
        raise AssertionError(message)
