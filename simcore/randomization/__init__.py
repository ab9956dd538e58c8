"""Randomization of the physics of one or many environments: `from simcore import randomization as dr`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unlatch.simcore.randomization import distribution, gate, orchestrator, physics_view, trigger, utils
    from unlatch.simcore.randomization.node_graph import Graph, graph
    from unlatch.simcore.randomization.rule import Firing
    from unlatch.simcore.randomization.session import current, new_setup, use
    from unlatch.simcore.randomization.setup import Setup

__all__ = [
    "Firing",
    "Graph",
    "Setup",
    "current",
    "distribution",
    "gate",
    "graph",
    "new_setup",
    "orchestrator",
    "physics_view",
    "trigger",
    "use",
    "utils",
]

_HOMES = {
    "Firing": "rule",
    "Graph": "node_graph",
    "Setup": "setup",
    "current": "session",
    "graph": "node_graph",
    "new_setup": "session",
    "use": "session",
}
"""Modules of the names that are not modules themselves."""


def __getattr__(name: str) -> Any:
    """Imports on first use: a configuration is read without the engine that views need."""
    if name not in __all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return import_module(f"{__name__}.{name}")
