"""Sums that are the same in every version of Python."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from functools import reduce


def sum_in_order(values: Iterable[float]) -> float:
    """Returns the sum of floating-point numbers, added from left to right.

    Python's `sum` compensates for rounding from version 3.12 on, so its last bits depend on the version.
    """
    return reduce(operator.add, values, 0.0)
