"""Counts the work of planning, so that a search without a result ends after the same steps on every machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_PRICES = {
    "starts": 5,
    "candidates": 5,
    "rescues": 300,
    "queries": 1,
    "noise_draws": 400,
    "explanations": 3000,
    "loads": 250,
    "fits": 10,
}
"""Work of one piece of each count of a plan or a search; a unit takes about 0.1 ms on one core of a laptop.

`loads`: a scene is loaded into the simulation or into the collision checker. `fits`: a grasp or a spot is checked for
room for the hand.
"""


def work_of(counts: Mapping[str, int]) -> int:
    """Returns the work of the counts of a plan."""
    return sum(price * counts.get(name, 0) for name, price in _PRICES.items())


@dataclass
class WorkMeter:
    """The work that plans share: those of the strategies of one skill, or of all layouts of a search."""

    limit: int
    """Largest work; a plan that has begun finishes its first wave of starts beyond it."""
    spent: int = 0
    """Work of the plans so far."""
    allowance: int = 0
    """Work beside the plans, such as loading scenes, that does not count: the limit of a search is chosen for plans."""
    beside: int = 0
    """Work beside the plans so far."""

    def spend(self, piece: str, count: int = 1) -> None:
        """Counts pieces of work that belong to no plan: `loads` or `fits`."""
        self.beside += work_of({piece: count})

    def rest(self, limit: int) -> WorkMeter:
        """Returns a meter with what this one leaves of a larger limit and of its allowance."""
        used = self.limit - self.left
        return WorkMeter(max(1, limit - used), allowance=max(0, self.allowance - self.beside))

    @property
    def left(self) -> int:
        """Work that may still be spent; 0 or less if there is none."""
        return self.limit - self.spent - max(0, self.beside - self.allowance)

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left."""
        return self.left <= 0
