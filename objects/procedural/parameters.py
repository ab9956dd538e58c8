"""Random parameters: a table states for each value of an object what it is drawn from, in the order of the draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from types import SimpleNamespace
from typing import Any, TypeVar, get_type_hints

import numpy as np

Colour = tuple[float, float, float, float]
One = TypeVar("One")


class Drawn(SimpleNamespace):
    """The values of one object, by their names in the table of its category."""


Draw = Callable[[np.random.Generator, Drawn], Any]
"""Draws one value; it may look at the values that were drawn before."""
Table = Mapping[str, Any]
"""By name a `Draw`, or a value that all objects of the category share. The name ends with the unit.

A name that starts with `_` is not recorded. Add entries at the end: another order of the draws makes other objects.
"""


def palette(*percents: str) -> tuple[Colour, ...]:
    """Returns opaque colours from their red, green and blue in percent: `"74 13 12"` is a red."""
    return tuple((r / 100, g / 100, b / 100, 1.0) for r, g, b in (map(int, text.split()) for text in percents))


def draw_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    """Draws a number, rounded to four digits: a length to a tenth of a millimetre."""
    return round(float(rng.uniform(low, high)), 4)


def draw_one(rng: np.random.Generator, choices: Sequence[One]) -> One:
    """Draws one of some values."""
    return choices[int(rng.integers(len(choices)))]


def uniform(low: float, high: float) -> Draw:
    """Declares a number from a range, see `draw_uniform`."""
    return lambda rng, p: draw_uniform(rng, low, high)


def whole(low: int, below: int) -> Draw:
    """Declares a whole number from `low` to one less than `below`."""
    return lambda rng, p: int(rng.integers(low, below))


def either(first: Any, second: Any, share: float = 0.5) -> Draw:
    """Declares one of two values: the first with a probability of `share`."""
    return lambda rng, p: first if rng.random() < share else second


def one_of(choices: Sequence[Any]) -> Draw:
    """Declares one of some values."""
    return lambda rng, p: draw_one(rng, choices)


def by(name: str, cases: Mapping[Any, Draw]) -> Draw:
    """Declares a value that is drawn as the case says that belongs to the value called `name`."""
    return lambda rng, p: cases[getattr(p, name)](rng, p)


def derived(formula: Callable[[Drawn], Any]) -> Draw:
    """Declares a value that follows from those before it, without a draw."""
    return lambda rng, p: formula(p)


def draw_table(table: Table, rng: np.random.Generator) -> Drawn:
    """Draws all values of a table, in its order."""
    p = Drawn()
    for name, entry in table.items():
        setattr(p, name, entry(rng, p) if callable(entry) else entry)
    return p


def draw_fields(kind: type[One], rng: np.random.Generator, /, **given: Any) -> One:
    """Draws the fields of a dataclass in their order, for a generator in the form of version 0.2; the next drops it.

    Args:
        kind: The dataclass; a field that is drawn is `Annotated` with `uniform`, `whole`, `either` or `one_of`.
        rng: Source of the draws.
        given: Values of the other fields. A field with a default keeps it.
    """
    hints = get_type_hints(kind, include_extras=True)
    values = dict(given)
    for entry in fields(kind):  # type: ignore[arg-type]
        if entry.name not in given and entry.default is MISSING:
            values[entry.name] = hints[entry.name].__metadata__[0](rng, Drawn(**values))
    return kind(**values)


def parameter_record(parameters: Any) -> dict[str, float | str]:
    """Returns a flat record of drawn values, or of the fields of a dataclass: numbers as they are, the rest as text.

    A value with a `record` of its own gives the items of that, with its name before each key. A value that is None is
    left out.
    """
    names = [entry.name for entry in fields(parameters)] if is_dataclass(parameters) else list(vars(parameters))
    values: dict[str, float | str] = {}
    for name in names:
        value = getattr(parameters, name)
        if name.startswith("_") or value is None:
            continue
        if hasattr(value, "record"):
            values |= {f"{name}_{key}": item for key, item in value.record().items()}
        elif isinstance(value, Enum):
            values[name] = value.name
        elif isinstance(value, str):
            values[name] = value
        elif isinstance(value, (bool, int, float)):
            values[name] = float(value)
        else:
            values[name] = ",".join(f"{v:g}" for v in value)
    return values
