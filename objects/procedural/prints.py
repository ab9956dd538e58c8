"""Draws what is printed on things: type, bar codes, bands, patterns and panels with digits, as pictures.

Letters are strokes, so that each print has a weight and a slant of its own. As in `textures.py`, only sums, products,
square roots and comparisons are used, and the PNG is stored uncompressed: the same seed gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from unlatch.objects.procedural.parameters import draw_one
from unlatch.objects.procedural.textures import draw_noise, rgb_png

Array = np.ndarray
Rgb = tuple[float, float, float]

_GLYPHS = {
    "A": "00 26 40|12 32", "B": "00 06 36 45 44 33 03|33 42 41 30 00", "C": "45 36 16 05 01 10 30 41",
    "D": "00 06 26 44 42 20 00", "E": "46 06 00 40|03 33", "F": "46 06 00|03 33", "G": "45 36 16 05 01 10 30 41 43 23",
    "H": "00 06|40 46|03 43", "I": "20 26", "J": "46 41 30 10 01", "K": "00 06|46 03 40", "L": "06 00 40",
    "M": "00 06 23 46 40", "N": "00 06 40 46", "O": "10 01 05 16 36 45 41 30 10", "P": "00 06 36 45 44 33 03",
    "Q": "10 01 05 16 36 45 41 30 10|22 40", "R": "00 06 36 45 44 33 03|23 40",
    "S": "45 36 16 05 04 13 33 42 41 30 10 01", "T": "06 46|26 20", "U": "06 01 10 30 41 46", "V": "06 20 46",
    "W": "06 10 23 30 46", "X": "00 46|06 40", "Y": "06 23 46|23 20", "Z": "06 46 00 40",
    "0": "10 01 05 16 36 45 41 30 10|14 32", "1": "14 26 20", "2": "05 16 36 45 44 00 40",
    "3": "05 16 36 45 44 33 13|33 42 41 30 10 01", "4": "30 36 02 42", "5": "46 06 03 33 42 41 30 10 01",
    "6": "45 36 16 05 01 10 30 41 42 33 03", "7": "06 46 10", "8": "13 04 05 16 36 45 44 33 13 02 01 10 30 41 42 33",
    "9": "01 10 30 41 45 36 16 05 04 13 43", ".": "20 21", "-": "13 33", ":": "21 22|24 25", "%": "00 46|05 15|31 41",
    "/": "00 46", "&": "40 05 16 25 01 10 20 42",
}  # fmt: skip
"""Strokes of each letter through points of a grid: 0 to 4 to the right, 0 to 6 up."""
_GLYPH_LINES: dict[str, Array] = {
    letter: np.array(
        [
            [int(a[0]), int(a[1]), int(b[0]), int(b[1])]
            for strand in strands.split("|")
            for a, b in pairwise(strand.split())
        ],
        dtype=float,
    )
    for letter, strands in _GLYPHS.items()
}
"""Lines (S, 4) of each letter: x and y of start and end."""
_HEADS = ("Bel", "Dov", "Fen", "Gal", "Hal", "Jun", "Kel", "Lum", "Mor", "Nev", "Orl", "Pel", "Quil", "Rud", "Sel",
          "Tam", "Ulm", "Vel", "Wim", "Yar", "Zan")  # fmt: skip
_TAILS = ("ara", "ebo", "ido", "una", "eri", "olt", "ivo", "ova", "umi", "and", "eth", "onk", "us", "ela")


def draw_brand(rng: np.random.Generator) -> str:
    """Draws an invented name."""
    return (draw_one(rng, _HEADS) + draw_one(rng, _TAILS)).upper()


def text_width(text: str, height: float) -> float:
    """Returns the width of a line of text of a height, in the same unit."""
    return height * (5.6 * len(text) - 1.6) / 6.0


class Print:
    """A picture that is printed; x runs to the right and y upwards, in pixels."""

    def __init__(self, width: int, height: int, ground: Rgb) -> None:
        """Starts with one colour."""
        self.width, self.height = width, height
        self._levels = np.empty((height, width, 3))  # rows from below
        self._levels[:] = ground

    def shade(self, factors: Array) -> None:
        """Multiplies the picture with (height, width) or (height, width, 3) factors, rows from below."""
        self._levels *= factors if factors.ndim == 3 else factors[..., None]

    def blend(self, shares: Array, rgb: Rgb) -> None:
        """Mixes in a colour by shares (height, width) from 0 to 1, rows from below."""
        self._mix((slice(None), slice(None)), shares, rgb)

    def _mix(self, window: tuple[slice, slice], shares: Array, rgb: Rgb) -> None:
        part = self._levels[window]
        part += shares[..., None] * (np.array(rgb) - part)

    def box(self, x0: float, y0: float, x1: float, y1: float, rgb: Rgb) -> None:
        """Fills a rectangle."""
        self._levels[max(round(y0), 0) : max(round(y1), 0), max(round(x0), 0) : max(round(x1), 0)] = rgb

    def stroke(self, x0: float, y0: float, x1: float, y1: float, weight: float, rgb: Rgb) -> None:
        """Draws a line with round ends."""
        self._strokes(np.array([[x0, y0, x1, y1]]), weight, rgb)

    def _strokes(self, lines: Array, weight: float, rgb: Rgb) -> None:
        """Draws lines (S, 4) of start and end with round ends, as one shape."""
        half, ends = 0.5 * weight, lines.reshape(-1, 2, 2)
        low, high = ends.min(axis=(0, 1)) - half - 1.0, ends.max(axis=(0, 1)) + half + 2.0
        low_x, low_y = (max(int(value), 0) for value in low.tolist())
        high_x, high_y = min(int(high[0]), self.width), min(int(high[1]), self.height)
        if low_x >= high_x or low_y >= high_y:
            return
        along = (ends[:, 1] - ends[:, 0])[:, :, None, None]
        x = np.arange(low_x, high_x)[None, None, :] + 0.5 - ends[:, 0, 0, None, None]
        y = np.arange(low_y, high_y)[None, :, None] + 0.5 - ends[:, 0, 1, None, None]
        length = np.maximum(along[:, 0] * along[:, 0] + along[:, 1] * along[:, 1], 1e-9)
        share = np.clip((x * along[:, 0] + y * along[:, 1]) / length, 0.0, 1.0)
        off_x, off_y = x - share * along[:, 0], y - share * along[:, 1]
        nearest = (off_x * off_x + off_y * off_y).min(axis=0)
        shares = np.clip(half + 0.5 - np.sqrt(nearest), 0.0, 1.0)
        self._mix((slice(low_y, high_y), slice(low_x, high_x)), shares, rgb)

    def disc(self, x: float, y: float, radius: float, rgb: Rgb) -> None:
        """Fills a circle."""
        self.stroke(x, y, x, y, 2.0 * radius, rgb)

    def text(
        self, line: str, x: float, y: float, height: float, rgb: Rgb, *, weight: float = 0.16, slant: float = 0.0
    ) -> None:
        """Writes a line in capitals around the middle `x`, on the base line `y`.

        Args:
            line: Letters, digits and spaces.
            x: Middle of the line.
            y: Its base line.
            height: Height of a capital.
            rgb: Colour.
            weight: Width of a stroke, as a share of the height.
            slant: How far the top leans to the right, as a share of the height.
        """
        unit, left = height / 6.0, x - 0.5 * text_width(line, height)
        for number, letter in enumerate(line.upper()):
            lines = _GLYPH_LINES.get(letter)
            if lines is not None:
                start = left + unit * 5.6 * number
                placed = unit * (lines + slant * lines[:, [1, 1, 3, 3]] * [1.0, 0.0, 1.0, 0.0])
                self._strokes(placed + np.array([start, y, start, y]), weight * height, rgb)

    def fitted_text(self, line: str, x: float, y: float, most: tuple[float, float], rgb: Rgb, **style: float) -> float:
        """Writes a line that is at most so wide and high, and returns its height."""
        height = min(most[1], most[0] / max(text_width(line, 1.0), 1e-9))
        self.text(line, x, y, height, rgb, **style)
        return height

    def upright_text(self, line: str, x: float, y: float, most: tuple[float, float], rgb: Rgb) -> None:
        """Writes a line that runs upwards around a middle, at most so long and high."""
        turned = Print(self.height, self.width, (0.0, 0.0, 0.0))
        height = min(most[1], most[0] / max(text_width(line, 1.0), 1e-9))
        turned._levels = np.ascontiguousarray(self._levels.transpose(1, 0, 2)[::-1])  # its x is y, its y is -x
        turned.text(line, y, self.width - x - 0.5 * height, height, rgb)
        self._levels = np.ascontiguousarray(turned._levels[::-1].transpose(1, 0, 2))

    def paste(self, other: Print, x: int, y: int) -> None:
        """Copies another picture to a place, by its lower left corner."""
        self._levels[y : y + other.height, x : x + other.width] = other._levels

    def roll(self, pixels: int) -> None:
        """Moves the picture to the right, and what leaves it to its other side."""
        self._levels = np.roll(self._levels, pixels, axis=1)

    def colour_at(self, x: int, y: int) -> Rgb:
        """Returns the colour of a pixel."""
        red, green, blue = self._levels[y, x].tolist()
        return (red, green, blue)

    def small_print(
        self, x0: float, y0: float, x1: float, y1: float, rgb: Rgb, rng: np.random.Generator, *, row: float = 5.0
    ) -> None:
        """Fills a rectangle with lines that are too small to read."""
        for y in np.arange(y0, y1 - 0.5 * row, row).tolist():
            x = x0
            end = x0 + (x1 - x0) * float(rng.uniform(0.6, 1.0))
            while x < end - 2.0:
                word = min(float(rng.uniform(4.0, 14.0)), end - x)
                self.box(x, y, x + word, y + 0.45 * row, rgb)
                x += word + 3.0

    def bar_code(self, x0: float, y0: float, x1: float, y1: float, rng: np.random.Generator) -> None:
        """Draws a bar code on white with its digits below."""
        self.box(x0, y0, x1, y1, (0.97, 0.97, 0.96))
        dark, digits = (0.06, 0.06, 0.07), max(0.18 * (y1 - y0), 4.0)
        x = x0 + 3.0
        while x < x1 - 5.0:
            wide = float(rng.integers(1, 4))
            self.box(x, y0 + digits + 2.0, x + wide, y1 - 2.0, dark)
            x += wide + float(rng.integers(1, 4))
        number = "".join(str(int(digit)) for digit in rng.integers(0, 10, size=12))
        self.fitted_text(number, 0.5 * (x0 + x1), y0 + 1.0, (x1 - x0 - 6.0, digits - 1.0), dark, weight=0.14)

    def scatter(
        self, count: int, radius: tuple[float, float], colours: Sequence[Rgb], rng: np.random.Generator
    ) -> None:
        """Draws dots at random places."""
        for _ in range(count):
            x, y = float(rng.uniform(0.0, self.width)), float(rng.uniform(0.0, self.height))
            self.disc(x, y, float(rng.uniform(*radius)), draw_one(rng, colours))

    def mottle(self, contrast: float, cells: int, rng: np.random.Generator) -> None:
        """Shades the picture with soft clouds."""
        side = max(self.width, self.height)
        clouds = draw_noise(rng, cells, cells, pixels=side)[: self.height, : self.width]
        self.shade(1.0 + contrast * (clouds - 0.5))

    def png(self) -> bytes:
        """Returns the picture as an uncompressed PNG file."""
        return rgb_png(np.clip(self._levels[::-1] * 255.0 + 0.5, 0.0, 255.0).astype(np.uint8))


def draw_panel(rng: np.random.Generator, *, lit: Rgb = (0.35, 0.95, 0.85)) -> Print:
    """Draws a display with a time or a temperature in glowing digits."""
    panel = Print(128, 48, (0.03, 0.04, 0.045))
    if rng.random() < 0.6:
        line = f"{int(rng.integers(0, 24)):02d}:{int(rng.integers(0, 60)):02d}"
    else:
        line = f"{int(rng.integers(3, 30)) * 10} C"
    panel.fitted_text(line, 64.0, 12.0, (104.0, 26.0), lit, weight=0.13, slant=0.12)
    return panel


def draw_plate(brand: str, ground: Rgb, ink: Rgb) -> Print:
    """Draws the plate with the name of a maker."""
    plate = Print(128, 24, ground)
    plate.fitted_text(brand, 64.0, 6.0, (116.0, 13.0), ink, weight=0.2)
    return plate
