"""Stores meshes with the files that they name: material libraries, textures and buffers."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import struct
from pathlib import Path
from urllib.parse import unquote

from unlatch.simcore.errors import AssetError
from unlatch.simcore.meshes.obj_file import format_obj, material_files, texture_files
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh
from unlatch.simcore.urdf.model import UrdfModel
from unlatch.simcore.urdf.reader import parse_xml, resolve_inside


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
        names = _gltf_files(path)
        found = [resolve_inside(path.parent, name, where=str(path), asset_folder=folder) for name in names]
    elif suffix == ".dae":
        for element in parse_xml(path).iter():
            name = (element.text or "").strip()
            if element.tag.rpartition("}")[2] == "init_from" and name and "://" not in name:
                name = os.path.relpath(path.parent / unquote(name), path.parent)
                if (path.parent / name).is_file():
                    found.append(resolve_inside(path.parent, name, where=str(path), asset_folder=folder))
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


SOURCE_FOLDER = "source"
"""Folder of copied meshes, below the output folder."""


class MeshStore:
    """Writes meshes into an output folder; equal meshes can share one file."""

    def __init__(self, folder: Path, source: Path, *, shared: bool) -> None:
        """Prepares an output folder for meshes; nothing is written yet.

        Files are copied only from below the resolved folder `source`. If `shared`, copies of one mesh share one file.
        """
        self.folder = folder
        self.source = source
        self.shared = shared
        self._files: dict[str, str] = {}
        self._written = 0

    def add(self, path: Path, mesh: TriangleMesh) -> str:
        """Adds a source and the mesh read from it, and returns the name of its file relative to the output folder.

        An OBJ is copied with its materials and textures, so that it keeps its look; other formats become OBJs.
        """
        if path.suffix.lower() != ".obj" or not path.name.isascii():
            return self.add_surface(mesh)
        key = str(path)
        if self.shared and key in self._files:
            return self._files[key]
        name = path.relative_to(self.source).as_posix()
        target = self._free_path(self.folder / SOURCE_FOLDER / name)
        for dependency, file in {**mesh_dependencies(path, self.source), name: path}.items():
            place = target if file == path else self.folder / SOURCE_FOLDER / dependency
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place)
        self._files[key] = target.relative_to(self.folder).as_posix()
        return self._files[key]

    def add_surface(self, mesh: TriangleMesh, *, kind: str = "visual") -> str:
        """Writes a surface as an OBJ and returns its name, which begins with `kind`."""
        return self._write(kind, format_obj([mesh]), f"{kind}_{self._written}.obj")

    def add_parts(self, parts: tuple[TriangleMesh, ...], name: str) -> str:
        """Writes convex parts into one OBJ, each as an object, and returns its name.

        Raises:
            AssetError: There is no part.
        """
        if not any(len(part.vertices) for part in parts):
            raise AssetError(f"'{name}' has no collider part. Expected one or more.")
        return self._write("parts", format_obj(parts, named=True), name)

    def _write(self, kind: str, text: str, name: str) -> str:
        key = f"{kind}:{hashlib.sha256(text.encode()).hexdigest()}"
        if not (self.shared and key in self._files):
            target = self._free_path(self.folder / name)
            target.write_text(text, encoding="utf-8")
            self._files[key] = target.name
            self._written += kind != "parts"
        return self._files[key]

    def _free_path(self, path: Path) -> Path:
        number, free = 1, path
        while free.exists():
            free = path.with_name(f"{path.stem}_copy{number}{path.suffix}")
            number += 1
        return free
