"""Finds YAML files: ours, those of other distributions, and those in folders of the user."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import yaml
from omegaconf import DictConfig, ListConfig, OmegaConf
from yaml.reader import ReaderError

from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.files import read_text
from unlatch.simcore.registry import Catalog, installed_entry_points

TASKS = Catalog("task", {}, group="unlatch.tasks", product="collections.abc:Mapping")
"""Tasks that other distributions make in Python; ours, and most of theirs, are YAML files of the group `task`."""

CONFIGS_GROUP = "unlatch.configs"
"""Entry-point group for packages with YAML files of other distributions."""


@dataclass(frozen=True)
class ConfigFolder:
    """A folder of another distribution with groups of YAML files."""

    origin: str
    """Name of the distribution."""
    package: str
    """Name of the package."""
    path: Path


def plugin_folders() -> list[ConfigFolder]:
    """Returns the folders of other distributions by name, without those that cannot be found."""
    return [folder for folder, _ in _find_plugin_folders() if folder is not None]


def broken_plugin_folders() -> list[str]:
    """Returns one line for each folder of another distribution that cannot be found."""
    return [problem for _, problem in _find_plugin_folders() if problem]


def group_names() -> list[str]:
    """Returns the sorted names of groups: our folders of YAML files, and `robot`, whose files are in `robots`."""
    return sorted({"robot", *(path.parent.name for path in config_dir().glob("*/*.yaml"))})


def generated_objects(group: str) -> list[str]:
    """Returns the options of the group `object` without a YAML file: our generators. None in other groups."""
    return GENERATORS.own_names() if group == "object" else []


def _find_plugin_folders() -> Iterator[tuple[ConfigFolder | None, str]]:
    """Yields the folder of each entry point, or the reason why it cannot be found."""
    for point in sorted(installed_entry_points(CONFIGS_GROUP), key=lambda point: point.name):
        origin = point.dist.name if point.dist is not None else "an unknown package"
        try:
            # the folder of a package without importing it
            spec = find_spec(point.value)
            places = list(spec.submodule_search_locations or ()) if spec is not None else []
            path = Path(places[0]) if places else None
        except Exception as exc:  # noqa: BLE001 - importing a foreign module can raise anything
            yield None, f"{origin}: its YAML files in '{point.value}' cannot be found: {type(exc).__name__}: {exc}"
            continue
        if path is None:
            yield None, f"{origin}: there is no package '{point.value}' with its YAML files"
        else:
            yield ConfigFolder(origin, point.value, path), ""


def config_dir() -> Path:
    """Returns the folder of our YAML files."""
    return Path(__file__).resolve().parent


_BEFORE_CONTENT = re.compile(r"\A(?:%.*\n|---[ \t]*\n|[ \t]*\n)+")


def content_of(text: str) -> str:
    """Returns a YAML text from its first line of content on, without `---` and directives such as `%YAML 1.2`."""
    return _BEFORE_CONTENT.sub("", text)


class _NamedText(io.StringIO):
    """A text with the name of its file, which errors of YAML state."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__(text)
        self.name = name


_MOST_VALUES = 1_000_000
"""A file of 300 bytes can stand for a billion values, by aliases of aliases."""


def _count_values(node: yaml.Node | None, known: dict[int, int]) -> int:
    """Returns how many values a node has with its aliases replaced; one that contains itself counts once there."""
    if not isinstance(node, yaml.CollectionNode):
        return 1
    if id(node) not in known:
        known[id(node)] = 1  # as long as it is being counted
        items = [item for pair in node.value for item in (pair if isinstance(pair, tuple) else (pair,))]
        known[id(node)] = 1 + sum(_count_values(item, known) for item in items)
    return known[id(node)]


def load_yaml(file: Path) -> DictConfig | ListConfig:
    """Returns the content of a YAML file, without references resolved.

    The relative path of a robot's URDF becomes an absolute one if it leads from the file's folder to a file.

    Raises:
        ConfigError: It is not a text that YAML allows, or is nested too deeply.
        YAMLError: It is not YAML.
        OSError: It cannot be read.
    """
    text, nodes = read_text(file), None
    try:
        if "*" in text:
            with suppress(yaml.YAMLError):  # whoever loads it names the error
                nodes = yaml.compose(text, Loader=yaml.CSafeLoader)
        if _count_values(nodes, {}) > _MOST_VALUES:
            raise ConfigError(
                f"{file} has more than {_MOST_VALUES:,} values once its aliases (*name) are replaced by what they "
                "stand for. Write fewer of them."
            )
        content = OmegaConf.load(_NamedText(text, str(file)))
    except ReaderError as exc:
        line = text.count("\n", 0, exc.position) + 1
        raise ConfigError(
            f"{file}, line {line}: the character with number {exc.character} is not allowed in YAML. Remove it."
        ) from exc
    except OSError as exc:  # so OmegaConf says that it is a number or a text
        raise ConfigError(
            f"{file} is one value. Expected a mapping, with lines such as 'key: value'. Correct the file."
        ) from exc
    except RecursionError as exc:
        raise ConfigError(f"{file} is nested too deeply for a configuration. Correct the file.") from exc
    if isinstance(content, DictConfig) and "arms" in content and isinstance(content.get("urdf"), str):
        beside = file.absolute().parent / content["urdf"]
        if beside.is_file():
            content["urdf"] = os.path.normpath(beside)
    return content
