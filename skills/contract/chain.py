"""A chain as stages: what runs one after the other, and what at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from unlatch.skills.contract.config import SkillCfg

Sequences = list[list[int]]
"""One list for each arm that acts in a stage: indices of its skills in the chain, in their order."""


def stages_of(chain: Sequence[SkillCfg]) -> list[Sequences]:
    """The stages of a chain, in order; each arm of a stage has a sequence of its own, and these run side by side.

    Args:
        chain: The entries; neighbours of one `stage` number belong together, each other one is a stage of its own.
    """
    stages: list[Sequences] = []
    numbered = groupby(range(len(chain)), key=lambda index: (chain[index].stage, _own(chain, index)))
    for _, indices in numbered:
        sequences: dict[str | None, list[int]] = {}
        for index in indices:
            sequences.setdefault(chain[index].arm, []).append(index)
        stages.append(list(sequences.values()))
    return stages


def _own(chain: Sequence[SkillCfg], index: int) -> int:
    return index if chain[index].stage is None else -1
