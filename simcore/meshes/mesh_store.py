"""The mesh files of an output folder: copied sources with their materials, and written meshes."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from unlatch.simcore.errors import AssetError
from unlatch.simcore.meshes.mesh_dependencies import mesh_dependencies
from unlatch.simcore.meshes.obj_file import format_obj
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh

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
        text = format_obj([mesh])
        key = f"{kind}:{hashlib.sha256(text.encode()).hexdigest()}"
        if self.shared and key in self._files:
            return self._files[key]
        name = f"{kind}_{self._written}.obj"
        self._written += 1
        (self.folder / name).write_text(text, encoding="utf-8")
        self._files[key] = name
        return name

    def add_parts(self, parts: tuple[TriangleMesh, ...], name: str) -> str:
        """Writes convex parts into one OBJ, each as an object, and returns its name.

        Raises:
            AssetError: There is no part.
        """
        if not any(len(part.vertices) for part in parts):
            raise AssetError(f"'{name}' has no collider part. Expected one or more.")
        text = format_obj(parts, named=True)
        key = f"parts:{hashlib.sha256(text.encode()).hexdigest()}"
        if not (self.shared and key in self._files):
            target = self._free_path(self.folder / name)
            target.write_text(text, encoding="utf-8")
            self._files[key] = target.name
        return self._files[key]

    def _free_path(self, path: Path) -> Path:
        number, free = 1, path
        while free.exists():
            free = path.with_name(f"{path.stem}_copy{number}{path.suffix}")
            number += 1
        return free
