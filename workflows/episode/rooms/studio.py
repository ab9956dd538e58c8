"""A photo studio: a plain backdrop without edges, and a plain table."""

from __future__ import annotations

import numpy as np

from unlatch.simcore.sim.visuals.finish import FINISHES, Finish
from unlatch.simcore.sim.visuals.visual_shapes import Light
from unlatch.tasks.layout import TABLE
from unlatch.workflows.episode.rooms.pictures import Rgb, draw_boards, picture_file
from unlatch.workflows.episode.rooms.room_builder import Material, RoomBuilder
from unlatch.workflows.episode.rooms.shell import FLOOR, TABLE_X_M, TABLE_Y_M, cover_table

FLOOR_Z_M = -0.8
_RADIUS_M, _BEND_M = 3.6, 1.6
"""Radius of the backdrop, and of its bend between floor and wall [m]."""
_BACKDROPS: tuple[Rgb, ...] = ((0.78, 0.79, 0.80), (0.70, 0.73, 0.76), (0.80, 0.77, 0.73), (0.60, 0.63, 0.66))
_TOPS: tuple[Rgb, ...] = ((0.68, 0.55, 0.40), (0.52, 0.38, 0.26), (0.74, 0.66, 0.54))


def build_studio(room: RoomBuilder) -> Light:
    """Adds a studio; returns its light."""
    rng = room.rng
    colour = _BACKDROPS[int(rng.integers(len(_BACKDROPS)))]
    paper = Material(colour, FINISHES["plaster"])
    curve = np.linspace(0.0, np.pi / 2, 12)
    bend = [(_RADIUS_M - _BEND_M * (1.0 - np.sin(a)), _BEND_M * (1.0 - np.cos(a))) for a in curve]
    room.backdrop(FLOOR, paper, (0.5, 0.0, FLOOR_Z_M), [(1e-3, 0.0), *bend, (_RADIUS_M, 4.5)])
    wood = picture_file(draw_boards, rng, _TOPS[int(rng.integers(len(_TOPS)))], boards=12, contrast=0.12, gap_px=0)
    cover_table(room, Material(finish=Finish(0.45), picture=wood, tile_m=(1.3, 0.9), turned=True))
    base = Material((0.20, 0.21, 0.23), Finish(0.6))
    (x0, x1), (y0, y1) = TABLE_X_M, TABLE_Y_M
    room.box(TABLE, base, (x0 + 0.12, y0 + 0.12, FLOOR_Z_M), (x1 - 0.12, y1 - 0.12, -0.06))
    return Light(direction=(-1.0, -0.5, 2.4), ambient=0.6, diffuse=0.36)
