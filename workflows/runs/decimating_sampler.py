"""Keeps an evenly spaced sample of a stream of any length."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class DecimatingSampler(Generic[T]):
    """Keeps every item, then every second, every fourth, ...: never more than a limit."""

    def __init__(self, most: int) -> None:
        """Keeps nothing yet.

        Args:
            most: The largest number of items that are kept.
        """
        self.items: list[T] = []
        """The sample, in the order of the stream."""
        self.seen = 0
        """Number of items of the stream so far."""
        self._most = most
        self._stride = 1

    def add(self, item: T) -> None:
        """Takes the next item of the stream."""
        if self.seen % self._stride == 0:
            self.items.append(item)
        self.seen += 1
        if len(self.items) > self._most:
            self._stride *= 2
            self.items = self.items[::2]
