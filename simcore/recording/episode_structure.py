"""Types of the values of `episode.json`: how a table of keys is written, and where a value does not fit it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from unlatch.simcore.errors import shorten

CONFIGURATION = "configuration"
"""The configuration, the number of the episode and its objects determine the value."""
RECORD = "record"
"""Other values of the record, such as its arrays, determine the value."""
SIMULATION = "simulation"
"""A simulation of the recorded actions determines the value: only `replay=true` compares it."""
PLANNER = "planner"
"""The planner or a policy decides it, and neither is run again."""
CLOCK = "clock"
"""A measured wall time."""

Kind = Any
"""The type of a value: `str`, `bool`, `int` (64 bits, no boolean), `float` (a finite number), `object` (any value) or
None; a tuple of types, of which the value has one; `[kind]`, a list; `{str: kind}`, a map of any names; a `Table`."""


@dataclass(frozen=True)
class Field:
    """One key of a map in `episode.json`."""

    kind: Kind
    """The type of its value."""
    meaning: str
    source: str = CONFIGURATION
    """What determines its value: `CONFIGURATION`, `RECORD`, `SIMULATION`, `PLANNER` or `CLOCK`."""
    optional: bool = False
    """Whether a record may lack the key."""


Table = dict[str, Field]
"""All keys of a map."""


def planned(kind: Kind, meaning: str) -> Field:
    """Returns a key whose value the planner or a policy decides."""
    return Field(kind, meaning, PLANNER)


def optional(kind: Kind, meaning: str, source: str = CONFIGURATION) -> Field:
    """Returns a key that a record may lack."""
    return Field(kind, meaning, source, optional=True)


_WORDS = {bool: "true or false", int: "integer", float: "number", str: "text", None: "null", object: "any"}
_MOST = (1 << 64) - 1
"""Largest integer, without its sign."""
_NOT_FINITE = ("nan", "inf", "-inf")
"""How JSON has numbers that are not finite."""


def is_table(kind: Kind) -> bool:
    """Returns whether a type is a table of keys, rather than a map of any names."""
    return isinstance(kind, dict) and str not in kind


def describe_kind(kind: Kind) -> str:
    """Returns a type in words."""
    if isinstance(kind, tuple):
        return " or ".join(map(describe_kind, kind))
    if isinstance(kind, list):
        return f"list of {describe_kind(kind[0])}"
    if isinstance(kind, dict):
        return "map" if is_table(kind) else f"map of {describe_kind(kind[str])}"
    return _WORDS[kind]


def kind_problems(value: Any, kind: Kind, where: str, *, finite: bool = True, complete: bool = False) -> Iterator[str]:
    """Yields where a value of `episode.json` has another type than a table says, or a key that the table lacks.

    Args:
        value: The value.
        kind: Its type.
        where: Its place, for messages.
        finite: Whether all numbers must be finite; else the strings "nan", "inf" and "-inf" are numbers too.
        complete: Whether maps must have all keys of their tables that are not optional.
    """
    if isinstance(kind, tuple):
        fitting = [each for each in kind if has_form(value, each, finite=finite)]
        if fitting:
            yield from kind_problems(value, fitting[0], where, finite=finite, complete=complete)
            return
    elif has_form(value, kind, finite=finite):
        if isinstance(kind, list):
            for index, item in enumerate(value):
                yield from kind_problems(item, kind[0], f"{where}[{index}]", finite=finite, complete=complete)
        elif isinstance(kind, dict):
            fields = kind if is_table(kind) else {key: Field(kind[str], "") for key in value}
            for key in [*value, *(key for key in fields if complete and key not in value)]:
                inner = f"{where}.{key}" if where else key
                if key not in fields:
                    yield f"{inner} is not a key of this format. Expected one of {', '.join(fields)}."
                elif key in value:
                    yield from kind_problems(value[key], fields[key].kind, inner, finite=finite, complete=complete)
                elif not fields[key].optional:
                    yield f"{inner} is missing, expected {describe_kind(fields[key].kind)}."
        return
    yield f"{where} is {shorten(repr(value), 80)}, expected {describe_kind(kind)}."


def has_form(value: Any, kind: Kind, *, finite: bool = True) -> bool:
    """Returns whether a value has a type, whatever it contains; see `kind_problems`."""
    if isinstance(kind, tuple):
        return any(has_form(value, each, finite=finite) for each in kind)
    if kind is None or kind is object:
        return kind is object or value is None
    if isinstance(kind, list | dict):
        return isinstance(value, type(kind))
    if kind is float:
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
        return is_number or (not finite and value in _NOT_FINITE)
    return type(value) is kind and not (kind is int and not -_MOST <= value <= _MOST)


def sources(table: Table, where: str = "") -> Iterator[tuple[str, str]]:
    """Yields every key of a table and the tables in it, and what determines its value: `skills[].plan`, `planner`.

    Keys below one that only the planner, the clock or a simulation determines are left out.
    """
    for key, field in table.items():
        place, inner = f"{where}{key}", field.kind[0] if isinstance(field.kind, tuple) else field.kind
        if field.source in (CONFIGURATION, RECORD) and isinstance(inner, list) and is_table(inner[0]):
            yield from sources(inner[0], f"{place}[].")
        elif field.source in (CONFIGURATION, RECORD) and is_table(inner):
            yield from sources(inner, f"{place}.")
        else:
            yield place, field.source
