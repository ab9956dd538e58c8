"""Randomization of the physics of one or many environments: `from unlatch import randomization as dr`."""

from unlatch.simcore.randomization import distribution
from unlatch.simcore.randomization.config import DistractorsCfg, PerceptionCfg, RandomizationCfg, RuleCfg, ViewCfg
from unlatch.simcore.randomization.replicator import (
    Graph,
    current,
    gate,
    graph,
    new_setup,
    orchestrator,
    physics_view,
    trigger,
    use,
    utils,
)
from unlatch.simcore.randomization.setup import SIMULATION_CONTEXT, AttributeSlot, Firing, Setup

__all__ = [
    "SIMULATION_CONTEXT",
    "AttributeSlot",
    "DistractorsCfg",
    "Firing",
    "Graph",
    "PerceptionCfg",
    "RandomizationCfg",
    "RuleCfg",
    "Setup",
    "ViewCfg",
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
