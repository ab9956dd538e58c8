"""Reads and writes Wavefront OBJ files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from unlatch.simcore.errors import AssetError
from unlatch.simcore.kept.arrays import arrays_key, kept_arrays
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh

Array = np.ndarray

_KINDS = ("v", "vt", "vn")
"""First words of the lines of vertices, texture coordinates and normals, in the order in which a corner names them."""

_LEAST_KEPT_BYTES = 50_000
"""Size from which the arrays of a file are kept in the cache; a smaller one is read as fast as they are."""


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

    Polygons become fans of triangles, and everything else is skipped. With `with_corners`, the arrays of a large file
    are kept in the cache under the hash of its content.

    Raises:
        AssetError: The file cannot be read, an index is out of range, or a vertex is not finite.
    """
    try:
        content = path.read_bytes()
    except OSError as exc:
        raise AssetError(f"{path}: no readable OBJ mesh ({exc}).", path=str(path)) from exc
    found: Mapping[str, Array]
    if not with_corners or len(content) < _LEAST_KEPT_BYTES:
        found = _parse_obj(path, content, _KINDS if with_corners else _KINDS[:1])
    else:
        found = kept_arrays("meshes", arrays_key(__file__, content), lambda: _parse_obj(path, content, _KINDS))
    library = path.parent / str(found["library"]) if "library" in found else None
    mesh = TriangleMesh(found["v"], found["v_faces"])
    return ObjMesh(mesh, found["vt"], found["vt_faces"], found["vn"], found["vn_faces"], library)


def _parse_obj(path: Path, content: bytes, kinds: Sequence[str]) -> dict[str, Array]:
    """Returns what the lines of an OBJ state, as `ObjMesh` has it; `library` is missing if it names none.

    Raises:
        AssetError: See `read_obj`.
    """
    lines: dict[str, list[str]] = {kind: [] for kind in (*_KINDS, "f", "mtllib")}
    order: list[str] = []
    try:
        for line in content.decode(encoding="utf-8", errors="replace").splitlines():
            words = line.split(maxsplit=1)
            if words and words[0] in lines:
                lines[words[0]].append(words[1] if len(words) > 1 else "")
                order.append(words[0])
        found = {kind: _read_values(kind, lines[kind] if kind in kinds else []) for kind in _KINDS}
        at = _read_triangles(lines["f"], order, kinds)
    except ValueError as exc:
        raise AssetError(f"{path}: no readable OBJ mesh ({exc}).", path=str(path)) from exc
    names = [name.strip() for name in lines["mtllib"] if name]
    vertices, faces = found["v"], at["v"]
    if len(faces) and (faces.min() < 0 or faces.max() >= len(vertices)):
        raise AssetError(
            f"{path}: a face names vertex {int(faces.max()) + 1} of {len(vertices)}. Export it again.", path=str(path)
        )
    if not np.all(np.isfinite(vertices)):
        raise AssetError(f"{path}: a vertex is not finite. Export it again.", path=str(path))
    library = {"library": np.array(names[0])} if names else {}
    return {**found, **{f"{kind}_faces": at[kind] for kind in _KINDS}, **library}


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


def _read_values(kind: str, lines: list[str]) -> Array:
    """Returns the numbers of the lines of a kind; a texture coordinate may leave out its second one.

    Raises:
        ValueError: One is no number, or some are missing.
    """
    count = 2 if kind == "vt" else 3
    if kind == "vt":
        lines = [f"{line} 0 0" for line in lines]
    return _read_columns(kind, lines, count, dtype=float)


def _read_triangles(lines: list[str], order: list[str], kinds: Sequence[str]) -> dict[str, Array]:
    """Returns the indices (F, 3) of each kind at the corners of triangles; -1 at a corner that names none.

    Args:
        lines: A polygon each, which becomes a fan of triangles.
        order: The first words of all lines of the file that are read.
        kinds: The kinds that are read.
    """
    polygons = [line.split() for line in lines]
    sizes = np.array([len(polygon) for polygon in polygons], dtype=int)
    # every corner gets a number for each kind: 0 where it names none
    corners = "/0/0\n".join([*chain.from_iterable(polygons), ""])
    corners = corners.replace("//", "/0/").replace("//", "/0/")
    numbers = _read_columns("f", corners.splitlines(), len(kinds), dtype=np.int64, delimiter="/")
    found: Array = numbers - 1  # indices count from 1
    if numbers.min(initial=0) < 0:  # from the end
        words = np.array(order)
        counts = np.stack([np.cumsum(words == kind)[words == "f"] for kind in kinds], axis=1)  # before each polygon
        found = np.where(numbers < 0, numbers + np.repeat(counts, sizes, axis=0), found)
    fans = np.maximum(sizes - 2, 0)
    first: Array = np.repeat(np.cumsum(sizes) - sizes, fans)
    step = np.arange(fans.sum()) - np.repeat(np.cumsum(fans) - fans, fans)
    triangles = np.stack([first, first + step + 1, first + step + 2], axis=1)  # (F, 3)
    there = {kind: found[triangles, place] for place, kind in enumerate(kinds)}
    return {kind: there.get(kind, np.zeros((0, 3), dtype=int)) for kind in _KINDS}


def _read_columns(kind: str, lines: list[str], count: int, *, dtype: type, delimiter: str | None = None) -> Array:
    """Returns the first numbers (L, count) of lines, which may have more.

    Raises:
        ValueError: One is no number, or some are missing.
    """
    if not lines:
        return np.zeros((0, count), dtype=dtype)
    try:
        return np.loadtxt(lines, dtype, comments=None, delimiter=delimiter, usecols=range(count), ndmin=2)
    except ValueError as exc:
        raise ValueError(f"in the lines that begin with '{kind}': {exc}") from exc
