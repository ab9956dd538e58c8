"""Reads and writes Wavefront OBJ files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unlatch.simcore.errors import AssetError
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh

Array = np.ndarray


@dataclass(frozen=True)
class ObjMesh:
    """The triangles of an OBJ; texture coordinates and normals belong to corners, as in the file."""

    mesh: TriangleMesh
    uvs: Array
    """(T, 2) texture coordinates: to the right, and upwards from the lower edge of the image."""
    uv_faces: Array
    """(F, 3) indices of texture coordinates at the corners; -1 at a corner without any."""
    normals: Array
    """(N, 3) normals as written."""
    normal_faces: Array
    """(F, 3) indices of normals at the corners; -1 at a corner without any."""
    library: Path | None
    """The first material library that the file names."""

    @property
    def corner_uvs(self) -> Array | None:
        """(F, 3, 2) texture coordinates, 0 at corners without valid ones; None where no corner has any."""
        there = (self.uv_faces >= 0) & (self.uv_faces < len(self.uvs))
        if not there.any():
            return None
        return np.concatenate([self.uvs, np.zeros((1, 2))])[np.where(there, self.uv_faces, -1)]

    @property
    def corner_normals(self) -> Array | None:
        """(F, 3, 3) normals; None unless every corner has one."""
        at = self.normal_faces
        if not at.size or at.min() < 0 or at.max() >= len(self.normals):
            return None
        return self.normals[at]


def read_obj(path: Path, *, with_corners: bool = False) -> ObjMesh:
    """Reads the triangles of an OBJ, and with `with_corners` its texture coordinates and normals.

    Polygons become fans of triangles, and everything else is skipped.

    Raises:
        AssetError: The file cannot be read, an index is out of range, or a vertex is not finite.
    """
    kinds = ("v", "vt", "vn") if with_corners else ("v",)
    values: dict[str, list[list[float]]] = {"v": [], "vt": [], "vn": []}
    corners: dict[str, list[int]] = {"v": [], "vt": [], "vn": []}
    library: Path | None = None
    try:
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            words = line.split()
            if not words:
                continue
            if words[0] in kinds:
                values[words[0]].append(_read_numbers(words))
            elif words[0] == "f":
                _add_polygon(words[1:], kinds, values, corners)
            elif words[0] == "mtllib" and len(words) > 1 and library is None:
                library = path.parent / line.split(maxsplit=1)[1].strip()
    except (OSError, ValueError) as exc:
        raise AssetError(f"{path}: no readable OBJ mesh ({exc}).", path=str(path)) from exc
    found = {kind: np.array(values[kind], dtype=float).reshape(-1, 2 if kind == "vt" else 3) for kind in values}
    at = {kind: np.array(corners[kind], dtype=int).reshape(-1, 3) for kind in corners}
    vertices, faces = found["v"], at["v"]
    if len(faces) and (faces.min() < 0 or faces.max() >= len(vertices)):
        raise AssetError(
            f"{path}: a face names vertex {int(faces.max()) + 1} of {len(vertices)}. Export it again.", path=str(path)
        )
    if not np.all(np.isfinite(vertices)):
        raise AssetError(f"{path}: a vertex is not finite. Export it again.", path=str(path))
    return ObjMesh(TriangleMesh(vertices, faces), found["vt"], at["vt"], found["vn"], at["vn"], library)


def format_obj(meshes: Iterable[TriangleMesh], *, named: bool = False, decimals: int | None = None) -> str:
    """Returns meshes of one frame as the text of one OBJ.

    With `named`, each becomes an object of its own: Bullet makes a compound of one hull per object. Coordinates have
    `decimals` decimals; by default nine significant digits and no negative zeros.
    """
    number = ".9g" if decimals is None else f".{decimals}f"
    lines: list[str] = []
    offset = 1
    for index, mesh in enumerate(meshes):
        vertices = mesh.vertices + np.zeros(3) if decimals is None else mesh.vertices
        lines += [f"o hull_{index}"] if named else []
        lines += [f"v {x:{number}} {y:{number}} {z:{number}}" for x, y, z in vertices]
        lines += [f"f {a + offset} {b + offset} {c + offset}" for a, b, c in mesh.faces]
        offset += len(vertices)
    return "\n".join([*lines, ""])


def _read_numbers(words: list[str]) -> list[float]:
    """Returns the numbers of a line; a texture coordinate may leave out its second one.

    Raises:
        ValueError: One is no number, or some are missing.
    """
    if words[0] == "vt":
        return [float(word) for word in [*words[1:3], "0", "0"][:2]]
    numbers = [float(word) for word in words[1:4]]
    if len(numbers) < 3:
        raise ValueError(f"'{' '.join(words)}' has {len(numbers)} numbers, expected 3")
    return numbers


def _add_polygon(
    words: list[str], kinds: Iterable[str], values: dict[str, list[list[float]]], corners: dict[str, list[int]]
) -> None:
    """Adds the corners of a face line, fanned into triangles; -1 at a corner that names no value of a kind."""
    split = [word.split("/") for word in words]
    for place, kind in enumerate(kinds):
        count = len(values[kind])
        # indices count from 1, negative ones from the end
        numbers = [int(word[place]) if place < len(word) and (word[place] or not place) else 0 for word in split]
        found = [n - 1 if n > 0 else count + n if n < 0 else -1 for n in numbers]
        for k in range(1, len(found) - 1):
            corners[kind] += [found[0], found[k], found[k + 1]]
