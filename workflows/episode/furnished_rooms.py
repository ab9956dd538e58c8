"""The rooms around the table: a photo studio, a kitchen, a workshop and an office.

Each has several plans: its size, on which wall the window is, which way round the furniture stands along the other one,
and what hangs there are drawn.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from unlatch.objects.procedural.parameters import draw_one
from unlatch.simcore.sim.visuals.visual_shapes import FINISHES, Finish, Light
from unlatch.tasks.layout import TABLE
from unlatch.workflows.episode.room_parts import (
    BLACK,
    DARK_METAL,
    FLOOR,
    FURNITURE,
    GLASS,
    STEEL,
    TABLE_X_M,
    TABLE_Y_M,
    WALL,
    WHITE,
    Material,
    RoomBuilder,
    Shell,
    WindowPlace,
    add_legs,
    cover_table,
)
from unlatch.workflows.episode.room_pictures import (
    Rgb,
    draw_boards,
    draw_fabric,
    draw_holes,
    draw_mottled,
    draw_stone,
    draw_tiles,
    picture_file,
)

STUDIO_FLOOR_Z_M = -0.8
_RADIUS_M, _BEND_M = 3.6, 1.6
"""Radius of the backdrop, and of its bend between floor and wall [m]."""
_BACKDROPS: tuple[Rgb, ...] = ((0.78, 0.79, 0.80), (0.70, 0.73, 0.76), (0.80, 0.77, 0.73), (0.60, 0.63, 0.66))
_TOPS: tuple[Rgb, ...] = ((0.68, 0.55, 0.40), (0.52, 0.38, 0.26), (0.74, 0.66, 0.54))


def build_studio(room: RoomBuilder) -> Light:
    """Adds a studio; returns its light."""
    rng = room.rng
    colour = draw_one(rng, _BACKDROPS)
    paper = Material(colour, FINISHES["plaster"])
    room.own_floor_z_m = STUDIO_FLOOR_Z_M
    curve = np.linspace(0.0, np.pi / 2, 12)
    bend = [(_RADIUS_M - _BEND_M * (1.0 - np.sin(a)), _BEND_M * (1.0 - np.cos(a))) for a in curve]
    room.backdrop(FLOOR, paper, (0.5, 0.0, STUDIO_FLOOR_Z_M), [(1e-3, 0.0), *bend, (_RADIUS_M, 4.5)])
    wood = picture_file(draw_boards, rng, draw_one(rng, _TOPS), boards=12, contrast=0.12, gap_px=0)
    cover_table(room, Material(finish=Finish(0.45), picture=wood, tile_m=(1.3, 0.9), turned=True))
    base = Material((0.20, 0.21, 0.23), Finish(0.6))
    (x0, x1), (y0, y1) = TABLE_X_M, TABLE_Y_M
    room.box(TABLE, base, (x0 + 0.12, y0 + 0.12, STUDIO_FLOOR_Z_M), (x1 - 0.12, y1 - 0.12, -0.06))
    return Light(direction=(-1.0, -0.5, 2.4), ambient=0.6, diffuse=0.36)


_BESIDE_M = 3.0
"""Space on the right of what a room is built around: a camera looks along it [m]."""


def _draw_shell(
    room: RoomBuilder, floor_z_m: float, height_m: float = 2.6, *, niche_y_m: float, least_depth_m: float = 0.0
) -> tuple[Shell, bool, float]:
    """Draws a shell, whether its walls at +x and +y change roles, and where to mirror what stands along the first.

    `niche_y_m` and `least_depth_m` are those of `RoomBuilder.place_niche`.
    """
    rng = room.rng
    far_x, far_y = float(rng.uniform(2.3, 2.9)), float(rng.uniform(2.2, 2.8))
    shell = Shell(floor_z_m, (-2.3, far_x), (-2.7, far_y), height_m)
    turned = bool(rng.random() < 0.5)
    (y0, y1) = shell.turned.y_m if turned else shell.y_m
    mirror = y0 + y1 if rng.random() < 0.5 else math.nan
    if room.niche is None:
        return shell, turned, mirror
    # what the room is built around stands at the wall at +x, at the right end of the furniture or between it
    room.place_niche(far_x, high_y_m=niche_y_m, least_depth_m=least_depth_m)
    low = room.niche_y_m[0] - _BESIDE_M
    return Shell(floor_z_m, (-2.3, far_x), (low, far_y), height_m), False, math.nan


KITCHEN_FLOOR_Z_M = -0.9
_FRONTS: tuple[Rgb, ...] = (
    (0.88, 0.87, 0.84),
    (0.42, 0.50, 0.45),
    (0.22, 0.29, 0.38),
    (0.62, 0.64, 0.64),
    (0.75, 0.71, 0.64),
    (0.21, 0.30, 0.25),
    (0.58, 0.36, 0.28),
    (0.66, 0.50, 0.34),
)
"""Colours of cupboards: white, sage, navy, grey, sand, bottle green, terracotta, oak."""
_STONES: tuple[tuple[Rgb, Rgb], ...] = (
    ((0.86, 0.85, 0.83), (0.60, 0.60, 0.60)),
    ((0.30, 0.30, 0.31), (0.45, 0.45, 0.46)),
    ((0.70, 0.66, 0.60), (0.50, 0.46, 0.40)),
    ((0.88, 0.84, 0.76), (0.62, 0.52, 0.40)),
    ((0.56, 0.57, 0.57), (0.74, 0.74, 0.74)),
    ((0.24, 0.29, 0.27), (0.62, 0.66, 0.62)),
)
"""Colours of worktops and of their veins: white, anthracite, sand, cream, concrete, green marble."""
_WOODS: tuple[Rgb, ...] = ((0.68, 0.50, 0.33), (0.50, 0.34, 0.22), (0.76, 0.62, 0.45))
_TILES: tuple[Rgb, ...] = (
    *((0.90, 0.90, 0.88), (0.72, 0.80, 0.80), (0.84, 0.80, 0.72)),
    *((0.34, 0.47, 0.42), (0.30, 0.39, 0.50), (0.78, 0.56, 0.44)),
)
_WALLS: tuple[Rgb, ...] = (
    *((0.90, 0.88, 0.84), (0.86, 0.88, 0.88), (0.88, 0.84, 0.76)),
    *((0.74, 0.78, 0.72), (0.84, 0.76, 0.72), (0.72, 0.77, 0.82)),
)


_UNIT_M = 0.6
"""Depth and width of a base unit [m]."""
_TOP_M = 0.04
"""Thickness of a worktop [m]."""
_KITCHEN_NICHE_Y_M = {False: 0.35, True: -1.36}
"""Higher side of what stands between the units, and of a door [m]."""
_UNDER_WORKTOPS = ("kitchen_dishwasher", "dishwasher", "washing_machine")
"""Categories over which the worktop goes on."""
_FLUSH_M = (0.7, 1.0)
"""Heights of what has its top at that of the worktops beside it [m]."""


def _kitchen_floor(room: RoomBuilder) -> float:
    """Returns the height of the floor below the worktops: they are as high as what stands between them [m]."""
    niche = room.niche
    if niche is None or not _FLUSH_M[0] < niche.size_m[2] < _FLUSH_M[1]:
        return KITCHEN_FLOOR_Z_M
    return -niche.size_m[2] - (_TOP_M + _GAP_M if niche.category in _UNDER_WORKTOPS else 0.0)


_GAP_M = 0.004
"""Space between an appliance and the units beside it [m]."""


def build_kitchen(room: RoomBuilder) -> Light:
    """Adds a kitchen; returns its light."""
    rng, niche = room.rng, room.niche
    at_door = niche is not None and niche.is_door
    shell, turned, mirror = _draw_shell(
        room,
        _kitchen_floor(room),
        niche_y_m=_KITCHEN_NICHE_Y_M[at_door],
        least_depth_m=0.0 if at_door else _UNIT_M,
    )
    wood = draw_one(rng, _WOODS)
    if rng.random() < 0.6:
        floor = Material(
            finish=FINISHES["wood"], picture=picture_file(draw_boards, rng, wood, boards=8), tile_m=(1.8, 1.2)
        )
    else:
        grey = picture_file(draw_tiles, rng, (0.62, 0.60, 0.57), (0.45, 0.44, 0.42), across=4, down=4, shift=False)
        floor = Material(finish=Finish(0.35), picture=grey, tile_m=(1.6, 1.6))
    wall = draw_one(rng, _WALLS)
    plaster = Material(finish=FINISHES["plaster"], picture=picture_file(draw_mottled, rng, wall, contrast=0.03))
    shell.build(room, floor=floor, wall=plaster)
    if rng.random() < 0.35:
        staves = picture_file(draw_boards, rng, draw_one(rng, _WOODS), boards=16, contrast=0.14, gap_px=0)
        top = Material(finish=Finish(0.4), picture=staves, tile_m=(1.2, 0.6))
    else:
        stone, vein = draw_one(rng, _STONES)
        picture = picture_file(draw_stone, rng, stone, vein, specks=float(rng.choice([0.06, 0.22])))
        top = Material(finish=Finish(0.28), picture=picture, tile_m=(2.4, 2.4))
    front = Material(draw_one(rng, _FRONTS), FINISHES["painted_wood"])
    cover_table(room, top)
    _add_island(room, front)
    shell.add_ceiling_lamps(room, size_m=(0.18, 0.18), places=4)
    if rng.random() < 0.5:
        shade = Material(draw_one(rng, (*_FRONTS, (0.12, 0.12, 0.13), (0.75, 0.58, 0.35))), Finish(0.35))
        shell.add_pendants(room, count=int(rng.integers(1, 4)), low_z_m=1.42, shade=shade)
    shell = shell.turned if turned else shell
    with room.arranged(turned=turned):
        shell.add_skirting(room, WHITE)
        window = WindowPlace(float(rng.uniform(0.0, 0.9)), 0.68, (float(rng.uniform(1.1, 2.0)), 1.1))
        shell.add_window(room, draw_one(rng, (WHITE, DARK_METAL)), window, panes=int(rng.integers(2, 4)))
        if rng.random() < 0.5:
            shell.add_radiator(room, x_m=window.x_m, length_m=1.4)
        else:
            _add_side_units(room, shell, front, top)
        if rng.random() < 0.3:
            shell.add_blinds(room, window, share=float(rng.uniform(0.2, 0.6)))
    with room.arranged(turned=turned, mirror_y_m=mirror):
        hung = bool(rng.random() < 0.65)
        _add_cupboards(room, shell, front, top, hung=hung)
        _add_splashback(room, shell)
        _add_things(room, shell)
        if not hung:
            _add_open_shelves(room, shell)
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
    room.box(TABLE, BLACK, (x0 + 0.1, y0 + 0.1, KITCHEN_FLOOR_Z_M), (x1 - 0.1, y1 - 0.1, KITCHEN_FLOOR_Z_M + 0.1))
    low, high = KITCHEN_FLOOR_Z_M + 0.1, -0.06
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


def _add_side_units(room: RoomBuilder, shell: Shell, front: Material, top: Material) -> None:
    """Adds low units with a worktop below the window at +y."""
    y1, x0, x1 = shell.y_m[1], -1.5, shell.x_m[1] - 0.62
    y0, floor_z = y1 - 0.55, shell.floor_z_m
    low = floor_z + 0.1
    room.box(FURNITURE, BLACK, (x0, y0 + 0.06, floor_z), (x1, y1, low))
    room.box(FURNITURE, front, (x0, y0 + 0.018, low), (x1, y1, -0.04))
    room.box(FURNITURE, top, (x0, y0 - 0.02, -0.04), (x1, y1, 0.0))
    for left, right in pairwise(np.linspace(x0, x1, 6).tolist()):
        room.box(FURNITURE, front, (left + 0.003, y0, low + 0.003), (right - 0.003, y0 + 0.018, -0.045))
        room.box(FURNITURE, STEEL, (left + 0.15, y0 - 0.028, -0.1), (right - 0.15, y0 - 0.018, -0.088))
    sink = float(room.rng.uniform(0.0, 0.7))
    room.box(FURNITURE, STEEL, (sink, y0 + 0.08, 0.0), (sink + 0.5, y1 - 0.1, 0.004))
    room.box(FURNITURE, DARK_METAL, (sink + 0.03, y0 + 0.11, 0.004), (sink + 0.47, y1 - 0.13, 0.005))
    room.cylinder(FURNITURE, STEEL, (sink + 0.25, y1 - 0.08, 0.0), (sink + 0.25, y1 - 0.08, 0.28), 0.014)
    room.cylinder(FURNITURE, STEEL, (sink + 0.25, y1 - 0.08, 0.27), (sink + 0.25, y1 - 0.28, 0.27), 0.011)


def _add_open_shelves(room: RoomBuilder, shell: Shell) -> None:
    """Adds two boards with dishes on the wall at +x, in place of wall units."""
    rng, x1, niche = room.rng, shell.x_m[1], room.niche
    staves = picture_file(draw_boards, rng, draw_one(rng, _WOODS), boards=4, gap_px=0)
    board = Material(finish=FINISHES["wood"], picture=staves)
    for z in (0.62, 0.98):
        runs = room.beside_niche(-1.3, 1.5, apart_m=0.05) if niche is not None and niche.is_tall else [(-1.3, 1.5)]
        start, end = runs[-1]
        room.box(FURNITURE, board, (x1 - 0.24, start, z), (x1 - 0.005, end, z + 0.03))
        y = start + 0.1
        while y < end - 0.1:
            dish = Material(draw_one(rng, (*_FRONTS, (0.72, 0.42, 0.30), (0.90, 0.89, 0.86))), FINISHES["enamel"])
            height, radius = float(rng.uniform(0.05, 0.2)), float(rng.uniform(0.035, 0.075))
            outline = [(0.0, 0.0), (0.6 * radius, 0.0), (radius, 0.6 * height), (0.85 * radius, height), (0.0, height)]
            room.profile(FURNITURE, dish, (x1 - 0.13, y, z + 0.03), outline)
            y += 2.0 * radius + float(rng.uniform(0.02, 0.14))


def _add_cupboards(room: RoomBuilder, shell: Shell, front: Material, top: Material, *, hung: bool) -> None:
    """Adds base units with a worktop and a hood along the wall at +x; with wall units, if `hung`."""
    wall, floor_z, niche = shell.x_m[1], shell.floor_z_m, room.niche
    face, out, gap = wall - _UNIT_M, 0.018, 0.003
    low, y0, y1 = floor_z + 0.1, -2.4, shell.y_m[1]
    runs = room.beside_niche(y0, y1, apart_m=_GAP_M)
    for start, end in runs:
        room.box(FURNITURE, BLACK, (face + 0.06, start, floor_z), (wall, end, low))
        room.box(FURNITURE, front, (face + out, start, low), (wall, end, -_TOP_M))
    for start, end in [(y0, y1)] if niche is not None and niche.category in _UNDER_WORKTOPS else runs:
        room.box(FURNITURE, top, (face - 0.02, start, -_TOP_M), (wall, end, 0.0))
    units = [(y, min(y + _UNIT_M, y1)) for y in np.arange(runs[-1][0], y1, _UNIT_M).tolist()]
    if len(runs) > 1:
        start, end = runs[0]
        units += [(max(start, y - _UNIT_M), y) for y in np.arange(end, start, -_UNIT_M).tolist()]
    drawn = float(room.rng.uniform(-0.9, 0.9))
    oven = int(np.argmin([abs(left - drawn) for left, _ in units]))
    if niche is not None and "oven" in niche.category:
        oven = -1
        _add_hood(room, shell, *room.niche_y_m)
    for number, (y, right) in enumerate(units):
        if number == oven:
            room.box(FURNITURE, GLASS, (face, y + gap, -0.70), (face + out, right - gap, -0.17))
            room.box(FURNITURE, STEEL, (face, y + gap, -0.165), (face + out, right - gap, -0.045))
            room.cylinder(FURNITURE, STEEL, (face - 0.035, y + 0.06, -0.22), (face - 0.035, right - 0.06, -0.22), 0.009)
            room.box(FURNITURE, front, (face, y + gap, low), (face + out, right - gap, -0.705))
            room.box(FURNITURE, GLASS, (face + 0.06, y + 0.01, 0.0), (wall - 0.06, right - 0.01, 0.006))
            _add_hood(room, shell, y, right)
            continue
        split = -0.24
        room.box(FURNITURE, front, (face, y + gap, low + gap), (face + out, right - gap, split - gap))
        room.box(FURNITURE, front, (face, y + gap, split), (face + out, right - gap, -0.045))
        if right - y > 0.4:
            for z in (split - 0.05, -0.1):
                room.box(FURNITURE, STEEL, (face - 0.028, y + 0.18, z), (face - 0.018, right - 0.18, z + 0.012))
        if hung:
            _add_wall_unit(room, wall, front, (y, right), 0.58)
    if niche is not None and not niche.is_door and hung and "oven" not in niche.category:
        bottom = max(0.58, floor_z + niche.size_m[2] + 0.03) if niche.is_tall else 0.58
        if bottom < _HUNG_M[1] - 0.15:
            _add_wall_unit(room, wall, front, room.niche_y_m, bottom)


_HUNG_M = (0.58, 1.32)
"""Heights of the lower and upper edge of wall units above the worktop [m]."""


def _add_wall_unit(
    room: RoomBuilder, wall_x: float, front: Material, sides_y: tuple[float, float], bottom: float
) -> None:
    """Adds a unit that hangs on the wall at +x, between two sides, from a height to that of the others [m]."""
    unit, (y, right), top = wall_x - 0.35, sides_y, _HUNG_M[1]
    room.box(FURNITURE, front, (unit + 0.018, y, bottom), (wall_x, right, top))
    room.box(FURNITURE, front, (unit, y + 0.003, bottom), (unit + 0.018, right - 0.003, top))
    high = min(bottom + 0.24, top - 0.03)
    room.box(FURNITURE, STEEL, (unit - 0.028, right - 0.06, bottom + 0.06), (unit - 0.018, right - 0.048, high))


def _add_hood(room: RoomBuilder, shell: Shell, low_y: float, high_y: float) -> None:
    """Adds a hood over a cooker between two sides [m]."""
    wall = shell.x_m[1]
    room.box(FURNITURE, STEEL, (wall - 0.45, low_y + 0.02, 0.68), (wall, high_y - 0.02, 0.76))
    room.box(FURNITURE, STEEL, (wall - 0.28, low_y + 0.17, 0.76), (wall, high_y - 0.17, shell.ceiling_z_m))


def _add_splashback(room: RoomBuilder, shell: Shell) -> None:
    rng = room.rng
    colour = draw_one(rng, _TILES)
    picture = picture_file(draw_tiles, rng, colour, (0.74, 0.73, 0.70), across=4, down=8, shift=True, variety=0.03)
    tiles = Material(finish=FINISHES["tiles"], picture=picture, tile_m=(0.6, 0.6))
    shell.cover_wall(room, tiles, out_m=0.004, z_m=(0.0, 0.58))


def _add_things(room: RoomBuilder, shell: Shell) -> None:
    """Adds a pot, jars, a board and a bowl on the worktop."""
    rng, wall = room.rng, shell.x_m[1]
    room.profile(FURNITURE, STEEL, (wall - 0.32, 0.62, 0.006), [(0.0, 0.0), (0.1, 0.0), (0.105, 0.13), (0.0, 0.13)])
    room.cylinder(FURNITURE, BLACK, (wall - 0.32, 0.62, 0.136), (wall - 0.32, 0.62, 0.16), 0.015)
    staves = picture_file(draw_boards, rng, _WOODS[0], boards=4, gap_px=0)  # glued: neither gaps nor ends are seen
    board = Material(finish=FINISHES["wood"], picture=staves)
    room.box(FURNITURE, board, (wall - 0.05, -0.72, 0.0), (wall - 0.02, -0.44, 0.38))
    for number in range(int(rng.integers(3, 6))):
        height = float(rng.uniform(0.12, 0.22))
        colour = draw_one(rng, _FRONTS)
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


WORKSHOP_FLOOR_Z_M = -0.86
_PAINTS: tuple[Rgb, ...] = ((0.62, 0.15, 0.13), (0.16, 0.30, 0.45), (0.20, 0.36, 0.30), (0.75, 0.52, 0.12))
"""Colours of painted steel: red, blue, green, yellow."""
_BENCHES: tuple[Rgb, ...] = ((0.72, 0.56, 0.38), (0.60, 0.44, 0.30))
_BRICKS: tuple[tuple[Rgb, Rgb], ...] = (
    ((0.84, 0.83, 0.80), (0.794, 0.7855, 0.76)),
    ((0.58, 0.33, 0.26), (0.70, 0.67, 0.62)),
    ((0.66, 0.66, 0.65), (0.641, 0.641, 0.6325)),
)
"""Colours of bricks and of the joints between them: painted white, bare, painted grey."""


def build_workshop(room: RoomBuilder) -> Light:
    """Adds a workshop; returns its light."""
    rng = room.rng
    shell, turned, mirror = _draw_shell(room, WORKSHOP_FLOOR_Z_M, 3.0, niche_y_m=-1.36)
    concrete = picture_file(draw_mottled, rng, (0.55, 0.55, 0.53), contrast=0.10)
    bricks, joints = draw_one(rng, _BRICKS)
    wall = picture_file(draw_tiles, rng, bricks, joints, across=4, down=12, shift=True, variety=0.06)
    shell.build(
        room,
        floor=Material(finish=Finish(0.45), picture=concrete, tile_m=(2.4, 2.4)),
        wall=Material(finish=FINISHES["plaster"], picture=wall, tile_m=(1.0, 0.9)),
        ceiling=Material((0.72, 0.73, 0.74), FINISHES["paint"]),
    )
    shell.add_ceiling_lamps(room, size_m=(1.3, 0.12), places=2)
    staves = picture_file(draw_boards, rng, _BENCHES[int(rng.integers(2))], boards=16, contrast=0.16, gap_px=0)
    top = Material(finish=Finish(0.5), picture=staves, tile_m=(1.5, 0.75), turned=True)
    cover_table(room, top)
    paint = Material(draw_one(rng, _PAINTS), Finish(0.4))
    add_legs(room, DARK_METAL, floor_z_m=WORKSHOP_FLOOR_Z_M, side_m=0.08)
    if room.has_table:
        _add_lower_shelf(room, paint)
    shell = shell.turned if turned else shell
    with room.arranged(turned=turned):
        size, panes = (float(rng.uniform(1.4, 2.4)), float(rng.uniform(0.8, 1.2))), int(rng.integers(2, 6))
        shell.add_window(room, DARK_METAL, WindowPlace(float(rng.uniform(-0.2, 0.4)), 0.95, size), panes=panes)
        if room.niche is not None and room.niche.is_door:
            shell.add_skirting(room, WHITE, height_m=0.08)
        _add_shelves(room, shell)
    with room.arranged(turned=turned, mirror_y_m=mirror):
        if rng.random() < 0.7:
            _add_tool_wall(room, shell)
        else:
            shell.add_poster(room, y_m=-0.6, z_m=0.8, size_m=(0.6, 0.85))
            shell.add_clock(room, y_m=0.3, z_m=1.1)
        _add_side_bench(room, shell, top, paint)
    return Light(
        direction=(float(rng.uniform(-0.9, -0.3)), float(rng.uniform(0.2, 0.9)), 2.2),
        colour=(0.98, 0.99, 1.0),
        ambient=float(rng.uniform(0.6, 0.68)),
        diffuse=float(rng.uniform(0.32, 0.4)),
    )


def _add_lower_shelf(room: RoomBuilder, paint: Material) -> None:
    rng, z = room.rng, WORKSHOP_FLOOR_Z_M + 0.22
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
            bin_ = Material(_PAINTS[number // 3 % len(_PAINTS)], FINISHES["plastic"])
            room.box(FURNITURE, bin_, (x - 0.12, y - 0.07, 0.5), (x - 0.02, y + 0.07, 0.515))
            room.box(FURNITURE, bin_, (x - 0.12, y - 0.07, 0.515), (x - 0.115, y + 0.07, 0.555))
            for side in (y - 0.07, y + 0.065):
                room.box(FURNITURE, bin_, (x - 0.115, side, 0.515), (x - 0.02, side + 0.005, 0.59))


def _add_side_bench(room: RoomBuilder, shell: Shell, top: Material, paint: Material) -> None:
    """Adds a bench, a tool chest and a vice along the wall at +x."""
    x1 = shell.x_m[1]
    x0 = x1 - 0.62
    room.box(FURNITURE, top, (x0, -1.3, -0.05), (x1, 1.5, 0.0))
    for y in (-1.25, 1.38):
        for x in (x0 + 0.04, x1 - 0.1):
            room.box(FURNITURE, DARK_METAL, (x, y, WORKSHOP_FLOOR_Z_M), (x + 0.06, y + 0.06, -0.05))
    chest0, chest1 = -0.5, 0.35
    room.box(FURNITURE, paint, (x0 + 0.06, chest0, WORKSHOP_FLOOR_Z_M + 0.06), (x1 - 0.05, chest1, -0.07))
    heights = np.linspace(WORKSHOP_FLOOR_Z_M + 0.08, -0.08, 6)
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
            room.box(FURNITURE, DARK_METAL, (x, y, WORKSHOP_FLOOR_Z_M), (x + 0.04, y + 0.04, 1.15))
    for z in (-0.7, -0.1, 0.5, 1.08):
        room.box(FURNITURE, STEEL, (x0, y1 - 0.5, z), (x1, y1 - 0.02, z + 0.025))
        x = x0 + 0.06
        while x < x1 - 0.25:
            width, height = float(rng.uniform(0.18, 0.34)), float(rng.uniform(0.15, 0.4))
            colour = draw_one(rng, _PAINTS) if rng.random() < 0.5 else (0.66, 0.52, 0.36)
            crate = Material(colour, FINISHES["cardboard" if colour[2] == 0.36 else "plastic"])
            end = min(x + width, x1 - 0.05)
            if z < 1.0:
                room.box(FURNITURE, crate, (x, y1 - 0.45, z + 0.025), (end, y1 - 0.1, z + 0.025 + height))
            x += width + float(rng.uniform(0.02, 0.12))


OFFICE_FLOOR_Z_M = -0.75
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
    shell, turned, mirror = _draw_shell(room, OFFICE_FLOOR_Z_M, niche_y_m=-1.66)
    carpet = picture_file(draw_fabric, rng, draw_one(rng, _CARPETS))
    plaster = picture_file(draw_mottled, rng, (0.90, 0.90, 0.88), contrast=0.02)
    shell.build(
        room,
        floor=Material(finish=FINISHES["cloth"], picture=carpet, tile_m=(0.7, 0.7)),
        wall=Material(finish=FINISHES["plaster"], picture=plaster),
    )
    shell.add_ceiling_lamps(room, size_m=(0.6, 0.6), places=3)
    oak = picture_file(draw_boards, rng, draw_one(rng, _OAKS), boards=3, contrast=0.12, gap_px=0)
    wood = Material(finish=Finish(0.45), picture=oak, tile_m=(1.4, 1.0), turned=True)
    top = Material((0.76, 0.76, 0.75), Finish(0.4)) if rng.random() < 0.5 else wood
    cover_table(room, top, edge=wood)
    add_legs(room, WHITE if rng.random() < 0.5 else DARK_METAL, floor_z_m=OFFICE_FLOOR_Z_M, side_m=0.06, inset_m=0.1)
    shell = shell.turned if turned else shell
    with room.arranged(turned=turned):
        shell.add_skirting(room, WHITE, height_m=0.07)
        window = WindowPlace(float(rng.uniform(0.0, 0.6)), 0.72, (float(rng.uniform(1.4, 2.4)), 1.35))
        shell.add_window(room, draw_one(rng, (WHITE, DARK_METAL)), window, panes=int(rng.integers(2, 4)))
        shell.add_radiator(room, x_m=window.x_m, length_m=1.4)
        if rng.random() < 0.7:
            shell.add_blinds(room, window, share=float(rng.uniform(0.1, 0.7)))
    with room.arranged(turned=turned, mirror_y_m=mirror):
        _add_accent_wall(room, shell)
        if rng.random() < 0.65:
            _add_bookcase(room, shell, wood)
        else:
            _add_white_board(room, shell)
        _add_side_desk(room, shell, wood)
        _add_plant(room, (shell.x_m[1] - 0.32, shell.y_m[1] - 0.36, OFFICE_FLOOR_Z_M))
        if rng.random() < 0.6 and room.niche is None:
            shell.add_poster(room, y_m=-2.0, z_m=0.85, size_m=(0.5, 0.7))
    return Light(
        direction=(float(rng.uniform(-0.9, -0.4)), float(rng.uniform(0.4, 1.0)), 2.0),
        colour=(1.0, 0.98, 0.95),
        ambient=float(rng.uniform(0.54, 0.62)),
        diffuse=float(rng.uniform(0.3, 0.38)),
    )


def _add_accent_wall(room: RoomBuilder, shell: Shell) -> None:
    """Paints the wall at +x."""
    rng = room.rng
    accent = picture_file(draw_mottled, rng, draw_one(rng, _ACCENTS), contrast=0.02)
    shell.cover_wall(room, Material(finish=FINISHES["plaster"], picture=accent), out_m=0.003)


def _add_white_board(room: RoomBuilder, shell: Shell) -> None:
    """Adds a board to write on, with some lines on it, and a low cabinet at the wall at +x."""
    rng, x = room.rng, shell.x_m[1]
    room.box(FURNITURE, STEEL, (x - 0.02, 0.1, 0.25), (x - 0.002, 1.6, 1.2))
    room.box(FURNITURE, WHITE, (x - 0.023, 0.12, 0.27), (x - 0.02, 1.58, 1.18))
    for colour in ((0.10, 0.20, 0.55), (0.62, 0.12, 0.12), (0.08, 0.08, 0.09)):
        y, z = float(rng.uniform(0.25, 1.0)), float(rng.uniform(0.55, 1.1))
        for row in range(4):
            end = y + float(rng.uniform(0.15, 0.5))
            line = (x - 0.024, y, z - 0.05 * row), (x - 0.023, end, z - 0.05 * row + 0.008)
            room.box(FURNITURE, Material(colour), *line)
    front = Material(draw_one(rng, _ACCENTS), FINISHES["painted_wood"])
    room.box(FURNITURE, front, (x - 0.42, 0.1, OFFICE_FLOOR_Z_M), (x - 0.01, 1.6, -0.05))
    for y in (0.47, 0.85, 1.23):
        room.box(FURNITURE, DARK_METAL, (x - 0.424, y, OFFICE_FLOOR_Z_M + 0.02), (x - 0.42, y + 0.004, -0.07))


def _add_bookcase(room: RoomBuilder, shell: Shell, wood: Material) -> None:
    """Adds a bookcase at the wall at +x."""
    rng, x1, side = room.rng, shell.x_m[1], 0.025
    x0, y0, y1, z1 = x1 - 0.3, 0.15, 1.55, 1.2
    room.box(FURNITURE, wood, (x1 - 0.01, y0, OFFICE_FLOOR_Z_M), (x1, y1, z1))
    for y in np.linspace(y0, y1 - side, 3):
        room.box(FURNITURE, wood, (x0, y, OFFICE_FLOOR_Z_M), (x1, y + side, z1))
    spines = [Material(colour, FINISHES["cardboard"]) for colour in _SPINES]
    levels = np.linspace(OFFICE_FLOOR_Z_M + 0.06, z1 - side, 6)
    for level, z in enumerate(levels):
        room.box(FURNITURE, wood, (x0, y0, z), (x1, y1, z + side))
        if level == len(levels) - 1:
            continue
        for left in (y0 + side, (y0 + y1) / 2 + side):
            if rng.random() < 0.82:
                _add_books(room, spines, (x0 + 0.03, left, z + side), left + float(rng.uniform(0.25, 0.62)))
            else:
                vase = Material(draw_one(rng, _ACCENTS), FINISHES["enamel"])
                outline = [(0.0, 0.0), (0.05, 0.0), (0.085, 0.09), (0.035, 0.19), (0.045, 0.22), (0.0, 0.22)]
                room.profile(FURNITURE, vase, (x0 + 0.14, left + 0.3, z + side), outline)


def _add_books(room: RoomBuilder, spines: list[Material], start: tuple[float, float, float], end_y: float) -> None:
    """Adds a row of books from a corner on a shelf to a y."""
    rng, (x, y, z) = room.rng, start
    while y < end_y:
        thick, height = float(rng.uniform(0.015, 0.045)), float(rng.uniform(0.17, 0.27))
        back = float(rng.uniform(0, 0.03))
        low, high = (x + back, y, z), (x + 0.2, y + thick - 0.001, z + height)
        room.box(FURNITURE, draw_one(rng, spines), low, high)
        y += thick


def _add_side_desk(room: RoomBuilder, shell: Shell, wood: Material) -> None:
    """Adds a desk with a screen, a keyboard and a lamp at the wall at +x."""
    x1 = shell.x_m[1]
    x0, y0, y1 = x1 - 0.7, -1.6, -0.1
    room.box(FURNITURE, wood, (x0, y0, -0.03), (x1 - 0.02, y1, 0.0))
    for y in (y0 + 0.05, y1 - 0.1):
        room.box(FURNITURE, DARK_METAL, (x0 + 0.1, y, OFFICE_FLOOR_Z_M), (x0 + 0.15, y + 0.05, -0.03))
        room.box(FURNITURE, DARK_METAL, (x1 - 0.12, y, OFFICE_FLOOR_Z_M), (x1 - 0.07, y + 0.05, -0.03))
    room.box(FURNITURE, WHITE, (x0 + 0.05, y1 - 0.5, OFFICE_FLOOR_Z_M + 0.05), (x1 - 0.05, y1 - 0.12, -0.035))
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
