"""Gates: rules write at resets, or at an interval of steps."""

from __future__ import annotations

from contextlib import AbstractContextManager

from unlatch.simcore.randomization import session


def on_env_reset() -> AbstractContextManager[None]:
    """Rules inside write for every environment that is reset: `with gate.on_env_reset():`.

    Their values last until the environment's next reset; `additive` and `scaling` start from the default.

    Raises:
        ConfigError: It is outside `on_rl_frame` or inside another gate.
    """
    return session.current().on_env_reset()


def on_interval(interval: int) -> AbstractContextManager[None]:
    """Rules inside write for every environment whose counter is a positive multiple of the interval [steps].

    At a reset the counter is 0, and the rules do not fire: they would overwrite the values of the reset in the same
    step. `additive` and `scaling` start from the value of the last `on_env_reset`, never from their own last draw.

    Raises:
        ConfigError: It is no whole number from 1, or it is outside `on_rl_frame` or inside another gate.
    """
    return session.current().on_interval(interval)
