"""Reads the YAML file of a robot, without composing a configuration."""

from __future__ import annotations

from pathlib import Path

from unlatch.configs.dataclass_reader import read_dataclass
from unlatch.configs.setting_file import read_yaml_tree
from unlatch.robots.description import RobotCfg


def read_robot_file(path: str | Path) -> RobotCfg | None:
    """Returns the robot that a YAML file describes, as `unlatch new robot` writes it; None if it is no robot's.

    Raises:
        ConfigError: It is not a readable YAML file, or a value is wrong; the message says which.
    """
    tree = read_yaml_tree(path)
    return read_dataclass(RobotCfg, tree, where="robot") if isinstance(tree, dict) and "arms" in tree else None
