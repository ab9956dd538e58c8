"""Refuses a key that is given twice: the last value would win without a word."""

from __future__ import annotations

import re
from collections.abc import Sequence

from unlatch.simcore.errors import ConfigError

_INDEX = re.compile(r"\[(\d+)\]")


def refuse_repeated_keys(overrides: Sequence[str], *, advice: str = "Remove one.") -> None:
    """Raises an error if two overrides `key=value` have the same key; words without `=` and `~key` are skipped.

    Raises:
        ConfigError: A key is given twice.
    """
    given: dict[str, str] = {}
    for text in overrides:
        name, equals, _ = text.partition("=")
        if not equals or name.startswith(("~", "-")):
            continue
        key = _INDEX.sub(r".\1", name.lstrip("+"))
        if key in given:
            raise ConfigError(f"{key} is given twice: {given[key]} and {text}. Expected one value. {advice}", key=key)
        given[key] = text
