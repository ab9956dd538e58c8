"""Triangles of mesh files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from unlatch.simcore.errors import AssetError


def read_mesh(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (V, 3) and triangles (F, 3) of a mesh file: OBJ, or what the readers know (STL, PLY, GLB, DAE).

    Raises:
        AssetError: The file holds no mesh, or a number that is not finite.
    """
    if path.suffix.lower() == ".obj":
        return read_obj(path)
    import trimesh

    try:
        loaded = trimesh.load(path, process=False)
        scene = loaded if isinstance(loaded, trimesh.Scene) else trimesh.Scene(loaded)
        pieces = [piece for piece in scene.dump() if isinstance(piece, trimesh.Trimesh)]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ImportError, RuntimeError) as exc:
        # as parsers raise on what they cannot read
        raise AssetError(
            f"{path}: no readable mesh ({type(exc).__name__}: {' '.join(str(exc).split())}).", path=str(path)
        ) from exc
    counts = np.cumsum([0, *(len(piece.vertices) for piece in pieces)])
    v = np.concatenate([np.zeros((0, 3)), *(np.asarray(piece.vertices, dtype=float) for piece in pieces)])
    f = np.concatenate(
        [
            np.zeros((0, 3), dtype=int),
            *(np.asarray(piece.faces, dtype=int) + k for piece, k in zip(pieces, counts, strict=False)),
        ]
    )
    if not np.all(np.isfinite(v)):
        raise AssetError(f"{path}: a vertex is not finite.", path=str(path))
    return v, f


def read_obj(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (V, 3) and triangles (F, 3) of an OBJ file; polygons are fanned, everything else is skipped.

    Raises:
        AssetError: The file holds no mesh, or an index out of range.
    """
    vertices: list[list[float]] = []
    faces: list[tuple[int, int, int]] = []
    try:
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            words = line.split()
            if not words:
                continue
            if words[0] == "v":
                vertices.append([float(word) for word in words[1:4]])
            elif words[0] == "f":
                index = [int(word.split("/", 1)[0]) for word in words[1:]]
                index = [i - 1 if i > 0 else len(vertices) + i for i in index]
                faces += [(index[0], index[k], index[k + 1]) for k in range(1, len(index) - 1)]
    except (OSError, ValueError) as exc:
        raise AssetError(f"{path}: no readable OBJ mesh ({exc}).", path=str(path)) from exc
    v, f = np.array(vertices, dtype=float).reshape(-1, 3), np.array(faces, dtype=int).reshape(-1, 3)
    if len(f) and (f.min() < 0 or f.max() >= len(v)):
        raise AssetError(f"{path}: a face names vertex {int(f.max()) + 1} of {len(v)}.", path=str(path))
    if not np.all(np.isfinite(v)):
        raise AssetError(f"{path}: a vertex is not finite.", path=str(path))
    return v, f
