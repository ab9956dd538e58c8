"""Composes a configuration with Hydra: from any directory, with our own files found beside this package.

Hydra's compose API is used, not its application runner: nothing is written, no directory is changed, no logging is set.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, ValueType
from hydra.core.plugins import Plugins
from hydra.errors import HydraException, MissingConfigException
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from configs import config_dir
from configs.explain import explain
from configs.folders import check_own_folders, foreign_folders, yaml_files
from configs.reading import unknown_key
from configs.schema import loosened
from robots.catalog import ROBOTS
from robots.description import RobotCfg
from simcore.errors import ConfigError, PluginError

SCHEMA_SUFFIX = "_schema"
"""Ending of the names under which dataclasses are in Hydra's ConfigStore; they are no options for users."""

SENSOR_GROUP = "sensor"
"""Group of the YAML files that an entry of `sensors` may name."""

_NOTHING = f"nothing{SCHEMA_SUFFIX}"
_GIVEN = f"given{SCHEMA_SUFFIX}"
_OPTION = re.compile(r"[A-Za-z0-9_-]+\Z")
_KEY = re.compile(r"(?P<prefix>\+{0,2}|~)(?P<key>[^=]*)(?P<rest>(=.*)?)\Z", re.DOTALL)
_INDEX = re.compile(r"\[(\d+)\]")
_LISTS = frozenset(
    {
        "skills",
        "objects",
        "arms",
        "regions",
        "relations",
        "openness",
        "goal",
        "sensors",
        "constraint_list",
        "cost_list",
        "rules",
        "views",
        "tendons",
    }
)
"""Keys whose values are lists of entries."""
_FREE = frozenset({"object.where"})
"""Keys whose mapping may have any key: what is given there is added."""
_RESOLVER = re.compile(r"\$\{\s*[^}${]*:")


class UnlatchSearchPath(SearchPathPlugin):
    """Adds the YAML packages that other distributions name in the entry-point group `unlatch.configs`."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Called by Hydra when it starts."""
        for folder in foreign_folders():
            search_path.append(provider=folder.origin, path=f"file://{folder.path}")


@dataclass
class Request:
    """What the command line asks for, taken apart."""

    overrides: list[str] = field(default_factory=list)
    """`key=value` as Hydra reads them."""
    config_dirs: list[str] = field(default_factory=list)
    """Folders of YAML files of the user's own."""
    given: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Content by group, in place of a file that is chosen: that of `task` as a task's file holds it."""


def compose_config(primary: str, schema: type, request: Request) -> DictConfig:
    """Composes one configuration.

    Args:
        primary: Name of the YAML file to begin with, without ending.
        schema: Dataclass of the whole configuration.
        request: Overrides and folders of the command line.

    Raises:
        ConfigError: A file, group, key or value is wrong; one line that says which.
    """
    _register(primary, schema)
    plain, in_lists = _split(request.overrides)
    plain = [*_register_given(request.given), *plain]
    search_path = _search_path(request.config_dirs)
    try:
        with initialize_config_dir(config_dir=str(config_dir()), version_base="1.3"):
            cfg = compose(config_name=primary, overrides=[*plain, *search_path])
            _rename_stages(cfg)
            _read_named_sensors(cfg, search_path)
            for override in in_lists:
                _apply_in_list(cfg, override)
                _read_named_sensors(cfg, search_path)
    except (HydraException, OmegaConfBaseException, YAMLError, UnicodeDecodeError) as exc:
        raise _misspelt(plain, schema) or explain(exc) from exc
    except (TypeError, ValueError) as exc:  # how Hydra takes a word for the index of a list, or a key without a name
        raise _in_list_by_word(plain, exc) from exc
    return cfg


def split_overrides(request: Request) -> tuple[list[str], list[str], list[str]]:
    """What a request gives Hydra: overrides of keys, those inside lists as they are written, and folders.

    Args:
        request: One that `compose_config` has composed: what is given in place of a file stays chosen.
    """
    plain, in_lists = _split(request.overrides)
    chosen = [f"{group}={_GIVEN}" for group in request.given]
    return [*chosen, *plain], [override.input_line or "" for override in in_lists], _search_path(request.config_dirs)


def to_plain(cfg: DictConfig) -> dict[str, Any]:
    """The configuration as plain maps, lists and values, references resolved.

    Raises:
        ConfigError: A reference leads nowhere or would run something.
    """
    _refuse_resolvers(OmegaConf.to_container(cfg, resolve=False, enum_to_str=True), "")
    try:
        plain = OmegaConf.to_container(cfg, resolve=True, enum_to_str=True)
    except OmegaConfBaseException as exc:
        raise explain(exc) from exc
    if not isinstance(plain, dict):
        raise ConfigError("The configuration is no mapping. Check the primary YAML file.")
    return {str(key): value for key, value in plain.items()}


def compose_beside(
    values: Mapping[str, Any], *, sensors: Mapping[str, Sequence[Any]], groups: Mapping[str, str], request: Request
) -> dict[str, Any]:
    """What a command adds to a configuration that is there already, as plain values with references resolved.

    Args:
        values: The configuration, plain.
        sensors: Lists of sensors by key: names of YAML files of the group `sensor`, or entries.
        groups: Names of YAML files by group.
        request: Overrides of these keys, and folders of the command line.

    Raises:
        ConfigError: A file, key or value is wrong; one line that says which.
    """
    _store_nothing()
    plain, in_lists = _split(request.overrides)
    search_path = _search_path(request.config_dirs)
    cfg = OmegaConf.create({**values, **{key: list(entries) for key, entries in sensors.items()}})
    try:
        with initialize_config_dir(config_dir=str(config_dir()), version_base="1.3"):
            for group, name in groups.items():
                cfg[group] = compose(config_name=_NOTHING, overrides=[f"+{group}={name}", *search_path])[group]
            for key in sensors:
                _read_named_sensors(cfg, search_path, key)
            for override in [*map(_parse, plain), *in_lists]:
                _apply_in_list(cfg, override)
    except (HydraException, OmegaConfBaseException, YAMLError, UnicodeDecodeError) as exc:
        raise explain(exc) from exc
    resolved = to_plain(cfg)
    return {key: resolved[key] for key in (*sensors, *groups)}


def expand_sweep(overrides: Sequence[str]) -> list[list[str]]:
    """The override lists of all jobs of a multirun: every combination of the comma-separated values, in order.

    Raises:
        ConfigError: An override cannot be read.
    """
    jobs: list[list[str]] = [[]]
    for text in overrides:
        override = _parse(text)
        if override.is_sweep_override():
            key = override.get_key_element()
            values = [f"{key}={value}" for value in override.sweep_string_iterator()]
        else:
            values = [text]
        jobs = [[*job, value] for job in jobs for value in values]
    return jobs


def option_names(group: str) -> list[str]:
    """Names of the YAML files of a group, those of other distributions too, sorted.

    Raises:
        DuplicateEntryError: Two distributions have one of the same name.
    """
    return list(yaml_files(group))


def _register(primary: str, schema: type) -> None:
    """Tells Hydra what is no file; once for all of a process, since it takes longer than to compose."""
    _store_schema(primary, schema)
    for name in ROBOTS.names():
        try:
            _store_robot(name, ROBOTS.load(name))
        except PluginError:
            continue  # a broken plugin is named when its robot is asked for


@cache
def _store_schema(primary: str, schema: type) -> None:
    ConfigStore.instance().store(name=f"{primary}{SCHEMA_SUFFIX}", node=loosened(schema))
    _store_nothing()


def _store_nothing() -> None:
    """Something to begin with where only groups are composed."""
    ConfigStore.instance().store(name=_NOTHING, node={})
    Plugins.instance().register(UnlatchSearchPath)


@cache
def _store_robot(name: str, make: Callable[[], RobotCfg]) -> None:
    values = OmegaConf.to_container(OmegaConf.structured(make()), enum_to_str=True)
    ConfigStore.instance().store(group="robot", name=f"{name}{SCHEMA_SUFFIX}", node=values)


def _register_given(given: Mapping[str, dict[str, Any]]) -> list[str]:
    """Puts content where Hydra finds it, anew for each composition, and returns the overrides that choose it."""
    store = ConfigStore.instance()
    for group, content in given.items():
        store.store(group=group, name=_GIVEN, node=content, package="_global_" if group == "task" else group)
    return [f"{group}={_GIVEN}" for group in given]


def _parse(text: str) -> Override:
    try:
        return OverridesParser.create().parse_overrides([text])[0]
    except HydraException as exc:
        raise explain(exc) from exc


def _split(overrides: Sequence[str]) -> tuple[list[str], list[Override]]:
    """Separates what Hydra overrides from what lies inside a list, which Hydra's schemas cannot name."""
    plain, in_lists = [], []
    for text in overrides:
        match = _KEY.match(text)
        key = _INDEX.sub(r".\1", match["key"]) if match else ""
        parts = key.split("@")[0].replace("/", ".").split(".")
        if parts[0] == "hydra" and parts != ["hydra", "searchpath"]:
            raise ConfigError(
                f"{text} has no effect here. Expected a key of the episode or the run, whose folder is `out`. "
                "Remove it.",
                key=key,
            )
        if match and not match["prefix"] and ".".join(parts[:2]) in _FREE:
            text = f"++{text}"
        if match and any(part.isdigit() for part in parts[1:]):
            in_lists.append(_parse(f"{match['prefix']}{key}{match['rest']}"))
        else:
            if _parse(text).value() is None and (config_dir() / parts[0]).is_dir() and len(parts) == 1:
                raise ConfigError(
                    f"{text} is no choice. Expected one of {', '.join(option_names(key))}. Name one of them.", key=key
                )
            plain.append(text)
    return plain, in_lists


def _search_path(folders: Sequence[str]) -> list[str]:
    if not folders:
        return []
    check_own_folders(folders)
    paths = []
    for folder in folders:
        path = Path(folder).expanduser().absolute()
        paths.append("'file://" + str(path).replace("\\", "\\\\").replace("'", "\\'") + "'")
    return [f"hydra.searchpath=[{','.join(paths)}]"]


def _rename_stages(cfg: DictConfig) -> None:
    """Stages that are written for a robot of the catalog become the chosen robot's, if that has all arms they name."""
    robot = OmegaConf.select(cfg, "robot.name")
    arms = {arm.name for arm in OmegaConf.select(cfg, "robot.arms") or ()}
    for index, item in enumerate(OmegaConf.select(cfg, "skills") or ()):
        if not isinstance(item, DictConfig) or len(item) != 1:
            continue
        (name, stages), *_ = item.items()
        if name == robot or name not in ROBOTS.names() or not isinstance(stages, ListConfig):
            continue
        if all(isinstance(stage, DictConfig) and set(stage) <= arms for stage in stages):
            cfg.skills[index] = {robot: stages}


def _read_named_sensors(cfg: DictConfig, search_path: Sequence[str], key: str = "sensors") -> None:
    """Puts the content of `sensor/<name>.yaml` in the place of every entry of a list of sensors that is a name."""
    for index, name in enumerate(OmegaConf.select(cfg, key) or ()):
        if not isinstance(name, str):
            continue
        if not _OPTION.match(name):
            raise ConfigError(
                f"{key}[{index}]={name!r} is no name of a YAML file. Expected one of "
                f"{', '.join(option_names(SENSOR_GROUP))}, or one of your own. Change it.",
                key=f"{key}[{index}]",
            )
        try:
            # a group is searched in all folders, which the file to begin with is not
            found = compose(config_name=_NOTHING, overrides=[f"+{SENSOR_GROUP}={name}", *search_path])
        except MissingConfigException as exc:
            error = explain(exc)
            raise ConfigError(f"{key}[{index}]: {error.message}", **error.values) from exc
        cfg[key][index] = found[SENSOR_GROUP]


def _misspelt(overrides: Sequence[str], schema: type) -> ConfigError | None:
    """A key of the command line that is none: what else is wrong, such as a missing task, mostly follows from it."""
    keys = [item.name for item in fields(schema)]
    known = {*keys, *(path.name for path in config_dir().iterdir() if path.is_dir()), "hydra"}
    for text in overrides:
        match = _KEY.match(text)
        if match and match["rest"] and not match["prefix"]:
            key = re.split(r"[.@/\[]", match["key"])[0]
            if key not in known:
                return unknown_key(key, key, keys)
    return None


def _in_list_by_word(overrides: Sequence[str], exc: Exception) -> ConfigError:
    """The override that Hydra could not place, in our words."""
    for text in overrides:
        match = _KEY.match(text)
        parts = match["key"].split(".") if match else []
        for name in _LISTS.intersection(parts[:-1]):
            word = parts[parts.index(name) + 1]
            key = ".".join(parts[: parts.index(name) + 1])
            return ConfigError(
                f"{text}: {key} is a list, and '{word}' is no place in it. Expected a number, from 0: {key}.0...",
                key=key,
            )
        if not parts or not all(parts):
            return ConfigError(f"'{text}' cannot be read. Expected key=value. Name the key.", key=text)
    return ConfigError(f"The configuration cannot be composed: {' '.join(str(exc).split())}. Check the overrides.")


def _apply_in_list(cfg: DictConfig, override: Override) -> None:
    key = override.key_or_group
    parts = key.split(".")
    for index, part in enumerate(parts):
        if not part.isdigit():
            continue
        parent = ".".join(parts[:index])
        node = OmegaConf.select(cfg, parent)
        if not isinstance(node, ListConfig):
            raise ConfigError(f"{parent} is no list. Expected a key of it in place of '{part}' in {key}.", key=key)
        if int(part) == len(node) and override.is_add() and index == len(parts) - 1:
            node.append(override.value())
            return
        if int(part) >= len(node):
            raise ConfigError(
                f"{parent}[{part}] is out of range. {parent} has {len(node)} entries, counted from 0. "
                f"Name one of them, or add one with +{parent}.{len(node)}=...",
                key=key,
            )
    if override.is_delete():
        parent, _, last = key.rpartition(".")
        node = OmegaConf.select(cfg, parent)
        OmegaConf.set_struct(cfg, False)
        if isinstance(node, ListConfig):
            del node[int(last)]
        elif isinstance(node, DictConfig) and last in node:
            del node[last]
        else:
            raise ConfigError(f"~{key} names nothing that could be removed. Check the key.", key=key)
        return
    if override.value_type not in (ValueType.ELEMENT, None):
        raise ConfigError(f"{key} is given several values. Add -m to run them one after the other.", key=key)
    OmegaConf.update(cfg, key, override.value(), merge=True, force_add=True)


def _refuse_resolvers(value: Any, where: str) -> None:
    """Nothing in a YAML runs: references to other keys are resolved, calls such as `${oc.env:X}` are not."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key == "_target_":
                raise ConfigError(
                    f"{where + '.' if where else ''}_target_ is not allowed: a configuration is no code. "
                    "Choose a plugin by its name.",
                    key=where,
                )
            _refuse_resolvers(item, f"{where}.{key}" if where else str(key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _refuse_resolvers(item, f"{where}[{index}]")
    elif isinstance(value, str) and _RESOLVER.search(value):
        raise ConfigError(
            f"{where}='{value}' calls a resolver. Expected a plain value or a reference to another key such as "
            "${object.name}. Write the value.",
            key=where,
        )
