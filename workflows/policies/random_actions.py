"""A policy that draws random actions: a baseline for every task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from unlatch.workflows.gym.env import UnlatchEnv
from unlatch.workflows.policies.policy import Policy

Array = np.ndarray


class RandomActions(Policy):
    """Draws every action uniformly from the action space."""

    def __init__(self, address: str, env: UnlatchEnv, *, timeout_s: float) -> None:
        """Stores the bounds of the action space; the other arguments have no effect."""
        self._low, self._high = env.action_space.low, env.action_space.high
        self._rng = np.random.default_rng(0)

    def reset(self, observation: Mapping[str, Array], info: Mapping[str, Any]) -> None:
        """See `Policy`; the actions depend on the episode's seed only."""
        self._rng = np.random.default_rng(info["seed"])

    def act(self, observation: Mapping[str, Array]) -> Array:
        """See `Policy`."""
        action: Array = np.asarray(self._rng.uniform(self._low, self._high))
        return action
