"""Statistics of columns for normalization: of an episode, and of a whole set with bounded memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Array = np.ndarray
Statistics = dict[str, Array]
"""`min`, `max`, `mean`, `std`, `q01` ... `q99`, float64 of one shape, and `count` (1,) int64."""

QUANTILES = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}
"""Quantiles by name."""
_MAX_ROWS = 1 << 16


def compute_statistics(values: Array) -> Statistics:
    """Returns the statistics of (N, n) numbers over the first axis; N is at least 1."""
    numbers = np.asarray(values, dtype=float)
    return {
        "min": numbers.min(axis=0),
        "max": numbers.max(axis=0),
        "mean": numbers.mean(axis=0),
        "std": numbers.std(axis=0),
        "count": np.array([len(numbers)]),
        **_quantiles(numbers),
    }


def _quantiles(numbers: Array) -> Statistics:
    return dict(zip(QUANTILES, np.quantile(numbers, list(QUANTILES.values()), axis=0), strict=True))


class RunningStatistics:
    """Accumulates the statistics of rows block by block.

    Minimum, maximum, mean and standard deviation are those of all rows. Quantiles are those of all rows if there
    are at most 65,536. Else they are those of every second row, every fourth row and so on: 32,768 to 65,536 rows.
    """

    def __init__(self) -> None:
        self._count = 0
        self._mean = self._squares = self._least = self._largest = np.zeros(0)
        self._kept: list[Array] = []
        self._n_kept = 0
        self._stride = 1

    def update(self, rows: Array) -> None:
        """Adds a block of (N, n) numbers."""
        if not len(rows):
            return
        block = np.asarray(rows, dtype=float)
        n, mean, squares = len(block), block.mean(axis=0), block.var(axis=0) * len(block)
        self._sample_rows(block)
        if not self._count:
            self._mean, self._squares = mean, squares
            self._least, self._largest = block.min(axis=0), block.max(axis=0)
        else:
            total = self._count + n
            delta = mean - self._mean
            self._mean = self._mean + delta * n / total
            self._squares = self._squares + squares + delta**2 * self._count * n / total
            self._least = np.minimum(self._least, block.min(axis=0))
            self._largest = np.maximum(self._largest, block.max(axis=0))
        self._count += n

    def _sample_rows(self, block: Array) -> None:
        first = -self._count % self._stride
        kept = block[first :: self._stride].copy()
        self._kept.append(kept)
        self._n_kept += len(kept)
        while self._n_kept > _MAX_ROWS:
            rows = np.concatenate(self._kept)[::2]
            self._kept, self._n_kept = [rows], len(rows)
            self._stride *= 2

    def result(self) -> Statistics:
        """Returns the statistics of all rows."""
        return {
            "min": self._least,
            "max": self._largest,
            "mean": self._mean,
            "std": np.sqrt(self._squares / self._count),
            "count": np.array([self._count]),
            **_quantiles(np.concatenate(self._kept)),
        }


def combine_statistics(parts: Sequence[Statistics]) -> Statistics:
    """Combines the statistics of several episodes of one shape; quantiles are weighted means, as in LeRobot."""
    counts = np.array([float(part["count"][0]) for part in parts])
    total = counts.sum()

    def weighted(values: Sequence[Array]) -> Array:
        return np.tensordot(counts, np.stack(values), axes=1) / total

    mean = weighted([part["mean"] for part in parts])
    return {
        "min": np.min([part["min"] for part in parts], axis=0),
        "max": np.max([part["max"] for part in parts], axis=0),
        "mean": mean,
        "std": np.sqrt(weighted([part["std"] ** 2 + (part["mean"] - mean) ** 2 for part in parts])),
        "count": np.array([int(total)]),
        **{name: weighted([part[name] for part in parts]) for name in QUANTILES},
    }
