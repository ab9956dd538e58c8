"""Pictures: a contact sheet of episodes, and marks drawn over a picture of the scene."""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from unlatch.configs.schema import EpisodeCfg
from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.sim.visuals.pictures import LookAtCamera, project
from unlatch.workflows.runs.corrupt_episodes import Damaged

Array = np.ndarray

TILE = (320, 240)
"""Width and height of one moment on a contact sheet [pixels]."""
_CAPTION_PX = 22
_FONT_PX = 13
_CONTACT_N = 0.1
_INK, _PAPER = (30, 30, 30), (255, 255, 255)
_PALETTE = [(250, 180, 20), (40, 150, 220), (210, 70, 120), (60, 170, 90), (140, 90, 200), (90, 90, 90)]
_GOOD, _BAD = (20, 110, 50), (170, 30, 30)


@dataclass(frozen=True)
class Row:
    """One episode on a contact sheet."""

    caption: str
    """What is said above the pictures."""
    success: bool
    """Decides the caption's colour."""
    pictures: Sequence[Array]
    """(height, width, 3) uint8, from left to right."""


def contact_sheet(
    cfg: EpisodeCfg, data_set: DataSet, numbers: Sequence[int], *, path: Path, rows: int = 4
) -> list[int]:
    """Draws the first, the contact and the last moment of a few episodes, and writes the picture.

    Args:
        cfg: Configuration of the episodes.
        data_set: Where they are.
        numbers: Episodes to choose from; at most one failure is shown, unless there are no successes.
        path: Where the picture goes; its ending says the format.
        rows: How many episodes at most.

    Returns:
        The episodes that are on it.

    Raises:
        RecordingError: The picture cannot be written.
    """
    from unlatch.workflows.runs.runner import EpisodeRunner

    chosen = choose_episodes(data_set, numbers, rows=rows)
    sheet = []
    with EpisodeRunner(cfg) as runner:
        for number in chosen:
            record = data_set.read(number)
            if not record.arrays:
                continue
            frames = [0, contact_frame(record), record.n_actions]
            pictures = runner.render_frames(record, frames, width=TILE[0], height=TILE[1])
            outcome = "success" if record.success else str(record.code)
            said = f': "{record.language[0]}"' if record.language else ""
            sheet.append(Row(f"episode {number}, {outcome}{said}", record.success, pictures))
    write_picture(compose_sheet(sheet), path)
    return chosen


def choose_episodes(data_set: DataSet, numbers: Sequence[int], *, rows: int) -> list[int]:
    """Some episodes worth looking at: successes from the first one on, and one failure if there is any."""
    asked = set(numbers)
    good: list[int] = []
    bad: list[int] = []
    for item in data_set.each_summary(Damaged().add):
        if item.number in asked and item.n_actions > 0:
            first = good if item.success else bad
            insort(first, item.number)
            del first[rows:]
    wanted_bad = max(1, rows - len(good)) if bad else 0
    return sorted([*good[: rows - min(wanted_bad, rows)], *bad[:wanted_bad]][:rows])


def contact_frame(record: EpisodeRecord) -> int:
    """The first state in which the fingers touch the part, or the one in the middle if they never do."""
    forces = [array for key, array in record.arrays.items() if key.endswith(".fingers_link.force_max_n")]
    if forces:
        touching = np.flatnonzero(np.max(forces, axis=0) > _CONTACT_N)
        if len(touching):
            return int(touching[0]) + 1  # an interval's force belongs to the state at its end
    return record.n_actions // 2


def compose_sheet(rows: Sequence[Row]) -> Array:
    """One picture of all rows, each with its caption above.

    Args:
        rows: From top to bottom; none gives a small picture that says so.
    """
    if not rows:
        rows = [Row("no episode with a picture", False, [np.full((40, TILE[0], 3), 255, dtype=np.uint8)])]
    strips = []
    width = max(sum(picture.shape[1] for picture in row.pictures) for row in rows)
    for row in rows:
        caption = Image.new("RGB", (width, _CAPTION_PX), _PAPER)
        ImageDraw.Draw(caption).text((6, 3), row.caption, fill=_GOOD if row.success else _BAD, font=_font())
        strip = np.concatenate(list(row.pictures), axis=1)
        padding = np.full((strip.shape[0], width - strip.shape[1], 3), 255, dtype=np.uint8)
        strips += [np.asarray(caption), np.concatenate([strip, padding], axis=1)]
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


class Overlay:
    """Draws points, lines and words of the world frame over a picture."""

    def __init__(self, picture: Array, view: LookAtCamera) -> None:
        """Takes a picture.

        Args:
            picture: (height, width, 3) uint8.
            view: The camera that took it.
        """
        self._image = Image.fromarray(picture)
        self._draw = ImageDraw.Draw(self._image, "RGBA")
        self._view = view

    def line(self, points_world: Array, *, color: tuple[int, int, int], width: int = 2) -> None:
        """A line through points (K, 3) [m]; parts behind the camera are left out."""
        pixels = self._pixels(points_world)
        for a, b in pairwise(pixels):
            if np.isfinite([a, b]).all():
                self._draw.line([tuple(a), tuple(b)], fill=(*color, 255), width=width)

    def point(self, p_world: Array, *, color: tuple[int, int, int], label: str = "") -> None:
        """A dot at a point (3,) [m], with a word beside it."""
        (pixel,) = self._pixels(p_world)
        if not np.isfinite(pixel).all():
            return
        x, y = pixel
        self._dot(x, y, color)
        self.text((x + 7, y - 8), label)

    def labels(self, points_world: Mapping[str, Array]) -> None:
        """Dots with their names in a column at the right, each joined to its dot; `a.b` and `a.c` share a colour."""
        seen = []
        colours: dict[str, tuple[int, int, int]] = {}
        for (name, _), pixel in zip(points_world.items(), self._pixels(_stacked(points_world)), strict=True):
            colour = colours.setdefault(name.rpartition(".")[0], _PALETTE[len(colours) % len(_PALETTE)])
            if np.isfinite(pixel).all():
                seen.append((float(pixel[1]), float(pixel[0]), name, colour))
        widest = max((self._draw.textlength(name, font=_font()) for _, _, name, _ in seen), default=0.0)
        left = self._image.width - widest - 8
        rows = _spread([y for y, *_ in sorted(seen)], step=_FONT_PX + 5, within=self._image.height - _FONT_PX - 5)
        for (y, x, name, colour), row in zip(sorted(seen), rows, strict=True):
            self._draw.line([(x, y), (left - 4, row)], fill=(*colour, 200), width=1)
            self._dot(x, y, colour)
            self.text((left, row - _FONT_PX / 2), name)

    def text_at(self, p_world: Array, words: str) -> None:
        """Words at a point (3,) of the world frame [m]."""
        (pixel,) = self._pixels(p_world)
        if np.isfinite(pixel).all():
            self.text((float(pixel[0]), float(pixel[1])), words)

    def text(self, pixel: tuple[float, float], words: str) -> None:
        """Words at a pixel, readable on any ground."""
        if words:
            box = self._draw.textbbox(pixel, words, font=_font())
            self._draw.rectangle([box[0] - 2, box[1] - 1, box[2] + 2, box[3] + 1], fill=(255, 255, 255, 200))
            self._draw.text(pixel, words, fill=_INK, font=_font())

    def picture(self) -> Array:
        """The picture with everything drawn, (height, width, 3) uint8."""
        return np.asarray(self._image)

    def _dot(self, x: float, y: float, color: tuple[int, int, int]) -> None:
        self._draw.ellipse([x - 4, y - 4, x + 4, y + 4], fill=(*color, 255), outline=(0, 0, 0, 255))

    def _pixels(self, points_world: Array) -> Array:
        return project(self._view, points_world, width=self._image.width, height=self._image.height)


def _stacked(points_world: Mapping[str, Array]) -> Array:
    return np.reshape(np.array([np.asarray(p_world, dtype=float) for p_world in points_world.values()]), (-1, 3))


def _spread(wanted: Sequence[float], *, step: float, within: float) -> list[float]:
    """Sorted places moved apart to at least a step, no more than needed and up again from the lower edge."""
    rows: list[float] = []
    for y in wanted:
        rows.append(max(y, rows[-1] + step) if rows else max(y, step))
    lowest = within
    for index in range(len(rows) - 1, -1, -1):
        rows[index] = min(rows[index], lowest)
        lowest = rows[index] - step
    return rows


def _font() -> ImageFont.ImageFont | ImageFont.FreeTypeFont:
    return ImageFont.load_default(size=_FONT_PX)
