"""Chooses the instance of an object for each episode, and splits instances into training and held-out ones."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from unlatch.simcore.errors import ConfigError, close_matches

RANDOM, ROUND_ROBIN = "random", "round_robin"
SEEDS = 2**31
"""Drawn seeds of procedural objects are below this number."""


class Split(Enum):
    """Which instances take part."""

    all = "all"
    train = "train"
    held_out = "held_out"


@dataclass(frozen=True)
class InstanceChoice:
    """How an episode chooses its instance. The choice depends only on a random number and on the episode's number."""

    mode: str = RANDOM
    """`random`: by the random number; `round_robin`: in turn, by the number of the episode."""
    named: tuple[str, ...] = ()
    """The instances that take part; empty means all."""
    count: int | None = None
    """Only the procedural seeds from 0 below this number take part; None means any seed."""
    split: Split = Split.all
    held_out: float = 0.2

    def pool(self, available: Sequence[str] | None) -> list[str] | None:
        """Returns the instances that take part, in order; None if every seed takes part.

        `available` are the ids of a data set or folder, and None for a procedural object.

        Raises:
            ConfigError: A named instance does not exist, or the split leaves none.
        """
        ids = list(available) if available is not None else self._counted_seeds()
        if ids is None:
            return None
        missing = [name for name in self.named if name not in ids]
        if missing:
            raise ConfigError(
                f"object.instances: '{missing[0]}' does not exist.{close_matches(missing[0], ids)} "
                f"Known: {_list_ids(ids)}. Remove or correct it.",
                key="object.instances",
                available=ids,
            )
        ids = list(self.named) or ids
        kept = [name for name in ids if self.is_in_split(name)]
        if ids and not kept:
            raise ConfigError(
                f"object.split={self.split.value} leaves none of {len(ids)} instances ({_list_ids(ids)}) with "
                f"object.held_out={self.held_out:g}. Change the share, or allow more instances.",
                key="object.split",
            )
        return kept

    def choose(self, available: Sequence[str] | None, *, draw: int, number: int) -> str | None:
        """Returns the instance of an episode; None if there is none. `draw` is a random number from 0 below `SEEDS`.

        Raises:
            ConfigError: A named instance does not exist, or the split leaves none.
        """
        pool = self.pool(available)
        if pool is None:
            seed = draw
            while not self.is_in_split(str(seed)):
                seed = (seed + 1) % SEEDS
            return str(seed)
        if not pool:
            return None
        return pool[(number if self.mode == ROUND_ROBIN else draw) % len(pool)]

    def is_in_split(self, instance: str) -> bool:
        """Returns whether an instance belongs to the split."""
        return self.split is Split.all or split_of(instance, held_out=self.held_out) is self.split

    def _counted_seeds(self) -> list[str] | None:
        if self.named:
            return list(self.named)
        return None if self.count is None else [str(seed) for seed in range(self.count)]


def split_of(instance: str, *, held_out: float) -> Split:
    """Returns `train` or `held_out`. Only the instance's id decides, so every run has the same split.

    A larger share holds out all that a smaller share holds out, and more.
    """
    digest = hashlib.sha256(f"unlatch-split:{instance}".encode()).digest()
    return Split.held_out if int.from_bytes(digest[:8], "big") < held_out * 2.0**64 else Split.train


def check_instances(value: Any) -> str | list[str]:
    """Checks `object.instances` from a YAML and returns it: `random`, `round_robin`, or a list of ids.

    Raises:
        ConfigError: It is none of these.
    """
    if value in (RANDOM, ROUND_ROBIN):
        return str(value)
    ids = value if isinstance(value, (list, tuple)) else []
    if not ids or any(isinstance(item, bool) or not isinstance(item, (int, str)) for item in ids):
        raise ConfigError(
            f"object.instances={value} is not a choice. Expected {RANDOM}, {ROUND_ROBIN} or a list of ids or seeds. "
            "Change it.",
            key="object.instances",
        )
    names = [str(item) for item in ids]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise ConfigError(
            f"object.instances holds '{repeated}' twice. Expected each once. Remove one.", key="object.instances"
        )
    return names


def _list_ids(ids: Sequence[str]) -> str:
    shown = ", ".join(ids[:8])
    return shown if len(ids) <= 8 else f"{shown} and {len(ids) - 8} more"
