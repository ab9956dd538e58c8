"""Draws sheets to look at: many instances of a category side by side, and rooms of one episode.

    python benchmarks/contact_sheet.py categories=mug,can [count=40] [side=128] [out=data/sheets]
    python benchmarks/contact_sheet.py rooms=12 [task=open_drawer]

Parts that open are half open in every second instance. Each category is one picture, `out/CATEGORY.png`, and the rooms
are `out/rooms.png`: three of each kind, of seeds that count from `seed`. `together=FILE` puts the categories into one
picture, two beside each other. The pictures are those that a camera takes.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from unlatch.configs.schema import Scenery
from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_object
from unlatch.objects.procedural.assembly import model_bounds
from unlatch.objects.procedural.colours import FINISH_OF_COLOUR
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.visuals.pictures import framing_camera, take_picture
from unlatch.simcore.sim.world import World, WorldCfg
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.terminal import run_guarded
from unlatch.workflows.episode.visual_views import Room
from unlatch.workflows.runs.loading import load
from unlatch.workflows.viewing.picture import write_picture
from unlatch.workflows.viewing.scene_picture import make_picture_renderer, open_scene

KINDS = (Scenery.kitchen, Scenery.workshop, Scenery.office, Scenery.studio)
COLUMNS = 8
ROOM_SIZE = (480, 360)


@dataclass
class SheetCfg:
    """The keys of the script."""

    out: str = "data/sheets"
    """Folder of the pictures."""
    categories: str = ""
    """Categories with a comma between them."""
    together: str = ""
    """File of one picture of all categories, in place of one for each."""
    count: int = 40
    """Instances of a category, from seed `seed` on."""
    side: int = 128
    """Width and height of the picture of an instance [pixels]."""
    rooms: int = 0
    """Number of rooms."""
    task: str = "open_drawer"
    """Task whose first episode stands in the rooms."""
    seed: int = 0
    """First seed."""
    renderer: str = "software"
    """Name in the catalog of renderers, or `auto`."""


def grid(tiles: list[np.ndarray], columns: int) -> np.ndarray:
    """Returns tiles of one size in rows; the last row is filled with white."""
    blank = np.full_like(tiles[0], 255)
    tiles = tiles + [blank] * (-len(tiles) % columns)
    rows = [np.concatenate(tiles[at : at + columns], axis=1) for at in range(0, len(tiles), columns)]
    return np.concatenate(rows, axis=0)


def draw_category(cfg: SheetCfg, category: str) -> np.ndarray:
    """Returns the sheet of a category."""
    tiles = []
    with World(WorldCfg(), visuals=True, renderer=make_picture_renderer(cfg.renderer)) as world:
        for seed in range(cfg.seed, cfg.seed + cfg.count):
            world.reset()
            instance = ObjectCfg(name="object", category=category, instance=str(seed))
            asset = load_object(instance, rng=np.random.default_rng(seed))
            share = 0.5 * (seed % 2)
            positions = {part.joint: share * part.openness.open for part in asset.articulation.parts.values()}
            T_world_root = Pose.from_rpy((0.0, 0.0, 0.0), (0.0, 0.0, np.pi - 0.35 + 0.7 * (seed % 3) / 2))
            body = world.load_urdf(asset.drawn_urdf(), name="object", T_world_root=T_world_root)
            body.finish_by_colour = FINISH_OF_COLOUR
            body.set_joint_positions(list(positions), list(positions.values()))
            corners = T_world_root @ np.array(list(product(*model_bounds(asset.model, positions).T)))  # (8, 3)
            view = framing_camera(corners, (-0.80, -0.42, 0.62), fov_deg=24.0, margin=1.08)
            tiles.append(take_picture(world, view, width=cfg.side, height=cfg.side))
    return grid(tiles, COLUMNS)


def draw_rooms(cfg: SheetCfg) -> np.ndarray:
    """Returns the sheet of rooms."""
    tiles = []
    with open_scene(load(cfg.task, "scenery=none"), 0, renderer=cfg.renderer) as drawn:
        for number in range(cfg.rooms):
            kind = KINDS[number % len(KINDS)]
            room = Room(drawn.episode.scene, kind, cfg.seed + number)
            Room(drawn.episode.scene, kind, cfg.seed + number).hide()
            room.show()
            tiles.append(take_picture(drawn.world, drawn.view, width=ROOM_SIZE[0], height=ROOM_SIZE[1]))
            room.hide()
    return grid(tiles, len(KINDS))


def main() -> None:
    """Writes the sheets."""
    cfg = read_pairs(SheetCfg, sys.argv[1:])
    folder = Path(cfg.out)
    folder.mkdir(parents=True, exist_ok=True)
    sheets = {category: draw_category(cfg, category) for category in filter(None, cfg.categories.split(","))}
    if cfg.together:
        write_picture(grid(list(sheets.values()), 2), Path(cfg.together))
        print(f"picture: {cfg.together}")
        sheets = {}
    for category, sheet in sheets.items():
        write_picture(sheet, folder / f"{category}.png")
        print(f"picture: {folder / category}.png")
    if cfg.rooms:
        write_picture(draw_rooms(cfg), folder / "rooms.png")
        print(f"picture: {folder / 'rooms.png'}")


if __name__ == "__main__":
    sys.exit(run_guarded(main, usage=__doc__))
