"""Reads planner settings from a YAML file of ours or of other systems, without composing a configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from unlatch.configs.yaml_file import load_yaml
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.files import user_path
from unlatch.solver.settings.fitness import find_misfit_motions, find_obstacles
from unlatch.solver.settings.origin import HANDS, Origin
from unlatch.solver.settings.reader import find_settings, read_planner_setting
from unlatch.solver.settings.setting import PlannerSettingCfg

_MAX_BYTES = 1_000_000


@dataclass
class SettingRead:
    """One `planner_setting` of a file, or the reason why it cannot be read."""

    where: str
    """Its full key in the file."""
    setting: PlannerSettingCfg | None = None
    """The setting; None if it cannot be read."""
    error: ConfigError | None = None
    """The error; None if it was read."""
    notices: list[str] = field(default_factory=list)
    """One line for each value that was rewritten or dropped."""
    obstacles: list[str] = field(default_factory=list)
    """Why no articulation skill can carry out the setting, one line each; empty if one can."""
    warnings: list[str] = field(default_factory=list)
    """What does not fit the hand of the robot, one line each."""


def read_setting_file(path: str | Path, *, tool: Mapping[str, Sequence[float]] | None = None) -> list[SettingRead]:
    """Reads every `planner_setting` of a YAML file, at any depth; GenSim2's files are one setting as a whole.

    A setting of InternDataEngine below the name of a robot that Unlatch knows the hand of gets that `hand`.

    Args:
        path: The file.
        tool: Keypoints of a robot's hand, (3,) each, ee frame [m]; None: motions are not compared with a hand.

    Raises:
        ConfigError: It is not a readable YAML file, or has no planner setting.
    """
    tree = read_yaml_tree(path)
    reads = []
    for where, raw in find_settings(tree):
        try:
            setting, notices = read_planner_setting(raw, where=where)
        except ConfigError as exc:
            reads.append(SettingRead(where, error=exc))
        else:
            _name_hand(setting, where, notices)
            obstacles = find_obstacles(setting, where)
            warnings = [] if tool is None else find_misfit_motions(setting, _to_arrays(tool), where)
            reads.append(SettingRead(where, setting, None, notices, obstacles, warnings))
    if not reads:
        raise ConfigError(
            f"{path} has no planner_setting. Expected the key at any depth, or a constraint_list at the top.",
            path=str(path),
        )
    return reads


def _name_hand(setting: PlannerSettingCfg, where: str, notices: list[str]) -> None:
    """Sets the hand of a setting of InternDataEngine by the name of its robot, a part of the full key."""
    if setting.origin is not Origin.interndata or setting.hand is not None:
        return
    robots = [part.split("[")[0] for part in where.split(".")]
    found = next((hand for hand in HANDS for robot in robots if hand in robot.lower()), None)
    if found is not None:
        setting.hand = found
        notices.append(
            f"{where}.hand: missing, read as {found} from its key. Write `hand: {found}` where you paste it."
        )


def _to_arrays(tool: Mapping[str, Sequence[float]]) -> dict[str, np.ndarray]:
    return {name: np.array(point, dtype=float) for name, point in tool.items()}


def read_yaml_tree(path: str | Path) -> Any:
    """Returns the mappings, lists, numbers and texts of a YAML file.

    Raises:
        ConfigError: It is not a readable YAML file.
    """
    file = user_path(path)
    if not file.is_file():
        raise ConfigError(f"{path} is not a file. Expected a YAML file. Check the path.", path=str(path))
    if file.stat().st_size > _MAX_BYTES:
        raise ConfigError(f"{path} has more than {_MAX_BYTES} bytes, too many for a configuration.", path=str(path))
    try:
        return OmegaConf.to_container(load_yaml(file), resolve=False)
    except (OmegaConfBaseException, YAMLError) as exc:
        from unlatch.configs.hydra_errors import explain_error  # it imports Hydra

        message = explain_error(exc).message
        raise ConfigError(message if str(path) in message else f"{path}: {message}", path=str(path)) from exc
    except RecursionError as exc:
        raise ConfigError(f"{path} is nested too deeply for a configuration.", path=str(path)) from exc
    except OSError as exc:
        raise ConfigError(f"{path} cannot be read: {exc.strerror}. Check the file.", path=str(path)) from exc
