"""The set-up that the calls of `physics_view`, `trigger`, `gate` and `orchestrator` act on."""

from __future__ import annotations

from contextvars import ContextVar

from unlatch.simcore.randomization.setup import Setup

_current: ContextVar[Setup | None] = ContextVar("randomization_setup", default=None)


def current() -> Setup:
    """The set-up in use; an empty one is made on first use."""
    setup = _current.get()
    return setup if setup is not None else new_setup()


def new_setup() -> Setup:
    """Begins an empty set-up, which all calls act on from here on; that before it is left as it is."""
    return use(Setup())


def use(setup: Setup) -> Setup:
    """Has all calls act on a set-up from here on.

    Args:
        setup: The set-up.

    Returns:
        The same.
    """
    _current.set(setup)
    return setup
