"""Reads values from the untrusted mapping of a file."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unlatch.simcore.errors import AssetError, shorten

_REQUIRED = object()
UNIT_TOLERANCE = 1e-3
"""The length of a unit vector may be off by this much."""


class MappingReader:
    """Reads values from one untrusted mapping; every error names the file and the full key.

    Each method takes the name of a key. A key without a default is required.
    """

    def __init__(self, data: Any, *, where: str, key: str = "") -> None:
        """Takes a mapping of the file `where`; `key` is the full key of the mapping, empty for the whole file.

        Raises:
            AssetError: `data` is not a mapping.
        """
        self.where = where
        self._key = key
        if not isinstance(data, Mapping):
            raise self._make_error(key, f"must be a mapping, got {shorten(repr(data), 60)}.")
        self.data: Mapping[str, Any] = data

    def fail(self, name: str, problem: str) -> AssetError:
        """Returns the error for a key of the mapping."""
        return self._make_error(self._full_key(name), problem)

    def value(self, name: str, default: Any = _REQUIRED) -> Any:
        """Returns the unchecked value of a key."""
        value = self.data.get(name, default)
        if value is _REQUIRED:
            raise self.fail(name, "is missing.")
        return value

    def section(self, name: str, default: Any = _REQUIRED) -> MappingReader:
        """Returns a reader of the mapping at a key."""
        return MappingReader(self.value(name, default), where=self.where, key=self._full_key(name))

    def sections(self, name: str, default: Any = _REQUIRED) -> dict[str, MappingReader]:
        """Returns readers of the mappings in the mapping at a key, by name."""
        outer = self.section(name, default)
        return {str(inner): outer.section(inner) for inner in outer.data}

    def text(self, name: str) -> str:
        """Returns a text that is not empty."""
        value = self.value(name)
        if not isinstance(value, str) or not value:
            raise self._type_error(name, "a name", value)
        return value

    def integer(self, name: str) -> int:
        """Returns a whole number."""
        value = self.value(name)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._type_error(name, "a whole number", value)
        return value

    def number(self, name: str, default: Any = _REQUIRED) -> float:
        """Returns a finite number."""
        return self._check_number(self.value(name, default), name)

    def boolean(self, name: str, default: Any = _REQUIRED) -> bool:
        """Returns true or false."""
        value = self.value(name, default)
        if not isinstance(value, bool):
            raise self._type_error(name, "true or false", value)
        return value

    def vector(self, name: str, *, length: int = 3) -> np.ndarray:
        """Returns (length,) finite numbers."""
        value = self.value(name)
        if not isinstance(value, (list, tuple)) or len(value) != length:
            raise self._type_error(name, f"a list of {length} numbers", value)
        return np.array([self._check_number(v, f"{name}[{i}]") for i, v in enumerate(value)])

    def direction(self, name: str) -> np.ndarray:
        """Returns (3,) numbers whose length is 1 within `UNIT_TOLERANCE`, as the file states them."""
        vector = self.vector(name)
        length = float(np.linalg.norm(vector))
        if abs(length - 1.0) > UNIT_TOLERANCE:
            raise self.fail(name, f"has length {length:.4f}, expected a unit vector.")
        return vector

    def choice(self, name: str, kind: type[Enum]) -> Any:
        """Returns the enumeration member that a value names."""
        value = self.value(name)
        names = [member.name for member in kind]
        if value not in names:
            raise self.fail(name, f"is '{value}', expected one of: {', '.join(names)}.")
        return kind[str(value)]

    def _check_number(self, value: Any, name: str) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
            raise self._type_error(name, "a finite number", value)
        return float(value)

    def _type_error(self, name: str, expected: str, value: Any) -> AssetError:
        return self.fail(name, f"must be {expected}, got {shorten(repr(value), 60)}.")

    def _full_key(self, name: str) -> str:
        return f"{self._key}.{name}" if self._key else name

    def _make_error(self, key: str, problem: str) -> AssetError:
        return AssetError(f"{self.where}: {key or 'the file'} {problem}", path=self.where, key=key)


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
