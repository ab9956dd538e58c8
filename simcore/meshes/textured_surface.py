"""Reads surfaces that carry one picture, from an OBJ with a material library."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unlatch.simcore.errors import AssetError
from unlatch.simcore.meshes.obj_file import ObjMesh, read_obj

MAX_PICTURE_BYTES = 1_000_000
"""Larger pictures are left out, since they would make an HTML page or a USD file too large."""
_PICTURES = (".jpg", ".jpeg", ".png")


@dataclass(frozen=True)
class TexturedSurface:
    """Triangles with texture coordinates."""

    vertices: np.ndarray
    """(V, 3) in the frame of the file [m]; a point with several texture coordinates occurs several times."""
    uvs: np.ndarray
    """(V, 2) to the right, and upwards from the lower edge of the picture; it repeats outside 0 to 1."""
    faces: np.ndarray
    """(F, 3) indices."""
    picture: Path
    """The PNG or JPEG; the visible colour is that of the picture times that of the visual."""


def read_textured_surface(path: Path, folder: Path) -> TexturedSurface | None:
    """Reads an OBJ of one material with a picture; None for other files, or if the picture cannot be used.

    Pictures outside the folder are not used.
    """
    if path.suffix.lower() != ".obj":
        return None
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
        if text.count("\nusemtl ") != 1 or text.count("mtllib ") != 1:
            return None
        library, material = (text.partition(word)[2].partition("\n")[0].strip() for word in ("mtllib ", "\nusemtl "))
        picture = _find_picture(path.parent / library, material, folder.resolve())
        return None if picture is None else _index_corners(read_obj(path, with_corners=True), picture)
    except (OSError, ValueError, AssetError):  # a damaged file is reported where its surface is read
        return None


def _find_picture(library: Path, material: str, folder: Path) -> Path | None:
    file = _resolve_inside(library, folder)
    if file is None:
        return None
    lines = [line.strip() for line in file.read_text(encoding="utf-8", errors="replace").splitlines()]
    if f"newmtl {material}" not in lines:
        return None
    for line in lines[lines.index(f"newmtl {material}") + 1 :]:
        if line.startswith("newmtl "):
            return None
        if line.startswith("map_Kd "):
            found = _resolve_inside(file.parent / line[7:].strip(), folder)
            small = found is not None and found.stat().st_size <= MAX_PICTURE_BYTES
            return found if found is not None and small and found.suffix.lower() in _PICTURES else None
    return None


def _resolve_inside(path: Path, folder: Path) -> Path | None:
    real = path.resolve()
    return real if real.is_relative_to(folder) and real.is_file() else None


def _index_corners(found: ObjMesh, picture: Path) -> TexturedSurface | None:
    """Gives every pair of a vertex and a texture coordinate one index, in the order of the faces.

    Returns:
        None where a corner has no texture coordinates, or a coordinate is not finite.
    """
    corners = np.stack([found.mesh.faces, found.uv_faces], axis=-1).reshape(-1, 2)  # (3 F, 2)
    if not len(corners) or corners.min() < 0 or corners.max(axis=0)[1] >= len(found.uvs):
        return None
    pairs, first, inverse = np.unique(corners, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    vertices, uvs = found.mesh.vertices[pairs[order, 0]], found.uvs[pairs[order, 1]]
    if not np.isfinite(uvs).all():
        return None
    return TexturedSurface(vertices, uvs, rank[inverse.reshape(-1)].reshape(-1, 3), picture)


def linear_light(value: float) -> float:
    """Converts a colour channel from sRGB (IEC 61966-2-1), as in a URDF, to linear light, both 0 to 1.

    glTF and USD need linear light for colours; the bytes of a picture stay sRGB there.
    """
    return value / 12.92 if value <= 0.04045 else float(((value + 0.055) / 1.055) ** 2.4)


def srgb_light(value: float) -> float:
    """Converts a colour channel from linear light to sRGB, both 0 to 1; the inverse of `linear_light`."""
    return value * 12.92 if value <= 0.0031308 else float(1.055 * value ** (1.0 / 2.4) - 0.055)
