"""Configuration sources for Hydra: folders of users, and tasks and robots that Python functions make."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra.core.object_type import ObjectType
from hydra.plugins.config_source import ConfigResult, ConfigSource
from omegaconf import DictConfig, OmegaConf

from unlatch.configs.config_files import TASKS, generated_objects
from unlatch.configs.dataclass_reader import to_values
from unlatch.configs.yaml_file import content_of, load_yaml
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.robots.catalog import ROBOTS
from unlatch.robots.description import RobotCfg
from unlatch.simcore.errors import ConfigError, PluginError
from unlatch.simcore.extras import DISTRIBUTION
from unlatch.simcore.files import read_text

SCHEMA_SUFFIX = "_schema"
"""Suffix of Hydra's names for dataclasses and for content that replaces a file; users cannot choose these."""

PLUGIN_SCHEME = "unlatch"
"""Scheme of this source on Hydra's search path."""

YAML_SCHEME = "yaml"
"""Scheme of folders of users on Hydra's search path."""

_YAML = ".yaml"


class YamlFolder(FileConfigSource):
    """A folder of YAML files for Hydra; Hydra's own reads UTF-8 without a byte order mark only."""

    @staticmethod
    def scheme() -> str:
        """Returns the scheme of its paths."""
        return YAML_SCHEME

    def load_config(self, config_path: str) -> ConfigResult:
        """Returns the content of a file.

        Raises:
            ConfigError: It is not a text, is empty, or is not a mapping.
            YAMLError: It is not YAML.
        """
        file = Path(self.path) / self._normalize_file_name(config_path)
        text = read_text(file)
        content = load_yaml(file)
        if not text.strip():
            raise ConfigError(f"{file} is empty. Expected keys and values, as `unlatch config` shows them. Write it.")
        if not isinstance(content, DictConfig):
            raise ConfigError(f"{file} is a list. Expected a mapping, lines of `key: value`. Correct the file.")
        header = ConfigSource._get_header_dict(content_of(text))
        return ConfigResult(config=content, path=f"{YAML_SCHEME}://{self.path}", provider=self.provider, header=header)


class PluginSource(ConfigSource):
    """`task/NAME` of the group `unlatch.tasks`; `robot/NAME` and `robot/NAME_schema` of the catalog of robots;
    `object/NAME` of our generators.

    It is last on the search path: the YAML file of a robot takes precedence over its function.
    """

    @staticmethod
    def scheme() -> str:
        """Returns the scheme of its paths."""
        return PLUGIN_SCHEME

    def available(self) -> bool:
        """Returns True: it is always available."""
        return True

    def is_group(self, config_path: str) -> bool:
        """Whether a group exists."""
        return config_path.rstrip("/") in ("task", "robot", "object")

    def is_config(self, config_path: str) -> bool:
        """Whether a name exists; imports nothing."""
        group, name = _split_path(config_path)
        return name in _group_names(group)

    def load_config(self, config_path: str) -> ConfigResult:
        """Returns the content that the function of a name makes.

        Raises:
            PluginError: The function cannot be imported, raises, or returns something else.
        """
        group, name = _split_path(config_path)
        content: Any
        package: str | None
        if group == "object":
            content, package, origin = {"name": name, "category": name}, None, GENERATORS.entry(name).origin
        elif group == "task":
            content, package, origin = plugin_task(name), "_global_", TASKS.entry(name).origin
        else:
            known = name.removesuffix(SCHEMA_SUFFIX)
            content, package, origin = _robot_values(known, ROBOTS.load(known)), None, ROBOTS.entry(known).origin
        return ConfigResult(
            provider=origin, path=self.full_path(), config=OmegaConf.create(content), header={"package": package}
        )

    def describe_origin(self, config_path: str) -> str:
        """Returns the origin of a name as text: `unlatch_press.tasks:press_button (unlatch-press)`, or our file."""
        group, name = _split_path(config_path)
        if group == "object":
            return f"{GENERATORS.entry(name).target.partition(':')[0].replace('.', '/')}.py"
        entry = TASKS.entry(name) if group == "task" else ROBOTS.entry(name.removesuffix(SCHEMA_SUFFIX))
        return entry.target if entry.origin == DISTRIBUTION else entry.description

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
        """Returns the names in a group."""
        return [] if results_filter == ObjectType.GROUP else sorted(_group_names(config_path.strip("/")))


def plugin_task(name: str) -> dict[str, Any]:
    """Returns the content of a task of another distribution, in the form of a task's YAML file.

    Raises:
        PluginError: It cannot be made, or has values that YAML cannot hold.
    """
    content, entry = TASKS.make(name), TASKS.entry(name)
    try:
        return _plain_value(content)
    except TypeError as exc:
        raise PluginError(
            f"The task '{name}' of {entry.origin}, '{entry.target}', contains {exc}. Expected values of YAML: "
            "mappings with text keys, lists, texts, numbers, true, false and null. Fix that package.",
            name=name,
            origin=entry.origin,
        ) from exc


@cache
def _robot_values(name: str, make: Callable[[], RobotCfg]) -> Any:
    """Returns a robot's values, computed once per process; `make` distinguishes two robots of one name."""
    del make
    return to_values(ROBOTS.make(name))


def _plain_value(value: Any, where: str = "") -> Any:
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"the key {key!r} in '{where}'")
        return {key: _plain_value(item, f"{where}.{key}" if where else key) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain_value(item, f"{where}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, np.generic):
        return _plain_value(value.item(), where)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"a {type(value).__name__} in '{where}'")


def _split_path(config_path: str) -> tuple[str, str]:
    group, _, name = config_path.removesuffix(_YAML).rpartition("/")
    return group, name


def _group_names(group: str) -> set[str]:
    if group == "task":
        return set(TASKS.names())
    if group == "robot":
        return {name + end for name in ROBOTS.names() for end in ("", SCHEMA_SUFFIX)}
    return set(generated_objects(group))
