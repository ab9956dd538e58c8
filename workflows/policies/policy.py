"""The contract of a policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

Array = np.ndarray


class Policy(Protocol):
    """Decides the action of every frame."""

    def reset(self, observation: Mapping[str, Array], info: Mapping[str, Any]) -> None:
        """Begins an episode.

        Args:
            observation: Arrays by record key, one value of `observation_space`.
            info: `episode`, `seed` and `language` (phrasings of the instruction).
        """
        ...

    def act(self, observation: Mapping[str, Array]) -> Array | None:
        """Returns the next action, a value of `action_space`; None where the policy is done."""
        ...

    def close(self) -> None:
        """Releases resources; called once, after the last episode."""
        return
