"""Finds the model of a robot."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from unlatch.robots.built_in_models import DRAWN_MODELS, MODELS
from unlatch.robots.catalog import ROBOTS
from unlatch.robots.changed_model import RepairedInertias, changed_model
from unlatch.robots.description import RobotCfg
from unlatch.robots.package_files import stated_path
from unlatch.simcore.errors import AssetError, PluginError


def model_path(robot: RobotCfg | str) -> Path:
    """Returns the URDF that a robot's description names, else that of the catalog entry with its name.

    Raises:
        UnknownEntryError: No such robot.
        AssetError: The file is not there, or the distribution that brings it is not installed.
        PluginError: The distribution that brings the robot does not name its model.
    """
    name = robot if isinstance(robot, str) else robot.name
    if not isinstance(robot, str) and robot.urdf is not None:
        # into the cache, with its meshes beside it
        source = stated_path(robot.urdf, where=f"robot.urdf of '{name}'")
        return changed_model(name, source, RepairedInertias(_joints_with_rotors(robot)))
    path = MODELS[name]() if name in MODELS else _plugin_model(name)
    if not path.is_file():
        raise AssetError(
            f"The model of robot '{name}' is not at '{path}'. Reinstall the package that ships it.", path=str(path)
        )
    return path


def drawn_model_path(robot: RobotCfg) -> Path:
    """Returns the URDF of a robot for pictures: that of `model_path`, or one with better visual meshes if it has one.

    Raises:
        UnlatchError: As `model_path`.
    """
    path = model_path(robot)
    if robot.urdf is not None:
        return path
    drawn = DRAWN_MODELS.get(robot.name)
    if robot.name not in MODELS:
        drawn = getattr(_plugin_module(robot.name), "drawn_urdf_path", None)
    return path if drawn is None else Path(drawn())


def _plugin_model(name: str) -> Path:
    """Returns what the function `urdf_path` beside the function of a robot of another distribution returns."""
    module, entry = _plugin_module(name), ROBOTS.entry(name)
    if not callable(getattr(module, "urdf_path", None)):
        raise PluginError(
            f"The robot '{name}' of {entry.origin} has no model: there is no function urdf_path in {module.__name__}. "
            "Expected one that returns the path of its URDF, or `urdf` in its RobotCfg. Fix that package.",
            name=name,
            origin=entry.origin,
        )
    return Path(module.urdf_path())


def _plugin_module(name: str) -> Any:
    return import_module(ROBOTS.entry(name).target.partition(":")[0])


def _joints_with_rotors(robot: RobotCfg) -> tuple[str, ...]:
    """Returns the arm joints that have an armature."""
    values = (pair for arm in robot.arms for pair in zip(arm.joints, arm.armature, strict=True))
    return tuple(joint for joint, armature in values if armature > 0.0)
