"""Policies and the Gymnasium environments in which they act."""

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
