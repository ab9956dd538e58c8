"""Small pictures of materials from a random stream: wood grain, brushed metal, cardboard, stone, paint.

A picture holds only shades near white; the colour of the surface is multiplied with it, as in Bullet, glTF and USD. It
repeats without a seam, and its size on a surface is in metres.

Only sums, products and comparisons of single numbers are used, which IEEE 754 defines to the bit, and the PNG is stored
uncompressed: sines, sums of arrays and compressors differ between machines and versions in the last digits.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from unlatch.objects.procedural.colours import TextureKind
from unlatch.simcore.rng import stream
from unlatch.simcore.temporary_folders import scratch_files

Array = np.ndarray
Shade = tuple[float, float, float]

PIXELS = 128
"""Width and height of a picture."""
_NUMBERED_FILE = "texture.png"


@dataclass(frozen=True)
class Texture:
    """A picture that repeats over a surface."""

    kind: TextureKind
    png: bytes
    """The picture as a PNG file; rows are along the grain."""
    size_m: tuple[float, float]
    """Extents of the picture on a surface: along the grain, and across it [m]."""
    mean: Shade
    """Mean shade of red, green and blue, 0 to 1."""
    loose: bool
    """Whether every piece shows another part of the picture, as boards do; else adjacent pieces continue each other."""


@dataclass(frozen=True)
class _Recipe:
    levels: Callable[[np.random.Generator], Array]
    """Draws (PIXELS, PIXELS) levels from 0 (dark) to 1."""
    dark: Shade
    """Shade of level 0 at contrast 1; level 1 is white."""
    contrast: tuple[float, float]
    size_m: tuple[float, float]
    loose: bool = False


def draw_texture(kind: TextureKind, rng: np.random.Generator) -> Texture:
    """Draws a picture."""
    recipe = _RECIPES[kind]
    contrast = float(rng.uniform(*recipe.contrast))
    zoom = float(rng.uniform(0.9, 1.15))
    levels = (recipe.levels(rng) * 255.0).astype(np.uint8)
    palette = [
        [round(255 * (1.0 - contrast * (1.0 - dark) * (255 - level) / 255)) for dark in recipe.dark]
        for level in range(256)
    ]
    counts = np.bincount(levels.reshape(-1), minlength=256).tolist()  # whole numbers: their sums are exact
    red, green, blue = (
        sum(count * shades[c] for count, shades in zip(counts, palette, strict=True)) / (255 * levels.size)
        for c in range(3)
    )
    size_m = (round(recipe.size_m[0] * zoom, 4), round(recipe.size_m[1] * zoom, 4))
    return Texture(kind, indexed_png(levels, palette), size_m, (red, green, blue), recipe.loose)


def texture_file(number: int) -> Path:
    """Returns the path of a PNG file with the picture that belongs to a number from 0; each process has its own file.

    The picture is the same on every machine; that of 0 is white.

    Raises:
        AssetError: The temporary folder cannot be written.
    """
    if number == 0:
        png = indexed_png(np.zeros((8, 8), dtype=np.uint8), [[255, 255, 255]] * 256)
    else:
        rng = stream(number, "visuals.texture")
        kinds = list(TextureKind)
        png = draw_texture(kinds[int(rng.integers(len(kinds)))], rng).png
    return scratch_files(f"texture-{number}", {_NUMBERED_FILE: png}) / _NUMBERED_FILE


def indexed_png(levels: Array, palette: list[list[int]]) -> bytes:
    """Returns an uncompressed PNG file of (height, width) uint8 indices; the palette holds red, green and blue, 0 to
    255.
    """
    return _stored_png(levels, 3, {b"PLTE": bytes(value for shades in palette for value in shades)})


def rgb_png(levels: Array) -> bytes:
    """Returns an uncompressed PNG file of (height, width, 3) uint8 red, green and blue."""
    return _stored_png(levels, 2, {})


def _stored_png(levels: Array, colour_type: int, extra: dict[bytes, bytes]) -> bytes:
    """Returns a PNG file of uint8 rows with a colour type of PNG, and with further chunks before the pixels."""
    height, width = levels.shape[:2]
    lines = levels.reshape(height, -1)
    rows = np.concatenate([np.zeros((height, 1), dtype=np.uint8), lines], axis=1).tobytes()  # filter 0 before each row
    stored = b"\x78\x01"
    for start in range(0, len(rows), 65535):
        block = rows[start : start + 65535]
        last = start + 65535 >= len(rows)
        stored += struct.pack("<BHH", last, len(block), len(block) ^ 0xFFFF) + block
    stored += struct.pack(">I", zlib.adler32(rows))
    header = struct.pack(">IIBBBBB", width, height, 8, colour_type, 0, 0, 0)
    chunks = {b"IHDR": header, **extra, b"IDAT": stored, b"IEND": b""}
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks.items()
    )


def draw_noise(
    rng: np.random.Generator, along: int, across: int, *, pixels: int = PIXELS, n_rows: int | None = None
) -> Array:
    """Returns smooth noise (pixels, pixels) from 0 to 1 that repeats, with a number of cells along and across.

    `n_rows` is how many of its rows are wanted; None: all.
    """
    cells = rng.random((across, along))
    rows, columns = (_cell_weights(count, pixels) for count in (across, along))
    low, high, t = columns
    lines = cells[:, low] * (1.0 - t) + cells[:, high] * t  # (across, pixels)
    low, high, t = (each[:n_rows] for each in rows)
    smooth: Array = lines[low] * (1.0 - t)[:, None] + lines[high] * t[:, None]
    return smooth


def _cell_weights(count: int, pixels: int) -> tuple[Array, Array, Array]:
    """Returns for each pixel the indices of the two cells beside it, and the weight of the second one."""
    place = np.arange(pixels) * (count / pixels)
    low = place.astype(int)
    t = place - low
    return low, (low + 1) % count, t * t * (3.0 - 2.0 * t)


def _draw_wood(rng: np.random.Generator) -> Array:
    """Draws growth rings cut lengthwise, of different widths and darkness, which darken slowly and end abruptly."""
    rings = int(rng.integers(8, 13))
    bend = float(rng.uniform(0.3, 1.1))
    across = np.arange(PIXELS)[:, None] * (rings / PIXELS)
    place = (
        across + draw_noise(rng, 2, 3) * 2.0 * bend + draw_noise(rng, 4, 8) * 0.3 * bend + 1.5 * draw_noise(rng, 1, 5)
    )
    late = place - np.floor(place)
    dark = rng.random(rings)[place.astype(int) % rings]
    pores = draw_noise(rng, 16, PIXELS)
    return 0.4 * (1.0 - late * late * late * dark) + 0.2 * pores + 0.4 * draw_noise(rng, 2, 40)


def _draw_painted(rng: np.random.Generator) -> Array:
    """Draws what a brush leaves in paint."""
    return 0.6 * draw_noise(rng, 2, PIXELS) + 0.4 * draw_noise(rng, 2, 24)


def _draw_brushed(rng: np.random.Generator) -> Array:
    """Draws scratches along the surface, fine ones on broader ones, which are longer: else a door looks like water."""
    return 0.5 * draw_noise(rng, 3, PIXELS) + 0.35 * draw_noise(rng, 1, 60) + 0.15 * draw_noise(rng, 1, 20)


def _draw_cardboard(rng: np.random.Generator) -> Array:
    """Draws fibres, specks, and the flutes inside, which show faintly as lines."""
    flutes = 32
    place = (np.arange(PIXELS) % (PIXELS // flutes)) * (2.0 * flutes / PIXELS)
    line = np.minimum(place, 2.0 - place)[:, None]
    fibres = draw_noise(rng, 24, 64)
    specks = np.where(rng.random((PIXELS, PIXELS)) < 0.02, 0.0, 1.0)
    return 0.2 * line + 0.35 * fibres + 0.2 * specks + 0.25 * draw_noise(rng, 5, 5)


def _draw_stone(rng: np.random.Generator) -> Array:
    """Draws grains of several sizes, some of them dark."""
    grains = draw_noise(rng, 64, 64)
    dark = np.where(draw_noise(rng, 48, 48) < 0.22, 0.0, 1.0)
    return 0.4 * grains + 0.35 * dark + 0.25 * draw_noise(rng, 6, 6)


def _draw_speckled(rng: np.random.Generator, *, cells: int) -> Array:
    """Draws small dents close to each other."""
    return 0.75 * draw_noise(rng, cells, cells) + 0.25 * draw_noise(rng, 4, 4)


_RECIPES: dict[TextureKind, _Recipe] = {
    TextureKind.wood: _Recipe(_draw_wood, (0.50, 0.40, 0.32), (0.5, 0.8), (0.50, 0.16), loose=True),
    TextureKind.painted_wood: _Recipe(_draw_painted, (0.72, 0.72, 0.72), (0.15, 0.3), (0.50, 0.16), loose=True),
    TextureKind.brushed_metal: _Recipe(_draw_brushed, (0.55, 0.55, 0.56), (0.12, 0.26), (0.30, 0.12)),
    TextureKind.hammered_metal: _Recipe(
        partial(_draw_speckled, cells=42), (0.45, 0.45, 0.45), (0.3, 0.5), (0.16, 0.16)
    ),
    TextureKind.cast_metal: _Recipe(partial(_draw_speckled, cells=64), (0.55, 0.53, 0.50), (0.6, 0.9), (0.12, 0.12)),
    TextureKind.cardboard: _Recipe(_draw_cardboard, (0.62, 0.58, 0.52), (0.5, 0.75), (0.22, 0.22)),
    TextureKind.stone: _Recipe(_draw_stone, (0.45, 0.44, 0.43), (0.7, 1.0), (0.14, 0.14)),
}
