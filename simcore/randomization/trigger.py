"""The frame of a simulation with several environments."""

from __future__ import annotations

from contextlib import AbstractContextManager

from unlatch.simcore.randomization import session


def on_rl_frame(num_envs: int) -> AbstractContextManager[None]:
    """The frame in which gates and rules are made, as `Setup.on_rl_frame`: `with trigger.on_rl_frame(num_envs=4):`."""
    return session.current().on_rl_frame(num_envs)
