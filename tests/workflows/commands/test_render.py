"""Images of recorded episodes: of any camera, in any state, whole or not at all, made again where they are missing."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from unlatch.configs.cameras import read_render_settings, with_cameras
from unlatch.configs.composition import Request
from unlatch.simcore.errors import ConfigError, WorldError
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.renders import RenderSet
from unlatch.simcore.sim.world import World
from unlatch.workflows.commands.collect import collect_and_report
from unlatch.workflows.images.render import render
from unlatch.workflows.images.render_job import RenderOutcome
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.recorded_config import config_of
from unlatch.workflows.viewing.scene_picture import make_picture_renderer, open_record

pytestmark = [pytest.mark.integration, pytest.mark.slow]

SMALL = ["cameras.0.width=48", "cameras.0.height=36", "renderer=software"]
FAST = ["executor=serial", "all=true", *SMALL]
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def data_set(collected, tmp_path_factory) -> DataSet:
    """A copy of two episodes of a second, each of them a timeout: images are put beside them."""
    made = collected("close_drawer", "sensors=[imu]", "task.max_duration_s=1.0", episodes=2)
    return DataSet.open(shutil.copytree(made, tmp_path_factory.mktemp("render") / "data"))


@pytest.fixture
def run(run_command) -> Run:
    return partial(run_command, "render")


def test_python_refuses_overrides_that_are_no_settings_of_cameras(data_set):
    with pytest.raises(ConfigError, match=r"such as executor=\.\.\.") as caught:
        render(data_set, overrides=["cameras.0.width=48", "executor=serial"])
    assert caught.value.key == "executor"
    assert not (data_set.path / "renders").exists()


def test_one_size_is_that_of_the_images_of_all_cameras_and_needs_a_field_of_view(
    data_set, run, assert_refused, tmp_path
):
    path = shutil.copytree(data_set.path, tmp_path / "data")
    code, _, _ = run(str(path), "cameras=[front,wrist]", "size_px=[48,32]", "only=[1]", "executor=serial")
    assert code == 0
    cameras = RenderSet.open(str(path)).cameras
    assert [(camera["width"], camera["height"]) for camera in cameras.values()] == [(48, 32)] * 2
    text = "size_px=[48, 32] does not fit cameras[0] 'front', whose intrinsics are those of"
    intrinsics = "cameras.0.intrinsics=[100,100,80,60]"
    words = ["cameras=[front]", "size_px=[48,32]", intrinsics, "only=[1]", "name=other"]
    assert_refused("render", path, *words, text=text, folder=tmp_path)
    assert_refused("render", path, "size_px=[48]", text="size_px=[48] is not a size.", folder=tmp_path)


def test_every_state_is_rendered_by_cameras_that_were_not_recorded(data_set, run):
    path = str(data_set.path)
    code, out, _ = run(
        path, "cameras=[front]", "modalities=[rgb,depth,segmentation]", "rgb=lossless", "only=[1]", *FAST
    )
    assert code == 0
    assert "1 of 1 episodes done, 1 rendered" in out
    record, episode = data_set.read(1), RenderSet.open(path).episode(1)
    assert episode.n_frames == record.n_actions + 1
    assert episode.problems() == []
    labels = episode.labels("segmentation")
    assert {"nothing", "table", "robot"} < set(labels)
    # the images are those of the states: the last one is made again here
    cfg = config_of(data_set)
    settings = read_render_settings(cfg, ["front"], request=Request(SMALL[:2]))
    with (
        World(cfg.world, visuals=True, renderer=make_picture_renderer("software")) as world,
        open_record(with_cameras(cfg, settings.cameras), record, world=world) as shown,
    ):
        shown.show(-1)
        (camera,) = shown.episode.scene.state_tree.sensors.children.values()
        camera.enable_rgb_rendering()
        camera.enable_depth_rendering()
        camera.update_state()
        last = camera.state_dict()
        pose = camera.T_world_sensor
    *_, rgb = episode.frames("front", "rgb")
    *_, depth = episode.frames("front", "depth")
    np.testing.assert_array_equal(rgb, last["rgb_image"])
    np.testing.assert_allclose(depth, last["depth_image_m"], atol=1e-4)
    assert episode.tracks["front"].T_world_camera(-1).is_close(pose)


def test_h264_differs_little_from_lossless_images(data_set, run):
    path = str(data_set.path)
    wide = ["cameras.0.width=160", "cameras.0.height=120", "renderer=software", "executor=serial", "only=[0]"]
    for name, rgb in (("raw", "lossless"), ("film", "h264")):
        assert run(path, f"name={name}", f"rgb={rgb}", "cameras=[wrist]", *wide)[0] == 0
    raw, film = (RenderSet.open(path, name).frames(0, "wrist", "rgb") for name in ("raw", "film"))
    for a, b in zip(raw, film, strict=True):
        mse = np.mean((a.astype(float) - b) ** 2)
        assert 10 * np.log10(255.0**2 / max(mse, 1e-9)) > 35.0


def test_the_same_command_renders_missing_and_damaged_episodes(data_set, run, run_command):
    path, command = str(data_set.path), ["cameras=[front]", "name=again", *FAST]
    assert run(path, *command, "only=[0]")[0] == 0
    first = RenderSet.open(path, "again").episode(0).path("front", "rgb")
    made = first.stat().st_mtime_ns
    _, out, _ = run(path, *command)
    assert "2 of 2 episodes done, 1 rendered" in out
    assert first.stat().st_mtime_ns == made
    before = first.read_bytes()
    assert run_command("check", path)[0] == 0
    first.write_bytes(before[:-100])
    code, out, _ = run_command("check", path)
    assert code == 1
    assert f"renders/again: '{first}' is missing or was changed" in out
    _, out, err = run(path, *command)
    assert "episode 0 is rendered again: front.rgb.mp4 has changed since it was written" in err
    assert "2 of 2 episodes done, 1 rendered" in out
    assert first.read_bytes() == before
    code, _, err = run(path, "cameras=[wrist]", "name=again", *FAST)
    assert code == 2
    assert "was made with another configuration" in err
    assert "Choose another name=" in err


def test_another_randomization_changes_the_appearance(data_set, run):
    path = str(data_set.path)
    common = ["cameras=[front]", "only=[0]", "rgb=lossless", *FAST]
    images = []
    for name, more in (("as_it_was", []), ("full", ["randomization=full"]), ("full_again", ["randomization=full"])):
        assert run(path, f"name={name}", *common, *more)[0] == 0
        images.append(next(RenderSet.open(path, name).frames(0, "front", "rgb")).astype(int))
    assert np.abs(images[0] - images[1]).mean() > 5.0
    assert np.abs(images[1] - images[2]).mean() > 1.0  # drawn from the set's name too
    assert RenderSet.open(path, "full").header["randomization"]["name"] == "full"


def test_python_calls_return_the_render_set_and_print_nothing(data_set, capsys):
    capsys.readouterr()  # what the data set was made with
    outcomes: list[RenderOutcome] = []
    options = {"overrides": SMALL[:2], "renderer": "software", "executor": "serial", "all": True, "only": [0]}
    render_set = render(data_set, cameras=["front"], name="python", on_episode=outcomes.append, **options)
    assert [outcome.number for outcome in outcomes] == [0]
    assert render_set.episode(0).n_frames == data_set.read(0).n_actions + 1
    with pytest.raises(ConfigError, match="at least one camera"):
        render(data_set, cameras=[])
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["modalities=[colour]"], "modalities[0]='colour' is not a known modality."),
        (["modalities=[rgb,rgb]"], "names one twice"),
        (["cameras=[frnt]"], "cameras[0]='frnt' is not a known camera. Did you mean 'front'?"),
        (["cameras=[imu]"], "cameras[0] is a sensor of type 'imu'. Expected a camera."),
        (["cameras=[]"], "cameras=[] is empty."),
        (["cameras=[front]", "cameras.0.widht=10"], "cameras[0].widht is unknown. Did you mean 'width'"),
        (["cameras=[{name: a, type: camera, mount: {body: drawr}}]"], "cameras[0].mount.body='drawr' is no"),
        (["renderer=softwear"], "Did you mean 'software'?"),
        (["renderer=embree"], "The renderer 'embree' is gone. Take 'software'."),
        (["only=[7]"], "episode=7 is not in"),
        ([], "none of the requested episodes has states"),
        (["name=a/b"], "cannot name a render set"),
        (["randomization=lihgt"], "lihgt"),
        (["rgb=png"], "rgb='png' is not a known encoding. Known: h264, lossless."),
        (["modalities=[poses]", "leave_out=[tabel]", "all=true"], "leave_out has 'tabel', which is not a known class"),
        (["leave_out=[table]"], "leave_out=['table'] has no effect on rgb."),
        (["executor=serail"], "Did you mean 'serial'?"),
    ],
)
def test_wrong_arguments_are_reported_in_one_line_and_nothing_is_written(data_set, assert_refused, arguments, text):
    assert_refused("render", data_set.path, *arguments, text=text, folder=data_set.path)


def test_a_renderer_that_does_not_work_here_is_told_before_anything_is_made(
    data_set, assert_refused, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "pygfx", None)
    text = "renderer=pygfx needs package 'pygfx'"
    assert_refused("render", data_set.path, "renderer=pygfx", "all=true", "name=dark", text=text, folder=data_set.path)
    cfg = load("close_drawer", f"out={tmp_path / 'data'}", "render=true", "images.renderer=pygfx")
    with pytest.raises(WorldError, match=text):
        collect_and_report(cfg)
    assert not (tmp_path / "data").exists()


def test_collect_renders_what_it_made(tmp_path, capsys):
    cfg = load(
        "close_drawer", "executor=serial", "pictures=0", f"out={tmp_path / 'data'}", "episodes=1", "render=true",
        "world.record_hz=10",
        "images.cameras=[{name: top, type: camera, width: 32, height: 24, mount: {position_m: [0.2, 0, 1.5], "
        "look_at_m: [0.4, 0, 0]}}]", "images.renderer=software", "images.name=first",
    )  # fmt: skip
    assert collect_and_report(cfg) == 0
    assert "1 of 1 episodes have images of 1 camera (top)" in capsys.readouterr().out
    data = DataSet.open(tmp_path / "data")
    drawn = RenderSet.open(data.path, "first")
    assert drawn.episode(0).n_frames == data.read(0).n_actions + 1
    later = render(data, cameras=cfg.images.cameras, name="later", executor="serial", renderer="software")
    assert drawn.episode(0).files == later.episode(0).files  # with their checksums
    drawn.remove(0)  # as if the run had been killed before it drew
    assert collect_and_report(cfg) == 0
    assert "1 of 1 episodes done, 1 rendered" in capsys.readouterr().out
    assert drawn.episode(0).files == later.episode(0).files


def test_a_run_that_is_killed_leaves_whole_episodes_only(data_set, run):
    path = str(data_set.path)
    command = ["cameras=[front]", "name=killed", "executor=serial", "renderer=software", "all=true"]
    with subprocess.Popen([sys.executable, "-m", "unlatch", "render", path, *command], start_new_session=True) as child:
        folder = data_set.path / "renders" / "killed"
        deadline = time.monotonic() + 120.0
        while not list(folder.glob(".tmp/*/*/front.rgb.mp4")) and time.monotonic() < deadline:
            time.sleep(0.05)
        os.killpg(child.pid, signal.SIGKILL)
    assert list(folder.glob(".tmp/*/*"))
    assert not list(folder.glob("0*/*"))
    code, _, _ = run(path, *command, "only=[0]")
    assert code == 0
    assert RenderSet.open(path, "killed").episode(0).problems() == []
    assert not list(folder.glob(".tmp/*"))
    json.loads((folder / "render.json").read_text())
