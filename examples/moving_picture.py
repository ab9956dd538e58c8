"""Draws the animations of the README: episodes next to each other, from their records.

`python examples/moving_picture.py data/moving docs/images/unlatch.webp` draws one success of each of several tasks; it
collects missing episodes. If the folder is a data set, as of an evaluation, it draws its first three episodes.
`unlatch clip` draws one episode alone.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from unlatch.configs.schema import Scenery
from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.simcore.sim.visuals.pictures import LookAtCamera, take_picture
from unlatch.workflows.runs.recorded_config import config_of
from unlatch.workflows.viewing.clips.views import choose_view
from unlatch.workflows.viewing.scene_picture import RecordedWorld, open_record

EPISODES = {
    "microwave": ["task=open_microwave"],
    "drawer": ["task=close_drawer", "robot=xarm6"],
    "refrigerator": ["object=refrigerator", "skill=open"],
    "wheel": ["task=turn_hand_wheel"],
    "carton": ["task=close_carton_both", "robot=dual_panda"],
    "faucet": ["task=turn_faucet"],
}
COLUMNS, TILE_PX, CAPTION_PX = 3, (256, 216), 20
FRAMES, LAST_FRAMES, FRAME_MS = 72, 10, 83
WHITE, INK = (255, 255, 255), (40, 48, 56)


def main(data: Path, out: Path) -> None:
    """Draws and writes the animation.

    Args:
        data: Folder of one data set, or of those to collect.
        out: File to write, `.webp`.
    """
    if (data / "dataset.json").exists():
        shown = DataSet.open(data)
        numbers = sorted(shown.numbers())[:COLUMNS]
        frames = max(shown.read(number).n_actions for number in numbers)
        tiles = [film(shown, number, frames) for number in numbers]
    else:
        tiles = [film_success(data / name, words) for name, words in EPISODES.items()]
    sheets = [sheet_texture([images[index] for images in tiles]) for index in range(FRAMES)]
    sheets[0].save(
        out,
        save_all=True,
        append_images=[*sheets[1:], *[sheets[-1]] * LAST_FRAMES],
        duration=FRAME_MS,
        loop=0,
        quality=78,
        method=4,
    )
    print(f"{out}: {out.stat().st_size / 1e6:.2f} MB")


def film_success(data: Path, words: list[str]) -> list[Image.Image]:
    """Returns pictures of the first success of a task; collects it if it is missing."""
    command = ["collect", *words, "successes=1", "seed=1", "pictures=0", "workers=1", f"out={data}"]
    subprocess.run([sys.executable, "-m", "unlatch", *command], check=True)
    found = DataSet.open(data)
    return film(found, next(number for number in found.numbers() if found.read(number).success))


def film(data_set: DataSet, number: int, frames: int | None = None) -> list[Image.Image]:
    """Returns pictures of an episode, at equal time steps; of its first `frames` frames, or of all."""
    record, cfg = data_set.read(number), replace(config_of(data_set), scenery=Scenery.studio)
    with open_record(cfg, record) as shown:
        view = choose_view(shown, whole_robot=False, aspect=TILE_PX[0] / TILE_PX[1])
        images = []
        last = frames or record.n_actions
        for frame in np.linspace(0, last, FRAMES).round().clip(max=record.n_actions).astype(int).tolist():
            shown.show(frame)
            images.append(captioned(shown, view, record.language[0]))
    return images


def captioned(shown: RecordedWorld, view: LookAtCamera, text: str) -> Image.Image:
    """Returns a picture with the instruction as its caption."""
    picture = take_picture(shown.world, view, width=TILE_PX[0], height=TILE_PX[1])
    tile = Image.new("RGB", (TILE_PX[0], TILE_PX[1] + CAPTION_PX), WHITE)
    tile.paste(Image.fromarray(picture), (0, 0))
    place = (TILE_PX[0] / 2, TILE_PX[1] + CAPTION_PX / 2)
    ImageDraw.Draw(tile).text(place, text, fill=INK, anchor="mm", font=ImageFont.load_default(size=12))
    return tile


def sheet_texture(tiles: list[Image.Image]) -> Image.Image:
    """Arranges tiles in rows, 2 pixels apart."""
    width, height = tiles[0].width + 2, tiles[0].height + 2
    rows = -(-len(tiles) // COLUMNS)
    made = Image.new("RGB", (COLUMNS * width - 2, rows * height - 2), WHITE)
    for index, tile in enumerate(tiles):
        made.paste(tile, (index % COLUMNS * width, index // COLUMNS * height))
    return made


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
