"""The present set-up, which `physics_view`, `trigger`, `gate` and `orchestrator` act on."""

from __future__ import annotations

from contextvars import ContextVar

from unlatch.simcore.randomization.setup import Setup

_current: ContextVar[Setup | None] = ContextVar("randomization_setup", default=None)


def current() -> Setup:
    """Returns the present set-up; an empty one is created on first use."""
    setup = _current.get()
    return setup if setup is not None else new_setup()


def new_setup() -> Setup:
    """Starts an empty set-up for all following calls; the previous one does not change."""
    return use(Setup())


def use(setup: Setup) -> Setup:
    """Makes all following calls act on a set-up, and returns it."""
    _current.set(setup)
    return setup
