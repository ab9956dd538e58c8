"""Typed access to the untrusted mappings of a file."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unlatch.simcore.errors import AssetError


class MappingReader:
    """Typed access to untrusted mappings; every message names the file and the full key."""

    def __init__(self, where: str) -> None:
        self.where = where

    def fail(self, key: str, problem: str) -> AssetError:
        """The error for a key; an empty key means the file as a whole."""
        return AssetError(f"{self.where}: {key or 'the file'} {problem}", path=self.where, key=key)

    def mapping(self, value: Any, key: str) -> Mapping[str, Any]:
        """The value as a mapping."""
        if not isinstance(value, Mapping):
            raise self.fail(key, f"must be a mapping, got {shorten_value(value)}.")
        return value

    def required(self, data: Mapping[str, Any], name: str, key: str) -> Any:
        """The value of a key that must be there."""
        full = f"{key}.{name}" if key else name
        if name not in data:
            raise self.fail(full, "is missing.")
        return data[name]

    def text(self, data: Mapping[str, Any], name: str, key: str) -> str:
        """A name that is not empty."""
        value = self.required(data, name, key)
        if not isinstance(value, str) or not value:
            raise self.fail(f"{key}.{name}" if key else name, f"must be a name, got {shorten_value(value)}.")
        return value

    def integer(self, data: Mapping[str, Any], name: str) -> int:
        """A whole number at the top of the file."""
        value = self.required(data, name, "")
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.fail(name, f"must be a whole number, got {shorten_value(value)}.")
        return value

    def number(self, value: Any, key: str) -> float:
        """The value as a finite number."""
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
            raise self.fail(key, f"must be a finite number, got {shorten_value(value)}.")
        return float(value)

    def vector(self, value: Any, key: str, *, length: int = 3) -> np.ndarray:
        """The value as (length,) finite numbers."""
        if not isinstance(value, (list, tuple)) or len(value) != length:
            raise self.fail(key, f"must be a list of {length} numbers, got {shorten_value(value)}.")
        return np.array([self.number(v, f"{key}[{i}]") for i, v in enumerate(value)])

    def choice(self, value: Any, key: str, kind: type[Enum]) -> Any:
        """The member of an enumeration that the value names."""
        names = [member.name for member in kind]
        if value not in names:
            raise self.fail(key, f"is '{value}', expected one of: {', '.join(names)}.")
        return kind[str(value)]


def shorten_value(value: Any) -> str:
    """A value as it is shown in a message, cut to a line."""
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
