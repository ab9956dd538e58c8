"""Reads values of files that anyone may have written: a value of another type is None, never an error."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def read_mapping(value: Any) -> Mapping[str, Any]:
    """Returns a mapping; an empty one for any other value."""
    return value if isinstance(value, Mapping) else {}


def read_list(value: Any) -> list[Any]:
    """Returns a list; an empty one for any other value."""
    return list(value) if isinstance(value, list | tuple) else []


def read_text(value: Any) -> str:
    """Returns a text; an empty one for anything that is none and no number."""
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def read_numbers(value: Any, count: int) -> list[float] | None:
    """Returns a list of `count` finite numbers; None for any other value."""
    items = read_list(value)
    if len(items) != count or any(isinstance(v, bool) or not isinstance(v, int | float) for v in items):
        return None
    found = [float(v) for v in items]
    return found if all(math.isfinite(v) for v in found) else None


def read_number(value: Any) -> float | None:
    """Returns a finite number; None for any other value."""
    found = read_numbers([value], 1)
    return None if found is None else found[0]


def has_reference(value: Any) -> bool:
    """Whether a text in a value would be read as a reference or a placeholder."""
    if isinstance(value, Mapping):
        return any(has_reference(item) for item in (*value.keys(), *value.values()))
    if isinstance(value, list | tuple):
        return any(has_reference(item) for item in value)
    return isinstance(value, str) and ("${" in value or value == "???")
