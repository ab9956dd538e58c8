"""Every error that a caller may catch derives from `UnlatchError`.

A message says what is wrong, where, what was found and expected, and what to do. The same values are
attributes of the error, so callers never parse text. `MISSING` marks a field that must be given.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from typing import Any, TypeVar


class UnlatchError(Exception):
    """Base of all errors raised by this distribution; keyword values become attributes."""

    def __init__(self, message: str, **values: Any) -> None:
        super().__init__(message)
        self.message = message
        self.values = values
        for name, value in values.items():
            setattr(self, name, value)


class ConfigError(UnlatchError):
    """A configuration value is missing, unknown, of the wrong type or out of its range."""


class PluginError(UnlatchError):
    """A plugin could not be found, loaded or registered."""


class UnknownEntryError(PluginError):
    """A name is not in its catalog."""


class DuplicateEntryError(PluginError):
    """Two distributions register the same name in one catalog."""


class AssetError(UnlatchError):
    """An asset (URDF, mesh, annotation) is missing, damaged or inconsistent."""


class WorldError(UnlatchError):
    """The simulated world lacks something or cannot do something."""


class FrameNotFoundError(WorldError):
    """A link or joint name does not exist on a body."""


class GeometryError(UnlatchError, ValueError):
    """Values do not form a vector, rotation or pose."""


class SolverError(UnlatchError):
    """A planning problem is malformed."""


class NoSolutionError(SolverError):
    """The solution of an unsolved problem was read."""


class SkillError(UnlatchError):
    """A skill was used against its contract."""


class RecordingError(UnlatchError):
    """A data set or an episode cannot be written or read."""


class FormatVersionError(RecordingError):
    """A data set was written in a format that this version does not read."""


class HubError(UnlatchError):
    """The Hugging Face Hub cannot be reached, or refuses a request."""


Error = TypeVar("Error", bound=UnlatchError)


def unknown_name(
    name: str,
    kind: str,
    *,
    where: str,
    known: Iterable[str],
    heading: str = "Known",
    listed_by: str = "",
    default: str = "",
) -> ConfigError:
    """Returns the error for a name in a configuration that does not exist.

    Args:
        name: The wrong name.
        kind: What it should name, with an article: `a link of robot 'panda'`.
        where: Full key of the wrong value.
        known: The names that exist.
        heading: The word before the known names in the message.
        listed_by: See `describe_choices`.
        default: See `describe_choices`.
    """
    return unknown_entry(
        f"{where}='{name}' is not {kind}.",
        name,
        known,
        error=ConfigError,
        heading=heading,
        listed_by=listed_by,
        default=default,
        advice="Name one of them.",
        key=where,
    )


def unknown_entry(
    said: str,
    wrong: str,
    known: Iterable[str],
    *,
    error: type[Error],
    heading: str = "Known",
    listed_by: str = "",
    default: str = "",
    advice: str = "",
    key: str | None = None,
    name: str | None = None,
    path: str | None = None,
    object: str | None = None,
    arm: str | None = None,
    camera: str | None = None,
    code: str | None = None,
) -> Error:
    """Returns the error for a name that something does not have.

    Args:
        said: A sentence that says what is not where: `No part 'dor' in microwave.`
        wrong: The wrong name.
        known: The names that exist; the attribute `available` of the error.
        error: Class of the error.
        heading: The word before the known names in the message.
        listed_by: See `describe_choices`.
        default: See `describe_choices`.
        advice: What to do, a sentence.
        key: The wrong key, an attribute of the error; of this and those that follow, it has no attribute that is None.
        name: The wrong name.
        path: The file.
        object: The object.
        arm: The arm.
        camera: The camera.
        code: The code.
    """
    given = {"key": key, "name": name, "path": path, "object": object, "arm": arm, "camera": camera, "code": code}
    values = {attribute: value for attribute, value in given.items() if value is not None}
    names = list(known)
    choices = describe_choices(wrong, names, heading=heading, listed_by=listed_by, default=default)
    return error(" ".join(filter(None, (said + choices, advice))), available=names, **values)


def unknown_key(where: str, key: str, known: list[str], *, listed_by: str = "--help") -> ConfigError:
    """Returns the error for a key that its schema does not have.

    Args:
        where: The full key.
        key: Its last word.
        known: The keys that exist there.
        listed_by: The command, or its flag, that prints the keys without a point; `unlatch schema` prints the others.
    """
    listed_by = "unlatch schema" if "." in where else listed_by
    choices = describe_choices(key, known, heading="Keys there", listed_by=listed_by)
    return ConfigError(f"{where} is unknown.{choices} Remove or rename it.", key=where, available=known)


_MOST_LISTED = 30
"""Names that a message lists at most where a command lists them, too."""


def describe_choices(
    name: str, available: Iterable[str], *, heading: str = "Known", listed_by: str = "", default: str = ""
) -> str:
    """Returns what a message proposes for a wrong name: the close names, or all where none is close.

    Where none is close and a command lists many, the message names the command alone.

    Args:
        name: The wrong name.
        available: The names that exist.
        heading: The word before the list of all.
        listed_by: The command that prints all names; empty: there is none, and all are listed beside the close ones.
        default: The name that is used if none is given; it is proposed before others that are as near.
    """
    names = list(available)
    near = close_matches(name, sorted(names, key=lambda other: other != default))
    if listed_by and (near or len(names) > _MOST_LISTED):
        return f"{near} `{listed_by}` lists all{'' if near else f' {len(names)}'}."
    return f"{near} {heading}: {', '.join(names) or 'none'}."


def close_matches(name: str, available: Iterable[str]) -> str:
    """Returns ` Did you mean 'x'?` for a misspelt or incomplete name, or an empty string.

    At most three names are proposed, the nearest first, and none that is much further off than the nearest. Of equally
    near names, those that come first in `available` are proposed first.
    """
    from unlatch.simcore.close_names import find_close_names  # only messages need it

    nearest = find_close_names(name, available)
    return " Did you mean " + " or ".join(f"'{other}'" for other in nearest) + "?" if nearest else ""


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


def __getattr__(name: str) -> type[UnlatchError]:
    """Returns `UnlatchError` under the name that it had in version 0.2, with a warning."""
    if name != "SimCoreError":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(
        f"{name} is named UnlatchError. The next version has only that name.", DeprecationWarning, stacklevel=2
    )
    return UnlatchError


MISSING: Any = "???"
