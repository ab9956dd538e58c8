"""Surfaces that carry one picture, as an OBJ with a material library says them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

MAX_PICTURE_BYTES = 1_000_000
"""Larger pictures are left out: they would make a page or a USD of what is shown in passing too large."""
_PICTURES = (".jpg", ".jpeg", ".png")


@dataclass(frozen=True)
class TexturedSurface:
    """Triangles with texture coordinates."""

    vertices: np.ndarray
    """(V, 3) in the frame of the file [m]; one place may have several, with other coordinates."""
    uvs: np.ndarray
    """(V, 2) in the picture: to the right, and upwards from its lower edge; it repeats outside 0 to 1."""
    faces: np.ndarray
    """(F, 3) indices."""
    picture: Path
    """The PNG or JPEG; what is seen is its shade times the colour of the visual."""


def read_textured_surface(path: Path, folder: Path) -> TexturedSurface | None:
    """Reads an OBJ of one material that has a picture; None where that is not so, or the picture is not to be had.

    Args:
        path: The mesh file.
        folder: The picture is read from there or below only.
    """
    if path.suffix.lower() != ".obj":
        return None
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
        if text.count("\nusemtl ") != 1 or text.count("mtllib ") != 1:
            return None
        library, material = (text.partition(word)[2].partition("\n")[0].strip() for word in ("mtllib ", "\nusemtl "))
        picture = _picture(path.parent / library, material, folder.resolve())
        return None if picture is None else _surface(text, picture)
    except (OSError, ValueError, IndexError):  # a damaged file is reported where its surface is read
        return None


def _picture(library: Path, material: str, folder: Path) -> Path | None:
    file = _inside(library, folder)
    if file is None:
        return None
    lines = [line.strip() for line in file.read_text(encoding="utf-8", errors="replace").splitlines()]
    if f"newmtl {material}" not in lines:
        return None
    for line in lines[lines.index(f"newmtl {material}") + 1 :]:
        if line.startswith("newmtl "):
            return None
        if line.startswith("map_Kd "):
            found = _inside(file.parent / line[7:].strip(), folder)
            small = found is not None and found.stat().st_size <= MAX_PICTURE_BYTES
            return found if found is not None and small and found.suffix.lower() in _PICTURES else None
    return None


def _inside(path: Path, folder: Path) -> Path | None:
    real = path.resolve()
    return real if real.is_relative_to(folder) and real.is_file() else None


def _surface(text: str, picture: Path) -> TexturedSurface | None:
    """The triangles; None where a corner has no texture coordinates.

    Raises:
        ValueError, IndexError: The file is damaged.
    """
    points: list[list[float]] = []
    places: list[list[float]] = []
    corners: dict[tuple[int, int], int] = {}
    faces: list[tuple[int, int, int]] = []
    for line in text.splitlines():
        words = line.split()
        if not words:
            continue
        if words[0] == "v":
            points.append([float(word) for word in words[1:4]])
        elif words[0] == "vt":
            places.append([float(word) for word in words[1:3]])
        elif words[0] == "f":
            numbers = [word.split("/") for word in words[1:]]
            if any(len(number) < 2 or not number[1] for number in numbers):
                return None
            # numbers count from 1, negative ones from the end
            pairs = [
                (int(v) - 1 if int(v) > 0 else len(points) + int(v), int(t) - 1 if int(t) > 0 else len(places) + int(t))
                for v, t, *_ in numbers
            ]
            ids = [corners.setdefault(pair, len(corners)) for pair in pairs]
            faces += [(ids[0], ids[k], ids[k + 1]) for k in range(1, len(ids) - 1)]
    if not faces:
        return None
    order = np.array(list(corners))  # (V, 2)
    vertices, uvs = np.array(points, dtype=float)[order[:, 0]], np.array(places, dtype=float)[order[:, 1]]
    if order.min() < 0 or not (np.isfinite(vertices).all() and np.isfinite(uvs).all()):
        return None
    return TexturedSurface(vertices, uvs, np.array(faces), picture)


def linear_light(value: float) -> float:
    """A channel of a colour as screens and URDF take it (sRGB, IEC 61966-2-1), in linear light, both 0 to 1.

    glTF and USD want the latter; the bytes of a picture stay as they are there.
    """
    return value / 12.92 if value <= 0.04045 else float(((value + 0.055) / 1.055) ** 2.4)
