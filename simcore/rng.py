"""Numbers that are the same in every run and every version of Python: seeds, named random streams, and sums.

An episode is a pure function of its configuration and number, so every random generator derives from both. Each
concern has its own stream: a new draw in one does not change the others.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Iterable
from functools import reduce

import numpy as np

from unlatch.simcore.errors import check_range

STREAMS = ("layout", "physics", "visuals", "planner", "sensors", "language", "disturb", "points")
"""The named streams of an episode. A name with a suffix (`planner.0.left.push`) is another, independent stream."""


def episode_seed(run_seed: int, number: int) -> int:
    """Returns the 63-bit seed of an episode by its number from 0, the same on every machine and in every process."""
    return _hash_to_seed(f"unlatch-episode:{run_seed}:{number}")


def stream(seed: int, name: str) -> np.random.Generator:
    """Returns a generator that depends only on a seed and a name: one of `STREAMS` or a plugin's own.

    Raises:
        ConfigError: The seed is negative.
    """
    check_range("seed", seed, 0)
    digest = hashlib.sha256(name.encode()).digest()
    words = [int.from_bytes(digest[i : i + 4], "big") for i in range(0, 16, 4)]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *words])))


def derived_seed(seed: int, name: str) -> int:
    """Returns a 63-bit seed that depends only on another seed and the name of its purpose."""
    return _hash_to_seed(f"unlatch-derived:{seed}:{name}")


def _hash_to_seed(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


class EpisodeStreams(dict[str, np.random.Generator]):
    """The named generators of one episode, created on first use."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.seed = seed

    def __missing__(self, name: str) -> np.random.Generator:
        self[name] = stream(self.seed, name)
        return self[name]


def sum_in_order(values: Iterable[float]) -> float:
    """Returns the sum of floating-point numbers, added from left to right.

    Python's `sum` compensates for rounding from version 3.12 on, so its last bits depend on the version.
    """
    return reduce(operator.add, values, 0.0)
