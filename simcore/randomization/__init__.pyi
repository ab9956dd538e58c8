from . import distribution, gate, orchestrator, physics_view, trigger, utils
from .config import DistractorsCfg, PerceptionCfg, RandomizationCfg, RuleCfg, ViewCfg
from .node_graph import Graph, graph
from .rule import SIMULATION_CONTEXT, Firing, Slot
from .session import current, new_setup, use
from .setup import Setup

__all__ = [
    "SIMULATION_CONTEXT",
    "DistractorsCfg",
    "Firing",
    "Graph",
    "PerceptionCfg",
    "RandomizationCfg",
    "RuleCfg",
    "Setup",
    "Slot",
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
