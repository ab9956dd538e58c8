"""Registers every shipped task as a Gymnasium environment."""

from __future__ import annotations

from importlib import import_module

from unlatch.configs.config_files import config_dir


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
