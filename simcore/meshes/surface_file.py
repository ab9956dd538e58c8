"""Surfaces of mesh files: triangles with what their colours and shading need."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unlatch.simcore.errors import AssetError
from unlatch.simcore.meshes.mesh_file import read_mesh

Array = np.ndarray


@dataclass(frozen=True)
class Surface:
    """Triangles; values are for corners, since one place may have several of them."""

    vertices: Array
    """(V, 3) [m]."""
    faces: Array
    """(F, 3) places of the corners among the vertices."""
    normals: Array | None = None
    """(F, 3, 3) unit normals at the corners; None where nobody said any."""
    uvs: Array | None = None
    """(F, 3, 2) places in the picture: to the right, and upwards from its lower edge; it repeats outside 0 to 1."""
    picture: Path | None = None
    """What it carries."""


def read_surface(path: Path) -> Surface:
    """The surface of a mesh file; the normals and the first picture of an OBJ, of other files the triangles alone.

    Args:
        path: The file, as of `read_mesh`.

    Raises:
        AssetError: The file holds no mesh.
    """
    if path.suffix.lower() != ".obj":
        return Surface(*read_mesh(path))
    values: dict[str, list[list[float]]] = {"v": [], "vt": [], "vn": []}
    corners: dict[str, list[int]] = {"v": [], "vt": [], "vn": []}
    picture: Path | None = None
    try:
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            word, rest = _first_word(line)
            if word in values:
                values[word].append(_numbers(rest, count=2 if word == "vt" else 3))
            elif word == "f":
                _add_polygon(rest, values, corners)
            elif word == "mtllib" and picture is None:
                picture = _picture_of(path.parent / rest)
    except (OSError, ValueError, IndexError) as exc:
        raise AssetError(f"{path}: no readable OBJ mesh ({exc}).", path=str(path)) from exc
    faces = np.array(corners["v"], dtype=int).reshape(-1, 3)
    vertices = np.array(values["v"], dtype=float).reshape(-1, 3)
    if len(faces) and (faces.min() < 0 or faces.max() >= len(vertices)):
        raise AssetError(
            f"{path}: a face names vertex {int(faces.max()) + 1} of {len(vertices)}. Mend the file.", path=str(path)
        )
    if not np.all(np.isfinite(vertices)):
        raise AssetError(f"{path}: a vertex is not finite. Mend the file.", path=str(path))
    uvs = _at_corners(values["vt"], corners["vt"], len(faces))
    whole = min(corners["vn"], default=-1) >= 0 and max(corners["vn"], default=0) < len(values["vn"])
    normals = _at_corners(values["vn"], corners["vn"], len(faces)) if whole else None
    return Surface(vertices, faces, normals, uvs, None if uvs is None else picture)


def _first_word(line: str) -> tuple[str, str]:
    """What a line is about, and the rest of it."""
    words = line.split(maxsplit=1)
    return (words[0], words[1].strip()) if len(words) > 1 else ("", "")


def _numbers(text: str, *, count: int) -> list[float]:
    """The first numbers of a text; 0 for those that it leaves out."""
    found = [float(number) for number in text.split()[:count]]
    return found + [0.0] * (count - len(found))


def _add_polygon(text: str, values: dict[str, list[list[float]]], corners: dict[str, list[int]]) -> None:
    """Adds a face line, fanned into triangles; a corner without a texture place or normal has -1."""
    words = [word.split("/") for word in text.split()]
    for place, kind in enumerate(("v", "vt", "vn")):
        count = len(values[kind])
        numbers = [int(word[place]) if place < len(word) and word[place] else 0 for word in words]
        found = [n - 1 if n > 0 else count + n if n < 0 else -1 for n in numbers]  # from 1, negative ones from the end
        for k in range(1, len(found) - 1):
            corners[kind] += [found[0], found[k], found[k + 1]]


def _at_corners(values: list[list[float]], places: list[int], count: int) -> Array | None:
    """(F, 3, n) values, 0 at corners that name none, or one that is not there; None where no corner has one."""
    at: Array = np.array(places, dtype=int)
    there = (at >= 0) & (at < len(values))
    if not there.any():
        return None
    found = np.array(values, dtype=float)
    return np.concatenate([found, np.zeros((1, found.shape[1]))])[np.where(there, at, -1)].reshape(count, 3, -1)


def _picture_of(library: Path) -> Path | None:
    """The first picture that a material library names, where it is there."""
    if not library.is_file():
        return None
    for line in library.read_text(encoding="utf-8", errors="replace").splitlines():
        word, rest = _first_word(line)
        found = library.parent / rest
        if word == "map_Kd" and found.is_file():
            return found
    return None


def creased_normals(vertices: Array, faces: Array, *, crease_rad: float) -> Array:
    """(F, 3, 3) unit normals at the corners: the mean of the faces about the vertex that bend less than a crease.

    Args:
        vertices: (V, 3).
        faces: (F, 3).
        crease_rad: Faces at a larger angle are an edge [rad].
    """
    places, merged = np.unique(np.round(vertices, 7), axis=0, return_inverse=True)
    corners = merged.reshape(-1)[faces]  # (F, 3)
    weighted = np.cross(
        vertices[faces[:, 1]] - vertices[faces[:, 0]], vertices[faces[:, 2]] - vertices[faces[:, 0]]
    )  # (F, 3), as long as twice the area
    unit = weighted / np.maximum(np.linalg.norm(weighted, axis=1, keepdims=True), 1e-30)
    order = np.argsort(corners, axis=None, kind="stable")
    at, of = corners.ravel()[order], order // 3
    counts = np.bincount(at, minlength=len(places))
    starts = np.cumsum(counts) - counts
    repeats = counts[at]  # every corner meets all corners at its vertex
    first: Array = np.repeat(np.arange(len(at)), repeats)
    second = (
        np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats) + np.repeat(starts[at], repeats)
    )
    near = np.einsum("ij,ij->i", unit[of[first]], unit[of[second]]) >= np.cos(crease_rad)
    total = np.stack(
        [np.bincount(first[near], weights=weighted[of[second[near]], axis], minlength=len(at)) for axis in range(3)],
        axis=-1,
    )
    made = np.empty((len(at), 3))
    made[order] = total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-30)
    return made.reshape(-1, 3, 3)
