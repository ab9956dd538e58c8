"""What all rooms have: floor, walls, ceiling, skirting, a window, lamps, and the top of the table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unlatch.simcore.sim.visuals.finish import FINISHES, Finish
from unlatch.tasks.layout import TABLE
from unlatch.workflows.episode.rooms.pictures import draw_view, picture_file
from unlatch.workflows.episode.rooms.room_builder import Material, RoomBuilder
from unlatch.workflows.episode.scene import TABLE_CENTER_M, TABLE_SIZE_M

FLOOR, WALL, CEILING, WINDOW, FURNITURE = "floor", "wall", "ceiling", "window", "furniture"
"""Semantic classes of the parts of a room."""

TABLE_X_M = (TABLE_CENTER_M[0] - TABLE_SIZE_M[0] / 2, TABLE_CENTER_M[0] + TABLE_SIZE_M[0] / 2)
TABLE_Y_M = (TABLE_CENTER_M[1] - TABLE_SIZE_M[1] / 2, TABLE_CENTER_M[1] + TABLE_SIZE_M[1] / 2)
"""Edges of the table [m]; its top is at z = 0."""

WHITE = Material((0.92, 0.92, 0.90), FINISHES["painted_wood"])
STEEL = Material((0.72, 0.73, 0.75), FINISHES["brushed_metal"])
BLACK = Material((0.10, 0.10, 0.11), FINISHES["plastic"])
DARK_METAL = Material((0.22, 0.23, 0.25), Finish(0.45, 0.4))
GLASS = Material((0.05, 0.06, 0.07), FINISHES["glass"])
_COVER_M = 3e-4
"""How far the drawn top lies above the table [m]."""


@dataclass(frozen=True)
class Shell:
    """Floor, walls and ceiling of a room [m]."""

    floor_z_m: float
    x_m: tuple[float, float] = (-2.3, 2.4)
    y_m: tuple[float, float] = (-2.7, 2.3)
    height_m: float = 2.6

    @property
    def ceiling_z_m(self) -> float:
        """Height of the ceiling above the table's top [m]."""
        return self.floor_z_m + self.height_m

    def build(self, room: RoomBuilder, *, floor: Material, wall: Material, ceiling: Material = WHITE) -> None:
        """Adds floor, walls and ceiling."""
        (x0, x1), (y0, y1) = self.x_m, self.y_m
        x, y, z = (x0 + x1) / 2, (y0 + y1) / 2, self.floor_z_m + self.height_m / 2
        room.panel(FLOOR, floor, (x, y, self.floor_z_m), (0, 0, 1), (x1 - x0, y1 - y0))
        room.panel(CEILING, ceiling, (x, y, self.ceiling_z_m), (0, 0, -1), (x1 - x0, y1 - y0))
        for middle, normal, width in (
            ((x0, y, z), (1, 0, 0), y1 - y0),
            ((x1, y, z), (-1, 0, 0), y1 - y0),
            ((x, y0, z), (0, 1, 0), x1 - x0),
            ((x, y1, z), (0, -1, 0), x1 - x0),
        ):
            room.panel(WALL, wall, middle, normal, (width, self.height_m))

    def add_skirting(self, room: RoomBuilder, material: Material, *, height_m: float = 0.09) -> None:
        """Adds a skirting board along the two walls that cameras see most."""
        (x0, x1), (y0, y1), z = self.x_m, self.y_m, self.floor_z_m
        room.box(FURNITURE, material, (x1 - 0.015, y0, z), (x1, y1, z + height_m))
        room.box(FURNITURE, material, (x0, y1 - 0.015, z), (x1, y1, z + height_m))
        room.box(FURNITURE, material, (x0, y0, z), (x0 + 0.015, y1, z + height_m))

    def add_window(
        self, room: RoomBuilder, frame: Material, *, x_m: float, z_m: float, size_m: tuple[float, float], panes: int
    ) -> None:
        """Adds a window in the wall at +y, with the daylight behind it; `x_m`, `z_m` are its middle."""
        width, height = size_m
        y = self.y_m[1]
        view = Material(
            (1.0, 1.0, 1.0), Finish(1.0, 0.0, 0.95), picture_file(draw_view, room.rng), (width * 1.001, height * 1.001)
        )
        room.panel(WINDOW, view, (x_m, y - 0.004, z_m), (0, -1, 0), (width, height))
        left, right, low, high = x_m - width / 2, x_m + width / 2, z_m - height / 2, z_m + height / 2
        bar, deep = 0.05, 0.07
        room.box(FURNITURE, frame, (left - bar, y - deep, low - bar), (left, y, high + bar))
        room.box(FURNITURE, frame, (right, y - deep, low - bar), (right + bar, y, high + bar))
        room.box(FURNITURE, frame, (left, y - deep, high), (right, y, high + bar))
        room.box(FURNITURE, frame, (left - 0.1, y - 0.16, low - bar), (right + 0.1, y, low - bar + 0.03))
        for pane in range(1, panes):
            at = left + width * pane / panes
            room.box(FURNITURE, frame, (at - bar / 2, y - deep, low), (at + bar / 2, y, high))

    def add_radiator(self, room: RoomBuilder, *, x_m: float, length_m: float) -> None:
        """Adds a radiator at the wall at +y, below the window."""
        y, low = self.y_m[1] - 0.1, self.floor_z_m + 0.14
        for x in np.arange(x_m - length_m / 2, x_m + length_m / 2, 0.06).tolist():
            room.box(FURNITURE, WHITE, (x, y - 0.03, low), (x + 0.045, y + 0.03, low + 0.55))
        room.box(
            FURNITURE, WHITE, (x_m - length_m / 2, y - 0.015, low + 0.03), (x_m + length_m / 2, y + 0.015, low + 0.06)
        )
        room.box(
            FURNITURE, WHITE, (x_m - length_m / 2, y - 0.015, low + 0.49), (x_m + length_m / 2, y + 0.015, low + 0.52)
        )

    def add_ceiling_lamps(self, room: RoomBuilder, *, size_m: tuple[float, float], places: int) -> None:
        """Adds rows of lamps under the ceiling."""
        lamp = Material((1.0, 0.98, 0.94), Finish(0.5, 0.0, 1.0))
        for x in np.linspace(self.x_m[0] + 0.8, self.x_m[1] - 0.8, places):
            for y in (-1.0, 1.0):
                low = (x - size_m[0] / 2, y - size_m[1] / 2, self.ceiling_z_m - 0.03)
                room.box(CEILING, lamp, low, (x + size_m[0] / 2, y + size_m[1] / 2, self.ceiling_z_m))


def cover_table(room: RoomBuilder, top: Material, edge: Material | None = None) -> None:
    """Covers the table with a material; its shape stays."""
    (x0, x1), (y0, y1) = TABLE_X_M, TABLE_Y_M
    edge = edge or top
    x, y, high = (x0 + x1) / 2, (y0 + y1) / 2, TABLE_SIZE_M[2]
    room.panel(TABLE, top, (x, y, _COVER_M), (0, 0, 1), (x1 - x0, y1 - y0))
    out = _COVER_M
    room.panel(TABLE, edge, (x0 - out, y, -high / 2), (-1, 0, 0), (y1 - y0, high))
    room.panel(TABLE, edge, (x1 + out, y, -high / 2), (1, 0, 0), (y1 - y0, high))
    room.panel(TABLE, edge, (x, y0 - out, -high / 2), (0, -1, 0), (x1 - x0, high))
    room.panel(TABLE, edge, (x, y1 + out, -high / 2), (0, 1, 0), (x1 - x0, high))


def add_legs(room: RoomBuilder, material: Material, *, floor_z_m: float, side_m: float, inset_m: float = 0.06) -> None:
    """Adds four square legs and the frame between them under the table."""
    (x0, x1), (y0, y1) = TABLE_X_M, TABLE_Y_M
    x0, x1, y0, y1 = x0 + inset_m, x1 - inset_m, y0 + inset_m, y1 - inset_m
    below = -TABLE_SIZE_M[2]
    for x in (x0, x1 - side_m):
        for y in (y0, y1 - side_m):
            room.box(TABLE, material, (x, y, floor_z_m), (x + side_m, y + side_m, below))
    for y in (y0, y1 - side_m):
        room.box(TABLE, material, (x0 + side_m, y, below - 0.08), (x1 - side_m, y + side_m, below))
    for x in (x0, x1 - side_m):
        room.box(TABLE, material, (x, y0 + side_m, below - 0.08), (x + side_m, y1 - side_m, below))
