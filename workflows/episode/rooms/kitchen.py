"""A kitchen: the table is an island, behind it stand cupboards along a wall."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from unlatch.simcore.sim.visuals.finish import FINISHES, Finish
from unlatch.simcore.sim.visuals.visual_shapes import Light
from unlatch.tasks.layout import TABLE
from unlatch.workflows.episode.rooms.pictures import (
    Rgb,
    draw_boards,
    draw_mottled,
    draw_stone,
    draw_tiles,
    picture_file,
)
from unlatch.workflows.episode.rooms.room_builder import Material, RoomBuilder
from unlatch.workflows.episode.rooms.shell import (
    BLACK,
    FURNITURE,
    GLASS,
    STEEL,
    TABLE_X_M,
    TABLE_Y_M,
    WALL,
    WHITE,
    Shell,
    cover_table,
)

FLOOR_Z_M = -0.9
_FRONTS: tuple[Rgb, ...] = (
    (0.88, 0.87, 0.84),
    (0.42, 0.50, 0.45),
    (0.22, 0.29, 0.38),
    (0.62, 0.64, 0.64),
    (0.75, 0.71, 0.64),
)
"""Colours of cupboards: white, sage, navy, grey, sand."""
_STONES: tuple[tuple[Rgb, Rgb], ...] = (
    ((0.86, 0.85, 0.83), (0.60, 0.60, 0.60)),
    ((0.30, 0.30, 0.31), (0.45, 0.45, 0.46)),
    ((0.70, 0.66, 0.60), (0.50, 0.46, 0.40)),
)
_WOODS: tuple[Rgb, ...] = ((0.68, 0.50, 0.33), (0.50, 0.34, 0.22), (0.76, 0.62, 0.45))
_TILES: tuple[Rgb, ...] = ((0.90, 0.90, 0.88), (0.72, 0.80, 0.80), (0.84, 0.80, 0.72))
_WALLS: tuple[Rgb, ...] = ((0.90, 0.88, 0.84), (0.86, 0.88, 0.88), (0.88, 0.84, 0.76))


def build_kitchen(room: RoomBuilder) -> Light:
    """Adds a kitchen; returns its light."""
    rng = room.rng
    shell = Shell(FLOOR_Z_M)
    wood = _WOODS[int(rng.integers(len(_WOODS)))]
    if rng.random() < 0.6:
        floor = Material(
            finish=FINISHES["wood"], picture=picture_file(draw_boards, rng, wood, boards=8), tile_m=(1.8, 1.2)
        )
    else:
        grey = picture_file(draw_tiles, rng, (0.62, 0.60, 0.57), (0.45, 0.44, 0.42), across=4, down=4, shift=False)
        floor = Material(finish=Finish(0.35), picture=grey, tile_m=(1.6, 1.6))
    wall = _WALLS[int(rng.integers(len(_WALLS)))]
    plaster = Material(finish=FINISHES["plaster"], picture=picture_file(draw_mottled, rng, wall, contrast=0.03))
    shell.build(room, floor=floor, wall=plaster)
    shell.add_skirting(room, WHITE)
    shell.add_window(room, WHITE, x_m=0.5, z_m=0.66, size_m=(1.5, 1.15), panes=2)
    shell.add_radiator(room, x_m=0.5, length_m=1.4)
    shell.add_ceiling_lamps(room, size_m=(0.18, 0.18), places=4)
    if rng.random() < 0.35:
        staves = picture_file(
            draw_boards, rng, _WOODS[int(rng.integers(len(_WOODS)))], boards=12, contrast=0.14, gap_px=1
        )
        top = Material(finish=Finish(0.4), picture=staves, tile_m=(1.2, 0.6))
    else:
        stone, vein = _STONES[int(rng.integers(len(_STONES)))]
        picture = picture_file(draw_stone, rng, stone, vein, specks=float(rng.choice([0.06, 0.22])))
        top = Material(finish=Finish(0.28), picture=picture, tile_m=(2.4, 2.4))
    front = Material(_FRONTS[int(rng.integers(len(_FRONTS)))], FINISHES["painted_wood"])
    cover_table(room, top)
    _add_island(room, front)
    _add_cupboards(room, shell, front, top)
    _add_splashback(room, shell)
    _add_things(room, shell)
    yaw = rng.uniform(0.9, 1.5)
    return Light(
        direction=(float(-0.55 * np.cos(yaw)) - 0.4, float(np.sin(yaw)) * 0.8, 1.9),
        colour=(1.0, 0.97, 0.92),
        ambient=float(rng.uniform(0.62, 0.72)),
        diffuse=float(rng.uniform(0.32, 0.42)),
    )


def _add_island(room: RoomBuilder, front: Material) -> None:
    (x0, x1), (y0, y1) = TABLE_X_M, TABLE_Y_M
    inset, gap, out = 0.05, 0.004, 0.018
    room.box(TABLE, BLACK, (x0 + 0.1, y0 + 0.1, FLOOR_Z_M), (x1 - 0.1, y1 - 0.1, FLOOR_Z_M + 0.1))
    low, high = FLOOR_Z_M + 0.1, -0.06
    room.box(TABLE, front, (x0 + inset + out, y0 + inset + out, low), (x1 - inset - out, y1 - inset - out, high))
    for count, edge0, edge1, along_x in ((3, x0, x1, True), (4, y0, y1, False)):
        places = np.linspace(edge0 + inset + out, edge1 - inset - out, count + 1)
        for a, b in pairwise(places.tolist()):
            for side in (0, 1):
                if along_x:
                    y = y0 + inset if side == 0 else y1 - inset - out
                    room.box(TABLE, front, (a + gap, y, low + gap), (b - gap, y + out, high - gap))
                    room.box(TABLE, STEEL, (a + 0.16, y - 0.03, high - 0.07), (b - 0.16, y - 0.02, high - 0.058))
                else:
                    x = x0 + inset if side == 0 else x1 - inset - out
                    room.box(TABLE, front, (x, a + gap, low + gap), (x + out, b - gap, high - gap))
                    room.box(TABLE, STEEL, (x - 0.03, a + 0.14, high - 0.07), (x - 0.02, b - 0.14, high - 0.058))


def _add_cupboards(room: RoomBuilder, shell: Shell, front: Material, top: Material) -> None:
    """Adds base units with a worktop, wall units and a hood along the wall at +x."""
    wall = shell.x_m[1]
    face, out, gap = wall - 0.6, 0.018, 0.003
    y0, y1 = -2.4, shell.y_m[1]
    room.box(FURNITURE, BLACK, (face + 0.06, y0, FLOOR_Z_M), (wall, y1, FLOOR_Z_M + 0.1))
    room.box(FURNITURE, front, (face + out, y0, FLOOR_Z_M + 0.1), (wall, y1, -0.04))
    room.box(FURNITURE, top, (face - 0.02, y0, -0.04), (wall, y1, 0.0))
    places = np.arange(y0, y1, 0.6)
    oven = int(np.argmin(np.abs(places - 0.3)))
    for number, y in enumerate(places.tolist()):
        right = min(y + 0.6, y1)
        if number == oven:
            room.box(FURNITURE, GLASS, (face, y + gap, -0.70), (face + out, right - gap, -0.17))
            room.box(FURNITURE, STEEL, (face, y + gap, -0.165), (face + out, right - gap, -0.045))
            room.cylinder(FURNITURE, STEEL, (face - 0.035, y + 0.06, -0.22), (face - 0.035, right - 0.06, -0.22), 0.009)
            room.box(FURNITURE, front, (face, y + gap, FLOOR_Z_M + 0.1), (face + out, right - gap, -0.705))
            room.box(FURNITURE, GLASS, (face + 0.06, y + 0.01, 0.0), (wall - 0.06, right - 0.01, 0.006))
            room.box(FURNITURE, STEEL, (wall - 0.45, y + 0.02, 0.68), (wall, right - 0.02, 0.76))
            room.box(FURNITURE, STEEL, (wall - 0.28, y + 0.17, 0.76), (wall, right - 0.17, shell.ceiling_z_m))
            continue
        split = -0.24
        room.box(FURNITURE, front, (face, y + gap, FLOOR_Z_M + 0.1 + gap), (face + out, right - gap, split - gap))
        room.box(FURNITURE, front, (face, y + gap, split), (face + out, right - gap, -0.045))
        for z in (split - 0.05, -0.1):
            room.box(FURNITURE, STEEL, (face - 0.028, y + 0.18, z), (face - 0.018, right - 0.18, z + 0.012))
        if abs(number - oven) > 0:
            _add_wall_unit(room, front, wall, (y, right))


def _add_wall_unit(room: RoomBuilder, front: Material, wall: float, y_m: tuple[float, float]) -> None:
    (y0, y1), face, gap = y_m, wall - 0.35, 0.003
    room.box(FURNITURE, front, (face + 0.018, y0, 0.58), (wall, y1, 1.32))
    room.box(FURNITURE, front, (face, y0 + gap, 0.58), (face + 0.018, y1 - gap, 1.32))
    room.box(FURNITURE, STEEL, (face - 0.028, y1 - 0.06, 0.64), (face - 0.018, y1 - 0.048, 0.82))


def _add_splashback(room: RoomBuilder, shell: Shell) -> None:
    rng = room.rng
    colour = _TILES[int(rng.integers(len(_TILES)))]
    picture = picture_file(draw_tiles, rng, colour, (0.74, 0.73, 0.70), across=4, down=8, shift=True, variety=0.03)
    tiles = Material(finish=FINISHES["tiles"], picture=picture, tile_m=(0.6, 0.6))
    (y0, y1), x = shell.y_m, shell.x_m[1]
    room.panel(WALL, tiles, (x - 0.004, (y0 + y1) / 2, 0.29), (-1, 0, 0), (y1 - y0, 0.58))


def _add_things(room: RoomBuilder, shell: Shell) -> None:
    """Adds a pot, jars, a board and a bowl on the worktop."""
    rng, wall = room.rng, shell.x_m[1]
    room.profile(FURNITURE, STEEL, (wall - 0.32, 0.62, 0.006), [(0.0, 0.0), (0.1, 0.0), (0.105, 0.13), (0.0, 0.13)])
    room.cylinder(FURNITURE, BLACK, (wall - 0.32, 0.62, 0.136), (wall - 0.32, 0.62, 0.16), 0.015)
    board = Material(finish=FINISHES["wood"], picture=picture_file(draw_boards, rng, _WOODS[0], boards=4))
    room.box(FURNITURE, board, (wall - 0.05, -0.72, 0.0), (wall - 0.02, -0.44, 0.38))
    for number in range(int(rng.integers(3, 6))):
        height = float(rng.uniform(0.12, 0.22))
        colour = _FRONTS[int(rng.integers(len(_FRONTS)))]
        jar = Material(colour, FINISHES["enamel"])
        y = 1.05 + 0.14 * number
        outline = [(0.0, 0.0), (0.05, 0.0), (0.052, 0.8 * height), (0.035, height), (0.0, height)]
        room.profile(FURNITURE, jar, (wall - 0.2, y, 0.0), outline)
    bowl = Material((0.86, 0.85, 0.82), FINISHES["enamel"])
    room.profile(
        FURNITURE, bowl, (wall - 0.33, -1.15, 0.0), [(0.0, 0.0), (0.06, 0.0), (0.14, 0.09), (0.13, 0.09), (0.0, 0.03)]
    )
    fruit = (Material((0.80, 0.42, 0.10)), Material((0.72, 0.16, 0.12)), Material((0.55, 0.62, 0.18)))
    for number, (dx, dy) in enumerate(((0.0, 0.05), (0.05, -0.03), (-0.05, -0.03))):
        room.ball(FURNITURE, fruit[number], (wall - 0.33 + dx, -1.15 + dy, 0.08), 0.042)
