"""Mesh files of an output folder: sources with their materials, and meshes that we write."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import numpy as np

from unlatch.simcore.errors import AssetError
from unlatch.simcore.meshes.mesh_parts import TriangleMesh
from unlatch.simcore.meshes.mesh_reader import mesh_dependencies

SOURCE_FOLDER = "source"
"""Where copied meshes lie, below the output folder."""


class MeshStore:
    """Writes meshes into an output folder, copies of one mesh once."""

    def __init__(self, folder: Path, source: Path, *, shared: bool) -> None:
        """Starts with nothing written.

        Args:
            folder: The output folder.
            source: Folder of the asset, resolved; files are copied from below it only.
            shared: Whether copies of one mesh share one file.
        """
        self.folder = folder
        self.source = source
        self.shared = shared
        self._files: dict[str, str] = {}
        self._written = 0

    def add(self, path: Path, mesh: TriangleMesh) -> str:
        """The name of the file that shows a source mesh, relative to the output folder.

        An OBJ is copied with its materials and textures, so that it looks as before; others become OBJs.

        Args:
            path: The source.
            mesh: What was read from it.
        """
        if path.suffix.lower() != ".obj" or not path.name.isascii():
            return self.add_surface(mesh)
        key = str(path)
        if self.shared and key in self._files:
            return self._files[key]
        name = path.relative_to(self.source).as_posix()
        target = self._free(self.folder / SOURCE_FOLDER / name)
        for dependency, file in {**mesh_dependencies(path, self.source), name: path}.items():
            place = target if file == path else self.folder / SOURCE_FOLDER / dependency
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place)
        self._files[key] = target.relative_to(self.folder).as_posix()
        return self._files[key]

    def add_surface(self, mesh: TriangleMesh, *, kind: str = "visual") -> str:
        """Writes a surface as an OBJ and returns its name.

        Args:
            mesh: The surface.
            kind: Beginning of the name.
        """
        text = surface_text(mesh)
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
            AssetError: A part is flat once its corners are rounded.
        """
        lines: list[str] = []
        offset = 1
        for number, part in enumerate(parts):
            lines.append(f"o hull_{number}")
            lines += _lines(part, offset)
            offset += len(part.vertices)
        if offset == 1:
            raise AssetError(f"'{name}' has no collider part. Expected one or more.")
        text = "\n".join([*lines, ""])
        key = f"parts:{hashlib.sha256(text.encode()).hexdigest()}"
        if not (self.shared and key in self._files):
            target = self._free(self.folder / name)
            target.write_text(text, encoding="utf-8")
            self._files[key] = target.name
        return self._files[key]

    def _free(self, path: Path) -> Path:
        number, free = 1, path
        while free.exists():
            free = path.with_name(f"{path.stem}_copy{number}{path.suffix}")
            number += 1
        return free


def surface_text(mesh: TriangleMesh) -> str:
    """A surface as the text of an OBJ."""
    return "\n".join([*_lines(mesh, 1), ""])


def _lines(mesh: TriangleMesh, offset: int) -> list[str]:
    lines = [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in mesh.vertices + np.zeros(3)]
    lines += [f"f {a + offset} {b + offset} {c + offset}" for a, b, c in mesh.faces]
    return lines
