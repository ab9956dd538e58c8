"""Where the model of a robot is."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from robots.catalog import ROBOTS
from simcore.errors import AssetError


def model_path(name: str) -> Path:
    """The URDF of a robot in the catalog: `urdf_path()` of the module that defines it.

    Raises:
        UnknownEntryError: No such robot.
        AssetError: The file is not there.
    """
    module = import_module(ROBOTS.entry(name).target.partition(":")[0])
    path: Path = module.urdf_path()
    if not path.is_file():
        raise AssetError(
            f"The model of robot '{name}' is not at '{path}'. Reinstall the package that ships it.", path=str(path)
        )
    return path
