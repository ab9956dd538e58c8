"""Random parameters: each field of a dataclass states what it is drawn from, and one function draws them in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from enum import Enum
from typing import Any, TypeVar, get_type_hints

import numpy as np

Colour = tuple[float, float, float, float]
Draw = Callable[[np.random.Generator], Any]
Parameters = TypeVar("Parameters")


def draw_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    """Draws a number, rounded to four digits: a length to a tenth of a millimetre."""
    return round(float(rng.uniform(low, high)), 4)


def draw_colour(rng: np.random.Generator, colours: Sequence[Colour]) -> Colour:
    """Draws one of some colours."""
    return colours[int(rng.integers(len(colours)))]


def uniform(low: float, high: float) -> Draw:
    """Declares a number from a range, see `draw_uniform`."""
    return lambda rng: draw_uniform(rng, low, high)


def whole(low: int, below: int) -> Draw:
    """Declares a whole number from `low` to one less than `below`."""
    return lambda rng: int(rng.integers(low, below))


def either(first: str, second: str, share: float = 0.5) -> Draw:
    """Declares a word: the first one with a probability of `share`, else the second."""
    return lambda rng: first if rng.random() < share else second


def one_of(colours: Sequence[Colour]) -> Draw:
    """Declares one of some colours."""
    return lambda rng: draw_colour(rng, colours)


def draw_fields(kind: type[Parameters], rng: np.random.Generator, /, **given: Any) -> Parameters:
    """Draws the fields of a dataclass in their order.

    Args:
        kind: The dataclass; a field that is drawn is `Annotated` with `uniform`, `whole`, `either` or `one_of`.
        rng: Source of the draws.
        given: The other fields, as values, or as functions without arguments that are called when their turn comes.
    """
    hints = get_type_hints(kind, include_extras=True)
    values: dict[str, Any] = {}
    for name, hint in hints.items():
        if name not in given:
            values[name] = hint.__metadata__[0](rng)
        else:
            values[name] = given[name]() if callable(given[name]) else given[name]
    return kind(**values)


def parameter_record(parameters: Any) -> dict[str, float | str]:
    """Returns a flat record of a parameters dataclass: numbers as they are, the rest as text."""
    values: dict[str, float | str] = {}
    for entry in fields(parameters):
        value = getattr(parameters, entry.name)
        if isinstance(value, Enum):
            values[entry.name] = value.name
        elif isinstance(value, str):
            values[entry.name] = value
        elif isinstance(value, (bool, int, float)):
            values[entry.name] = float(value)
        else:
            values[entry.name] = ",".join(f"{v:g}" for v in value)
    return values
