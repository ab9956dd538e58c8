"""Pictures of the materials of rooms: boards, tiles, stone, plaster, carpets, posters, views out of windows."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from unlatch.objects.procedural.textures import draw_noise
from unlatch.simcore.rng import stream
from unlatch.simcore.temporary_folders import scratch_files

Array = np.ndarray
Rgb = tuple[float, float, float]

PIXELS = 512
"""Width and height of a picture."""
_VARIANTS = 3
"""Pictures of one material and colour."""


def _noise(rng: np.random.Generator, along: int, across: int, n_rows: int = PIXELS) -> Array:
    return draw_noise(rng, along, across, pixels=PIXELS, n_rows=n_rows)


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
    levels = np.clip(picture, 0.0, 1.0)
    levels *= 255.0
    Image.fromarray(np.rint(levels, out=levels).astype(np.uint8)).save(buffer, format="png", compress_level=1)
    return buffer.getvalue()


_GRAIN = ((0.5, 3, 24), (0.3, 6, 96), (0.2, 12, 200))
"""Shares of the noise in the grain of a board, and its cells along and across a picture."""


def draw_boards(rng: np.random.Generator, colour: Rgb, *, boards: int, contrast: float = 0.2, gap_px: int = 2) -> Array:
    """Draws boards along the picture, each with its own tone, grain and end joint."""
    height = PIXELS // boards
    picture: Array = np.zeros((PIXELS, PIXELS, 3))
    for board in range(boards):
        rows = slice(board * height, PIXELS if board == boards - 1 else (board + 1) * height)
        count = rows.stop - rows.start
        tone = 1.0 + contrast * rng.uniform(-0.6, 0.6)
        grain: Any = sum(share * _noise(rng, along, across, count) for share, along, across in _GRAIN)
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
    rows, columns = np.indices((PIXELS, PIXELS)) / PIXELS
    warp = 0.6 * _noise(rng, 2, 3) + 0.12 * _noise(rng, 7, 9) + 0.05 * _noise(rng, 29, 31)
    across = (2.0 * columns + rows + warp) % 1.0 - 0.5  # they run across the picture: rings look like stains
    veins = np.exp(-((across / 0.025) ** 2)) * np.clip(1.8 * _noise(rng, 4, 4) - 0.6, 0.0, 1.0)
    clouds = _noise(rng, 5, 5) * 0.6 + _noise(rng, 23, 23) * 0.4 - 0.5
    base = np.array(colour) * (1.0 + 0.10 * clouds[..., None])
    picture = base + 0.25 * veins[..., None] * (np.array(vein) - base)  # more looks like stains
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


def draw_poster(rng: np.random.Generator, tones: Sequence[Rgb]) -> Array:
    """Draws a picture for a wall: fields and discs of three colours."""
    picture: Array = np.ones((PIXELS, PIXELS, 1)) * np.array(tones[0])
    rows, columns = np.indices((PIXELS, PIXELS)) / PIXELS
    picture[rows > rng.uniform(0.4, 0.8)] = tones[1]
    for _ in range(3):
        x, y, radius = rng.uniform(0.2, 0.8), rng.uniform(0.2, 0.8), rng.uniform(0.05, 0.28)
        picture[(columns - x) ** 2 + (rows - y) ** 2 < radius**2] = tones[int(rng.integers(1, 3))]
    edge = np.minimum(np.minimum(rows, 1.0 - rows), np.minimum(columns, 1.0 - columns)) < 0.07
    picture[edge] = (0.94, 0.93, 0.90)
    return picture


VIEWS = ("trees", "town", "hills", "sea")
"""What is outside of a window."""


def draw_view(rng: np.random.Generator, kind: str = "trees") -> Array:
    """Draws what is outside of a window, out of focus and nearly too bright for a picture: sky, clouds and `VIEWS`."""
    up = np.linspace(1.0, 0.0, PIXELS)[:, None]
    low, high = np.array([0.93, 0.95, 0.97]), np.array([0.62, 0.78, 0.95])
    sky = low + (high - low) * up[..., None] ** 0.8 * np.ones((1, PIXELS, 1))
    clouds = np.clip(1.8 * (_noise(rng, 5, 3) * 0.6 + _noise(rng, 11, 7) * 0.4 - 0.45), 0.0, 1.0)[..., None]
    sky = sky + 0.8 * clouds * (0.98 - sky)
    if kind == "town":
        sky = _draw_houses(rng, sky, up)
    for height, rough, colour in _RIDGES[kind]:
        line = height + 0.08 * _noise(rng, 4, 1)[:1] + rough * _noise(rng, 17, 1)[:1]
        trees = np.clip((line - up) * 25.0 + 0.5, 0.0, 1.0)[..., None]
        crowns = 0.6 * _noise(rng, 13, 19) + 0.4 * _noise(rng, 29, 37)
        sky = sky * (1.0 - trees) + np.array(colour) * (0.85 + 0.3 * crowns[..., None]) * trees
    return 1.0 - 0.75 * (1.0 - sky)


_RIDGES: dict[str, tuple[tuple[float, float, Rgb], ...]] = {
    "trees": ((0.22, 0.03, (0.76, 0.82, 0.86)), (0.15, 0.06, (0.66, 0.73, 0.62))),
    "town": ((0.05, 0.08, (0.62, 0.70, 0.58)),),
    "hills": ((0.38, 0.02, (0.72, 0.80, 0.88)), (0.26, 0.02, (0.66, 0.76, 0.70)), (0.14, 0.01, (0.72, 0.78, 0.55))),
    "sea": ((0.30, 0.0, (0.50, 0.68, 0.78)), (0.06, 0.02, (0.86, 0.82, 0.70))),
}
"""Height, roughness and colour of what stands one before the other."""


def _draw_houses(rng: np.random.Generator, sky: Array, up: Array) -> Array:
    """Draws two rows of houses with windows before a sky."""
    at = np.arange(PIXELS)
    for base, tone in ((0.42, 0.84), (0.28, 0.74)):
        left = 0
        while left < PIXELS:
            width = int(PIXELS * rng.uniform(0.06, 0.16))
            height = base + float(rng.uniform(-0.1, 0.12))
            wall = tone * np.array([1.0, 0.97, 0.93]) * float(rng.uniform(0.85, 1.05))
            columns = (at >= left) & (at < left + width)
            house = ((up < height) & columns[None, :])[..., None]
            pane = ((up * 30.0) % 1.0 < 0.55) & (((at - left) * 30 / PIXELS) % 1.0 < 0.5)[None, :]
            sky = np.where(house, wall * np.where(pane[..., None], 0.72, 1.0), sky)
            left += width
    for axis, mode in enumerate(("nearest", "wrap")):  # out of focus
        # imported on first use: it takes a seventh of a preview, and few rooms have houses before their windows
        sky = scipy.ndimage.uniform_filter1d(sky, 2 * _BLUR_PX + 1, axis=axis, mode=mode)
    return sky


_BLUR_PX = 5
"""A window of a house is 9 pixels wide."""
