"""A workshop: the table is a workbench, behind it a wall of tools, shelves and a tool chest."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from unlatch.simcore.sim.visuals.finish import FINISHES, Finish
from unlatch.simcore.sim.visuals.visual_shapes import Light
from unlatch.tasks.layout import TABLE
from unlatch.workflows.episode.rooms.pictures import (
    Rgb,
    draw_boards,
    draw_holes,
    draw_mottled,
    draw_tiles,
    picture_file,
)
from unlatch.workflows.episode.rooms.room_builder import Material, RoomBuilder
from unlatch.workflows.episode.rooms.shell import (
    BLACK,
    DARK_METAL,
    FURNITURE,
    STEEL,
    TABLE_X_M,
    TABLE_Y_M,
    WALL,
    Shell,
    add_legs,
    cover_table,
)

FLOOR_Z_M = -0.86
_PAINTS: tuple[Rgb, ...] = ((0.62, 0.15, 0.13), (0.16, 0.30, 0.45), (0.20, 0.36, 0.30), (0.75, 0.52, 0.12))
"""Colours of painted steel: red, blue, green, yellow."""
_BENCHES: tuple[Rgb, ...] = ((0.72, 0.56, 0.38), (0.60, 0.44, 0.30))
_BRICKS: tuple[Rgb, ...] = ((0.84, 0.83, 0.80), (0.58, 0.33, 0.26), (0.66, 0.66, 0.65))
"""Colours of bricks: painted white, red, painted grey."""


def build_workshop(room: RoomBuilder) -> Light:
    """Adds a workshop; returns its light."""
    rng = room.rng
    shell = Shell(FLOOR_Z_M, height_m=3.0)
    concrete = picture_file(draw_mottled, rng, (0.55, 0.55, 0.53), contrast=0.10)
    bricks = _BRICKS[int(rng.integers(len(_BRICKS)))]
    joints: Rgb = tuple(0.85 * value + 0.08 for value in bricks)  # type: ignore[assignment]
    wall = picture_file(draw_tiles, rng, bricks, joints, across=4, down=12, shift=True, variety=0.06)
    shell.build(
        room,
        floor=Material(finish=Finish(0.45), picture=concrete, tile_m=(2.4, 2.4)),
        wall=Material(finish=FINISHES["plaster"], picture=wall, tile_m=(1.0, 0.9)),
        ceiling=Material((0.72, 0.73, 0.74), FINISHES["paint"]),
    )
    shell.add_window(room, DARK_METAL, x_m=0.35, z_m=0.95, size_m=(2.0, 1.1), panes=4)
    shell.add_ceiling_lamps(room, size_m=(1.3, 0.12), places=2)
    staves = picture_file(draw_boards, rng, _BENCHES[int(rng.integers(2))], boards=10, contrast=0.16, gap_px=1)
    top = Material(finish=Finish(0.5), picture=staves, tile_m=(1.5, 0.75), turned=True)
    cover_table(room, top)
    paint = Material(_PAINTS[int(rng.integers(len(_PAINTS)))], Finish(0.4))
    add_legs(room, DARK_METAL, floor_z_m=FLOOR_Z_M, side_m=0.08)
    _add_lower_shelf(room, paint)
    _add_tool_wall(room, shell)
    _add_side_bench(room, shell, top, paint)
    _add_shelves(room, shell)
    return Light(
        direction=(float(rng.uniform(-0.9, -0.3)), float(rng.uniform(0.2, 0.9)), 2.2),
        colour=(0.98, 0.99, 1.0),
        ambient=float(rng.uniform(0.6, 0.68)),
        diffuse=float(rng.uniform(0.32, 0.4)),
    )


def _add_lower_shelf(room: RoomBuilder, paint: Material) -> None:
    rng, z = room.rng, FLOOR_Z_M + 0.22
    (x0, x1), (y0, y1) = TABLE_X_M, TABLE_Y_M
    board = Material((0.66, 0.53, 0.38), FINISHES["wood"])
    room.box(TABLE, board, (x0 + 0.1, y0 + 0.1, z - 0.025), (x1 - 0.1, y1 - 0.1, z))
    for number in range(5):
        width, height = float(rng.uniform(0.25, 0.4)), float(rng.uniform(0.15, 0.3))
        crate = paint if number % 2 else Material((0.66, 0.52, 0.36), FINISHES["cardboard"])
        x, y = x0 + 0.15 + 0.3 * number, y0 + 0.15
        room.box(FURNITURE, crate, (x, y, z), (x + 0.26, y + width, z + height))


def _add_tool_wall(room: RoomBuilder, shell: Shell) -> None:
    """Adds a board with hanging tools on the wall at +x."""
    rng, x = room.rng, shell.x_m[1]
    holes = Material(
        finish=FINISHES["paint"], picture=picture_file(draw_holes, rng, (0.80, 0.78, 0.72), count=16), tile_m=(0.4, 0.4)
    )
    room.box(WALL, holes, (x - 0.02, -1.2, 0.18), (x, 1.5, 1.25))
    grip = Material((0.72, 0.20, 0.12), FINISHES["plastic"])
    for number, y in enumerate(np.linspace(-1.05, 1.3, 11)):
        top = 1.1 + float(rng.uniform(-0.06, 0.06))
        kind = int(rng.integers(4))
        at = x - 0.04
        if kind == 0:  # a wrench
            room.box(FURNITURE, STEEL, (at, y - 0.011, top - 0.24), (at + 0.012, y + 0.011, top))
            room.cylinder(FURNITURE, STEEL, (at, y, top), (at + 0.012, y, top), 0.028)
            room.cylinder(FURNITURE, STEEL, (at, y, top - 0.24), (at + 0.012, y, top - 0.24), 0.022)
        elif kind == 1:  # a screwdriver
            room.cylinder(FURNITURE, grip, (at, y, top - 0.11), (at, y, top), 0.016)
            room.cylinder(FURNITURE, STEEL, (at, y, top - 0.26), (at, y, top - 0.11), 0.005)
        elif kind == 2:  # a hammer
            room.cylinder(FURNITURE, Material((0.62, 0.45, 0.28)), (at, y, top - 0.3), (at, y, top), 0.013)
            room.box(FURNITURE, DARK_METAL, (at - 0.016, y - 0.055, top), (at + 0.016, y + 0.055, top + 0.035))
        else:  # pliers
            for side in (-1, 1):
                start = (at, y + side * 0.03, top - 0.2)
                room.cylinder(FURNITURE, grip, start, (at, y + side * 0.008, top - 0.07), 0.009)
            room.box(FURNITURE, STEEL, (at - 0.006, y - 0.018, top - 0.07), (at + 0.006, y + 0.018, top))
        if number % 3 == 0:
            room.box(FURNITURE, BLACK, (x - 0.09, y - 0.09, 0.5), (x - 0.02, y + 0.09, 0.58))


def _add_side_bench(room: RoomBuilder, shell: Shell, top: Material, paint: Material) -> None:
    """Adds a bench, a tool chest and a vice along the wall at +x."""
    x1 = shell.x_m[1]
    x0 = x1 - 0.62
    room.box(FURNITURE, top, (x0, -1.3, -0.05), (x1, 1.5, 0.0))
    for y in (-1.25, 1.38):
        for x in (x0 + 0.04, x1 - 0.1):
            room.box(FURNITURE, DARK_METAL, (x, y, FLOOR_Z_M), (x + 0.06, y + 0.06, -0.05))
    chest0, chest1 = -0.5, 0.35
    room.box(FURNITURE, paint, (x0 + 0.06, chest0, FLOOR_Z_M + 0.06), (x1 - 0.05, chest1, -0.07))
    heights = np.linspace(FLOOR_Z_M + 0.08, -0.08, 6)
    for low, high in pairwise(heights.tolist()):
        room.box(FURNITURE, paint, (x0 + 0.04, chest0 + 0.01, low + 0.005), (x0 + 0.06, chest1 - 0.01, high - 0.005))
        room.box(FURNITURE, STEEL, (x0 + 0.025, chest0 + 0.1, high - 0.035), (x0 + 0.04, chest1 - 0.1, high - 0.02))
    room.box(FURNITURE, DARK_METAL, (x0 + 0.1, 0.72, 0.0), (x0 + 0.28, 0.88, 0.1))
    room.box(FURNITURE, STEEL, (x0 + 0.06, 0.70, 0.1), (x0 + 0.16, 0.90, 0.17))
    room.box(FURNITURE, STEEL, (x0 + 0.19, 0.70, 0.1), (x0 + 0.29, 0.90, 0.17))
    room.cylinder(FURNITURE, STEEL, (x0 - 0.02, 0.80, 0.12), (x0 + 0.1, 0.80, 0.12), 0.012)
    for number, y in enumerate((-1.05, -0.85)):
        can = Material(_PAINTS[(number + 1) % len(_PAINTS)], Finish(0.3))
        room.cylinder(FURNITURE, can, (x1 - 0.2, y, 0.0), (x1 - 0.2, y, 0.2), 0.07)


def _add_shelves(room: RoomBuilder, shell: Shell) -> None:
    """Adds a rack with boxes in the corner of the walls at +x and +y."""
    rng, y1 = room.rng, shell.y_m[1]
    x0, x1 = 1.45, shell.x_m[1] - 0.05
    for x in (x0, x1 - 0.04):
        for y in (y1 - 0.5, y1 - 0.05):
            room.box(FURNITURE, DARK_METAL, (x, y, FLOOR_Z_M), (x + 0.04, y + 0.04, 1.15))
    for z in (-0.7, -0.1, 0.5, 1.08):
        room.box(FURNITURE, STEEL, (x0, y1 - 0.5, z), (x1, y1 - 0.02, z + 0.025))
        x = x0 + 0.06
        while x < x1 - 0.25:
            width, height = float(rng.uniform(0.18, 0.34)), float(rng.uniform(0.15, 0.4))
            colour = _PAINTS[int(rng.integers(len(_PAINTS)))] if rng.random() < 0.5 else (0.66, 0.52, 0.36)
            crate = Material(colour, FINISHES["cardboard" if colour[2] == 0.36 else "plastic"])
            end = min(x + width, x1 - 0.05)
            if z < 1.0:
                room.box(FURNITURE, crate, (x, y1 - 0.45, z + 0.025), (end, y1 - 0.1, z + 0.025 + height))
            x += width + float(rng.uniform(0.02, 0.12))
