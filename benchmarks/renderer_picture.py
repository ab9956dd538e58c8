"""Draws the same state of an episode with every renderer of this machine, side by side.

    python benchmarks/renderer_picture.py [out=docs/images/renderers.png] [task=open_drawer] [scenery=kitchen]

Collects an episode. The picture shows the state in which the fingers touch the part.
"""

from __future__ import annotations

import dataclasses
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
from one_episode import collect_one
from PIL import Image, ImageDraw, ImageFont

from unlatch.simcore.catalogs import RENDERERS
from unlatch.simcore.errors import WorldError
from unlatch.simcore.sim.visuals.pictures import take_picture
from unlatch.simcore.sim.world import World
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.terminal import run_guarded
from unlatch.workflows.viewing.picture import write_picture
from unlatch.workflows.viewing.scene_picture import contact_frame, open_record, whole_view

ORDER = ("software", "pygfx", "mitsuba")


@dataclasses.dataclass
class PictureCfg:
    """The keys of the script."""

    out: str = "docs/images/renderers.png"
    """File of the picture."""
    task: str = "open_drawer"
    """Task of the episode."""
    seed: int = 0
    """Seed of the episode."""
    scenery: str = "kitchen"
    """The room."""
    width: int = 480
    """Of one picture [pixels]."""
    height: int = 360
    """Of one picture [pixels]."""


def pictures(cfg: PictureCfg, folder: Path) -> dict[str, np.ndarray]:
    """Returns a picture (height, width, 3) of every renderer, by name."""
    words = [f"task={cfg.task}", f"seed={cfg.seed}", f"scenery={cfg.scenery}"]
    record, episode_cfg = collect_one(words, folder / "data")
    names = RENDERERS.names()
    names.sort(key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))
    found = {}
    for name in names:
        world = World(episode_cfg.world, visuals=True, renderer=RENDERERS.load(name)())
        with suppress(WorldError), world, open_record(episode_cfg, record, world=world) as shown:
            shown.show(contact_frame(record))
            view = whole_view(shown.episode.scene)
            found[name] = take_picture(world, view, width=cfg.width, height=cfg.height)
    return found


def main() -> None:
    """Writes the picture with all renderers."""
    cfg = read_pairs(PictureCfg, sys.argv[1:])
    tiles = []
    with tempfile.TemporaryDirectory() as folder:
        for name, picture in pictures(cfg, Path(folder)).items():
            tile = Image.fromarray(picture)
            ImageDraw.Draw(tile).text((8, 6), f"renderer={name}", fill=(30, 30, 30), font=ImageFont.load_default(13))
            tiles.append(np.asarray(tile))
    write_picture(np.concatenate(tiles, axis=1), Path(cfg.out))
    print(f"picture: {cfg.out}")


if __name__ == "__main__":
    sys.exit(run_guarded(main, usage=__doc__))
