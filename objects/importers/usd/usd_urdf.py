"""The URDF of a USD: read once, and cached by the content of every file that the USD refers to."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from unlatch.objects.importers.usd.reader import write_urdf
from unlatch.objects.importers.usd.stage import usd_files
from unlatch.simcore.cache import cache_root, cached_folder, content_hash, json_hash
from unlatch.simcore.files import plain_name

VERSION = 1
"""Raise it with every change of the output: cached files are then made again."""

_NOTICES_FILE = "notices.json"


@dataclass(frozen=True)
class UsdUrdf:
    """The URDF of a USD."""

    path: Path
    """The URDF, in a folder of the cache with its meshes."""
    notices: tuple[str, ...]
    """One line for each thing that is left out or read in a way that its author may not expect."""


def urdf_of_usd(path: Path, *, cache_dir: str | None = None) -> UsdUrdf:
    """Returns the URDF of a USD with UsdPhysics joints; it is written first unless the cache holds it.

    Links and joints have the names of their prims. A link has the axes of its body, and its origin on the axis of its
    joint. The link of the root is upright. Masses, inertias, limits, damping and friction are those of the file.

    Args:
        path: The USD.
        cache_dir: Folder of the cache; None: see `cache_root`.

    Raises:
        AssetError: OpenUSD is not installed, the file or something that it refers to cannot be read, or it has no joint
            that moves, or one that no URDF has.
    """
    files = usd_files(path)
    content = content_hash({name: file.read_bytes() for name, file in files.items()})
    key = json_hash([VERSION, content, path.name])
    folder = cache_root(cache_dir) / "usd" / f"{plain_name(path.stem)[:64]}-{key[:16]}"
    urdf = f"{plain_name(path.stem)}.urdf"

    def make(temporary: Path) -> None:
        notices = write_urdf(path, temporary, urdf)
        (temporary / _NOTICES_FILE).write_text(json.dumps(notices, indent=1) + "\n", encoding="utf-8")

    cached_folder(folder, key=key, make=make)
    notices = json.loads((folder / _NOTICES_FILE).read_text(encoding="utf-8"))
    return UsdUrdf(folder / urdf, tuple(notices))
