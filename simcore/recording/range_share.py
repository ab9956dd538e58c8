"""Computes where the part of a skill ends on its way through its range: for the strict rate of success."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

STRICT_SHARE = 0.9
"""Share of the range that the strict rule asks for: the part of a success is in the last tenth of its way."""


def end_share(skill: Mapping[str, Any]) -> float:
    """Returns where a part ends on its way: from closed to open or, if it ends nearer to closed, from open to closed.

    A skill whose rule is the distance from closed (mode `zero`) moves its part from open to closed in any case.

    Args:
        skill: The entry of a skill in a record that succeeded. A skill that moves no part counts as 1.
    """
    if skill.get("success_mode") is None:
        return 1.0
    s_closed, s_end = skill["s_closed"], skill["s_end"]
    share = (s_end - s_closed) / (skill["s_open"] - s_closed)
    closes = skill["success_mode"] == "zero" or abs(s_end - s_closed) < abs(skill["s0"] - s_closed)
    return float(1.0 - share if closes else share)
