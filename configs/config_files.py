"""Finds YAML files: ours, those of other distributions, and those in folders of the user."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import yaml
from omegaconf import DictConfig, ListConfig, OmegaConf
from yaml.reader import ReaderError

from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.robots.catalog import DESCRIPTIONS, ROBOTS
from unlatch.simcore.errors import MISSING, ConfigError, DuplicateEntryError
from unlatch.simcore.files import path_word, read_text, user_path
from unlatch.simcore.registry import Catalog, installed_entry_points

TASKS = Catalog("task", {}, group="unlatch.tasks", product="collections.abc:Mapping")
"""Tasks that other distributions make in Python; ours, and most of theirs, are YAML files of the group `task`."""

_OTHER_SENSOR = re.compile(r"^type:(?! *camera\b)", re.MULTILINE)
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


def option_names(group: str) -> list[str]:
    """Returns the sorted options of a group such as `task`: YAML files, tasks and robots made in Python, generators.

    Raises:
        DuplicateEntryError: Two distributions have a file of the same name.
    """
    made = TASKS.names() if group == "task" else ROBOTS.names() if group == "robot" else []
    return sorted({*yaml_files(group), *made, *generated_objects(group)})


def generated_objects(group: str) -> list[str]:
    """Returns the options of the group `object` without a YAML file: our generators. None in other groups."""
    return GENERATORS.own_names() if group == "object" else []


def own_option_names(group: str) -> list[str]:
    """Returns the sorted options of a group that come with Unlatch, without those of other distributions."""
    return sorted({*_own_files(group), *generated_objects(group)})


def camera_names() -> list[str]:
    """Returns the sorted options of the group `sensor` that are cameras, without the other sensors."""
    files = yaml_files("sensor").items()
    return [name for name, path in files if not _OTHER_SENSOR.search(read_text(path))]


def default_option(group: str) -> str | None:
    """Returns the option of a group that every episode has if none is named; None: there is none."""
    defaults = yaml.safe_load((config_dir() / "episode.yaml").read_text(encoding="utf-8"))["defaults"]
    found = next((entry[group] for entry in defaults if isinstance(entry, dict) and group in entry), None)
    return None if found == MISSING else found


def check_unique_names() -> None:
    """Checks that no two distributions have files or tasks of the same name.

    Raises:
        DuplicateEntryError: Two have; the message names both.
    """
    if plugin_folders() or TASKS.names():
        for group in group_names():
            yaml_files(group)


def yaml_files(group: str, own: Sequence[str] = ()) -> dict[str, Path]:
    """Returns the YAML files of a group such as `task` by name, sorted; `own` are folders of the user.

    Raises:
        DuplicateEntryError: Two distributions have a file of the same name.
        ConfigError: A file of the user has the same name as one of the other files.
    """
    check_own_folders(own)
    files = _own_files(group)
    origins = dict.fromkeys(files, "unlatch")
    for folder in plugin_folders():
        for path in sorted((folder.path / group).glob("*.yaml")):
            if path.stem in files or path.stem in generated_objects(group):
                first = origins.get(path.stem, "unlatch")
                raise DuplicateEntryError(
                    f"{group}/{path.stem}.yaml exists twice: in {first} and in {folder.origin}. "
                    "Uninstall one of the two or rename its file.",
                    name=path.stem,
                )
            files[path.stem], origins[path.stem] = path, folder.origin
    for name in TASKS.names() if group == "task" else ():
        if name in files:
            raise DuplicateEntryError(
                f"task '{name}' exists twice: task/{name}.yaml in {origins[name]}, and {TASKS.entry(name).target} in "
                f"{TASKS.entry(name).origin}. Uninstall one of the two or rename it.",
                name=name,
            )
    for folder_of_user in own:
        files.update({path.stem: path for path in (user_path(folder_of_user) / group).glob("*.yaml")})
    return dict(sorted(files.items()))


def _own_files(group: str) -> dict[str, Path]:
    """Returns the YAML files of a group that come with Unlatch, by name."""
    folder = DESCRIPTIONS if group == "robot" else config_dir() / group
    return {path.stem: path for path in folder.glob("*.yaml")}


def check_own_folders(folders: Sequence[str]) -> None:
    """Checks that no file in the folders of `--config-dir` has the name of a file that Hydra would read in its place.

    Raises:
        ConfigError: A file has such a name, or a folder does not exist.
    """
    for folder in (user_path(name) for name in folders):
        if not folder.is_dir():
            raise ConfigError(
                f"--config-dir {folder} is not a folder. Expected a folder of YAML files. Check the path."
            )
        groups = group_names()
        is_group = folder.resolve().name in groups and any(folder.glob("*.yaml"))
        if is_group and not any((folder / group).is_dir() for group in groups):
            raise ConfigError(
                f"--config-dir {folder} is a folder of one group. Expected its parent folder. "
                f"Use --config-dir {path_word(folder.parent)}"
            )
        for group in groups:
            own = sorted((folder / group).glob("*.yaml"))
            known = yaml_files(group) if own else {}  # it reads the metadata of every installed distribution
            made = TASKS.names() if group == "task" else generated_objects(group)
            for path in own:
                if path.stem in known or path.stem in made:
                    owner = _describe_owner(group, path.stem, known)
                    raise ConfigError(
                        f"{path} has the name of {owner} and would not be read. Expected another name. Rename it, "
                        f"for example to my_{path.name}, and choose it by "
                        f"{group}=my_{path.stem}.",
                        key=group,
                    )


def _describe_owner(group: str, name: str, known: Mapping[str, Path]) -> str:
    """Returns a text that says to whom the file, object or task of a name belongs."""
    if name in generated_objects(group):
        return "an object that comes with Unlatch"
    if name not in known:
        return f"a task of {TASKS.entry(name).origin}"
    for folder in plugin_folders():
        if folder.path in known[name].parents:
            return f"a file of {folder.origin}"
    return "a file that comes with Unlatch"


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


def _locate_urdf(content: DictConfig | ListConfig, file: Path) -> DictConfig | ListConfig:
    """Makes `urdf` of a robot's file absolute, in place, and returns the content."""
    if isinstance(content, DictConfig) and "arms" in content and isinstance(content.get("urdf"), str):
        beside = file.absolute().parent / content["urdf"]
        if beside.is_file():
            content["urdf"] = os.path.normpath(beside)
    return content


def load_yaml(file: Path) -> DictConfig | ListConfig:
    """Returns the content of a YAML file, without references resolved.

    The relative path of a robot's URDF becomes an absolute one if it leads from the file's folder to a file.

    Raises:
        ConfigError: It is not a text that YAML allows, or is nested too deeply.
        YAMLError: It is not YAML.
        OSError: It cannot be read.
    """
    text = read_text(file)
    try:
        return _locate_urdf(OmegaConf.load(_NamedText(text, str(file))), file)
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
