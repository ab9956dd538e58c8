"""Resolves `package://NAME/PATH` in an asset's files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from unlatch.simcore.errors import AssetError
from unlatch.simcore.files import home_folder
from unlatch.simcore.urdf.xml import parse_xml

PACKAGE_PREFIX = "package://"
PACKAGE_FILE = "package.xml"
"""The file that makes a folder a ROS package."""
_FILE_PREFIX = "file://"
_MOST_NAMED = 3


def asset_folder(urdf: Path, mesh_names: Iterable[str], *, where: str) -> Path:
    """Returns the folder in which every file of an asset must lie; `where` names the asset in errors.

    Without `package://` in the mesh names, it is the folder of the URDF. Else it is the uppermost of the folder of the
    URDF and the folders of all named packages.

    Raises:
        AssetError: A package is missing, or a name is invalid.
    """
    names = sorted({name for name in mesh_names if name.startswith(PACKAGE_PREFIX)})
    folders = [urdf.parent.resolve(), *(package_path(urdf, name, where=where)[0] for name in names)]
    return min(folders, key=lambda folder: len(folder.parts))


def mesh_paths(urdf: Path, mesh_names: Iterable[str], *, where: str) -> dict[str, Path]:
    """Returns the file of each mesh that a URDF of the user's own robot names.

    A name is a path relative to the URDF (also one with `../`), an absolute path, `file://PATH`, or
    `package://NAME/PATH` as in `package_path`. `where` names the URDF in errors.

    Raises:
        AssetError: A package or a file is missing; the message names all missing files, or the first of many.
    """
    paths: dict[str, Path] = {}
    for name in mesh_names:
        folder, rest = urdf.parent, name.removeprefix(_FILE_PREFIX)
        if name.startswith(PACKAGE_PREFIX):
            folder, rest = package_path(urdf, name, where=where)
        paths[name] = (folder / rest).resolve()
    missing = [name for name, path in paths.items() if not path.is_file()]
    if missing:
        more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
        raise AssetError(
            f"{where}: {len(missing)} of {len(paths)} meshes are missing: "
            f"{', '.join(map(repr, missing[:_MOST_NAMED]))}{more}. Expected the first one at {paths[missing[0]]}. Copy "
            "the meshes there, or correct their names in the URDF.",
            path=str(paths[missing[0]]),
            missing=missing,
        )
    return paths


def package_path(urdf: Path, name: str, *, where: str) -> tuple[Path, str]:
    """Returns the package folder of a file name `package://NAME/PATH`, and the path in it.

    A package is a folder of that name beside the URDF, as in Bullet. Without one, it is the nearest folder above the
    URDF that has the name or whose `package.xml` states it, as in ROS. The user's home, its parents and the first
    folders below the root of the file system are never packages, so that a URDF cannot read them by naming them.

    Raises:
        AssetError: The name is invalid, or there is no such package.
    """
    package, _, rest = name.removeprefix(PACKAGE_PREFIX).partition("/")
    if not rest or package in ("", ".", "..") or "\\" in package or "\0" in package:
        raise AssetError(f"{where}: '{name}' is not a file of a package. Expected package://NAME/PATH.", file=name)
    base = urdf.parent.resolve()
    if (base / package).is_dir():
        return base / package, rest
    for folder in (base, *base.parents):
        if not is_shared_folder(folder) and (folder.name == package or _declared_name(folder) == package):
            return folder, rest
    raise AssetError(
        f"{where}: the package '{package}' of '{name}' is missing. Expected a folder {package} beside or above "
        f"the URDF, or a folder above it whose {PACKAGE_FILE} has this name. Keep the URDF in its package.",
        file=name,
        package=package,
    )


def is_shared_folder(folder: Path) -> bool:
    """Returns whether a folder is never that of one asset: the user's home, its parents, the uppermost folders."""
    home = (home_folder() or Path("/")).resolve()
    return folder == home or folder in home.parents or len(folder.parts) <= 2


def _declared_name(folder: Path) -> str | None:
    """Returns the name in the `package.xml` of a folder; None without a readable one."""
    file = folder / PACKAGE_FILE
    if not file.is_file():
        return None
    try:
        name = parse_xml(file).findtext("name")
    except AssetError:  # the file does not belong to the asset
        return None
    return name.strip() if name is not None else None
