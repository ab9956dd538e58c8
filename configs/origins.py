"""Finds the file or other origin of each value of a composed configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra import initialize_config_dir
from hydra.core.config_loader import ConfigLoader
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from unlatch.configs.composition import Request, split_overrides
from unlatch.configs.config_files import config_dir, group_names
from unlatch.configs.hydra_errors import explain_error
from unlatch.configs.overrides import override_key
from unlatch.configs.plugin_source import SCHEMA_SUFFIX, YAML_SCHEME, PluginSource
from unlatch.configs.yaml_file import load_yaml
from unlatch.robots.catalog import ROBOTS
from unlatch.simcore.extras import DISTRIBUTION
from unlatch.simcore.files import user_path

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
                    origins["robot"] = _robot_origin(path.removeprefix(_ROBOTS).removesuffix(SCHEMA_SUFFIX))
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


def _robot_origin(robot: str) -> str:
    """Returns the origin of values of a robot that its YAML file does not state."""
    entry = ROBOTS.entry(robot)
    return entry.target if entry.origin == DISTRIBUTION else entry.description


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
