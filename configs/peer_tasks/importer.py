"""Turns task files of InternDataEngine and GenSim2 into task files of Unlatch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

import yaml

from unlatch.configs.peer_tasks.gensim2 import read_gensim2_task
from unlatch.configs.peer_tasks.interndata import read_interndata_task
from unlatch.configs.peer_tasks.ledger import Ledger, Line
from unlatch.configs.peer_tasks.peer_file import GENSIM2, peer_of, task_entries
from unlatch.configs.peer_tasks.scene_objects import user_object
from unlatch.configs.robot_file import read_robot_file
from unlatch.configs.setting_file import read_yaml_tree
from unlatch.robots.catalog import ROBOTS, check_robot_name
from unlatch.robots.description import RobotCfg
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.files import plain_name, user_path

_PACKAGE = "# @package _global_"


class Settings(Enum):
    """What becomes of the planner settings of a file."""

    kept = "kept"
    """They are kept as they are."""
    derived = "derived"
    """They are left out, and derived from the parts."""


@dataclass
class ImportCfg:
    """Options of `unlatch import`."""

    out: str = "imported"
    """Folder that gets `task/NAME.yaml`."""
    name: str | None = None
    """Name of the task; None: that of the file."""
    object: str | None = None
    """The object of the task: a URDF, a USD, a folder, or a category of the library; None: the nearest one."""
    robot: str | None = None
    """Name of a robot, or the YAML file of your own; None: the nearest one."""
    skill: str | None = None
    """The skill of a file of GenSim2; None: its name tells it."""
    settings: Settings = Settings.kept
    """What becomes of the planner settings."""
    force: bool = False
    """Whether an existing file is replaced."""


@dataclass(frozen=True)
class ImportedTask:
    """One task of a file of another system."""

    name: str
    place: str
    """Its place in the file."""
    text: str
    """The task file of Unlatch; empty if it cannot be written."""
    lines: tuple[Line, ...]
    """What became of each value."""
    error: ConfigError | None = None
    """Why it cannot be written."""


def import_tasks(path: str | Path, cfg: ImportCfg) -> list[ImportedTask]:
    """Reads every task of a file of InternDataEngine or GenSim2.

    Raises:
        ConfigError: The file is not one of theirs, or a choice of `cfg` is wrong.
        AssetError: The object that `cfg` names is damaged.
    """
    file = user_path(path)
    tree = read_yaml_tree(file)
    peer = peer_of(tree)
    if peer is None:
        raise ConfigError(
            f"{path} is no task file of InternDataEngine or GenSim2. Expected a list `tasks` or a `constraint_list`. "
            "A task of Unlatch needs no import: --config-dir FOLDER.",
            path=str(path),
        )
    if cfg.object is not None:
        user_object("object", cfg.object)
    robot = None if cfg.robot is None else _read_robot(cfg.robot)
    name = plain_name(cfg.name or file.stem)
    if peer == GENSIM2:
        return [_import_one(tree, "", name, file, cfg, robot, is_gensim2=True)]
    entries = task_entries(tree)
    names = [name] if len(entries) == 1 else [f"{name}_{index}" for index in range(len(entries))]
    return [
        _import_one(entry, place, own, file, cfg, robot, is_gensim2=False)
        for (place, entry), own in zip(entries, names, strict=True)
    ]


def own_robot_file(robot: str | None) -> Path | None:
    """Returns the YAML file of the user's robot that `robot=` names; None: it names none, or one of the catalog."""
    return user_path(robot) if robot is not None and robot.endswith((".yaml", ".yml")) else None


def _read_robot(value: str) -> RobotCfg:
    """Returns the robot that the command line names.

    Raises:
        ConfigError: There is none.
    """
    file = own_robot_file(value)
    if file is None:
        check_robot_name(value, where="robot")
        made: RobotCfg = ROBOTS.load(value)()
        return made
    found = read_robot_file(file)
    if found is None:
        raise ConfigError(
            f"robot='{value}' is no description of a robot. Expected FOLDER/robot/NAME.yaml, as `unlatch new robot` "
            "writes it. Change it.",
            key="robot",
        )
    if file.absolute().parent.name != "robot":
        raise ConfigError(
            f"robot='{value}' is not in a folder 'robot'. Expected FOLDER/robot/NAME.yaml, so that --config-dir FOLDER "
            "finds it. Move it.",
            key="robot",
        )
    return replace(found, name=file.stem)


def _import_one(
    entry: Any, place: str, name: str, file: Path, cfg: ImportCfg, robot: RobotCfg | None, *, is_gensim2: bool
) -> ImportedTask:
    ledger = Ledger()
    keep = cfg.settings is Settings.kept
    try:
        if is_gensim2:
            content = read_gensim2_task(
                entry,
                name,
                file=file,
                given_object=cfg.object,
                given_robot=robot,
                given_skill=cfg.skill,
                keep_settings=keep,
                ledger=ledger,
            )
        else:
            content = read_interndata_task(
                entry,
                place,
                name,
                file=file,
                given_object=cfg.object,
                given_robot=robot,
                keep_settings=keep,
                ledger=ledger,
            )
    except ConfigError as exc:
        return ImportedTask(name, place, "", tuple(ledger.lines), exc)
    return ImportedTask(name, place, _to_text(content, file, place, ledger), tuple(ledger.lines))


def _to_text(content: Mapping[str, Any], file: Path, place: str, ledger: Ledger) -> str:
    """Returns the text of a task file: what was read, then what has no counterpart, as comments."""
    left = [line for line in ledger.lines if not line.is_read]
    head = [_PACKAGE, f"# imported from {file.name}{f', {place}' if place else ''} by `unlatch import`"]
    plain = yaml.safe_dump(dict(content), sort_keys=False, allow_unicode=True, width=110, default_flow_style=None)
    notes = [f"# {line}" for line in left]
    return (
        "\n".join([*head, plain, "# without a counterpart in Unlatch:", *notes, ""])
        if notes
        else "\n".join([*head, plain])
    )
