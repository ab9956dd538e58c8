"""Random parameters: each field of a dataclass states what it is drawn from, and one function draws them in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields
from enum import Enum
from inspect import signature
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
    """Draws the fields of a dataclass in their order. A field with a default keeps it.

    Args:
        kind: The dataclass; a field that is drawn is `Annotated` with `uniform`, `whole`, `either` or `one_of`.
        rng: Source of the draws.
        given: The other fields. A value is taken as it is; a function is called when its turn comes, without
            arguments or with the dictionary of the fields drawn so far.
    """
    hints = get_type_hints(kind, include_extras=True)
    values: dict[str, Any] = {}
    for entry in fields(kind):  # type: ignore[arg-type]
        value = given.get(entry.name)
        if callable(value):
            values[entry.name] = value(values) if signature(value).parameters else value()
        elif entry.name in given:
            values[entry.name] = value
        elif entry.default is MISSING:
            values[entry.name] = hints[entry.name].__metadata__[0](rng)
    return kind(**values)


def parameter_record(parameters: Any) -> dict[str, float | str]:
    """Returns a flat record of a parameters dataclass: numbers as they are, the rest as text.

    A field with a `record` of its own gives the items of that, with the name of the field before each key. A field that
    is None is left out.
    """
    values: dict[str, float | str] = {}
    for entry in fields(parameters):
        value = getattr(parameters, entry.name)
        if hasattr(value, "record"):
            values |= {f"{entry.name}_{key}": item for key, item in value.record().items()}
        elif isinstance(value, Enum):
            values[entry.name] = value.name
        elif isinstance(value, str):
            values[entry.name] = value
        elif isinstance(value, (bool, int, float)):
            values[entry.name] = float(value)
        elif value is not None:
            values[entry.name] = ",".join(f"{v:g}" for v in value)
    return values
