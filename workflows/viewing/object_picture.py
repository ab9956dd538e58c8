"""Draws generated objects: one row for each category, opened further from left to right."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, product
from pathlib import Path

import numpy as np
from PIL import Image

from unlatch.objects.procedural.assembly import GeneratedObject, model_bounds
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.visuals.pictures import framing_camera, take_picture
from unlatch.simcore.sim.world import World, WorldCfg
from unlatch.workflows.viewing.picture import draw_caption
from unlatch.workflows.viewing.scene_picture import make_picture_renderer

Array = np.ndarray

TILE_PX = 144
"""Width and height of one object on a sheet [pixels]."""
LARGE_PX = 360
"""Width and height of one object on a sheet with at most three objects [pixels]."""
_SHARES = (0.0, 0.0, 0.3, 0.45, 0.7, 1.0)
"""How far the objects of a row are opened, as shares of their range."""
_OVERSAMPLED = 3
"""Pictures are drawn this many times larger, then shrunk, which smooths edges with every renderer."""
_VIEW_DIRECTION = (-0.80, -0.52, 0.42)
_FOV_DEG = 24.0
_MARGIN = 1.06
_CAPTION_PX = 20
_FONT_PX = 14
_GROUPS_PX = 24
"""Gap between two rows side by side [pixels]."""
_SHADE = 5
"""Brightness is rounded to multiples of this, of 255: few shades make a small file."""
_INK = (40, 40, 40)


def object_sheet(objects: Sequence[tuple[str, GeneratedObject, Path]]) -> Array:
    """Draws objects, given by category, object and URDF file and sorted by category; (height, width, 3) uint8."""
    side = LARGE_PX if len(objects) <= 3 else TILE_PX
    rows: list[Array] = []
    with World(WorldCfg(), visuals=True, renderer=make_picture_renderer()) as world:
        for category, members in groupby(objects, key=lambda item: item[0]):
            tiles = [
                _draw_object(world, made, path, share=_SHARES[number % len(_SHARES)], side=side)
                for number, (_, made, path) in enumerate(members)
            ]
            rows.append(_draw_row(category, tiles))
    shades: Array = _arrange_rows(rows).astype(int) + _SHADE // 2
    return np.asarray(np.clip(shades // _SHADE * _SHADE, 0, 255), dtype=np.uint8)


def _draw_object(world: World, made: GeneratedObject, path: Path, *, share: float, side: int) -> Array:
    world.reset()
    positions = {part.joint: share * part.openness.open for part in made.articulation.parts.values()}
    # objects face the light, which comes from where the robot stands in an episode
    T_world_root = Pose.from_rpy([0.0, 0.0, 0.0], [0.0, 0.0, np.pi])
    body = world.load_urdf(path, name="object", T_world_root=T_world_root)
    body.set_joint_positions(list(positions), list(positions.values()))
    corners = T_world_root @ np.array(list(product(*model_bounds(made.model, positions).T)))  # (8, 3)
    view = framing_camera(corners, _VIEW_DIRECTION, fov_deg=_FOV_DEG, margin=_MARGIN)
    picture = take_picture(world, view, width=_OVERSAMPLED * side, height=_OVERSAMPLED * side, smooth=False)
    return np.asarray(Image.fromarray(picture).resize((side, side), Image.Resampling.LANCZOS))


def _draw_row(name: str, tiles: Sequence[Array]) -> Array:
    strip = np.concatenate(list(tiles), axis=1)
    caption = draw_caption(name, strip.shape[1], height=_CAPTION_PX, font_px=_FONT_PX, color=_INK, at=(8, 2))
    return np.concatenate([caption, strip], axis=0)


def _arrange_rows(rows: Sequence[Array]) -> Array:
    """Puts rows below one another, in two columns if there are many."""
    columns = 2 if len(rows) > 6 else 1
    length = -(-len(rows) // columns)
    width = max(row.shape[1] for row in rows)
    height = max(row.shape[0] for row in rows)
    sheet = np.full((length * height, columns * width + (columns - 1) * _GROUPS_PX, 3), 255, dtype=np.uint8)
    for number, row in enumerate(rows):
        column, line = divmod(number, length)
        x, y = column * (width + _GROUPS_PX), line * height
        sheet[y : y + row.shape[0], x : x + row.shape[1]] = row
    return sheet
