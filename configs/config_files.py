"""Where YAML files come from: ours, those of other distributions, and folders of the user's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path

from unlatch.configs.task_catalog import TASKS
from unlatch.robots.catalog import ROBOTS
from unlatch.simcore.errors import ConfigError, DuplicateEntryError

CONFIGS_GROUP = "unlatch.configs"
"""Entry-point group in which other distributions name their packages of YAML files."""


@dataclass(frozen=True)
class ConfigFolder:
    """A folder with groups of YAML files."""

    origin: str
    """Whose it is, as a message says it."""
    package: str
    """The package that it is."""
    path: Path


def plugin_folders() -> list[ConfigFolder]:
    """Those of other distributions, by name.

    One whose package is not there, or breaks when it is looked for, is left out; `broken_plugin_folders` says so.
    """
    return [folder for folder, _ in _found() if folder is not None]


def broken_plugin_folders() -> list[str]:
    """What is wrong with those that could not be found, in one line each."""
    return [problem for _, problem in _found() if problem]


def group_names() -> list[str]:
    """The groups, sorted: our folders of YAML files."""
    return sorted({path.parent.name for path in config_dir().glob("*/*.yaml")})


def option_names(group: str, own: Sequence[str] = ()) -> list[str]:
    """What a group has to choose from, sorted: YAML files, ours and those of other distributions, and what they make.

    Args:
        group: Such as `task`.
        own: Folders of the user's own.

    Raises:
        DuplicateEntryError: Two distributions have one of the same name.
        ConfigError: One of the user's own has a name of these.
    """
    made = TASKS.names() if group == "task" else ROBOTS.names() if group == "robot" else []
    return sorted({*yaml_files(group, own), *made})


def check_unique_names() -> None:
    """Refuses two distributions with a file, or a file and a task made in Python, of one name.

    Raises:
        DuplicateEntryError: There are such; both origins in the message.
    """
    if plugin_folders() or TASKS.names():
        for group in group_names():
            yaml_files(group)


def yaml_files(group: str, own: Sequence[str] = ()) -> dict[str, Path]:
    """The YAML files of a group by name, ours and those of other distributions, sorted.

    Args:
        group: Such as `task`.
        own: Folders of the user's own, whose files are there too.

    Raises:
        DuplicateEntryError: Two distributions have one of the same name.
        ConfigError: One of the user's own has a name of these.
    """
    check_own_folders(own)
    files = {path.stem: path for path in (config_dir() / group).glob("*.yaml")}
    origins = dict.fromkeys(files, "unlatch")
    for folder in plugin_folders():
        for path in sorted((folder.path / group).glob("*.yaml")):
            if path.stem in files:
                raise DuplicateEntryError(
                    f"{group}/{path.stem}.yaml is there twice: in {origins[path.stem]} and in {folder.origin}. "
                    "Uninstall one of the two or rename its file.",
                    name=path.stem,
                )
            files[path.stem], origins[path.stem] = path, folder.origin
    for name in TASKS.names() if group == "task" else ():
        if name in files:
            raise DuplicateEntryError(
                f"task '{name}' is there twice: task/{name}.yaml in {origins[name]}, and {TASKS.entry(name).target} in "
                f"{TASKS.entry(name).origin}. Uninstall one of the two or rename it.",
                name=name,
            )
    for folder_of_user in own:
        files.update({path.stem: path for path in (Path(folder_of_user).expanduser() / group).glob("*.yaml")})
    return dict(sorted(files.items()))


def check_own_folders(folders: Sequence[str]) -> None:
    """Refuses files of the user's own that would not be read, because a file that comes with Unlatch has their name.

    Args:
        folders: The folders of `--config-dir`.

    Raises:
        ConfigError: There is one, or a folder is none.
    """
    for folder in (Path(name).expanduser() for name in folders):
        if not folder.is_dir():
            raise ConfigError(
                f"--config-dir {folder} is not a folder. Expected a folder of YAML files. Check the path."
            )
        groups = group_names()
        is_group = folder.resolve().name in groups and any(folder.glob("*.yaml"))
        if is_group and not any((folder / group).is_dir() for group in groups):
            raise ConfigError(
                f"--config-dir {folder} is a folder of one kind of files. Expected the folder that it lies in. "
                f"Use --config-dir {folder.parent}."
            )
        for group in groups:
            known = yaml_files(group)
            for path in sorted((folder / group).glob("*.yaml")):
                if path.stem in known or (group == "task" and path.stem in TASKS.names()):
                    raise ConfigError(
                        f"{path} has the name of {_whose(path.stem, known)}, and would not be read. Expected a "
                        f"name of its own. Rename it, to my_{path.name} for instance, and choose it by "
                        f"{group}=my_{path.stem}.",
                        key=group,
                    )


def _whose(name: str, known: Mapping[str, Path]) -> str:
    """A file or a task of this name, in words."""
    if name not in known:
        return f"a task of {TASKS.entry(name).origin}"
    for folder in plugin_folders():
        if folder.path in known[name].parents:
            return f"a file of {folder.origin}"
    return "a file that comes with Unlatch"


def _found() -> Iterator[tuple[ConfigFolder | None, str]]:
    """Of each entry point its folder, or what is wrong with it."""
    for point in sorted(entry_points(group=CONFIGS_GROUP), key=lambda point: point.name):
        origin = point.dist.name if point.dist is not None else "an unknown distribution"
        try:
            path = _place(point)
        except Exception as exc:  # noqa: BLE001 - a foreign module was imported: anything may have been raised
            yield None, f"{origin}: its YAML files in '{point.value}' cannot be found: {type(exc).__name__}: {exc}"
            continue
        if path is None:
            yield None, f"{origin}: there is no package '{point.value}' with its YAML files"
        else:
            yield ConfigFolder(origin, point.value, path), ""


def _place(point: EntryPoint) -> Path | None:
    """The folder of a package, which is not imported itself."""
    spec = find_spec(point.value)
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    return Path(places[0]) if places else None


def config_dir() -> Path:
    """The folder of our YAML files, whatever the current directory."""
    return Path(__file__).resolve().parent
