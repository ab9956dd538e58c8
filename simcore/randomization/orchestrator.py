"""Starts a set-up."""

from __future__ import annotations

import numpy as np

from unlatch.simcore.randomization import session


def run(rng: np.random.Generator) -> None:
    """Arms the set-up: what the attributes are now becomes their default, and all counters are 0.

    Args:
        rng: Where all randomness comes from. Required, unlike Replicator's: no seed here is global.

    Raises:
        ConfigError: There was no `on_rl_frame`.
    """
    session.current().run(rng)
