"""Randomization varies masses, frictions, poses and signals of one or many environments, at resets and while they run.

    from unlatch import randomization as dr

    dr.new_setup()
    dr.physics_view.register_rigid_prim_view(boxes)
    with dr.trigger.on_rl_frame(num_envs=4), dr.gate.on_env_reset():
        dr.physics_view.randomize_rigid_prim_view(view_name=boxes.name, mass=dr.distribution.uniform(0.5, 2.0))
    dr.orchestrator.run(rng)

The functions have the names of Isaac Replicator. In a task file, `randomization.rules` says the same.
"""

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
