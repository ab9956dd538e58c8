"""Reads values from the untrusted mapping of a file."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unlatch.simcore.errors import AssetError


class MappingReader:
    """Reads values from untrusted mappings; every error names the file and the full key."""

    def __init__(self, where: str) -> None:
        self.where = where

    def fail(self, key: str, problem: str) -> AssetError:
        """Returns the error for a key; an empty key means the whole file."""
        return AssetError(f"{self.where}: {key or 'the file'} {problem}", path=self.where, key=key)

    def mapping(self, value: Any, key: str) -> Mapping[str, Any]:
        """Returns the value as a mapping."""
        if not isinstance(value, Mapping):
            raise self.fail(key, f"must be a mapping, got {shorten_value(value)}.")
        return value

    def required(self, data: Mapping[str, Any], name: str, key: str) -> Any:
        """Returns the value of a required key."""
        full = f"{key}.{name}" if key else name
        if name not in data:
            raise self.fail(full, "is missing.")
        return data[name]

    def text(self, data: Mapping[str, Any], name: str, key: str) -> str:
        """Returns a text that is not empty."""
        value = self.required(data, name, key)
        if not isinstance(value, str) or not value:
            raise self.fail(f"{key}.{name}" if key else name, f"must be a name, got {shorten_value(value)}.")
        return value

    def integer(self, data: Mapping[str, Any], name: str) -> int:
        """Returns a whole number at the top level of the file."""
        value = self.required(data, name, "")
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.fail(name, f"must be a whole number, got {shorten_value(value)}.")
        return value

    def number(self, value: Any, key: str) -> float:
        """Returns the value as a finite number."""
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
            raise self.fail(key, f"must be a finite number, got {shorten_value(value)}.")
        return float(value)

    def vector(self, value: Any, key: str, *, length: int = 3) -> np.ndarray:
        """Returns the value as (length,) finite numbers."""
        if not isinstance(value, (list, tuple)) or len(value) != length:
            raise self.fail(key, f"must be a list of {length} numbers, got {shorten_value(value)}.")
        return np.array([self.number(v, f"{key}[{i}]") for i, v in enumerate(value)])

    def choice(self, value: Any, key: str, kind: type[Enum]) -> Any:
        """Returns the enumeration member that the value names."""
        names = [member.name for member in kind]
        if value not in names:
            raise self.fail(key, f"is '{value}', expected one of: {', '.join(names)}.")
        return kind[str(value)]


def shorten_value(value: Any) -> str:
    """Returns a value as text for a message, cut to 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def readonly_vector(values: ArrayLike) -> np.ndarray:
    """Returns a copy of three numbers that cannot be written to."""
    array = np.array(values, dtype=float).reshape(3)
    array.setflags(write=False)
    return array


def rounded(value: float) -> float:
    """Returns a number as a file holds it: rounded to a nanometre, without a negative zero."""
    return round(float(value), 9) + 0.0


def rounded_list(values: ArrayLike) -> list[float]:
    """Returns numbers as a file holds them, see `rounded`."""
    return [rounded(v) for v in np.asarray(values, dtype=float)]
