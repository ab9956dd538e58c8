"""Makes configurations of the arguments of commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, TypeVar

import yaml

from unlatch.configs.dataclass_reader import read_dataclass
from unlatch.configs.repeated_keys import refuse_repeated_keys
from unlatch.simcore.errors import ConfigError, close_matches, unknown_key

T = TypeVar("T")


def read_pairs(schema: type[T], arguments: Sequence[str], *, others: Sequence[str] = ()) -> T:
    """Reads `key=value` arguments of a command that composes no configuration; skips the keys in `others`.

    Raises:
        ConfigError: One cannot be read, is not in the schema, or is given twice.
    """
    refuse_repeated_keys(arguments)
    values: dict[str, Any] = {}
    for argument in arguments:
        key, equals, text = argument.partition("=")
        if not equals or key.startswith("-"):
            raise ConfigError(f"'{argument}' cannot be read. Expected key=value.", argument=argument)
        if key in others:
            continue
        try:
            values[key] = yaml.safe_load(text)
        except yaml.YAMLError as exc:
            raise ConfigError(f"'{argument}' cannot be read: {' '.join(str(exc).split())}.", argument=argument) from exc
    if others:
        _check_keys(schema, list(values), others)
    return read_dataclass(schema, values, where="")


def _check_keys(schema: type, keys: Sequence[str], others: Sequence[str]) -> None:
    """Raises an error for an unknown key; a key that resembles one of `others` is named first."""
    known = [item.name for item in fields(schema)]
    unknown = [key for key in keys if key not in known]
    for key in sorted(unknown, key=lambda key: not close_matches(key, others)):
        raise unknown_key(key, key, [*others, *known])
