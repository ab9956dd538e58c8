"""One episode as a moving picture: formats, numbers of pictures, failures, views, and mistakes."""

import dataclasses
import itertools
import runpy
from pathlib import Path
from types import SimpleNamespace

import av
import numpy as np
import pytest
from PIL import Image, ImageSequence

import unlatch
from unlatch import command_table
from unlatch.configs.schema import Scenery
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.workflows.runs.recorded_config import config_of
from unlatch.workflows.viewing import best_view
from unlatch.workflows.viewing.best_view import choose_view, find_acted_part
from unlatch.workflows.viewing.clip import frame_numbers
from unlatch.workflows.viewing.phase_moments import part_openings
from unlatch.workflows.viewing.scene_picture import open_record

pytestmark = pytest.mark.integration

SMALL = ["width=96", "height=64", "fps=4", "speed=4"]


def timed(*times: float) -> EpisodeRecord:
    """An episode with states at some times [s]."""
    arrays = {"time": np.array(times), "robots.r.joint_positions": np.zeros((len(times), 1))}
    return EpisodeRecord(number=0, seed=0, success=True, arrays=arrays | {"actions.r": np.zeros((len(times) - 1, 1))})


def pictures(path: Path) -> list[np.ndarray]:
    if path.suffix == ".mp4":
        with av.open(str(path)) as container:
            return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    with Image.open(path) as image:
        return [np.asarray(frame.convert("RGB")) for frame in ImageSequence.Iterator(image)]


def shown_ms(path: Path) -> int:
    """How long the pictures of a GIF or a WebP are shown, all together."""
    with Image.open(path) as image:
        total_ms = 0
        for frame in ImageSequence.Iterator(image):
            frame.load()
            total_ms += frame.info["duration"]
        return total_ms


def redness(picture: np.ndarray) -> float:
    """How much redder than green the outermost row of pixels is."""
    return float((picture[0, :, 0].astype(int) - picture[0, :, 1]).mean())


def test_pictures_have_equal_time_steps_and_end_with_the_last_state():
    record = timed(*np.arange(31) / 30.0)
    assert frame_numbers(record, fps=10, speed=1.0) == list(range(0, 31, 3))
    assert frame_numbers(record, fps=10, speed=3.0) == [0, 9, 18, 27, 30]
    assert frame_numbers(record, fps=60, speed=0.5)[-1] == 30
    assert len(frame_numbers(record, fps=60, speed=0.5)) == 121


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["mp4", "webp", "gif"])
def test_each_format_has_the_pictures_that_the_command_counts(data_set, suffix, tmp_path, capsys):
    out = tmp_path / "deep" / f"a.{suffix}"
    assert command_table.main(["clip", str(data_set.path), *SMALL, "renderer=software", f"out={out}"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    record = data_set.read(0)
    numbers = frame_numbers(record, fps=4, speed=4.0)
    count = len(numbers) + 4  # the last one is held for a second
    assert said.out.startswith(f"clip: {out} ({count} pictures, {count / 4:.1f} s, ")
    assert "renderer software" in said.out
    found = pictures(out)
    if suffix == "mp4":
        assert len(found) == count
    else:  # equal pictures may be joined to one that is shown for longer
        steps = np.abs(np.diff(record.arrays["robots.franka_panda.left.joint_positions"][numbers], axis=0))
        assert 1 + np.count_nonzero(steps.max(axis=1) > 0.01) <= len(found) <= count
        assert shown_ms(out) == count * 250
    assert found[0].shape == (64, 96, 3)
    assert np.mean(np.abs(found[0].astype(int) - found[-1]).max(axis=2) > 40) > 0.02
    assert redness(found[-1]) < 30
    assert [path.name for path in out.parent.iterdir()] == [out.name]


@pytest.mark.slow
def test_a_red_border_begins_at_the_failure(data_set, tmp_path):
    out = tmp_path / "slipped.mp4"
    assert command_table.main(["clip", str(data_set.path), "episode=4", *SMALL, "renderer=software", f"out={out}"]) == 0
    found = [redness(picture) > 60 for picture in pictures(out)]
    assert not found[0]
    assert found[-1]
    assert sorted(found) == found


@pytest.mark.slow
def test_an_episode_without_states_is_shown_as_it_was_laid_out(data_set, tmp_path):
    out = unlatch.clip(data_set.read(2), tmp_path / "a.webp", width=96, height=64, renderer="software")
    assert out == tmp_path / "a.webp"
    assert len(pictures(out)) >= 1


@pytest.mark.slow
@pytest.mark.parametrize("whole_robot", [True, False])
def test_a_drawer_is_seen_from_before_its_front_and_from_above(data_set, whole_robot):
    with open_record(config_of(data_set), data_set.read(0)) as shown:
        shown.show(0)
        view = choose_view(shown, whole_robot=whole_robot, aspect=4 / 3)
        again = choose_view(shown, whole_robot=whole_robot, aspect=4 / 3)
        acted = find_acted_part(shown, 0)
        point = shown.record.arrays[acted.point_key]
    assert view == again
    opened = point[-1] - point[0]  # along the normal of the drawer's front
    normal = opened / np.linalg.norm(opened)
    to_eye = np.array(view.eye) - point[0]
    to_eye = to_eye / np.linalg.norm(to_eye)
    assert 0.05 < to_eye @ normal < 0.98  # neither from behind nor along the motion, which would then not be seen
    assert to_eye[2] > 0.2


@pytest.mark.slow
def test_the_close_view_frames_the_whole_hand_all_the_time(data_set):
    with open_record(config_of(data_set), data_set.read(0)) as shown:
        points_world = best_view._framed_points(shown, [0], whole_robot=False)
        (arm,) = shown.episode.scene.robot.arms.values()
        for frame in range(0, shown.record.n_actions, 10):
            shown.show(frame)
            for link in (arm.cfg.ee_link, *arm.cfg.gripper.finger_links):
                low, high = shown.episode.scene.robot.body.link_aabb(link)
                assert np.all((low >= points_world.min(axis=0)) & (high <= points_world.max(axis=0))), (frame, link)


@pytest.mark.slow
@pytest.mark.parametrize("camera", ["close", "front"])
def test_a_view_or_a_camera_can_be_named(data_set, camera, tmp_path):
    out = tmp_path / "a.mp4"
    words = ["clip", str(data_set.path), f"camera={camera}", *SMALL, "renderer=software", f"out={out}"]
    assert command_table.main(words) == 0
    assert pictures(out)[0].shape == (64, 96, 3)


def test_a_record_without_its_data_set_needs_a_configuration(tmp_path):
    record = dataclasses.replace(timed(0.0, 0.1), number=7)
    with pytest.raises(ConfigError, match=r"Episode 7 was not read from a data set.*Give cfg"):
        unlatch.clip(record, tmp_path / "a.mp4")


SCRIPT = Path(__file__).resolve().parents[3] / "examples" / "moving_picture.py"


@pytest.fixture
def script() -> SimpleNamespace:
    return SimpleNamespace(**runpy.run_path(str(SCRIPT)))


@pytest.mark.slow
def test_a_tile_begins_while_the_hand_moves_the_part_and_shows_every_picture_once(data_set, script):
    record = data_set.read(0)
    openings = part_openings(record, record.skills[0])
    numbers = itertools.count()
    script.film.__globals__["captioned"] = lambda *_: next(numbers)  # each picture is its number in order of time
    tile = script.film(data_set, 0, Scenery.studio)
    n_frames, held = script.FRAMES, script.LAST_FRAMES
    assert sorted(tile) == [*range(n_frames), *[n_frames - 1] * held]
    assert set(np.diff(tile)) == {0, 1, 1 - n_frames}  # in order of time, with one jump from the end to the start
    first = round(tile[0] / (n_frames - 1) * record.n_actions)
    assert openings[first] == pytest.approx((openings[0] + openings[-1]) / 2, abs=0.1 * np.ptp(openings))


@pytest.mark.slow
def test_an_episode_in_which_nothing_moves_begins_at_its_start(data_set, script):
    with open_record(config_of(data_set), data_set.read(6)) as shown:
        assert script.find_frame_at_work(shown) == 0


@pytest.mark.slow
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
