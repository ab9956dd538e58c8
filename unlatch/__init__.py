"""Verified demonstrations of a robot opening, closing and turning articulated objects."""

from __future__ import annotations

from wrapt import when_imported

__version__ = "0.1.0"


@when_imported("gymnasium")
def _register_environments(_: object) -> None:
    """Registers every task with Gymnasium as `unlatch/<Task>-v0` once a program imports Gymnasium."""
    from unlatch.workflows.gym.registration import register_environments

    register_environments()
