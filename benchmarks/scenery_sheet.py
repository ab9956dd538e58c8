"""Draws one sheet of pictures: every room with an episode of several tasks.

    python benchmarks/scenery_sheet.py [out=docs/images/scenery.webp] [tasks=open_microwave,open_drawer,turn_faucet]

Collects one episode of each task, with everyday things on the table. A picture shows the state in which the fingers
touch the part. The rows are kinds of rooms, the columns tasks; every picture has a room of its own.
"""

from __future__ import annotations

import dataclasses
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from one_episode import collect_one

from unlatch.configs.schema import Scenery
from unlatch.simcore.sim.visuals.pictures import take_picture
from unlatch.simcore.sim.world import World
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.terminal import run_guarded
from unlatch.workflows.viewing.picture import write_picture
from unlatch.workflows.viewing.scene_picture import contact_frame, make_picture_renderer, open_record, whole_view

ROOMS = (Scenery.studio, Scenery.kitchen, Scenery.workshop, Scenery.office)


@dataclasses.dataclass
class SheetCfg:
    """The keys of the script."""

    out: str = "docs/images/scenery.webp"
    """File of the sheet."""
    tasks: str = "open_microwave,open_drawer,turn_faucet"
    """Tasks, one for each column."""
    seed: int = 3
    """Seed of the episodes and rooms."""
    renderer: str = "auto"
    """Name in the catalog of renderers, or `auto`."""
    width: int = 480
    """Of one picture [pixels]."""
    height: int = 360
    """Of one picture [pixels]."""


def column(cfg: SheetCfg, task: str, first: int, folder: Path) -> np.ndarray:
    """Returns the pictures of one task, one below the other."""
    things = ["randomization.distractors.least=8", "randomization.distractors.most=12"]
    record, episode_cfg = collect_one([f"task={task}", f"seed={cfg.seed}", *things], folder / task)
    tiles = []
    with World(episode_cfg.world, visuals=True, renderer=make_picture_renderer(cfg.renderer)) as world:
        for number, room in enumerate(ROOMS):
            shown_cfg = replace(episode_cfg, scenery=room)
            with open_record(shown_cfg, record, world=world, scenery_seed=cfg.seed + first + number) as shown:
                shown.show(contact_frame(record))
                view = whole_view(shown.episode.scene)
                tiles.append(take_picture(world, view, width=cfg.width, height=cfg.height))
    return np.concatenate(tiles, axis=0)


def main() -> None:
    """Writes the sheet."""
    cfg = read_pairs(SheetCfg, sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        tasks = cfg.tasks.split(",")
        columns = [column(cfg, task, 10 * number, Path(folder)) for number, task in enumerate(tasks)]
    write_picture(np.concatenate(columns, axis=1), Path(cfg.out))
    print(f"picture: {cfg.out}")


if __name__ == "__main__":
    sys.exit(run_guarded(main, usage=__doc__))
