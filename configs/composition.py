"""Composes a configuration with Hydra, from any directory, and where Hydra finds its parts.

This uses Hydra's compose API, not its application runner: it writes nothing, changes no directory and sets no
logging. Beside YAML files there are tasks and robots that Python functions make.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hydra import compose, initialize_config_dir
from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.core.object_type import ObjectType
from hydra.core.override_parser.types import Override
from hydra.core.plugins import Plugins
from hydra.errors import HydraException
from hydra.plugins.config_source import ConfigResult, ConfigSource
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from unlatch.configs.config_files import (
    TASKS,
    config_dir,
    content_of,
    generated_objects,
    load_yaml,
    plugin_folders,
)
from unlatch.configs.dataclass_reader import to_values
from unlatch.configs.overrides import (
    find_misspelt_key,
    keep_texts,
    parse_override,
    quote_text,
    quote_where_needed,
    separate_list_overrides,
)
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.robots.catalog import ROBOTS
from unlatch.simcore.errors import ConfigError, PluginError
from unlatch.simcore.files import read_text, user_path
from unlatch.simcore.registry import DISTRIBUTION
from unlatch.tasks.task import DerivedTaskCfg

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
            content, package, origin = to_values(ROBOTS.make(known)), None, ROBOTS.entry(known).origin
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


SENSOR_GROUP = "sensor"
"""Group of the YAML files that an entry of `sensors` may name."""

SENSOR_LISTS = ("camera.cameras", "sensors")
"""Keys of the lists of sensors."""

_IMAGES = ("images.cameras", "cameras")
"""Keys of the cameras of images that a run draws."""
_WITHOUT_RUNNER = tuple(
    f"~hydra/{group}"
    for group in ("env", "help", "hydra_help", "hydra_logging", "job_logging", "launcher", "output", "sweeper")
)
"""Overrides that leave out what only Hydra's application runner reads: a composition takes a fifth less time."""
_UNREADABLE = (HydraException, OmegaConfBaseException, YAMLError, UnicodeDecodeError)
_EMPTY_CONFIG = f"nothing{SCHEMA_SUFFIX}"
_GIVEN = f"given{SCHEMA_SUFFIX}"
_RESOLVER = re.compile(r"\$\{\s*[^}${]*:")


class UnlatchSearchPath(SearchPathPlugin):
    """Adds the YAML files, tasks and robots of other distributions."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Adds to the search path; Hydra calls it when it starts."""
        for folder in plugin_folders():
            search_path.append(provider=folder.origin, path=f"{YAML_SCHEME}://{folder.path}")
        search_path.append(provider="plugins", path=f"{PLUGIN_SCHEME}://")


@dataclass
class Request:
    """The parsed command line."""

    overrides: list[str] = field(default_factory=list)
    """`key=value` overrides in Hydra's syntax."""
    config_dirs: list[str] = field(default_factory=list)
    """Folders with YAML files of the user."""
    given: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Content by group, used in place of a file. That of `task` is a whole task file, which may set other groups."""

    def __post_init__(self) -> None:
        self.overrides = [quote_where_needed(text) for text in self.overrides]


def compose_config(primary: str, schema: type, request: Request) -> DictConfig:
    """Composes one configuration from a primary YAML file, named without suffix, and the dataclass of the whole.

    Raises:
        ConfigError: A file, group, key or value is wrong.
    """
    _store_schema(primary, schema)
    if plugin_folders() or TASKS.names():
        from unlatch.configs.group_files import check_unique_names

        check_unique_names()
    try:
        plain, in_lists = separate_list_overrides(keep_texts(request.overrides, schema))
    except ConfigError as exc:  # the path of a file stands alone
        raise _explain_peer_task(request) or exc from exc
    misspelt = find_misspelt_key(request.overrides, schema)
    if misspelt is not None:
        raise _explain_peer_task(request) or misspelt
    for group, content in request.given.items():
        package = "_global_" if group == "task" else group
        ConfigStore.instance().store(group=group, name=_GIVEN, node=content, package=package)
    plain = [*(f"{group}={_GIVEN}" for group in request.given), *plain]
    search_path = _search_path(request.config_dirs)
    try:
        with initialize_config_dir(config_dir=str(config_dir()), version_base="1.3"):
            cfg = compose(config_name=primary, overrides=[*_WITHOUT_RUNNER, *plain, *search_path])
            _rename_stages(cfg)
            if isinstance(cfg.task, DictConfig) and isinstance(cfg.task.get("derived"), DictConfig):
                cfg.task.derived = OmegaConf.merge(to_values(DerivedTaskCfg()), cfg.task.derived)  # null by default
            read = set(SENSOR_LISTS)
            # the overrides of images come last: they may name a sensor that the other overrides define
            for override in (None, *sorted(in_lists, key=lambda each: _images_key(each) is not None)):
                if override is not None:
                    if (images := _images_key(override)) is not None:
                        read.add(images)
                        _read_sensors(cfg, search_path, images)
                    _apply_list_override(cfg, override)
                for key in SENSOR_LISTS:
                    _read_sensors(cfg, search_path, key)
            for key in read:  # now: an index of an override is a place in the list that was given
                _read_sensors(cfg, search_path, key, is_last=True)
    except _UNREADABLE as exc:
        peer = _explain_peer_task(request)
        raise (peer or _explain_missing_skill(request, _explain_error(exc, schema))) from exc
    except (TypeError, ValueError) as exc:  # Hydra's errors for a word as list index, or a key without a name
        from unlatch.configs.override_errors import explain_list_error

        raise explain_list_error(plain, exc) from exc
    return cfg


def _apply_list_override(cfg: DictConfig, override: Override) -> None:
    """See `apply_list_override`, which few command lines need."""
    from unlatch.configs.override_errors import apply_list_override

    apply_list_override(cfg, override)


def _explain_error(exc: Exception, schema: type | None = None) -> ConfigError:
    """See `explain_error`."""
    from unlatch.configs.override_errors import explain_error

    return explain_error(exc, schema)


def _explain_peer_task(request: Request) -> ConfigError | None:
    """Returns the error of a choice that is a task file of another system; None if there is none."""
    from unlatch.configs.user_files import explain_peer_task

    return explain_peer_task(request.overrides, request.config_dirs)


def _explain_missing_skill(request: Request, error: ConfigError) -> ConfigError:
    """Returns the error, or a better one if an object is named without a skill."""
    given = request.given.get("object", {}).get("root")
    named = [shlex.quote(f"object={given}")] if given else []
    named += [text for text in request.overrides if text.startswith("object=")]
    if error.values.get("key") != "task" or not named:
        return error
    return ConfigError(
        f"{named[-1]} is given without a skill. Expected skill=NAME: open, close or rotate "
        f"(`unlatch list skills`). Add {named[-1]} skill=open, or name a task: task=NAME (`unlatch list tasks`).",
        key="skill",
    )


def split_overrides(request: Request) -> tuple[list[str], list[str], list[str]]:
    """Returns the overrides for Hydra, the overrides inside lists, and the search path of a composed request."""
    plain, in_lists = separate_list_overrides(request.overrides)
    chosen = [f"{group}={_GIVEN}" for group in request.given]
    return [*chosen, *plain], [override.input_line or "" for override in in_lists], _search_path(request.config_dirs)


def to_plain(cfg: DictConfig) -> dict[str, Any]:
    """Returns the configuration as plain mappings, lists and values, with references resolved.

    Raises:
        ConfigError: A reference has no target or calls a resolver.
    """
    _refuse_resolvers(OmegaConf.to_container(cfg, resolve=False, enum_to_str=True), "")
    try:
        plain = OmegaConf.to_container(cfg, resolve=True, enum_to_str=True)
    except OmegaConfBaseException as exc:
        raise _explain_error(exc) from exc
    if not isinstance(plain, dict):
        raise ConfigError("The configuration is not a mapping. Check the primary YAML file.")
    return {str(key): value for key, value in plain.items()}


def compose_additions(
    values: Mapping[str, Any], *, sensors: Mapping[str, Sequence[Any]], groups: Mapping[str, str], request: Request
) -> dict[str, Any]:
    """Composes additions to a plain configuration; returns plain values with references resolved.

    They are `sensors` by key (names of YAML files of the group `sensor`, or entries), names of YAML files of other
    groups, and the overrides of a request, with its folders of YAML files.

    Raises:
        ConfigError: A file, key or value is wrong.
    """
    _store_empty_config()
    plain, in_lists = separate_list_overrides(request.overrides)
    search_path = _search_path(request.config_dirs)
    cfg = OmegaConf.create({**values, **{key: list(entries) for key, entries in sensors.items()}})
    try:
        with initialize_config_dir(config_dir=str(config_dir()), version_base="1.3"):
            for group, name in groups.items():
                cfg[group] = compose(config_name=_EMPTY_CONFIG, overrides=[f"+{group}={name}", *search_path])[group]
            for key in sensors:
                _read_sensors(cfg, search_path, key)
            for override in [*map(parse_override, plain), *in_lists]:
                _apply_list_override(cfg, override)
            for key in sensors:
                _read_sensors(cfg, search_path, key, is_last=True)
    except _UNREADABLE as exc:
        raise _explain_error(exc) from exc
    resolved = to_plain(cfg)
    return {key: resolved[key] for key in (*sensors, *groups)}


@cache
def _store_schema(primary: str, schema: type) -> None:
    """Registers the default values of a schema in Hydra, once per process."""
    values = to_values(schema())
    values.get("randomization", {}).pop("recorded", None)  # records state it, files do not
    ConfigStore.instance().store(name=f"{primary}{SCHEMA_SUFFIX}", node=values)
    _store_empty_config()


def _store_empty_config() -> None:
    """Registers an empty primary configuration, for composing groups alone."""
    ConfigStore.instance().store(name=_EMPTY_CONFIG, node={})
    Plugins.instance().register(PluginSource)
    Plugins.instance().register(YamlFolder)
    Plugins.instance().register(UnlatchSearchPath)


def _search_path(folders: Sequence[str]) -> list[str]:
    if not folders:
        return []
    from unlatch.configs.group_files import check_own_folders

    check_own_folders(folders)
    paths = [quote_text(f"{YAML_SCHEME}://{user_path(folder).absolute()}") for folder in folders]
    return [f"hydra.searchpath=[{','.join(paths)}]"]


def _rename_stages(cfg: DictConfig) -> None:
    """Assigns stages of another robot of the catalog to the chosen robot if it has all their arms."""
    robot = cfg.robot.get("name") if isinstance(cfg.get("robot"), DictConfig) else None
    arms = {arm.name for arm in _list_at(cfg, "robot.arms")}
    for index, item in enumerate(_list_at(cfg, "skills")):
        if not isinstance(item, DictConfig) or len(item) != 1:
            continue
        (name, stages), *_ = item.items()
        if name == robot or name not in ROBOTS.names() or not isinstance(stages, ListConfig):
            continue
        if all(isinstance(stage, DictConfig) and set(stage) <= arms for stage in stages):
            cfg.skills[index] = {robot: stages}


def _list_at(cfg: DictConfig, key: str) -> ListConfig:
    """Returns the list at a key; an empty one if there is none, which reading reports."""
    node: Any = cfg
    for name in key.split("."):
        node = node.get(name) if isinstance(node, DictConfig) else None
    return node if isinstance(node, ListConfig) else OmegaConf.create([])


def _images_key(override: Override) -> str | None:
    """Returns the key of the cameras of images that an override changes; None if it changes something else."""
    return next((key for key in _IMAGES if override.key_or_group.startswith(f"{key}.")), None)


def _read_sensors(cfg: DictConfig, search_path: Sequence[str], key: str, *, is_last: bool = False) -> None:
    """Replaces the names in a list of sensors by contents; `is_last`: cameras on hands get the hands of the robot."""
    if not (entries := _list_at(cfg, key)):
        return
    from unlatch.configs.named_sensors import place_on_hands, read_names

    listed = [item for own in SENSOR_LISTS if key in _IMAGES for item in _list_at(cfg, own)]
    known = {str(item.get("name")): item for item in listed if isinstance(item, DictConfig)}

    def read(name: str) -> DictConfig:
        # Hydra searches all folders for a group, but not for the primary file
        return compose(config_name=_EMPTY_CONFIG, overrides=[f"+{SENSOR_GROUP}={name}", *search_path])[SENSOR_GROUP]

    read_names(entries, cfg.get("robot"), known, read, key=key)
    if is_last:
        place_on_hands(entries, cfg.get("robot"))


def _refuse_resolvers(value: Any, where: str) -> None:
    """Refuses calls of resolvers such as `${oc.env:X}`; references to other keys are allowed."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key == "_target_":
                raise ConfigError(
                    f"{where + '.' if where else ''}_target_ is not allowed: a configuration runs no code. "
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
