"""The animation of the README: where a tile begins, and what is in the picture."""

from __future__ import annotations

import itertools
import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from unlatch.workflows.runs.recorded_config import config_of
from unlatch.workflows.viewing.phase_moments import part_openings
from unlatch.workflows.viewing.scene_picture import open_record

SCRIPT = Path(__file__).resolve().parents[3] / "examples" / "moving_picture.py"

pytestmark = [pytest.mark.slow, pytest.mark.integration]


@pytest.fixture
def script() -> SimpleNamespace:
    return SimpleNamespace(**runpy.run_path(str(SCRIPT)))


def test_a_tile_begins_while_the_hand_moves_the_part_and_shows_every_picture_once(data_set, script):
    record = data_set.read(0)
    openings = part_openings(record, record.skills[0])
    numbers = itertools.count()
    script.film.__globals__["captioned"] = lambda *_: next(numbers)  # each picture is its number in order of time
    tile = script.film(data_set, 0)
    n_frames, held = script.FRAMES, script.LAST_FRAMES
    assert sorted(tile) == [*range(n_frames), *[n_frames - 1] * held]
    assert set(np.diff(tile)) == {0, 1, 1 - n_frames}  # in order of time, with one jump from the end to the start
    first = round(tile[0] / (n_frames - 1) * record.n_actions)
    assert openings[first] == pytest.approx((openings[0] + openings[-1]) / 2, abs=0.1 * np.ptp(openings))


def test_an_episode_in_which_nothing_moves_begins_at_its_start(data_set, script):
    with open_record(config_of(data_set), data_set.read(6)) as shown:
        assert script.find_frame_at_work(shown) == 0


def test_the_whole_robot_is_in_the_picture_at_work(data_set, script):
    width, height = script.TILE_PX
    with open_record(config_of(data_set), data_set.read(0)) as shown:
        at_work = script.find_frame_at_work(shown)
        view = script.choose_tile_view(shown, at_work)
        shown.show(at_work)
        robot = shown.episode.scene.robot.body
        boxes = [robot.link_aabb(link) for link in robot.links]
    corners_world = np.array([box[corner, range(3)] for box in boxes for corner in itertools.product((0, 1), repeat=3)])
    pixels = view.pinhole(width, height).project(view.T_world_camera.inverse() @ corners_world)
    assert pixels.min() > 0
    assert (pixels.max(axis=0) < (width, height)).all()
