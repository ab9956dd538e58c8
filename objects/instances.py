"""Which instance of its objects an episode gets, and which of them are trained with or held out."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from unlatch.simcore.errors import ConfigError, close_matches

RANDOM, ROUND_ROBIN = "random", "round_robin"
SEEDS = 2**31
"""Seeds of a procedural object that are drawn lie below it."""


class Split(Enum):
    """Which instances take part."""

    all = "all"
    train = "train"
    held_out = "held_out"


@dataclass(frozen=True)
class InstanceChoice:
    """How an episode chooses its instance; a function of a draw and of the episode's number alone."""

    mode: str = RANDOM
    """`random`: by the draw; `round_robin`: one after the other, by the number of the episode."""
    named: tuple[str, ...] = ()
    """The instances that take part; empty: all."""
    count: int | None = None
    """So many seeds of a procedural object take part, from 0; None: any."""
    split: Split = Split.all
    held_out: float = 0.2
    """Share of the instances that is held out."""

    def pool(self, available: Sequence[str] | None) -> list[str] | None:
        """The instances that take part, in order; None where any seed may.

        Args:
            available: Ids of a data set; None of a procedural object, which has every seed.

        Raises:
            ConfigError: A named one is not there, or none is left.
        """
        ids = list(available) if available is not None else self._counted_seeds()
        if ids is None:
            return None
        missing = [name for name in self.named if name not in ids]
        if missing:
            raise ConfigError(
                f"object.instances: '{missing[0]}' is not there.{close_matches(missing[0], ids)} "
                f"Known: {_list_ids(ids)}. Remove or correct it.",
                key="object.instances",
                available=ids,
            )
        ids = list(self.named) or ids
        kept = [name for name in ids if self.takes(name)]
        if ids and not kept:
            raise ConfigError(
                f"object.split={self.split.value} leaves none of {len(ids)} instances ({_list_ids(ids)}) with "
                f"object.held_out={self.held_out:g}. Change the share, or take part with more instances.",
                key="object.split",
            )
        return kept

    def choose(self, available: Sequence[str] | None, *, draw: int, number: int) -> str | None:
        """The instance of an episode; None if there is none at all.

        Args:
            available: See `pool`.
            draw: A random number from 0 below `SEEDS`.
            number: Number of the episode.

        Raises:
            ConfigError: As `pool`.
        """
        pool = self.pool(available)
        if pool is None:
            seed = draw
            while not self.takes(str(seed)):
                seed = (seed + 1) % SEEDS
            return str(seed)
        if not pool:
            return None
        return pool[(number if self.mode == ROUND_ROBIN else draw) % len(pool)]

    def takes(self, instance: str) -> bool:
        """Whether an instance is of the split."""
        return self.split is Split.all or split_of(instance, held_out=self.held_out) is self.split

    def _counted_seeds(self) -> list[str] | None:
        if self.named:
            return list(self.named)
        return None if self.count is None else [str(seed) for seed in range(self.count)]


def split_of(instance: str, *, held_out: float) -> Split:
    """`train` or `held_out`: decided by the instance's id alone, so that it is the same in every run.

    A larger share holds out what a smaller one does, and more.

    Args:
        instance: Id, or seed of a procedural object.
        held_out: Share that is held out, 0 to 1.
    """
    digest = hashlib.sha256(f"unlatch-split:{instance}".encode()).digest()
    return Split.held_out if int.from_bytes(digest[:8], "big") < held_out * 2.0**64 else Split.train


def check_instances(value: Any) -> str | list[str]:
    """`object.instances` as it is kept: `random`, `round_robin`, or a list of ids.

    Args:
        value: As it stands in a YAML.

    Raises:
        ConfigError: It is none of these.
    """
    if value in (RANDOM, ROUND_ROBIN):
        return str(value)
    ids = value if isinstance(value, (list, tuple)) else []
    if not ids or any(isinstance(item, bool) or not isinstance(item, (int, str)) for item in ids):
        raise ConfigError(
            f"object.instances={value} is no choice. Expected {RANDOM}, {ROUND_ROBIN} or a list of ids or seeds. "
            "Change it.",
            key="object.instances",
        )
    names = [str(item) for item in ids]
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        raise ConfigError(
            f"object.instances holds '{double}' twice. Expected each once. Remove one.", key="object.instances"
        )
    return names


def _list_ids(ids: Sequence[str]) -> str:
    shown = ", ".join(ids[:8])
    return shown if len(ids) <= 8 else f"{shown} and {len(ids) - 8} more"
