"""Starts a set-up."""

from __future__ import annotations

import numpy as np

from unlatch.simcore.randomization import session


def run(rng: np.random.Generator) -> None:
    """Arms the set-up: the present values of the attributes become their defaults, and all counters are 0.

    The random generator is required, unlike in Replicator: there is no global seed.

    Raises:
        ConfigError: There was no `on_rl_frame`.
    """
    session.current().run(rng)
