"""What a check does with a promise."""

from __future__ import annotations


def require(holds: bool, message: str) -> None:
    """Raises unless a promise is kept.

    Raises:
        AssertionError: It is not; the message says which.
    """
    if not holds:
        raise AssertionError(message)
