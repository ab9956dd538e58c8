"""Draws points, lines and words of the world frame over a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from PIL import Image, ImageDraw

from unlatch.simcore.sim.visuals.pictures import LookAtCamera, project_points
from unlatch.workflows.viewing.picture import INK, Rgb, load_font

Array = np.ndarray

_FONT_PX = 13
_PALETTE: tuple[Rgb, ...] = (
    (250, 180, 20),
    (40, 150, 220),
    (210, 70, 120),
    (60, 170, 90),
    (140, 90, 200),
    (90, 90, 90),
)


class Overlay:
    """Draws points, lines and words of the world frame over a picture."""

    def __init__(self, picture: Array, view: LookAtCamera) -> None:
        """Starts with a picture, (height, width, 3) uint8, and the camera that took it."""
        self._image = Image.fromarray(picture)
        self._draw = ImageDraw.Draw(self._image, "RGBA")
        self._view = view

    def line(self, points_world: Array, *, color: Rgb, width: int = 2) -> None:
        """Draws a line through points (K, 3) [m]; parts behind the camera are left out."""
        pixels = self._project(points_world)
        for a, b in pairwise(pixels):
            if np.isfinite([a, b]).all():
                self._draw.line([tuple(a), tuple(b)], fill=(*color, 255), width=width)

    def labels(self, points_world: Mapping[str, Array]) -> None:
        """Draws dots, with their names in a column at the right, connected by lines; `a.b` and `a.c` share a colour."""
        seen = []
        colours: dict[str, Rgb] = {}
        points = np.array(list(points_world.values()), dtype=float).reshape(-1, 3)
        for name, pixel in zip(points_world, self._project(points), strict=True):
            colour = colours.setdefault(name.rpartition(".")[0], _PALETTE[len(colours) % len(_PALETTE)])
            if np.isfinite(pixel).all():
                seen.append((float(pixel[1]), float(pixel[0]), name, colour))
        widest = max((self._draw.textlength(name, font=load_font(_FONT_PX)) for _, _, name, _ in seen), default=0.0)
        left = self._image.width - widest - 8
        rows = _spread_labels(
            [y for y, *_ in sorted(seen)], step=_FONT_PX + 5, within=self._image.height - _FONT_PX - 5
        )
        for (y, x, name, colour), row in zip(sorted(seen), rows, strict=True):
            self._draw.line([(x, y), (left - 4, row)], fill=(*colour, 200), width=1)
            self._draw_dot(x, y, colour)
            self._draw_text((left, row - _FONT_PX / 2), name)

    def text_at(self, p_world: Array, words: str) -> None:
        """Draws text at a point (3,) of the world frame [m]."""
        (pixel,) = self._project(p_world)
        if np.isfinite(pixel).all():
            self._draw_text((float(pixel[0]), float(pixel[1])), words)

    def picture(self) -> Array:
        """Returns the picture with everything that was drawn, (height, width, 3) uint8."""
        return np.asarray(self._image)

    def _draw_text(self, pixel: tuple[float, float], words: str) -> None:
        """Draws text at a pixel on a white box."""
        if words:
            box = self._draw.textbbox(pixel, words, font=load_font(_FONT_PX))
            self._draw.rectangle([box[0] - 2, box[1] - 1, box[2] + 2, box[3] + 1], fill=(255, 255, 255, 200))
            self._draw.text(pixel, words, fill=INK, font=load_font(_FONT_PX))

    def _draw_dot(self, x: float, y: float, color: Rgb) -> None:
        self._draw.ellipse([x - 4, y - 4, x + 4, y + 4], fill=(*color, 255), outline=(0, 0, 0, 255))

    def _project(self, points_world: Array) -> Array:
        return project_points(self._view, points_world, width=self._image.width, height=self._image.height)


def _spread_labels(wanted: Sequence[float], *, step: float, within: float) -> list[float]:
    """Moves sorted positions apart to at least a step, and back up from the lower edge."""
    rows: list[float] = []
    for y in wanted:
        rows.append(max(y, rows[-1] + step) if rows else max(y, step))
    lowest = within
    for index in range(len(rows) - 1, -1, -1):
        rows[index] = min(rows[index], lowest)
        lowest = rows[index] - step
    return rows
