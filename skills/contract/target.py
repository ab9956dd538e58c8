"""The place at which a skill puts a free object."""

from __future__ import annotations

from typing import NamedTuple


class SkillTarget(NamedTuple):
    """Where a skill puts a free object."""

    of: str | None
    """The object in, on or beside which it goes; None: the table."""
    region: str | None
    """Region of that object; None: beside it, on the table."""
