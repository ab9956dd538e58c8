"""What `unlatch doctor` finds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One fact about the installation."""

    name: str
    value: str
    advice: str = ""
    """What to do in one line; empty if nothing is needed."""
    broken: bool = False
    """Whether it must be repaired: commands that every user needs fail, or a plugin that somebody installed."""
