"""A cache of a bounded size."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

ValueT = TypeVar("ValueT")


class LRUCache(Generic[ValueT]):
    """Least-recently-used cache of computed values; for functions of hashable arguments use `functools.lru_cache`."""

    def __init__(self, max_size: int) -> None:
        """Makes an empty cache of at most `max_size` values."""
        self._max_size = max_size
        self._values: OrderedDict[Hashable, ValueT] = OrderedDict()

    def get(self, key: Hashable, compute: Callable[[], ValueT]) -> ValueT:
        """Returns the value of a key, and computes it if it is missing."""
        if key not in self._values:
            self._values[key] = compute()
        self._values.move_to_end(key)
        while len(self._values) > self._max_size:
            self._values.popitem(last=False)
        return self._values[key]
