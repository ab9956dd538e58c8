"""What all pictures and pages for people share: where they may be written, pages filled from templates, fonts,
captions, sheets of captioned rows, and points and names over a picture.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from unlatch.simcore.errors import ConfigError, RecordingError
from unlatch.simcore.files import report_unwritable, user_path, write_whole_file
from unlatch.simcore.sim.visuals.pictures import LookAtCamera, project_points


def check_suffix(out: str | None, *suffixes: str, formats: Sequence[str] = ()) -> None:
    """Raises unless `out` is None or ends in one of some suffixes.

    Args:
        out: The file.
        *suffixes: Endings with their dot.
        formats: Names that `format` may have; the error suggests the one that `out` ends in.

    Raises:
        ConfigError: It ends otherwise.
    """
    if out is None or Path(out).suffix in suffixes:
        return
    meant = Path(out).suffix.removeprefix(".")
    advice = f"Add format={meant}" if meant in formats else "Rename it"
    expected = " or ".join(filter(None, (", ".join(suffixes[:-1]), suffixes[-1])))
    written = "the format that is" if len(suffixes) == 1 else "the formats that are"
    raise ConfigError(f"out={out} does not end in {expected}, {written} written. {advice}.", key="out")


def output_path(out: str | None, default: Path) -> Path:
    """Returns the absolute path of an output file; None: the default. Called before the work whose result it takes.

    Raises:
        ConfigError: It is a folder, or this user cannot write there.
    """
    path = (default if out is None else user_path(out)).absolute()
    if path.is_dir():
        raise ConfigError(f"out={path} is a folder. Expected a file, such as {path / default.name}.", key="out")
    there = path if path.exists() else next(place for place in path.parents if place.exists())
    writable = os.access(there, os.W_OK) and (there == path or there.is_dir())
    if not writable:
        raise ConfigError(
            f"'{path}' cannot be written: this user cannot write to '{there}'. Expected a file in a folder that can be "
            f"written. Name one with out=FOLDER/{path.name}.",
            key="out",
        )
    return path


def write_output(path: Path, content: bytes) -> None:
    """Writes a file completely or not at all.

    Raises:
        RecordingError: It cannot be written.
    """
    with report_unwritable(path.parent):
        write_whole_file(path, content)


def write_own_text(file: Path, text: str) -> None:
    """Writes a text file for a user completely or not at all, with the folders that it needs.

    Raises:
        ConfigError: It cannot be written.
    """
    try:
        write_whole_file(file, text.encode())
    except OSError as exc:
        raise ConfigError(f"{file} cannot be written: {exc.strerror}. Choose another out=.", key="out") from exc


def fill_template(file: str, **values: Any) -> str:
    """Fills a file of the folder `templates`; texts are escaped unless they are marked as safe."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # pages alone need it

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    return environment.get_template(file).render(**values)


Array = np.ndarray
Rgb = tuple[int, int, int]
SEGMENT_RGB = {
    "transit": (130, 130, 130),
    "approach": (40, 90, 220),
    "contact": (230, 120, 20),
    "follow": (20, 150, 60),
    "retreat": (150, 60, 170),
}
"""Colours of the parts of a planned motion."""
Font = ImageFont.ImageFont | ImageFont.FreeTypeFont

INK: Rgb = (30, 30, 30)
PAPER: Rgb = (255, 255, 255)
GOOD: Rgb = (20, 110, 50)
BAD: Rgb = (170, 30, 30)
_CAPTION_PX = 22
_FONT_PX = 13


@dataclass(frozen=True)
class SheetRow:
    """Pictures side by side with a caption."""

    caption: str
    """Text above the pictures."""
    pictures: Sequence[Array]
    """(height, width, 3) uint8, from left to right."""
    success: bool | None = None
    """Whether the caption is green, else red; None: it says nothing about success."""


def horizontal_direction(vector: Array) -> Array:
    """Returns the horizontal part of a vector (3,) as a unit direction; +x if the vector is vertical."""
    flat = np.array([vector[0], vector[1], 0.0])
    length = float(np.linalg.norm(flat))
    return flat / length if length > 1e-6 else np.array([1.0, 0.0, 0.0])


def load_font(size_px: int) -> Font:
    """Returns PIL's own font in a size [pixels]."""
    return ImageFont.load_default(size=size_px)


def draw_caption(
    text: str,
    width: int,
    *,
    height: int = _CAPTION_PX,
    font_px: int = _FONT_PX,
    color: Rgb = INK,
    at: tuple[int, int] = (6, 3),
) -> Array:
    """Draws a line of text on white paper, (height, width, 3) uint8."""
    image = Image.new("RGB", (width, height), PAPER)
    ImageDraw.Draw(image).text(at, text, fill=color, font=load_font(font_px))
    return np.asarray(image)


def compose_sheet(rows: Sequence[SheetRow]) -> Array:
    """Puts rows below one another, each with its caption above, (height, width, 3) uint8; says so if there are none."""
    rows = rows or [SheetRow("no episode with a picture", [np.full((40, 320, 3), 255, dtype=np.uint8)])]
    width = max(sum(picture.shape[1] for picture in row.pictures) for row in rows)
    strips = []
    for row in rows:
        strip = np.concatenate(list(row.pictures), axis=1)
        padding = np.full((strip.shape[0], width - strip.shape[1], 3), 255, dtype=np.uint8)
        color = INK if row.success is None else GOOD if row.success else BAD
        strips.append(draw_caption(row.caption, width, color=color))
        strips.append(np.concatenate([strip, padding], axis=1))
    return np.concatenate(strips, axis=0)


def write_picture(picture: Array | Image.Image, path: Path) -> None:
    """Writes a picture; an array is (height, width, 3) uint8.

    Raises:
        RecordingError: It cannot be written there.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        image = picture if isinstance(picture, Image.Image) else Image.fromarray(picture)
        image.save(path, compress_level=3)  # half the time of Pillow's 6, for a sixth more bytes
    except (OSError, ValueError) as exc:
        raise RecordingError(
            f"Picture '{path}' cannot be written: {exc}. Expected a writable .png path. Change `out`.", path=str(path)
        ) from exc


_LABEL_FONT_PX = 13
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

    def labels(self, points_world: Mapping[str, Array], colours: Mapping[str, Rgb] | None = None) -> None:
        """Draws dots, with their names in a column at the right, connected by lines; `a.b` and `a.c` share a colour.

        `colours` are those of names that have one of their own.
        """
        seen = []
        groups: dict[str, Rgb] = {}
        points = np.array(list(points_world.values()), dtype=float).reshape(-1, 3)
        for name, pixel in zip(points_world, self._project(points), strict=True):
            colour = groups.setdefault(name.rpartition(".")[0], _PALETTE[len(groups) % len(_PALETTE)])
            colour = (colours or {}).get(name, colour)
            if np.isfinite(pixel).all():
                seen.append((float(pixel[1]), float(pixel[0]), name, colour))
        widest = max(
            (self._draw.textlength(name, font=load_font(_LABEL_FONT_PX)) for _, _, name, _ in seen), default=0.0
        )
        left = self._image.width - widest - 8
        rows = _spread_labels(
            [y for y, *_ in sorted(seen)], step=_LABEL_FONT_PX + 5, within=self._image.height - _LABEL_FONT_PX - 5
        )
        for (y, x, name, colour), row in zip(sorted(seen), rows, strict=True):
            self._draw.line([(x, y), (left - 4, row)], fill=(*colour, 200), width=1)
            self._draw.ellipse([x - 4, y - 4, x + 4, y + 4], fill=(*colour, 255), outline=(0, 0, 0, 255))
            self._draw_text((left, row - _LABEL_FONT_PX / 2), name)

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
            box = self._draw.textbbox(pixel, words, font=load_font(_LABEL_FONT_PX))
            self._draw.rectangle([box[0] - 2, box[1] - 1, box[2] + 2, box[3] + 1], fill=(255, 255, 255, 200))
            self._draw.text(pixel, words, fill=INK, font=load_font(_LABEL_FONT_PX))

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
