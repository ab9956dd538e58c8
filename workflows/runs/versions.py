"""Versions that made a data set, and versions installed here."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from unlatch.simcore.recording.data_set.data_set import DataSet

IDENTITY = ("unlatch", "pybullet", "casadi")
"""Distributions whose versions must be equal for two runs to write into one data set."""
NOTED = ("coacd", "hydra-core", "numpy", "ompl", "scipy", "toppra", "trimesh")
"""Further distributions whose versions are noted."""


def versions_of(names: tuple[str, ...]) -> dict[str, str]:
    """Returns the versions of installed distributions by name.

    Args:
        names: Names of distributions.
    """
    return {name: _read_version(name) for name in names}


def differing_versions(data_set: DataSet) -> dict[str, tuple[str, str]]:
    """Returns the versions that differ from those that made a data set: (then, now) by name, with Python and platform.

    Args:
        data_set: The data set.
    """
    then = {**data_set.header.get("versions", {}), **data_set.info.get("versions", {})}
    now = versions_of((*IDENTITY, *NOTED))
    for name, here in (("python", platform.python_version()), ("platform", platform.platform())):
        if name in data_set.info:
            then[name], now[name] = data_set.info[name], here
    return {name: (str(then[name]), now[name]) for name in now if name in then and str(then[name]) != now[name]}


def _read_version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
