"""Draws the animations of the README: episodes next to each other, from their records.

`python examples/moving_picture.py data/moving docs/images/unlatch.webp` draws one success of each of several tasks; it
collects missing episodes, one of them with a robot of the extra `robots`. If the folder is a data set, as of an
evaluation, it draws its first three episodes. `unlatch clip` draws one episode alone.

The animation repeats without end, so each tile may begin anywhere in its episode. It begins while the hand moves the
object, because many viewers show the first picture alone.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path
from textwrap import wrap

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from unlatch.configs.schema import Scenery
from unlatch.data import DataSet, config_of
from unlatch.sim import LookAtCamera, framing_camera, take_picture
from unlatch.workflows.viewing.best_view import choose_view, find_acted_part
from unlatch.workflows.viewing.phase_moments import last_finite_frame
from unlatch.workflows.viewing.scene_picture import RecordedWorld, open_record

EPISODES = {
    "microwave": (Scenery.kitchen, ["task=open_microwave", "robot=ur5e"]),
    "refrigerator": (Scenery.kitchen, ["task=open_tall_refrigerator"]),
    "drawer": (Scenery.kitchen, ["task=store_in_drawer"]),
    "wheel": (Scenery.workshop, ["task=turn_hand_wheel"]),
    "carton": (Scenery.workshop, ["task=close_carton_both", "robot=dual_panda"]),
    "door": (Scenery.office, ["task=open_room_door"]),
}
"""The room of each tile, and what is collected for it."""
THINGS = (
    *("randomization.distractors.least=3", "randomization.distractors.most=7"),
    *("randomization.contents.least=1", "randomization.contents.most=3"),
)
"""Everyday things on the table that are in no one's way, in drawers and behind doors."""
COLUMNS, TILE_PX, CAPTION_PX = 3, (256, 216), 54
LETTERS, FONT_PX = 21, 22
"""Longest line of a caption, and its size: still readable where a phone shows the picture 400 pixels wide."""
FRAMES, LAST_FRAMES, FRAME_MS = 66, 8, 90
MARGIN = 1.04
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
        tiles = [film(shown, number, Scenery.kitchen, frames) for number in numbers]
    else:
        tiles = [film_success(data / name, room, words) for name, (room, words) in EPISODES.items()]
    sheets = [sheet_texture(list(images)) for images in zip(*tiles, strict=True)]
    sheets[0].save(
        out,
        save_all=True,
        append_images=sheets[1:],
        duration=FRAME_MS,
        loop=0,
        quality=75,
        method=4,
    )
    print(f"{out}: {out.stat().st_size / 1e6:.2f} MB")


def film_success(data: Path, room: Scenery, words: list[str]) -> list[Image.Image]:
    """Returns pictures of the first success of a task; collects it if it is missing."""
    command = ["collect", *words, *THINGS, "successes=1", "seed=1", "pictures=0", "workers=1", f"out={data}"]
    subprocess.run([sys.executable, "-m", "unlatch", *command], check=True)
    found = DataSet.open(data)
    return film(found, next(number for number in found.numbers() if found.read(number).success), room)


def film(data_set: DataSet, number: int, room: Scenery, frames: int | None = None) -> list[Image.Image]:
    """Returns pictures of an episode, at equal time steps; of its first `frames` frames, or of all.

    The last picture is held for `LAST_FRAMES`, then the episode begins anew. The first one is that in which the hand
    is at work.
    """
    record, cfg = data_set.read(number), replace(config_of(data_set), scenery=room)
    with open_record(cfg, record) as shown:
        at_work = find_frame_at_work(shown)
        view = choose_tile_view(shown, at_work)
        numbers = np.linspace(0, frames or record.n_actions, FRAMES).round().clip(max=record.n_actions).astype(int)
        images = []
        for frame in numbers.tolist():
            shown.show(frame)
            images.append(captioned(shown, view, record.language[0]))
    cycle = [*images, *[images[-1]] * LAST_FRAMES]
    first = int(np.searchsorted(numbers, at_work))
    return [*cycle[first:], *cycle[:first]]


def find_frame_at_work(shown: RecordedWorld) -> int:
    """Returns the frame in which half of the longest motion is done; 0 if nothing moves.

    The motion is that of the point of the part that a skill acts on, or of the object that it carries.
    """
    record, last = shown.record, last_finite_frame(shown.record)
    longest_m, found = 0.0, 0
    for skill, entry in enumerate(record.skills):
        first, end = int(entry["frame_start"]), min(int(entry["frame_end"]), last)
        points_world = record.arrays[find_acted_part(shown, skill).point_key][first : end + 1]  # (K, 3)
        path_m = np.cumsum(np.linalg.norm(np.diff(points_world, axis=0), axis=1))  # (K-1,)
        if len(path_m) and path_m[-1] > longest_m:
            longest_m, found = path_m[-1], first + 1 + int(np.searchsorted(path_m, path_m[-1] / 2))
    return found


def choose_tile_view(shown: RecordedWorld, at_work: int) -> LookAtCamera:
    """Returns the camera that shows the objects, the paths of the hands, and the whole robot in one frame.

    It looks from the direction of the close view of `unlatch clip`, which would cut the arms off at the border.

    Args:
        shown: The recorded episode.
        at_work: The frame in which the whole robot is in the picture.
    """
    aspect = TILE_PX[0] / TILE_PX[1]
    close = choose_view(shown, whole_robot=False, aspect=aspect)
    scene, last = shown.episode.scene, last_finite_frame(shown.record)
    points_world = [path[: last + 1] for key, path in shown.record.arrays.items() if key.endswith("tcp_position")]
    for frame in (0, at_work, last):
        shown.show(frame)
        bodies = [item.body for item in scene.objects.values()]
        if frame == at_work:
            bodies.append(scene.robot.body)
        boxes = [body.link_aabb(link) for body in bodies for link in body.links]
        points_world += [box[corner, range(3)][None] for box in boxes for corner in product((0, 1), repeat=3)]
    looks_from = np.subtract(close.eye, close.target)
    return framing_camera(np.concatenate(points_world), looks_from, fov_deg=close.fov_deg, aspect=aspect, margin=MARGIN)


def captioned(shown: RecordedWorld, view: LookAtCamera, text: str) -> Image.Image:
    """Returns a picture with the instruction as its caption."""
    picture = take_picture(shown.world, view, width=TILE_PX[0], height=TILE_PX[1])
    tile = Image.new("RGB", (TILE_PX[0], TILE_PX[1] + CAPTION_PX), WHITE)
    tile.paste(Image.fromarray(picture), (0, 0))
    place, lines = (TILE_PX[0] / 2, TILE_PX[1] + CAPTION_PX / 2), "\n".join(wrap(text, LETTERS))
    font = ImageFont.load_default(size=FONT_PX)
    ImageDraw.Draw(tile).text(place, lines, fill=INK, anchor="mm", align="center", spacing=1, font=font)
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
