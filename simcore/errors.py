"""Every error that a caller may catch derives from `SimCoreError`.

A message says what is wrong, where, what was found and expected, and what to do. The same values are
attributes of the error, so callers never parse text.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from typing import Any


class SimCoreError(Exception):
    """Base of all errors raised by this distribution; keyword values become attributes."""

    def __init__(self, message: str, **values: Any) -> None:
        super().__init__(message)
        self.message = message
        self.values = values
        for name, value in values.items():
            setattr(self, name, value)


class ConfigError(SimCoreError):
    """A configuration value is missing, unknown, of the wrong type or out of its range."""


class PluginError(SimCoreError):
    """A plugin could not be found, loaded or registered."""


class UnknownEntryError(PluginError):
    """A name is not in its catalog."""


class DuplicateEntryError(PluginError):
    """Two distributions register the same name in one catalog."""


class AssetError(SimCoreError):
    """An asset (URDF, mesh, annotation) is missing, damaged or inconsistent."""


class WorldError(SimCoreError):
    """The simulated world lacks something or cannot do something."""


class FrameNotFoundError(WorldError):
    """A link or joint name does not exist on a body."""


class GeometryError(SimCoreError, ValueError):
    """Values do not form a vector, rotation or pose."""


class SolverError(SimCoreError):
    """A planning problem is malformed."""


class NoSolutionError(SolverError):
    """The solution of an unsolved problem was read."""


class SkillError(SimCoreError):
    """A skill was used against its contract."""


class RecordingError(SimCoreError):
    """A data set or an episode cannot be written or read."""


class FormatVersionError(RecordingError):
    """A data set was written in a format that this version does not read."""


class HubError(SimCoreError):
    """The Hugging Face Hub cannot be reached, or refuses a request."""


def unknown_name(name: str, kind: str, *, where: str, known: Iterable[str], listed: str = "Known") -> ConfigError:
    """Returns the error for a name in a configuration that does not exist.

    Args:
        name: The wrong name.
        kind: What it should name, with an article: `a link of robot 'panda'`.
        where: Full key of the wrong value.
        known: The names that exist.
        listed: The word before the known names in the message.
    """
    names = list(known)
    return ConfigError(
        f"{where}='{name}' is not {kind}.{close_matches(name, names)} {listed}: {', '.join(names)}. Name one of them.",
        key=where,
        available=names,
    )


def unknown_key(where: str, key: str, known: list[str]) -> ConfigError:
    """Returns the error for a key that its schema does not have; `where` is the full key."""
    return ConfigError(
        f"{where} is unknown.{close_matches(key, known)} Keys there: {', '.join(known)}. Remove or rename it.",
        key=where,
        available=known,
    )


def close_matches(name: str, available: Iterable[str]) -> str:
    """Returns ` Did you mean 'x'?` for a misspelt name, or an empty string."""
    matches = difflib.get_close_matches(name, list(available), n=3, cutoff=0.5)
    if not matches:
        return ""
    return " Did you mean " + " or ".join(f"'{m}'" for m in matches) + "?"


def shorten(text: str, most: int) -> str:
    """Returns a text for a message, cut to at most `most` characters; a cut text ends in `...`."""
    return text if len(text) <= most else text[: most - 3] + "..."


def count_noun(number: int, noun: str) -> str:
    """Returns a number and its noun, with an `s` unless it is one: `1 episode`, `1,204 episodes`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def check_range(
    key: str, value: float | None, low: float, high: float = math.inf, *, above: bool = False, unit: str = ""
) -> None:
    """Raises an error unless a value is in a range.

    Args:
        key: Full key of the value.
        value: The value; None (the key is not set) passes.
        low: Least value.
        high: Largest value.
        above: Whether `low` itself is not allowed.
        unit: Unit of the range in the message.

    Raises:
        ConfigError: The value is out of the range, or not a number.
    """
    if value is None or (low <= value <= high and not (above and value == low)):
        return
    if above:
        expected = f"above {low:.12g}" + ("" if math.isinf(high) else f", at most {high:.12g}")
    else:
        expected = f"{low:.12g} or more" if math.isinf(high) else f"{low:.12g} to {high:.12g}"
    message = f"{key}={value:.12g} is out of range. Expected {' '.join(filter(None, (expected, unit)))}."
    raise ConfigError(message, key=key)
