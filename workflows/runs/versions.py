"""Which versions made a data set, and which are here."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from unlatch.simcore.recording.data_set.data_set import DataSet

IDENTITY = ("unlatch", "pybullet", "casadi")
"""Distributions whose version must be equal for two runs to write into one data set."""
NOTED = ("coacd", "hydra-core", "numpy", "ompl", "scipy", "toppra", "trimesh")
"""Further distributions whose version is noted."""


def versions_of(names: tuple[str, ...]) -> dict[str, str]:
    """Versions of installed distributions by name.

    Args:
        names: Names of distributions.
    """
    return {name: _version(name) for name in names}


def differing_versions(data_set: DataSet) -> dict[str, tuple[str, str]]:
    """Versions that are not those that a data set was made with: (then, now) by name, Python and platform included.

    Args:
        data_set: The data set.
    """
    import platform

    then = {**data_set.header.get("versions", {}), **data_set.info.get("versions", {})}
    now = versions_of((*IDENTITY, *NOTED))
    for name, here in (("python", platform.python_version()), ("platform", platform.platform())):
        if name in data_set.info:
            then[name], now[name] = data_set.info[name], here
    return {name: (str(then[name]), now[name]) for name in now if name in then and str(then[name]) != now[name]}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
