"""An office: the table is a desk, behind it a bookcase, a side desk with a screen, and a window with blinds."""

from __future__ import annotations

import numpy as np

from unlatch.simcore.sim.visuals.finish import FINISHES, Finish
from unlatch.simcore.sim.visuals.visual_shapes import Light
from unlatch.workflows.episode.rooms.pictures import (
    Rgb,
    draw_boards,
    draw_fabric,
    draw_mottled,
    picture_file,
)
from unlatch.workflows.episode.rooms.room_builder import Material, RoomBuilder
from unlatch.workflows.episode.rooms.shell import (
    BLACK,
    DARK_METAL,
    FURNITURE,
    GLASS,
    STEEL,
    WALL,
    WHITE,
    Shell,
    add_legs,
    cover_table,
)

FLOOR_Z_M = -0.75
_CARPETS: tuple[Rgb, ...] = ((0.36, 0.39, 0.43), (0.45, 0.43, 0.40), (0.27, 0.32, 0.38))
_ACCENTS: tuple[Rgb, ...] = ((0.44, 0.54, 0.58), (0.62, 0.64, 0.56), (0.72, 0.62, 0.50), (0.80, 0.80, 0.78))
_SPINES: tuple[Rgb, ...] = (
    (0.52, 0.17, 0.15),
    (0.18, 0.28, 0.42),
    (0.78, 0.73, 0.60),
    (0.24, 0.37, 0.30),
    (0.84, 0.84, 0.82),
    (0.18, 0.18, 0.20),
    (0.70, 0.48, 0.22),
)
"""Colours of books."""
_OAKS: tuple[Rgb, ...] = ((0.74, 0.59, 0.42), (0.64, 0.48, 0.33))


def build_office(room: RoomBuilder) -> Light:
    """Adds an office; returns its light."""
    rng = room.rng
    shell = Shell(FLOOR_Z_M)
    carpet = picture_file(draw_fabric, rng, _CARPETS[int(rng.integers(len(_CARPETS)))])
    plaster = picture_file(draw_mottled, rng, (0.90, 0.90, 0.88), contrast=0.02)
    shell.build(
        room,
        floor=Material(finish=FINISHES["cloth"], picture=carpet, tile_m=(0.7, 0.7)),
        wall=Material(finish=FINISHES["plaster"], picture=plaster),
    )
    accent = picture_file(draw_mottled, rng, _ACCENTS[int(rng.integers(len(_ACCENTS)))], contrast=0.02)
    (y0, y1), x = shell.y_m, shell.x_m[1]
    middle = (x - 0.003, (y0 + y1) / 2, FLOOR_Z_M + shell.height_m / 2)
    room.panel(
        WALL, Material(finish=FINISHES["plaster"], picture=accent), middle, (-1, 0, 0), (y1 - y0, shell.height_m)
    )
    shell.add_skirting(room, WHITE, height_m=0.07)
    shell.add_window(room, WHITE, x_m=0.4, z_m=0.72, size_m=(2.2, 1.35), panes=3)
    shell.add_radiator(room, x_m=0.4, length_m=1.4)
    shell.add_ceiling_lamps(room, size_m=(0.6, 0.6), places=3)
    oak = picture_file(draw_boards, rng, _OAKS[int(rng.integers(len(_OAKS)))], boards=3, contrast=0.12, gap_px=0)
    wood = Material(finish=Finish(0.45), picture=oak, tile_m=(1.4, 1.0), turned=True)
    top = Material((0.76, 0.76, 0.75), Finish(0.4)) if rng.random() < 0.5 else wood
    cover_table(room, top, edge=wood)
    add_legs(room, WHITE if rng.random() < 0.5 else DARK_METAL, floor_z_m=FLOOR_Z_M, side_m=0.06, inset_m=0.1)
    _add_bookcase(room, shell, wood)
    _add_side_desk(room, shell, wood)
    _add_plant(room, (shell.x_m[1] - 0.32, shell.y_m[1] - 0.36, FLOOR_Z_M))
    _add_blinds(room, shell)
    return Light(
        direction=(float(rng.uniform(-0.9, -0.4)), float(rng.uniform(0.4, 1.0)), 2.0),
        colour=(1.0, 0.98, 0.95),
        ambient=float(rng.uniform(0.54, 0.62)),
        diffuse=float(rng.uniform(0.3, 0.38)),
    )


def _add_bookcase(room: RoomBuilder, shell: Shell, wood: Material) -> None:
    """Adds a bookcase at the wall at +x."""
    rng, x1, side = room.rng, shell.x_m[1], 0.025
    x0, y0, y1, z1 = x1 - 0.3, 0.15, 1.55, 1.2
    room.box(FURNITURE, wood, (x1 - 0.01, y0, FLOOR_Z_M), (x1, y1, z1))
    for y in np.linspace(y0, y1 - side, 3):
        room.box(FURNITURE, wood, (x0, y, FLOOR_Z_M), (x1, y + side, z1))
    spines = [Material(colour, FINISHES["cardboard"]) for colour in _SPINES]
    levels = np.linspace(FLOOR_Z_M + 0.06, z1 - side, 6)
    for level, z in enumerate(levels):
        room.box(FURNITURE, wood, (x0, y0, z), (x1, y1, z + side))
        if level == len(levels) - 1:
            continue
        for left in (y0 + side, (y0 + y1) / 2 + side):
            if rng.random() < 0.82:
                _add_books(room, spines, (x0 + 0.03, left, z + side), left + float(rng.uniform(0.25, 0.62)))
            else:
                vase = Material(_ACCENTS[int(rng.integers(len(_ACCENTS)))], FINISHES["enamel"])
                outline = [(0.0, 0.0), (0.05, 0.0), (0.085, 0.09), (0.035, 0.19), (0.045, 0.22), (0.0, 0.22)]
                room.profile(FURNITURE, vase, (x0 + 0.14, left + 0.3, z + side), outline)


def _add_books(room: RoomBuilder, spines: list[Material], start: tuple[float, float, float], end_y: float) -> None:
    """Adds a row of books from a corner on a shelf to a y."""
    rng, (x, y, z) = room.rng, start
    while y < end_y:
        thick, height, back = (
            float(rng.uniform(0.015, 0.045)),
            float(rng.uniform(0.17, 0.27)),
            float(rng.uniform(0, 0.03)),
        )
        low, high = (x + back, y, z), (x + 0.2, y + thick - 0.001, z + height)
        room.box(FURNITURE, spines[int(rng.integers(len(spines)))], low, high)
        y += thick


def _add_side_desk(room: RoomBuilder, shell: Shell, wood: Material) -> None:
    """Adds a desk with a screen, a keyboard and a lamp at the wall at +x."""
    x1 = shell.x_m[1]
    x0, y0, y1 = x1 - 0.7, -1.6, -0.1
    room.box(FURNITURE, wood, (x0, y0, -0.03), (x1 - 0.02, y1, 0.0))
    for y in (y0 + 0.05, y1 - 0.1):
        room.box(FURNITURE, DARK_METAL, (x0 + 0.1, y, FLOOR_Z_M), (x0 + 0.15, y + 0.05, -0.03))
        room.box(FURNITURE, DARK_METAL, (x1 - 0.12, y, FLOOR_Z_M), (x1 - 0.07, y + 0.05, -0.03))
    room.box(FURNITURE, WHITE, (x0 + 0.05, y1 - 0.5, FLOOR_Z_M + 0.05), (x1 - 0.05, y1 - 0.12, -0.035))
    for z in (-0.22, -0.42, -0.62):
        room.box(FURNITURE, STEEL, (x0 + 0.035, y1 - 0.38, z), (x0 + 0.05, y1 - 0.24, z + 0.012))
    middle = (y0 + y1) / 2 - 0.1
    room.box(FURNITURE, BLACK, (x1 - 0.30, middle - 0.36, 0.16), (x1 - 0.27, middle + 0.36, 0.58))
    room.box(FURNITURE, GLASS, (x1 - 0.303, middle - 0.35, 0.17), (x1 - 0.3, middle + 0.35, 0.57))
    room.box(FURNITURE, DARK_METAL, (x1 - 0.29, middle - 0.03, 0.0), (x1 - 0.27, middle + 0.03, 0.3))
    room.box(FURNITURE, DARK_METAL, (x1 - 0.38, middle - 0.12, 0.0), (x1 - 0.18, middle + 0.12, 0.012))
    room.box(FURNITURE, WHITE, (x0 + 0.1, middle - 0.22, 0.0), (x0 + 0.24, middle + 0.22, 0.018))
    foot = (x1 - 0.25, y0 + 0.2, 0.0)
    room.cylinder(FURNITURE, DARK_METAL, foot, (foot[0], foot[1], 0.02), 0.08)
    room.cylinder(FURNITURE, DARK_METAL, foot, (foot[0], foot[1], 0.42), 0.009)
    shade = Material((0.95, 0.90, 0.78), Finish(0.8, 0.0, 0.35))
    room.profile(FURNITURE, shade, (foot[0], foot[1], 0.36), [(0.0, 0.0), (0.13, 0.0), (0.08, 0.16), (0.0, 0.16)])


def _add_plant(room: RoomBuilder, foot: tuple[float, float, float]) -> None:
    rng, (x, y, z) = room.rng, foot
    pot = Material((0.85, 0.84, 0.80), FINISHES["plaster"])
    room.profile(FURNITURE, pot, foot, [(0.0, 0.0), (0.13, 0.0), (0.17, 0.32), (0.0, 0.32)])
    leaf = Material((0.20, 0.38, 0.19), Finish(0.5))
    for _ in range(46):
        turn, tilt = float(rng.uniform(0.0, 2.0 * np.pi)), float(rng.uniform(0.1, 0.9))
        length = float(rng.uniform(0.35, 0.8))
        out = np.array([np.cos(turn) * np.sin(tilt), np.sin(turn) * np.sin(tilt), np.cos(tilt)])
        end = np.array([x, y, z + 0.3]) + length * out
        end[:2] = np.minimum(end[:2], [x + 0.26, y + 0.3])
        room.cylinder(FURNITURE, leaf, (x, y, z + 0.3), tuple(end.tolist()), 0.004)
        room.leaf(FURNITURE, leaf, tuple(end.tolist()), out, 0.24)


def _add_blinds(room: RoomBuilder, shell: Shell) -> None:
    """Adds half closed blinds before the upper part of the window."""
    y = shell.y_m[1] - 0.09
    lowest = 1.35 - float(room.rng.uniform(0.1, 0.55))
    for z in np.arange(lowest, 1.38, 0.035).tolist():
        room.box(FURNITURE, WHITE, (-0.68, y - 0.018, z), (1.48, y + 0.018, z + 0.004))
