"""Collects episodes that cannot be read, so that a command can name them and go on with the others."""

from __future__ import annotations

from unlatch.simcore.errors import RecordingError

MOST_NAMED = 5
"""How many episodes are named in a terminal."""
MOST_KEPT = 1000
"""How many reasons are kept."""


class CorruptEpisodes:
    """Episodes that cannot be read; pass `add` to `DataSet.each_summary`."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self._reasons: dict[int, str] = {}

    def add(self, number: int, exc: RecordingError) -> None:
        """Adds an episode and the error that reading it raised."""
        self.numbers.append(number)
        if len(self._reasons) < MOST_KEPT:
            self._reasons[number] = exc.message

    def lines(self, most: int = MOST_NAMED) -> list[str]:
        """Returns one line for each of the first `most` episodes, up to `MOST_KEPT`, and one that counts the rest."""
        shown = sorted(self._reasons.items())[:most]
        more = len(self.numbers) - len(shown)
        return [
            *(f"episode {number} is damaged: {reason}" for number, reason in shown),
            *([f"{more:,} more episodes are damaged; `unlatch check` names all"] if more else []),
        ]

    def count_text(self) -> list[str]:
        """Returns `["damaged 2 (episodes 3, 17)"]`, or an empty list."""
        if not self.numbers:
            return []
        named = [str(number) for number in sorted(self.numbers)[:MOST_NAMED]]
        if len(self.numbers) > MOST_NAMED:
            named.append("...")
        word = "episode" if len(self.numbers) == 1 else "episodes"
        return [f"damaged {len(self.numbers):,} ({word} {', '.join(named)})"]
