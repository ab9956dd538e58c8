"""Groups the skills of a chain into stages: stages run in sequence, the arms of a stage run concurrently."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from unlatch.skills.contract.config import SkillCfg

Sequences = list[list[int]]
"""One list for each arm of a stage: indices of its skills in the chain, in order."""


def stages_of(chain: Sequence[SkillCfg]) -> list[Sequences]:
    """Returns the stages of a chain, in order; each arm of a stage has its own sequence, and these run concurrently.
    Neighbours with the same `stage` number form a stage; every other entry is its own stage.
    """
    stages: list[Sequences] = []
    numbered = groupby(range(len(chain)), key=lambda index: (chain[index].stage, _stage_or_own(chain, index)))
    for _, indices in numbered:
        sequences: dict[str | None, list[int]] = {}
        for index in indices:
            sequences.setdefault(chain[index].arm, []).append(index)
        stages.append(list(sequences.values()))
    return stages


def _stage_or_own(chain: Sequence[SkillCfg], index: int) -> int:
    return index if chain[index].stage is None else -1
