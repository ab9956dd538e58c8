from .config import ActionCfg, ActionMode, ObservationCfg, SuccessWhen
from .env import UnlatchEnv
from .registration import register_environments

__all__ = [
    "ActionCfg",
    "ActionMode",
    "ObservationCfg",
    "SuccessWhen",
    "UnlatchEnv",
    "register_environments",
]
