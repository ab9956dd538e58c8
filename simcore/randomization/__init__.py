"""Randomization of the physics of one or many environments: `from simcore import randomization as dr`."""

from simcore.randomization import distribution, gate, orchestrator, physics_view, trigger, utils
from simcore.randomization.graph import Graph, graph
from simcore.randomization.session import current, new_setup, use
from simcore.randomization.setup import Firing, Setup

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
