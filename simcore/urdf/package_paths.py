"""`package://NAME/PATH` in an asset's files: where the package is, and what then is the asset's own folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from unlatch.simcore.errors import AssetError
from unlatch.simcore.urdf.xml import parse_xml

PACKAGE_PREFIX = "package://"
PACKAGE_FILE = "package.xml"
"""What makes a folder a package of ROS."""


def asset_folder(urdf: Path, mesh_names: Iterable[str], *, where: str) -> Path:
    """The folder in which every file of an asset must lie.

    It is the URDF's own folder; where the URDF names packages, the uppermost of their folders and its own.

    Args:
        urdf: The URDF.
        mesh_names: The file names that stand in it.
        where: Names the asset in errors.

    Raises:
        AssetError: A package is not there, or a name is none.
    """
    names = sorted({name for name in mesh_names if name.startswith(PACKAGE_PREFIX)})
    folders = [urdf.parent.resolve(), *(package_path(urdf, name, where=where)[0] for name in names)]
    return min(folders, key=lambda folder: len(folder.parts))


def package_path(urdf: Path, name: str, *, where: str) -> tuple[Path, str]:
    """The folder of the package that a file name states, and the path in it.

    A package is a folder of its name beside the URDF, as Bullet has it; else the nearest folder above the URDF that is
    called so, or whose `package.xml` says so, as ROS has it. The user's home, what lies above it and the first folders
    below the root of the file system are no packages: a name alone must not open them.

    Args:
        urdf: The URDF.
        name: `package://NAME/PATH`.
        where: Names what refers to it, in errors.

    Raises:
        AssetError: The name is none, or there is no such package.
    """
    package, _, rest = name.removeprefix(PACKAGE_PREFIX).partition("/")
    if not rest or package in ("", ".", "..") or "\\" in package or "\0" in package:
        raise AssetError(f"{where}: '{name}' names no file of a package. Expected package://NAME/PATH.", file=name)
    base = urdf.parent.resolve()
    if (base / package).is_dir():
        return base / package, rest
    for folder in (base, *base.parents):
        if not _is_shared(folder) and (folder.name == package or _declared_name(folder) == package):
            return folder, rest
    raise AssetError(
        f"{where}: the package '{package}' of '{name}' is missing. Expected a folder {package} beside the URDF or "
        f"above it, or one above it whose {PACKAGE_FILE} says this name. Keep the URDF in its package.",
        file=name,
        package=package,
    )


def _is_shared(folder: Path) -> bool:
    """Whether a folder holds more than one package's files: a home, what lies above it, the uppermost folders."""
    home = Path.home().resolve()
    return folder == home or folder in home.parents or len(folder.parts) <= 2


def _declared_name(folder: Path) -> str | None:
    """The name in the `package.xml` of a folder; None if there is none that can be read."""
    file = folder / PACKAGE_FILE
    if not file.is_file():
        return None
    try:
        name = parse_xml(file).findtext("name")
    except AssetError:  # somebody else's file: not the asset's fault
        return None
    return name.strip() if name is not None else None
