"""Makes the Gymnasium environment of a task, and registers one for each shipped task."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from unlatch.configs.config_files import config_dir
from unlatch.configs.schema import EpisodeCfg
from unlatch.simcore.errors import ConfigError
from unlatch.workflows.gym.config import ActionCfg, ObservationCfg
from unlatch.workflows.runs.loading import config_as, load_config, task_overrides
from unlatch.workflows.runs.schema import EnvCfg

if TYPE_CHECKING:
    from unlatch.workflows.gym.env import UnlatchEnv


def register_environments() -> list[str]:
    """Registers every task with Gymnasium as `unlatch/<Task>-v0`, such as `unlatch/CloseDrawer-v0`.

    Returns:
        The ids, sorted by task name. A second call registers nothing new.
    """
    gymnasium = import_module("gymnasium")
    ids = []
    for path in sorted((config_dir() / "task").glob("*.yaml")):
        name = "".join(word.capitalize() for word in path.stem.split("_"))
        ids.append(f"unlatch/{name}-v0")
        if ids[-1] not in gymnasium.registry:
            gymnasium.register(
                id=ids[-1],
                entry_point="unlatch.workflows.gym.env:UnlatchEnv",
                kwargs={"task": path.stem},
                order_enforce=True,
            )
    return ids


def make_env(
    task: str | EpisodeCfg,
    *overrides: str,
    config_dirs: Sequence[str | Path] = (),
    observation: ObservationCfg | None = None,
    action: ActionCfg | None = None,
    render_mode: str | None = None,
) -> UnlatchEnv:
    """Makes the Gymnasium environment of a task: scene, layout and verdict are those of `collect`.

    `env.reset(seed=s, options={"episode": k})` begins episode k of the run with seed s. Needs the extra `gym`.

    Args:
        task: Name of a task, an override such as `"object=cabinet.urdf"`, or a configuration, see `load`.
        overrides: Overrides of any key, such as `"action.mode=joint_delta"`; with the name of a task.
        config_dirs: Folders of YAML files of your own.
        observation: What the environment shows; None: as configured.
        action: What the numbers of an action mean; None: as configured, joint positions by default.
        render_mode: None or `"rgb_array"`.

    Returns:
        The environment; close it after use.

    Raises:
        ConfigError: A key, a name or a value is wrong.
        PluginError: Gymnasium is not installed.

    Example:
        >>> env = unlatch.make_env("close_drawer")
        >>> observation, info = env.reset(seed=0)
        >>> observation["robots.franka_panda.left.joint_positions"].shape
        (7,)
        >>> env.close()
    """
    from unlatch.workflows.gym.env import UnlatchEnv

    for key, value, kind in (("observation", observation, ObservationCfg), ("action", action, ActionCfg)):
        if not isinstance(value, kind | None):
            raise ConfigError(
                f"{key}={value!r} is of type {type(value).__name__}. Expected unlatch.{kind.__name__}(...).", key=key
            )
    if isinstance(task, EpisodeCfg):
        if overrides or config_dirs:
            raise ConfigError(
                f"overrides={list(overrides)} and config_dirs={list(config_dirs)} have no effect on a configuration "
                "that is composed already. Give them to unlatch.load."
            )
        cfg = config_as(EnvCfg, task)
    else:
        cfg = load_config("env", EnvCfg, task_overrides(task, overrides), config_dirs=config_dirs).cfg
    return UnlatchEnv(cfg=config_as(EnvCfg, cfg, observation=observation, action=action), render_mode=render_mode)
