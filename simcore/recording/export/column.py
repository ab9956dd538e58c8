"""Named numbers per frame, and what makes and joins them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unlatch.simcore.errors import RecordingError

Array = np.ndarray

AXES = ("x", "y", "z")


@dataclass(frozen=True)
class Column:
    """Named numbers, one row per frame."""

    names: tuple[str, ...]
    """Name of each number of the last axis."""
    values: Array
    """(T+1, n) float64 for observations, (T+1, points, 4) float32 for point clouds, (T, n) for actions."""


def read_array(arrays: Mapping[str, Array], key: str, number: int) -> Array:
    """Returns an array of a record, floats in double precision.

    Raises:
        RecordingError: It is missing.
    """
    found = arrays.get(key)
    if found is None:
        raise RecordingError(
            f"Episode {number} has no '{key}', which this export needs. Expected it in every record of an "
            "attempt that began. Leave the episode out by only=[...], or choose another action or state.",
            number=number,
            key=key,
        )
    return found.astype(np.float64, copy=False) if found.dtype.kind == "f" else found


def prefix_names(prefix: str, words: Sequence[str]) -> tuple[str, ...]:
    """Returns names with a prefix."""
    return tuple(f"{prefix}.{word}" for word in words)


def fitting_names(joints: Sequence[str], n: int) -> Sequence[str]:
    """Returns the names of n joints; other names than the given ones where their number does not fit."""
    return joints if len(joints) == n else [f"joint{index}" for index in range(n)]


def join_columns(columns: Sequence[Column]) -> Column:
    """Puts columns side by side into one column."""
    if not columns:
        return Column((), np.zeros((0, 0)))
    names = tuple(name for column in columns for name in column.names)
    return Column(names, np.hstack([column.values for column in columns]))
