"""Finds the objects in a folder: every URDF in it, or every folder with one, is an instance."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from unlatch.objects.annotate.source import PARTNET_URDF
from unlatch.simcore.errors import AssetError, count_noun

_DEPTH = 3
"""Number of searched levels below the folder: a data set has folders for a category, an object, and its URDF."""
_MOST_ENTRIES = 100_000


def is_urdf_folder(path: Path) -> bool:
    """Returns whether a path is a folder of many objects, and not a URDF or the folder of one."""
    if not path.is_dir() or (path / PARTNET_URDF).is_file():
        return False
    count = len(_list_urdfs(path))
    return count > 1 or (count == 0 and next(_find_instances(path, path, _DEPTH, [0]), None) is not None)


def urdf_instances(root: Path) -> dict[str, Path]:
    """Returns URDFs by instance id, sorted; the id is the path from the folder, such as `oven_3` or `drawer/19179`.

    Raises:
        AssetError: The folder holds no URDF, more than `_MOST_ENTRIES` files and folders, or is a repository with
            objects somewhere below.
    """
    found = dict(_find_instances(root, root, _DEPTH, [0]))
    if not found:
        raise AssetError(
            f"'{root}' holds no URDF, {_DEPTH} folders deep. Expected URDFs, or folders with one each. Name another "
            "folder, or a file.",
            path=str(root),
        )
    _check_is_no_repository(root, found)
    return {name: found[name] for name in sorted(found, key=lambda n: (len(n), n))}


def urdf_state(urdf: Path) -> str:
    """Returns a quick hash of an object: over its URDF, and the names and sizes of the files beside it."""
    digest = hashlib.sha256(urdf.read_bytes())
    for path in sorted(p for p in urdf.parent.rglob("*") if p.is_file() and p.suffix != ".urdf"):
        digest.update(f"{path.relative_to(urdf.parent).as_posix()}\0{path.stat().st_size}\0".encode())
    return digest.hexdigest()


def _check_is_no_repository(root: Path, found: Mapping[str, Path]) -> None:
    """Refuses the root of a repository whose URDFs are all in a folder further down: it was hardly meant."""
    common = Path(os.path.commonpath([path.parent for path in found.values()]))
    if (root / ".git").exists() and common != root:
        raise AssetError(
            f"'{root}' is a repository with {count_noun(len(found), 'URDF')} somewhere below. Expected a URDF, the "
            f"folder of an object, or a folder of objects. Name that folder, such as '{common}'.",
            path=str(root),
        )


def _find_instances(folder: Path, root: Path, depth: int, seen: list[int]) -> Iterator[tuple[str, Path]]:
    """Yields the instances below a folder; `seen` counts the entries."""
    entries = sorted(folder.iterdir())
    seen[0] += len(entries)
    if seen[0] > _MOST_ENTRIES:
        raise AssetError(
            f"'{root}' holds more than {_MOST_ENTRIES} files and folders. Expected a folder of objects. Name one "
            "further down.",
            path=str(root),
        )
    inside = folder.relative_to(root)
    urdfs = [folder / PARTNET_URDF] if (folder / PARTNET_URDF).is_file() else _list_urdfs(folder)
    if urdfs:
        is_own_folder = len(urdfs) == 1 and folder != root
        yield from ((inside.as_posix() if is_own_folder else (inside / p.stem).as_posix(), p) for p in urdfs)
        if folder != root:
            return
    for path in entries:
        if depth and path.is_dir() and not path.name.startswith("."):
            yield from _find_instances(path, root, depth - 1, seen)


def _list_urdfs(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.urdf") if path.is_file())
