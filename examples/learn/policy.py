"""The trained network as a policy for `unlatch evaluate`; UNLATCH_POLICY is its path.

UNLATCH_POLICY=data/policy.pt unlatch evaluate policy=policy:ChunkPolicy observation.columns=true observation.state=...

Of several networks, `UNLATCH_POLICY=first.pt:second.pt:third.pt`, each number of an action is the median; of two, the
mean.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from network import STATE, load

EXECUTED = int(os.environ.get("UNLATCH_EXECUTED", "20"))
"""Number of actions of a chunk that are executed before the next one is predicted."""


class ChunkPolicy:
    """Predicts for all workers at once, each when its last chunk is used up."""

    def __init__(self, observation_space: Any, action_space: Any) -> None:
        torch.set_default_device("cuda" if torch.cuda.is_available() else "cpu")
        self._networks = [load(path) for path in os.environ["UNLATCH_POLICY"].split(os.pathsep)]
        self._chunks: dict[int, list[np.ndarray]] = {}

    def reset(self, slot: int, observation: Mapping[str, np.ndarray], info: Mapping[str, Any]) -> None:
        """Forgets the chunk of a worker."""
        self._chunks[slot] = []

    def act_batch(self, observations: Mapping[str, np.ndarray], slots: Sequence[int]) -> list[np.ndarray]:
        """Returns the next action of every worker."""
        due = [row for row, slot in enumerate(slots) if not self._chunks[slot]]
        if due:
            seen = {key: torch.tensor(observations[key][due]) for key in (STATE, *self._networks[0].cfg.views)}
            seen[STATE] = seen[STATE].float()
            predicted = torch.stack([network.act(seen) for network in self._networks])
            chunks = predicted.quantile(0.5, dim=0).cpu().numpy().astype(float)
            for row, chunk in zip(due, chunks, strict=True):
                self._chunks[slots[row]] = list(chunk[:EXECUTED])
        return [self._chunks[slot].pop(0) for slot in slots]
