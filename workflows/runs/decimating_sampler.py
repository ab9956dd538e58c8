"""An even sample of what comes one by one, however much that is."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class EvenSample(Generic[T]):
    """Keeps all that comes, then every second, every fourth, ...: never more than a limit."""

    def __init__(self, most: int) -> None:
        """Keeps nothing yet.

        Args:
            most: So many are kept at most.
        """
        self.items: list[T] = []
        """What is kept, in the order in which it came."""
        self.seen = 0
        """How many came."""
        self._most = most
        self._stride = 1

    def add(self, item: T) -> None:
        """Takes notice of one more."""
        if self.seen % self._stride == 0:
            self.items.append(item)
        self.seen += 1
        if len(self.items) > self._most:
            self._stride *= 2
            self.items = self.items[::2]
