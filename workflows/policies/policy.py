"""The contract of a policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

Array = np.ndarray


class Policy(Protocol):
    """Decides frame by frame what the arms do."""

    def reset(self, observation: Mapping[str, Array], info: Mapping[str, Any]) -> None:
        """Begins an episode.

        Args:
            observation: Arrays by record key, as `observation_space` says.
            info: `episode`, `seed` and `language` (phrasings of the instruction).
        """
        ...

    def act(self, observation: Mapping[str, Array]) -> Array | None:
        """The next action, as `action_space` says; None where the policy has nothing more to do.

        Args:
            observation: Arrays by record key.
        """
        ...

    def close(self) -> None:
        """Called once, after the last episode."""
        ...
