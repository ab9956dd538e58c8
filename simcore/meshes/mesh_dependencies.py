"""The files that a mesh file names: material libraries, textures and buffers."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from urllib.parse import unquote

from unlatch.simcore.errors import AssetError
from unlatch.simcore.meshes.obj_materials import material_files, texture_files
from unlatch.simcore.urdf.model import UrdfModel
from unlatch.simcore.urdf.reader import resolve_inside
from unlatch.simcore.urdf.xml import parse_xml


def mesh_dependencies(path: Path, folder: Path) -> dict[str, Path]:
    """Returns the existing files that a mesh names, by their path in the asset's resolved folder.

    They are materials, textures and buffers.

    Raises:
        AssetError: A name leads out of the folder, or the file is damaged.
    """
    suffix = path.suffix.lower()
    found: list[Path] = []
    if suffix == ".obj":
        libraries = material_files(path, folder)
        found = [*libraries, *(texture for library in libraries for texture in texture_files(library, folder))]
    elif suffix in (".glb", ".gltf"):
        found = [
            resolve_inside(folder, _relative_name(path.parent / name, folder), where=str(path))
            for name in _gltf_files(path)
        ]
    elif suffix == ".dae":
        for element in parse_xml(path).iter():
            name = (element.text or "").strip()
            if element.tag.rpartition("}")[2] == "init_from" and name and "://" not in name:
                candidate = (path.parent / unquote(name)).resolve()
                if candidate.is_file():
                    found.append(resolve_inside(folder, _relative_name(candidate, folder), where=str(path)))
    return {file.relative_to(folder).as_posix(): file for file in sorted(set(found))}


def model_files(model: UrdfModel, folder: Path) -> dict[str, Path]:
    """Returns the meshes of a URDF and the files that they name, by their path in the asset's resolved folder.

    Raises:
        AssetError: A name leads out of the folder, or a file is damaged.
    """
    files: dict[str, Path] = {}
    for link in model.links.values():
        for shape in (*link.visuals, *link.collisions):
            if shape.path is not None and shape.path.relative_to(folder).as_posix() not in files:
                files |= mesh_dependencies(shape.path, folder)
                files[shape.path.relative_to(folder).as_posix()] = shape.path
    return files


def _relative_name(path: Path, folder: Path) -> str:
    resolved = path.resolve()
    return resolved.relative_to(folder).as_posix() if resolved.is_relative_to(folder) else str(path)


def _gltf_files(path: Path) -> list[str]:
    data = path.read_bytes()
    try:
        if path.suffix.lower() == ".glb":
            length = struct.unpack("<I", data[12:16])[0]
            data = data[20 : 20 + length]
        tree = json.loads(data)
        items = [*tree.get("buffers", []), *tree.get("images", [])]
        names = [item["uri"] for item in items if isinstance(item.get("uri"), str)]
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError, struct.error) as exc:
        raise AssetError(
            f"{path}: no readable glTF ({' '.join(str(exc).split())}). Export it again.", path=str(path)
        ) from exc
    return [unquote(name) for name in names if not name.startswith("data:")]
