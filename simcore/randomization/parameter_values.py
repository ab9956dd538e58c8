"""Checks of parameters of distributions: numbers and rows of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from unlatch.simcore.errors import ConfigError

Array = np.ndarray


def read_numbers(value: Any, where: str) -> Array:
    """Returns a finite number () or row of numbers (w,).

    Raises:
        ConfigError: It is something else.
    """
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        array = np.zeros((0, 0))
    is_flag = isinstance(value, bool | str) or value is None
    if is_flag or array.ndim > 1 or (array.ndim == 1 and not array.size) or not np.all(np.isfinite(array)):
        raise ConfigError(
            f"{where}={value!r} is not a number. Expected a finite number, or a list of one per component. Change it.",
            key=where,
        )
    return array


def read_rows(value: Any, where: str) -> Array:
    """Returns (k,) numbers or (k, w) rows.

    Raises:
        ConfigError: It is empty, or its entries have different lengths.
    """
    rows = [read_numbers(row, f"{where}[{i}]") for i, row in enumerate(value)] if isinstance(value, Iterable) else []
    if not rows or len({row.shape for row in rows}) != 1:
        raise ConfigError(
            f"{where} has {len(rows)} entries of {len({row.shape for row in rows})} different lengths. Expected at "
            "least one, all numbers or all lists of one length. Change them.",
            key=where,
        )
    return np.array(rows)


def check_order(kind: str, values: Mapping[str, Array]) -> None:
    """Checks that `lower` is not above `upper`.

    Raises:
        ConfigError: It is, in at least one component.
    """
    lower, upper = values["lower"], values["upper"]
    if np.ndim(lower) == np.ndim(upper) == 1 and len(lower) != len(upper):
        return  # the check of the number of components has a better message
    if not np.all(lower <= upper):
        raise ConfigError(
            f"{kind}: lower={format_value(lower)} is above upper={format_value(upper)} in a component. Swap them.",
            key=f"{kind}.lower",
        )


def format_value(value: Any) -> str:
    """Returns a value as text for a message."""
    return str(value.tolist()) if isinstance(value, np.ndarray) else str(value)
