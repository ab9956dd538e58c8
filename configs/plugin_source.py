"""Where Hydra finds what no YAML file holds: tasks and robots that a function makes, called for what is chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
from hydra.core.object_type import ObjectType
from hydra.plugins.config_source import ConfigResult, ConfigSource
from omegaconf import OmegaConf

from unlatch.configs.task_catalog import TASKS
from unlatch.robots.catalog import ROBOTS
from unlatch.robots.description import RobotCfg
from unlatch.simcore.errors import PluginError

SCHEMA_SUFFIX = "_schema"
"""Ending of the names of what is no option for users: dataclasses, and content that is put in place of a file."""

PLUGIN_SCHEME = "unlatch"
"""Scheme of this source on Hydra's search path."""

_YAML = ".yaml"


class PluginSource(ConfigSource):
    """`task/NAME` of the group `unlatch.tasks`; `robot/NAME` and `robot/NAME_schema` of the catalog of robots.

    It comes last on the search path: a robot's YAML file goes before what its function makes.
    """

    @staticmethod
    def scheme() -> str:
        """Beginning of its paths."""
        return PLUGIN_SCHEME

    def available(self) -> bool:
        """It always is."""
        return True

    def is_group(self, config_path: str) -> bool:
        """Whether there is such a group."""
        return config_path.rstrip("/") in ("task", "robot")

    def is_config(self, config_path: str) -> bool:
        """Whether there is such a name; nothing is imported."""
        group, name = _taken_apart(config_path)
        return name in _names(group)

    def load_config(self, config_path: str) -> ConfigResult:
        """What the function of that name makes.

        Raises:
            PluginError: It cannot be imported, raises, or makes something else.
        """
        group, name = _taken_apart(config_path)
        if group == "task":
            content, package, origin = plugin_task(name), "_global_", TASKS.entry(name).origin
        else:
            known = name.removesuffix(SCHEMA_SUFFIX)
            content, package, origin = _robot(known, ROBOTS.load(known)), None, ROBOTS.entry(known).origin
        return ConfigResult(
            provider=origin, path=self.full_path(), config=OmegaConf.create(content), header={"package": package}
        )

    def called(self, config_path: str) -> str:
        """What makes a name, as its origin is shown: `unlatch_press.tasks:press_button (unlatch-press)`."""
        group, name = _taken_apart(config_path)
        entry = TASKS.entry(name) if group == "task" else ROBOTS.entry(name.removesuffix(SCHEMA_SUFFIX))
        return entry.called

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
        """Names in a group."""
        return [] if results_filter == ObjectType.GROUP else sorted(_names(config_path.strip("/")))


def plugin_task(name: str) -> dict[str, Any]:
    """The content of a task of another distribution, as a task's YAML file holds it.

    Raises:
        PluginError: It cannot be made, or holds what no YAML file could.
    """
    content, entry = TASKS.made(name), TASKS.entry(name)
    try:
        return _plain(content)
    except TypeError as exc:
        raise PluginError(
            f"The task '{name}' of {entry.origin}, '{entry.target}', holds {exc}. Expected what a YAML file can hold: "
            "maps with texts as keys, lists, texts, numbers, true, false and null. Mend that distribution.",
            name=name,
            origin=entry.origin,
        ) from exc


@cache
def _robot(name: str, make: Callable[[], RobotCfg]) -> Any:
    """A robot's values, once for all of a process; `make` tells two robots of one name apart."""
    del make
    return OmegaConf.to_container(OmegaConf.structured(ROBOTS.made(name)), enum_to_str=True)


def _plain(value: Any, where: str = "") -> Any:
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"the key {key!r} in '{where}'")
        return {key: _plain(item, f"{where}.{key}" if where else key) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, f"{where}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, np.generic):
        return _plain(value.item(), where)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"a {type(value).__name__} in '{where}'")


def _taken_apart(config_path: str) -> tuple[str, str]:
    group, _, name = config_path.removesuffix(_YAML).rpartition("/")
    return group, name


def _names(group: str) -> set[str]:
    if group == "task":
        return set(TASKS.names())
    if group == "robot":
        return {name + end for name in ROBOTS.names() for end in ("", SCHEMA_SUFFIX)}
    return set()
