"""Episodes that cannot be read: they are named, and everything else goes on."""

from __future__ import annotations

from unlatch.simcore.errors import RecordingError

MOST_NAMED = 5


class Damaged:
    """Takes notice of them; `add` is what `DataSet.each_summary` calls."""

    def __init__(self) -> None:
        """Knows of none."""
        self.numbers: list[int] = []
        """Their numbers."""
        self._messages: list[str] = []

    @property
    def n(self) -> int:
        """How many there are."""
        return len(self.numbers)

    def add(self, number: int, exc: RecordingError) -> None:
        """Takes notice of one.

        Args:
            number: Its number.
            exc: What is wrong with it.
        """
        self.numbers.append(number)
        if len(self._messages) < MOST_NAMED:
            self._messages.append(f"episode {number} is damaged: {exc.message}")

    def lines(self) -> list[str]:
        """What is said of them: a line each, and how many more there are."""
        more = self.n - len(self._messages)
        return [*self._messages, *([f"{more:,} more episodes are damaged; `unlatch check` names all"] if more else [])]

    def short(self) -> list[str]:
        """`damaged 2`, or nothing."""
        return [f"damaged {self.n}"] if self.n else []
