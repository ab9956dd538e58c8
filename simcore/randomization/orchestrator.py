"""Starts a set-up."""

from __future__ import annotations

import numpy as np

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.randomization import session


def run(rng: np.random.Generator | None = None) -> None:
    """Arms the set-up: the present values of the attributes become their defaults, and all counters are 0.

    The random generator is required, unlike in Replicator: there is no global seed.

    Raises:
        ConfigError: No random generator is given, or there was no `on_rl_frame`.
    """
    if not isinstance(rng, np.random.Generator):
        raise ConfigError(
            f"orchestrator.run() got {'no random generator' if rng is None else repr(rng)}. Expected "
            "orchestrator.run(np.random.default_rng(seed)): unlike in Replicator, there is no global seed.",
            key="rng",
        )
    session.current().run(rng)
