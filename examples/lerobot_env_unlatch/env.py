"""LeRobot's EnvHub calls `make_env` of this file: `make_env("USER/NAME", n_envs=4, trust_remote_code=True)`."""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium
from lerobot_env_unlatch import LeRobotEnv


def make_env(n_envs: int = 1, use_async_envs: bool = False, cfg: Any = None) -> dict[str, dict[int, Any]]:
    """Returns the environments of one task; `cfg.task` names it, `open_microwave` by default."""
    task = getattr(cfg, "task", None) or "open_microwave"
    vector = gymnasium.vector.AsyncVectorEnv if use_async_envs and n_envs > 1 else gymnasium.vector.SyncVectorEnv
    envs = vector([partial(LeRobotEnv, task)] * n_envs, autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP)
    return {"unlatch": {0: envs}}
