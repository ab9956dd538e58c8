"""Collects episodes that cannot be read, so that a command can name them and go on with the others."""

from __future__ import annotations

from unlatch.simcore.errors import RecordingError

MOST_NAMED = 5


class CorruptEpisodes:
    """Episodes that cannot be read; pass `add` to `DataSet.each_summary`."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self._messages: list[str] = []

    def add(self, number: int, exc: RecordingError) -> None:
        """Adds an episode and the error that reading it raised."""
        self.numbers.append(number)
        if len(self._messages) < MOST_NAMED:
            self._messages.append(f"episode {number} is damaged: {exc.message}")

    def lines(self) -> list[str]:
        """Returns one line for each of the first few, and one that counts the rest."""
        more = len(self.numbers) - len(self._messages)
        return [*self._messages, *([f"{more:,} more episodes are damaged; `unlatch check` names all"] if more else [])]

    def count_text(self) -> list[str]:
        """Returns `["damaged 2"]`, or an empty list."""
        return [f"damaged {len(self.numbers)}"] if self.numbers else []
