"""Ranges of numbers in configurations: written at the type of a field, checked where an object is made.

    @dataclass
    class WorldCfg:
        physics_hz: Annotated[int, Range(1, 100_000)] = 240

        def __post_init__(self) -> None:
            check_ranges(self, "world")

The JSON Schema of task files has the same ranges.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, get_args, get_type_hints

from unlatch.simcore.errors import MISSING, check_range


@dataclass(frozen=True)
class Range:
    """The values that a number may have; in the type of a list or mapping, those of each item."""

    low: float
    """Least value."""
    high: float = math.inf
    """Largest value."""
    above: bool = False
    """Whether `low` itself is not allowed."""
    unit: str = ""
    """Unit of the range in messages."""


Positive = Annotated[float, Range(0.0, above=True)]
NotNegative = Annotated[float, Range(0.0)]
Fraction = Annotated[float, Range(0.0, 1.0)]
Count = Annotated[int, Range(1)]


def check_ranges(cfg: Any, where: str = "") -> None:
    """Raises an error unless every field of a dataclass is in the range of its type; None and `MISSING` pass.

    `where` is the key of the dataclass in messages; empty: its fields are named alone.

    Raises:
        ConfigError: A value is out of its range.
    """
    prefix = f"{where}." if where else ""
    for name, limits in ranges_of(cfg.__class__).items():
        _check_value(f"{prefix}{name}", getattr(cfg, name), limits)


class Ranged:
    """A dataclass whose fields are in the ranges of their types; `where` is its key in messages."""

    _where = ""

    def __init_subclass__(cls, where: str | None = None) -> None:
        cls._where = cls._where if where is None else where

    def __post_init__(self) -> None:
        check_ranges(self, self._where)


def find_range(hint: Any) -> Range | None:
    """Returns the range in a type, or in the type of its items; None: it has none."""
    arguments = [*get_args(hint), *getattr(hint, "__metadata__", ())]
    own = next((item for item in arguments if isinstance(item, Range)), None)
    return own or next(filter(None, map(find_range, arguments)), None)


@cache
def ranges_of(cls: type) -> dict[str, Range]:
    """Returns the ranges of a dataclass and its bases by field."""
    found = {name: find_range(hint) for name, hint in get_type_hints(cls, include_extras=True).items()}
    return {name: limits for name, limits in found.items() if limits is not None}


def _check_value(key: str, value: Any, limits: Range) -> None:
    if isinstance(value, Mapping):
        for name, item in value.items():
            _check_value(f"{key}.{name}", item, limits)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            _check_value(f"{key}[{index}]", item, limits)
    elif value is not None and value != MISSING:
        check_range(key, value, limits.low, limits.high, above=limits.above, unit=limits.unit)
