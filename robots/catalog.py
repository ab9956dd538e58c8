"""The robots by name.

Those of Unlatch are YAML files in `robots/descriptions`, in the form that `unlatch new robot` writes for the robot of a
user. Each file holds the numbers of one robot and their sources; its first line is what `unlatch list robots` says. A
robot of another distribution is a function that returns a `RobotCfg`, an entry point of the group `unlatch.robots`.
"""

from __future__ import annotations

import copy
from functools import cache, partial
from pathlib import Path
from typing import Any

import yaml

from unlatch.robots.description import ArmCfg, GripperCfg, RobotCfg
from unlatch.simcore.errors import unknown_name
from unlatch.simcore.registry import Catalog, CatalogEntry

DESCRIPTIONS = Path(__file__).resolve().parent / "descriptions"
"""Folder of the YAML files."""


def load_robot(name: str) -> RobotCfg:
    """Returns the description of a robot of the catalog; every call makes a new one.

    Raises:
        UnknownEntryError: No such robot.
        PluginError: The distribution that brings the robot is broken.
    """
    robot: RobotCfg = ROBOTS.make(name)
    return robot


def _built_in_robot(name: str) -> RobotCfg:
    """Returns the robot that a file in `DESCRIPTIONS` describes."""
    values = copy.deepcopy(read_description(name))
    for arm in values["arms"]:
        arm["gripper"] = GripperCfg(**arm["gripper"])
    values["arms"] = [ArmCfg(**arm) for arm in values["arms"]]
    return RobotCfg(**values)


@cache
def read_description(name: str) -> Any:
    """Returns the plain values of a YAML file in `DESCRIPTIONS`, read once; callers must not change them."""
    return yaml.load((DESCRIPTIONS / f"{name}.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)


class RobotCatalog(Catalog):
    """A catalog whose own entries are YAML files instead of functions."""

    def load(self, name: str) -> Any:
        """Returns the function without arguments that makes a robot; see `Catalog.load`."""
        return partial(_built_in_robot, name) if name in self._builtin else super().load(name)


def _list_descriptions() -> dict[str, CatalogEntry]:
    """Returns the entry of each robot in `DESCRIPTIONS`."""
    found = {}
    for path in sorted(DESCRIPTIONS.glob("*.yaml")):
        with path.open(encoding="utf-8") as file:
            summary = file.readline().removeprefix("#").strip()
        found[path.stem] = CatalogEntry(f"unlatch/robots/descriptions/{path.name}", summary)
    return found


ROBOTS = RobotCatalog(
    "robot",
    _list_descriptions(),
    group="unlatch.robots",
    product="unlatch.robots.description:RobotCfg",
    listed_by="unlatch list robots",
    default="franka_panda",
)


def check_robot_name(name: str, *, where: str) -> None:
    """Checks that the catalog has a robot of this name.

    Args:
        name: The name.
        where: Full key of the name in the configuration.

    Raises:
        ConfigError: It has none; the message proposes close names.
    """
    known = ROBOTS.names()
    if name not in known:
        raise unknown_name(
            name, "a robot", where=where, known=known, listed_by=ROBOTS.listed_by, default=ROBOTS.default
        )
