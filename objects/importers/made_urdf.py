"""The URDF of a USD or glTF: made once, and cached by the content of every file that it refers to."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from unlatch.objects.importers.gltf.gltf_file import gltf_files, has_joints, is_gltf
from unlatch.objects.importers.usd.stage import USD_SUFFIXES, is_usd, usd_files
from unlatch.simcore.cache import cache_root, cached_folder, content_hash, json_hash
from unlatch.simcore.files import plain_name
from unlatch.simcore.meshes.mesh_reader import GLTF_SUFFIXES

VERSION = 1
"""Raise it with every change of the output: cached files are then made again."""

MODEL_SUFFIXES = (*USD_SUFFIXES, *GLTF_SUFFIXES)
"""Endings of files, other than URDFs, that can be an object with joints."""

_NOTICES_FILE = "notices.json"


@dataclass(frozen=True)
class MadeUrdf:
    """The URDF of a USD or glTF."""

    path: Path
    """The URDF, in a folder of the cache with its meshes."""
    notices: tuple[str, ...]
    """One line for each thing that is left out or read in a way that its author may not expect."""


def needs_urdf(path: Path | str) -> bool:
    """Returns whether the name of a file ends like that of a USD or glTF."""
    return is_usd(path) or is_gltf(path)


def has_urdf(path: Path) -> bool:
    """Returns whether a URDF can be made of a file: of a USD, or of a glTF that names an extension with joints."""
    return is_usd(path) or (is_gltf(path) and has_joints(path))


def urdf_of(path: Path, *, cache_dir: str | None = None) -> MadeUrdf:
    """Returns the URDF of a USD or glTF with joints; it is written first unless the cache holds it.

    Links and joints have the names of their prims or nodes. A link has the axes of its body, and its origin on the
    axis of its joint. The link of the root is upright. Of a USD, masses, inertias, limits, damping and friction
    are kept; of a glTF, masses and limits.

    Args:
        path: The file.
        cache_dir: Folder of the cache; None: see `cache_root`.

    Raises:
        AssetError: OpenUSD is not installed, the file or something that it refers to cannot be read, or it has no joint
            that moves, or one that no URDF has.
    """
    kind = "usd" if is_usd(path) else "gltf"
    files = usd_files(path) if kind == "usd" else gltf_files(path)
    content = content_hash({name: file.read_bytes() for name, file in files.items()})
    key = json_hash([VERSION, content, path.name])
    folder = cache_root(cache_dir) / kind / f"{plain_name(path.stem)[:64]}-{key[:16]}"
    urdf = f"{plain_name(path.stem)}.urdf"

    def make(temporary: Path) -> None:
        if kind == "usd":
            from unlatch.objects.importers.usd.reader import write_urdf
        else:
            from unlatch.objects.importers.gltf.reader import write_urdf
        notices = write_urdf(path, temporary, urdf)
        (temporary / _NOTICES_FILE).write_text(json.dumps(notices, indent=1) + "\n", encoding="utf-8")

    cached_folder(folder, key=key, make=make)
    notices = json.loads((folder / _NOTICES_FILE).read_text(encoding="utf-8"))
    return MadeUrdf(folder / urdf, tuple(notices))
