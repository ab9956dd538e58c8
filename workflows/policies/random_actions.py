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

    def __init__(self, low: Array, high: Array) -> None:
        """Stores the bounds of the action space, (size,) each."""
        self._low, self._high = low, high
        self._rng = np.random.default_rng(0)

    def reset(self, observation: Mapping[str, Array], info: Mapping[str, Any]) -> None:
        """See `Policy`; the actions depend on the episode's seed only."""
        self._rng = np.random.default_rng(info["seed"])

    def act(self, observation: Mapping[str, Array]) -> Array:
        """See `Policy`."""
        action: Array = np.asarray(self._rng.uniform(self._low, self._high))
        return action


def load(place: str, env: UnlatchEnv, *, timeout_s: float) -> RandomActions:
    """Makes the policy for an environment."""
    return RandomActions(*env.action_bounds)
