"""A trained network, or the nearest neighbour, as a policy for `unlatch evaluate`; UNLATCH_POLICY is its file.

UNLATCH_POLICY=data/policy.npz unlatch evaluate policy=policy:ChunkPolicy observation.columns=true observation.state=...

Of several networks, `UNLATCH_POLICY=first.npz:second.npz:third.npz`, each number of an action is the median; of two,
the mean. The file of demonstrations that `states.py` writes is a policy, too: the nearest neighbour. Only networks that
observe points or images need torch.
"""

import json
import os
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from states import STATE, NearestNeighbour, StateNetwork

EXECUTED = int(os.environ.get("UNLATCH_EXECUTED", "20"))
"""Number of actions of a chunk that are executed before the next one is predicted."""


def load(path: str) -> Any:
    """Returns what predicts: `act` gives actions (N, chunk, n) for observations by key.

    Raises:
        ValueError: The file is neither a network nor demonstrations.
    """
    with np.load(path) as stored:
        if not {"cfg", "states"} & {*stored.files}:
            raise ValueError(
                f"{path} has neither a network nor demonstrations. Expected a file of train.py or states.py. Networks "
                "are .npz now: if this is an older one, train it again."
            )
        views = json.loads(str(stored["cfg"])).get("views", []) if "cfg" in stored.files else None
    if views is None:
        return NearestNeighbour(path, EXECUTED)
    if not views:
        return StateNetwork(path)
    import torch  # only here: it takes seconds to import
    from network import WORDS, tell_words
    from network import load as load_network

    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_default_device(device)
    network = load_network(path)

    def act(seen: Mapping[str, np.ndarray], said: Sequence[str] = ()) -> np.ndarray:
        torch.set_default_device(device)  # it holds for one thread
        tensors = {key: torch.tensor(value) for key, value in seen.items()}
        tensors[WORDS] = tell_words(network.cfg.words, said)
        tensors[STATE] = tensors[STATE].float()
        return network.act(tensors).cpu().numpy()

    return SimpleNamespace(cfg=network.cfg, act=act)


class ChunkPolicy:
    """Predicts for all workers at once, each when its last chunk is used up."""

    def __init__(self, observation_space: Any, action_space: Any, networks: Sequence[Any] = ()) -> None:
        self._networks = networks or [load(path) for path in os.environ["UNLATCH_POLICY"].split(os.pathsep)]
        self._chunks: dict[int, list[np.ndarray]] = {}
        self._said: dict[int, str] = {}

    def reset(self, slot: int, observation: Mapping[str, np.ndarray], info: Mapping[str, Any]) -> None:
        """Forgets the chunk of a worker, and takes its instruction."""
        self._chunks[slot], self._said[slot] = [], info.get("language", [""])[0]

    def act_batch(self, observations: Mapping[str, np.ndarray], slots: Sequence[int]) -> list[np.ndarray]:
        """Returns the next action of every worker."""
        due = [row for row, slot in enumerate(slots) if not self._chunks[slot]]
        if due:
            seen = {key: observations[key][due] for key in (STATE, *self._networks[0].cfg.views)}
            said = [self._said[slots[row]] for row in due]
            found = [network.act(seen, said) if network.cfg.views else network.act(seen) for network in self._networks]
            shortest = min(chunks.shape[1] for chunks in found)
            chunks = np.median([chunks[:, :shortest] for chunks in found], axis=0).astype(float)
            for row, chunk in zip(due, chunks, strict=True):
                self._chunks[slots[row]] = list(chunk[:EXECUTED])
        return [self._chunks[slot].pop(0) for slot in slots]
