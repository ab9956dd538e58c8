"""Pictures of the materials of rooms, drawn by code: boards, tiles, bricks, concrete, fabric, the view from a window.

Each is drawn from a generator and repeats without a seam. It holds the colours themselves; the surface is white.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.simcore.rng import stream
from unlatch.simcore.scratch import scratch_files

Array = np.ndarray
Rgb = tuple[float, float, float]

PIXELS = 512
"""Width and height of a picture."""
_VARIANTS = 3
"""Pictures of one material and colour."""


def picture_file(draw: Callable[..., Array], rng: np.random.Generator, *args: Any, **options: Any) -> Path:
    """Draws a picture of a material, and returns its file, which belongs to this process.

    Of each material and colour there are a few pictures, of which `rng` chooses one: Bullet never forgets a picture.

    Args:
        draw: Draws a picture (height, width, 3), 0 to 1, from a generator and the further arguments.
        rng: Chooses the picture.
        args: Further arguments of `draw`.
        options: Further arguments of `draw`, by name.
    """
    png = _draw_png(draw, int(rng.integers(_VARIANTS)), PIXELS, args, tuple(sorted(options.items())))
    return scratch_files(f"room-{hashlib.sha256(png).hexdigest()[:24]}", {"picture.png": png}) / "picture.png"


@lru_cache(maxsize=256)
def _draw_png(draw: Callable[..., Array], variant: int, _pixels: int, args: Any, options: Any) -> bytes:
    from PIL import Image  # 0.03 s to import, and most episodes draw no picture

    picture = draw(stream(variant, f"visuals.scenery.{draw.__name__}"), *args, **dict(options))
    buffer = BytesIO()
    levels = np.rint(255.0 * np.clip(picture, 0.0, 1.0)).astype(np.uint8)
    Image.fromarray(levels).save(buffer, format="png", compress_level=1)
    return buffer.getvalue()


def draw_boards(rng: np.random.Generator, colour: Rgb, *, boards: int, contrast: float = 0.2, gap_px: int = 2) -> Array:
    """Draws boards along the picture, each with its own tone, grain and end joint."""
    height = PIXELS // boards
    picture: Array = np.zeros((PIXELS, PIXELS, 3))
    for board in range(boards):
        rows = slice(board * height, PIXELS if board == boards - 1 else (board + 1) * height)
        count = rows.stop - rows.start
        tone = 1.0 + contrast * rng.uniform(-0.6, 0.6)
        grain = _noise(rng, 3, 24)[:count] * 0.5 + _noise(rng, 6, 96)[:count] * 0.3 + _noise(rng, 12, 200)[:count] * 0.2
        shade = tone * (1.0 - 0.8 * contrast * (grain - 0.5))
        tint = 1.0 + rng.uniform(-0.03, 0.03) * np.array([0.5, 0.0, -1.0])  # warmer or colder, never green
        picture[rows] = shade[..., None] * np.array(colour) * tint
        picture[rows.start : rows.start + gap_px] *= 0.55
        joint = int(rng.integers(PIXELS))
        picture[rows, joint : joint + gap_px] *= 0.55
    return picture


def draw_tiles(
    rng: np.random.Generator, colour: Rgb, grout: Rgb, *, across: int, down: int, shift: bool, variety: float = 0.04
) -> Array:
    """Draws tiles or bricks with joints; with `shift`, every other row is moved by half a tile."""
    at: Array = np.arange(PIXELS)
    row: Array = at * down // PIXELS
    moved: Array = (row % 2) * (PIXELS // across // 2 if shift else 0)
    place: Array = (at[None, :] + moved[:, None]) % PIXELS
    column: Array = place * across // PIXELS
    tones = 1.0 + variety * rng.standard_normal((down, across, 1)) * np.array([1.0, 1.0, 1.0])
    picture = np.array(colour) * tones[row[:, None], column]
    picture = picture * (0.97 + 0.06 * _noise(rng, 16, 16)[..., None])
    joint = 0.012 * PIXELS * 4 / max(across, down)
    width, height = PIXELS / across, PIXELS / down
    edge_x = np.minimum(place % width, width - place % width)
    edge_y = np.minimum(at % height, height - at % height)[:, None]
    inside = np.clip(np.minimum(edge_x, edge_y) - 0.5 * joint, 0.0, 1.0)[..., None]
    return picture * inside + np.array(grout) * (1.0 - inside)


def draw_mottled(
    rng: np.random.Generator, colour: Rgb, *, contrast: float, cells: tuple[int, ...] = (3, 7, 19, 53)
) -> Array:
    """Draws clouds of several sizes: plaster, concrete, painted board."""
    clouds = sum(_noise(rng, count, count) / 1.6**level for level, count in enumerate(cells))
    clouds = clouds / sum(1.0 / 1.6**level for level in range(len(cells))) - 0.5
    fine = rng.standard_normal((PIXELS, PIXELS)) * 0.06
    return np.array(colour) * (1.0 + contrast * (2.0 * clouds + fine))[..., None]


def draw_stone(rng: np.random.Generator, colour: Rgb, vein: Rgb, *, specks: float) -> Array:
    """Draws polished stone: soft veins, and fine grains of a contrast of `specks`."""
    warp = 0.75 * _noise(rng, 2, 3) + 0.18 * _noise(rng, 7, 9) + 0.07 * _noise(rng, 29, 31)
    veins = np.exp(-(((warp - 0.5) / 0.02) ** 2)) * np.clip(1.6 * _noise(rng, 4, 4) - 0.4, 0.0, 1.0)
    clouds = _noise(rng, 5, 5) * 0.6 + _noise(rng, 23, 23) * 0.4 - 0.5
    base = np.array(colour) * (1.0 + 0.10 * clouds[..., None])
    picture = base + 0.4 * veins[..., None] * (np.array(vein) - base)
    if specks > 0.0:
        grains = 0.5 * _noise(rng, 256, 256) + 0.5 * rng.random((PIXELS, PIXELS))
        picture = picture * (1.0 + specks * (grains - 0.5)[..., None])
    return picture


def draw_fabric(rng: np.random.Generator, colour: Rgb) -> Array:
    """Draws the loops of a carpet."""
    loops = _noise(rng, 128, 128) * 0.6 + rng.random((PIXELS, PIXELS)) * 0.4
    return np.array(colour) * (0.8 + 0.4 * loops + 0.08 * (_noise(rng, 4, 4) - 0.5))[..., None]


def draw_holes(_rng: np.random.Generator, colour: Rgb, *, count: int) -> Array:
    """Draws a board with rows of holes."""
    at = (np.arange(PIXELS) * count / PIXELS) % 1.0 - 0.5
    hole = np.clip(8.0 * (np.hypot(at[:, None], at[None, :]) - 0.16), 0.0, 1.0)[..., None]
    return np.array(colour) * (0.25 + 0.75 * hole)


def draw_view(rng: np.random.Generator) -> Array:
    """Draws what is outside of a window: sky, clouds and trees, out of focus and nearly too bright for a picture."""
    up = np.linspace(1.0, 0.0, PIXELS)[:, None]
    low, high = np.array([0.93, 0.95, 0.97]), np.array([0.62, 0.78, 0.95])
    sky = low + (high - low) * up[..., None] ** 0.8 * np.ones((1, PIXELS, 1))
    clouds = np.clip(1.8 * (_noise(rng, 5, 3) * 0.6 + _noise(rng, 11, 7) * 0.4 - 0.45), 0.0, 1.0)[..., None]
    sky = sky + 0.8 * clouds * (0.98 - sky)
    for height, rough, colour in ((0.22, 0.03, (0.76, 0.82, 0.86)), (0.15, 0.06, (0.66, 0.73, 0.62))):
        line = height + 0.08 * _noise(rng, 4, 1)[:1] + rough * _noise(rng, 17, 1)[:1]
        trees = np.clip((line - up) * 25.0 + 0.5, 0.0, 1.0)[..., None]
        crowns = 0.6 * _noise(rng, 13, 19) + 0.4 * _noise(rng, 29, 37)
        sky = sky * (1.0 - trees) + np.array(colour) * (0.85 + 0.3 * crowns[..., None]) * trees
    return 1.0 - 0.75 * (1.0 - sky)


def _noise(rng: np.random.Generator, across: int, down: int) -> Array:
    """Returns smooth noise (PIXELS, PIXELS) from 0 to 1 that repeats, with a number of cells across and down."""
    cells = rng.random((down, across))
    (low_x, high_x, x), (low_y, high_y, y) = _weights(across), _weights(down)
    lines = cells[:, low_x] * (1.0 - x) + cells[:, high_x] * x
    return lines[low_y] * (1.0 - y)[:, None] + lines[high_y] * y[:, None]


def _weights(count: int) -> tuple[Array, Array, Array]:
    place = np.arange(PIXELS) * (count / PIXELS)
    low = place.astype(int)
    t = place - low
    return low, (low + 1) % count, t * t * (3.0 - 2.0 * t)
