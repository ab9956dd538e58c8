"""Draws an episode phase by phase: captioned pictures in order of time, and the openings of parts over time below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from PIL import Image, ImageDraw

from unlatch.skills.contract.command import Phase
from unlatch.workflows.viewing.picture import GOOD, INK, PAPER, Font, Rgb, draw_caption, load_font

Array = np.ndarray

TILE_PX = (256, 200)
"""Width and height of one picture [pixels]."""
OVERSAMPLED = 2
"""Pictures are taken this many times larger, then shrunk, which smooths their edges with every renderer."""
PHASE_COLORS: dict[Phase, Rgb] = {
    Phase.idle: (205, 205, 205),
    Phase.transit: (130, 130, 130),
    Phase.approach: (40, 90, 220),
    Phase.grasp: (230, 120, 20),
    Phase.follow: (20, 150, 60),
    Phase.release: (225, 175, 30),
    Phase.retreat: (150, 60, 170),
    Phase.settle: (175, 175, 175),
    Phase.hold: (0, 150, 160),
}
_FAINT, _LINES, _BAD = (120, 120, 120), (215, 215, 215), (190, 25, 25)
_CURVES: tuple[Rgb, ...] = ((30, 60, 150), (160, 80, 20), (90, 30, 130))
_TITLE_PX, _FONT_PX, _LEAST_FONT_PX = 20, 17, 8
_LINE_PX = 24
_CAPTION_PX = 25
_LEAST_NOTES_PX = 792
"""Least width of a sheet with the message of a failure: file names of a traceback are long."""
_GAP_PX = 4
_MARGIN_PX = 8
_BAND_PX, _CURVE_PX, _AXIS_PX = 9, 74, 22
_LEAST_OPENING = 0.01
"""Least opening at the upper end of the chart [rad or m]: a closed part's motions of micrometres look like nothing."""
_NUMBER_GAP_PX = 8
"""Least gap between two numbers on the time line."""
_SINGLE_PENALTY = 2
"""A single picture in the last row counts like this many empty places."""
_COLORS_KEPT = 256
"""Number of colours, each the mean of the pixels that it stands for: a third of the size of a file with all colours."""


@dataclass(frozen=True)
class Tile:
    """A picture of one moment, with its caption."""

    picture: Array
    """(height, width, 3) uint8 of any size with the aspect ratio of a tile."""
    label: str
    time_s: float
    """Time since the episode began [s]."""
    opening: str
    """How far open the part is, as text with the unit."""
    phase: Phase
    failed: bool = False
    """Whether it is marked as the moment of the failure."""


@dataclass(frozen=True)
class Section:
    """The pictures of one round of a skill."""

    title: str
    tiles: Sequence[Tile]
    failed: bool = False
    """Whether it shows the failure."""


@dataclass(frozen=True)
class Curve:
    """How far open a part is, or how wide the fingers are, over time."""

    label: str
    openings: Array
    """(T,) from closed [rad or m]."""


@dataclass(frozen=True)
class PhaseSheet:
    """Contents of the picture."""

    title: str
    success: bool
    notes: Sequence[str]
    """Lines below the title."""
    sections: Sequence[Section]
    times_s: Array
    """(T,) times of the states since the episode began [s]."""
    phases: Sequence[Phase]
    """(T,) phase of each state."""
    curves: Sequence[Curve]


def draw_sheet(sheet: PhaseSheet, *, columns: int) -> Image.Image:
    """Draws a sheet with at most `columns` pictures in a row."""
    across = _choose_row_length([len(section.tiles) for section in sheet.sections], columns)
    width = across * (TILE_PX[0] + _GAP_PX) - _GAP_PX + 2 * _MARGIN_PX
    if sheet.notes:
        width = max(width, _LEAST_NOTES_PX)
    strips: list[Image.Image | Array] = [_draw_title(sheet, width)]
    number = 1
    for section in sheet.sections:
        for line in _wrap_text(section.title, load_font(_FONT_PX), width - 2 * _MARGIN_PX):
            ink = _BAD if section.failed else INK
            strips.append(draw_caption(line, width, height=_LINE_PX, font_px=_FONT_PX, at=(_MARGIN_PX, 2), color=ink))
        for start in range(0, len(section.tiles), across):
            strips.append(_draw_row(section.tiles[start : start + across], width, first=number + start))
        number += len(section.tiles)
    strips.append(_draw_legend(sheet, width))
    strips.append(_draw_timeline(sheet, width))
    whole = Image.fromarray(np.concatenate([np.asarray(strip) for strip in strips], axis=0))
    return whole.quantize(_COLORS_KEPT, method=Image.Quantize.MEDIANCUT, kmeans=1, dither=Image.Dither.NONE)


def _choose_row_length(counts: Sequence[int], columns: int) -> int:
    """Returns the number of pictures in a row: the largest, or one less if that leaves fewer places empty."""
    most = min(max(counts), columns)
    choices = (most, most - 1) if most > 2 and (max(counts) > most or len(counts) > 1) else (most,)
    return min(
        choices, key=lambda across: sum(-count % across + _SINGLE_PENALTY * (count % across == 1) for count in counts)
    )


def _draw_title(sheet: PhaseSheet, width: int) -> Image.Image:
    font, small = load_font(_TITLE_PX), load_font(_FONT_PX)
    color = GOOD if sheet.success else _BAD
    first = _wrap_text(sheet.title, font, width - 2 * _MARGIN_PX)
    rest = [line for note in sheet.notes for line in _wrap_text(note, small, width - 2 * _MARGIN_PX)]
    image = _blank_image(width, _LINE_PX * (len(first) + len(rest)) + 6)
    draw = ImageDraw.Draw(image)
    lines = [*((line, font, 4) for line in first), *((line, small, 5) for line in rest)]
    for index, (line, line_font, top) in enumerate(lines):
        draw.text((_MARGIN_PX, top + _LINE_PX * index), line, fill=color, font=line_font)
    return image


def _draw_row(tiles: Sequence[Tile], width: int, *, first: int) -> Image.Image:
    image = _blank_image(width, _CAPTION_PX + TILE_PX[1] + _GAP_PX)
    draw = ImageDraw.Draw(image)
    for column, tile in enumerate(tiles):
        x = _MARGIN_PX + column * (TILE_PX[0] + _GAP_PX)
        right = x + TILE_PX[0] - 1
        picture = Image.fromarray(tile.picture).resize(TILE_PX, Image.Resampling.LANCZOS)
        image.paste(picture, (x, _CAPTION_PX))
        color = _BAD if tile.failed else PHASE_COLORS[tile.phase]
        frame = 4 if tile.failed else 1
        draw.rectangle([x, _CAPTION_PX, right, _CAPTION_PX + TILE_PX[1] - 1], outline=color, width=frame)
        draw.rectangle([x, _CAPTION_PX - 4, right, _CAPTION_PX], fill=color)
        ink = _BAD if tile.failed else INK
        what, when = f"{first + column}  {tile.label}", f"{tile.time_s:.1f} s   {tile.opening}"
        font = fitting_font(what + "  " + when, TILE_PX[0] - 4)
        draw.text((x + 2, 0), what, fill=ink, font=font)
        draw.text((right - 2, 0), when, fill=ink, font=font, anchor="ra")
    return image


def _draw_legend(sheet: PhaseSheet, width: int) -> Image.Image:
    """Draws the names of the curves below."""
    image = _blank_image(width, _LINE_PX)
    draw = ImageDraw.Draw(image)
    font = load_font(_FONT_PX)
    x = float(_MARGIN_PX)
    for index, curve in enumerate(sheet.curves):
        color = _CURVES[index % len(_CURVES)]
        draw.rectangle([x, 12, x + 22, 14], fill=color)
        draw.text((x + 28, 3), curve.label, fill=color, font=font)
        x += 28 + font.getlength(curve.label) + 30
    return image


def _draw_timeline(sheet: PhaseSheet, width: int) -> Image.Image:
    """Draws phases, numbers of pictures and openings over time."""
    image = _blank_image(width, 6 + _BAND_PX + _CURVE_PX + _AXIS_PX)
    draw = ImageDraw.Draw(image)
    line = _TimeLine(float(sheet.times_s[-1]) or 1.0, _MARGIN_PX, width - _MARGIN_PX)
    _draw_phase_band(draw, sheet, line)
    draw.line([line.left, line.bottom, line.right, line.bottom], fill=_FAINT)
    _draw_numbers(draw, sheet, line)
    _draw_curves(draw, sheet, line)
    font = load_font(_FONT_PX - 3)
    for second in range(0, int(line.end_s) + 1, _tick_interval_s(line.end_s)):
        x = line.x_of(second)
        draw.line([x, line.bottom, x, line.bottom + 4], fill=_FAINT)
        anchor = "ra" if x > line.right - 24 else "la"
        draw.text((x, line.bottom + 4), f"{second} s", fill=_FAINT, font=font, anchor=anchor)
    return image


@dataclass(frozen=True)
class _TimeLine:
    """Places on the time line [pixels]."""

    end_s: float
    left: int
    right: int
    top: int = 6 + _BAND_PX
    bottom: int = 6 + _BAND_PX + _CURVE_PX

    def x_of(self, time_s: float) -> float:
        return self.left + (self.right - self.left) * time_s / self.end_s


def _draw_phase_band(draw: ImageDraw.ImageDraw, sheet: PhaseSheet, line: _TimeLine) -> None:
    frame = 0
    for phase, members in groupby(sheet.phases):
        last = frame + len(list(members))
        times = [float(sheet.times_s[index]) for index in (frame, min(last, len(sheet.times_s) - 1))]
        draw.rectangle([line.x_of(times[0]), 6, line.x_of(times[1]), line.top - 1], fill=PHASE_COLORS[phase])
        frame = last


def _draw_numbers(draw: ImageDraw.ImageDraw, sheet: PhaseSheet, line: _TimeLine) -> None:
    """Draws a line with the number of each picture at its time; pictures close in time share a label, such as 3-5."""
    font = load_font(_FONT_PX - 3)
    tiles = [tile for section in sheet.sections for tile in section.tiles]
    groups: list[list[tuple[float, int]]] = []  # (place, number of the picture), from left to right
    for x, number in sorted((line.x_of(tile.time_s), number) for number, tile in enumerate(tiles, start=1)):
        failed = tiles[number - 1].failed
        draw.line([x, line.top, x, line.bottom], fill=_BAD if failed else _LINES, width=3 if failed else 1)
        if groups and x - groups[-1][0][0] < font.getlength(_join_numbers(groups[-1])) + _NUMBER_GAP_PX:
            groups[-1].append((x, number))
        else:
            groups.append([(x, number)])
    for group in groups:
        text = _join_numbers(group)
        ink = _BAD if any(tiles[number - 1].failed for _, number in group) else _FAINT
        x = min(group[0][0] + 3, line.right - font.getlength(text) - 3)
        box = draw.textbbox((x, line.top + 1), text, font=font)
        draw.rectangle([box[0] - 1, box[1] - 1, box[2] + 1, box[3] + 1], fill=PAPER)
        draw.text((x, line.top + 1), text, fill=ink, font=font)


def _join_numbers(group: Sequence[tuple[float, int]]) -> str:
    """Returns the numbers of neighbouring pictures as text: `3`, `3, 7` or `3-5`."""
    numbers = sorted(number for _, number in group)
    if len(numbers) > 1 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]}-{numbers[-1]}"
    return ", ".join(map(str, numbers))


def _draw_curves(draw: ImageDraw.ImageDraw, sheet: PhaseSheet, line: _TimeLine) -> None:
    for index, curve in enumerate(sheet.curves):
        most = max(float(np.abs(curve.openings).max()), _LEAST_OPENING)
        points = [
            (line.x_of(float(t)), line.bottom - 1 - (_CURVE_PX - 22) * max(float(value), 0.0) / most)
            for t, value in zip(sheet.times_s, curve.openings, strict=True)
        ]
        draw.line(points, fill=_CURVES[index % len(_CURVES)], width=2)


def _tick_interval_s(end_s: float) -> int:
    return next((step for step in (1, 2, 5, 10, 30) if end_s / step <= 12), 60)


def _wrap_text(text: str, font: Font, width: int) -> list[str]:
    lines: list[str] = []
    for word in text.split():
        if lines and font.getlength(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _blank_image(width: int, height: int) -> Image.Image:
    return Image.new("RGB", (width, height), PAPER)


def fitting_font(text: str, width: int) -> Font:
    """Returns the font of captions, made smaller until a text fits into a width [pixels]."""
    return next(
        (font for size in range(_FONT_PX, _LEAST_FONT_PX, -1) if (font := load_font(size)).getlength(text) <= width),
        load_font(_LEAST_FONT_PX),
    )
