"""Policies, and the Gymnasium environments in which they act.

    import numpy as np
    import unlatch
    from unlatch.policies import evaluate

    def stay(observation):
        return np.append(observation["robots.franka_panda.left.joint_positions"], 0.04)

    print(evaluate(unlatch.load("close_drawer"), stay, episodes=2, out="data/stay").goal)

`Policy` is the class of a policy with a state, `Checkpoint` and `SequentialPolicy` run one of LeRobot.
"""

from unlatch.workflows.gym.config import ActionCfg, ActionMode, ObservationCfg
from unlatch.workflows.gym.env import UnlatchEnv
from unlatch.workflows.gym.make_env import make_env
from unlatch.workflows.policies.catalog import Policy
from unlatch.workflows.policies.lerobot import Checkpoint, SequentialPolicy
from unlatch.workflows.runs.evaluate import EvaluationResult, evaluate

__all__ = [
    "ActionCfg",
    "ActionMode",
    "Checkpoint",
    "EvaluationResult",
    "ObservationCfg",
    "Policy",
    "SequentialPolicy",
    "UnlatchEnv",
    "evaluate",
    "make_env",
]
