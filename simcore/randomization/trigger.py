"""The frame of a simulation with several environments."""

from __future__ import annotations

from contextlib import AbstractContextManager

from unlatch.simcore.randomization import session


def on_rl_frame(num_envs: int) -> AbstractContextManager[None]:
    """The frame in which gates and rules are made: `with trigger.on_rl_frame(num_envs=4):`.

    Every registered view has `num_envs` members.

    Raises:
        ConfigError: A view has another number of members, or there is a frame already.
    """
    return session.current().on_rl_frame(num_envs)
