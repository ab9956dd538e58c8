"""The YAML files and other options of each group: ours, those of other distributions, and those of the user."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from unlatch.configs.config_files import TASKS, config_dir, generated_objects, group_names, plugin_folders
from unlatch.robots.catalog import DESCRIPTIONS, ROBOTS
from unlatch.simcore.errors import MISSING, ConfigError, DuplicateEntryError
from unlatch.simcore.files import path_word, read_text, user_path

_OTHER_SENSOR = re.compile(r"^type:(?! *camera\b)", re.MULTILINE)


def option_names(group: str) -> list[str]:
    """Returns the sorted options of a group such as `task`: YAML files, tasks and robots made in Python, generators.

    Raises:
        DuplicateEntryError: Two distributions have a file of the same name.
    """
    made = TASKS.names() if group == "task" else ROBOTS.names() if group == "robot" else []
    return sorted({*yaml_files(group), *made, *generated_objects(group)})


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
