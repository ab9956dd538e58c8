"""Finds the model of a robot, or makes it from those of installed packages on first use.

`robots/descriptions/NAME.yaml` says where the model of a robot of Unlatch comes from and why it is changed. Each
function of `MODELS` returns the path of its URDF in the cache. All may raise `AssetError`: an extra is not installed,
a file of a package is missing, damaged or another version's, or the cache cannot be written.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from unlatch.robots.catalog import ROBOTS
from unlatch.robots.description import RobotCfg
from unlatch.simcore.errors import AssetError, PluginError

_MADE = "unlatch.robots.made_models"
MODELS = {
    "baxter": f"{_MADE}:baxter_urdf",
    "dual_panda": f"{_MADE}:dual_panda_urdf",
    "fr3": f"{_MADE}:fr3_urdf",
    "franka_panda": "unlatch.robots.panda_model:panda_urdf",
    "franka_robotiq": f"{_MADE}:franka_robotiq_urdf",
    "ur5": f"{_MADE}:ur5_urdf",
    "ur5e": f"{_MADE}:ur5e_urdf",
    "xarm6": f"{_MADE}:xarm6_urdf",
}
"""Functions that return the path of a URDF, by robot."""
DRAWN_MODELS = {
    "dual_panda": f"{_MADE}:drawn_dual_panda_urdf",
    "franka_panda": "unlatch.robots.panda_model:drawn_panda_urdf",
}
"""The same for pictures, for robots with better visual meshes than those of their model."""


def model_path(robot: RobotCfg | str) -> Path:
    """Returns the URDF that a robot's description names, else that of the catalog entry with its name.

    Raises:
        UnknownEntryError: No such robot.
        AssetError: The file is not there, or the distribution that brings it is not installed.
        PluginError: The distribution that brings the robot does not name its model.
    """
    name = robot if isinstance(robot, str) else robot.name
    if not isinstance(robot, str) and robot.urdf is not None:
        from unlatch.robots.changed_model import stated_path

        # into the cache, with its meshes beside it
        source = stated_path(robot.urdf, where=f"robot.urdf of '{name}'")
        from unlatch.robots.changed_model import RepairedInertias, changed_model

        return changed_model(name, source, RepairedInertias(_joints_with_rotors(robot)))
    path = _make_model(MODELS[name]) if name in MODELS else _plugin_model(name)
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
    if robot.name in MODELS:
        return _make_model(DRAWN_MODELS[robot.name]) if robot.name in DRAWN_MODELS else path
    drawn = getattr(_plugin_module(robot.name), "drawn_urdf_path", None)
    return path if drawn is None else Path(drawn())


def _make_model(target: str) -> Path:
    """Returns what a function of `MODELS` returns."""
    module, _, function = target.partition(":")
    found: Path = getattr(import_module(module), function)()
    return found


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
