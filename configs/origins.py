"""Which file, or the command line, states each value of a configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from hydra import initialize_config_dir
from hydra.core.config_loader import ConfigLoader
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from unlatch.configs.composition import SCHEMA_SUFFIX, YAML_SCHEME, PluginSource, Request, split_overrides
from unlatch.configs.config_files import TASKS, config_dir, group_names, load_yaml
from unlatch.configs.override_errors import explain_error
from unlatch.configs.overrides import override_key
from unlatch.configs.schema import EpisodeCfg
from unlatch.robots.catalog import ROBOTS
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.files import user_path
from unlatch.simcore.registry import DISTRIBUTION

DEFAULT = "default"
"""Origin of values that no file states: the default of a dataclass."""
COMMAND_LINE = "command line"
_GIVEN = "given"
_DERIVED = "derived"
_ROBOTS = "robot/"


def find_origins(primary: str, request: Request) -> dict[str, str]:
    """Returns the origin of every stated value by its full key; other values are defaults.

    Call it after `compose_config`, which explains mistakes. A list is one value with the origin of its file; changes of
    single entries by the command line are listed separately.

    Raises:
        ConfigError: The configuration cannot be composed.
    """
    plain, in_lists, search_path = split_overrides(request)
    origins: dict[str, str] = {}
    try:
        with initialize_config_dir(config_dir=str(config_dir()), version_base="1.3"):
            loader = GlobalHydra.instance().config_loader()
            defaults = loader.compute_defaults_list(primary, [*plain, *search_path], RunMode.RUN).defaults
            for default in defaults:
                path = str(default.config_path)
                if path.startswith(_ROBOTS) and path.endswith(SCHEMA_SUFFIX):
                    # of values that its YAML file does not state
                    entry = ROBOTS.entry(path.removeprefix(_ROBOTS).removesuffix(SCHEMA_SUFFIX))
                    origins["robot"] = entry.target if entry.origin == DISTRIBUTION else entry.description
                if not path.endswith(SCHEMA_SUFFIX) or path.endswith(f"{_GIVEN}{SCHEMA_SUFFIX}"):
                    for key, origin in _stated_keys(loader, request.config_dirs, path, default.package or ""):
                        origins[key] = origin
    except (HydraException, OmegaConfBaseException) as exc:
        raise explain_error(exc) from exc
    for text in [*plain, *in_lists]:
        key = override_key(text)
        if "/" not in key and key not in group_names():
            origins[key] = COMMAND_LINE
    return origins


def origin_of(key: str, origins: Mapping[str, str]) -> str:
    """Returns the origin of one value by its full key: its own, or that of the closest mapping around it."""
    parts = key.split(".")
    for end in range(len(parts), 0, -1):
        found = origins.get(".".join(parts[:end]))
        if found is not None:
            return found
    return DEFAULT


def _stated_keys(loader: ConfigLoader, own: Sequence[str], path: str, package: str) -> Iterator[tuple[str, str]]:
    """Yields the keys that a file states, with the name of the file."""
    source = next((source for source in loader.get_sources() if source.is_config(path)), None)
    if source is not None:
        content = OmegaConf.to_container(source.load_config(path).config, resolve=False)
        name = source.describe_origin(path) if isinstance(source, PluginSource) else _name_file(source.path, path)
    else:  # Hydra does not list folders of the command line as sources
        files = [user_path(folder) / f"{path}.yaml" for folder in own]
        file = next((file for file in files if file.is_file()), None)
        if file is None:
            return
        content, name = OmegaConf.to_container(load_yaml(file), resolve=False), str(file)
    base = "" if package in ("", "_global_") else package
    for key, _ in iterate_leaves(content, base):
        if key != "defaults":
            yield key, name


def _name_file(folder: str, path: str) -> str:
    """Returns the name of a file: relative to the repository for ours, the full path for others."""
    if path.endswith(SCHEMA_SUFFIX):
        return _DERIVED
    file = Path(folder.removeprefix("file://").removeprefix(f"{YAML_SCHEME}://")) / f"{path.removesuffix('.yaml')}.yaml"
    ours = config_dir().parent
    return str(file.relative_to(ours)) if ours in file.parents else str(file)


def iterate_leaves(node: Any, where: str, *, into_lists: bool = False) -> Iterator[tuple[str, Any]]:
    """Yields values by full key; enters mappings and, with `into_lists`, lists of mappings."""
    if isinstance(node, Mapping) and node:
        for key, value in node.items():
            yield from iterate_leaves(value, f"{where}.{key}" if where else str(key), into_lists=into_lists)
    elif into_lists and isinstance(node, list) and any(isinstance(item, Mapping) for item in node):
        for index, item in enumerate(node):
            yield from iterate_leaves(item, f"{where}.{index}", into_lists=into_lists)
    else:
        yield where, node


def explain_value(error: ConfigError, primary: str, request: Request) -> ConfigError:
    """Adds to the error of a value which file states it, and what was probably meant."""
    key = str(error.values.get("key", ""))
    file = _stating_file(key, primary, request)
    place = f" (in {file})" if file else ""
    leaf = key.rpartition(".")[2]
    if file.startswith("task/") and key == f"task.{leaf}":
        if leaf in {item.name for item in fields(EpisodeCfg)}:
            return ConfigError(
                f"'{leaf}' was read as {key}{place}. Expected '# @package _global_' as the very first line of a task's "
                "file. Put it there.",
                key=key,
            )
        if leaf == "tasks":
            return ConfigError(
                f"{key} is a list of tasks, as InternDataEngine writes it{place}. Run `unlatch import FILE` with that "
                "file.",
                key=key,
            )
    message, value = error.message, error.values.get("value")
    if isinstance(value, str) and key in group_names():
        how = f"To choose the file {value}, write `- override /{key}: {value}` into `defaults`."
        message = message.replace("Change it.", how)
    return ConfigError(message + place, **error.values)


def _stating_file(key: str, primary: str, request: Request) -> str:
    """Returns the file of a group that states the value of a key, such as `task/mine.yaml`; empty if none does.

    A key inside of a list needs no file: its index and the name beside it say where it is.
    """
    if not key or "[" in key:
        return ""
    origins = find_origins(primary, request)
    inside = [origin for name, origin in origins.items() if name.startswith(f"{key}.")]
    origin = origins.get(key, inside[-1] if inside else "")
    if origin.endswith(".yaml"):
        folder, name = Path(origin).parts[-2:]
        return f"{folder}/{name}" if folder in group_names() else ""
    made = (name for name in TASKS.names() if TASKS.entry(name).description == origin)
    return next((f"task/{name} of {TASKS.entry(name).origin}, {TASKS.entry(name).target}" for name in made), "")
