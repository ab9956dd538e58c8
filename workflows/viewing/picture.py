"""What all pictures share: fonts, captions, sheets of captioned rows, and writing them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from unlatch.simcore.errors import RecordingError

Array = np.ndarray
Rgb = tuple[int, int, int]
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
    success: bool
    """Whether the caption is green, else red."""
    pictures: Sequence[Array]
    """(height, width, 3) uint8, from left to right."""


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
    rows = rows or [SheetRow("no episode with a picture", False, [np.full((40, 320, 3), 255, dtype=np.uint8)])]
    width = max(sum(picture.shape[1] for picture in row.pictures) for row in rows)
    strips = []
    for row in rows:
        strip = np.concatenate(list(row.pictures), axis=1)
        padding = np.full((strip.shape[0], width - strip.shape[1], 3), 255, dtype=np.uint8)
        strips.append(draw_caption(row.caption, width, color=GOOD if row.success else BAD))
        strips.append(np.concatenate([strip, padding], axis=1))
    return np.concatenate(strips, axis=0)


def write_picture(picture: Array | Image.Image, path: Path) -> None:
    """Writes a picture; an array is (height, width, 3) uint8.

    Raises:
        RecordingError: It cannot be written there.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        (picture if isinstance(picture, Image.Image) else Image.fromarray(picture)).save(path)
    except (OSError, ValueError) as exc:
        raise RecordingError(
            f"Picture '{path}' cannot be written: {exc}. Expected a writable .png path. Change `out`.", path=str(path)
        ) from exc
