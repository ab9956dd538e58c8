"""Videos of LeRobot sets: copied as they are where they can be, close to the images where they cannot."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from unlatch.simcore.errors import ConfigError, RecordingError
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.export.exporter import ExportReport, run_export
from unlatch.simcore.recording.export.lerobot import LeRobotCfg, LeRobotExporter, LeRobotSet
from unlatch.simcore.recording.export.lerobot_tables import QUANTILES
from unlatch.simcore.recording.export.lerobot_videos import Codec, _same_priority, image_statistics
from unlatch.simcore.recording.export.trajectory import ExportSource
from unlatch.simcore.recording.frame_video import FrameVideoWriter
from unlatch.simcore.recording.modality import ImageStream
from unlatch.simcore.recording.renders import RenderSet, stream_file

MakeSet = Callable[..., DataSet]
KEY = "observation.images.front"
WIDTH, HEIGHT = 160, 120


def scene(number: int, frame: int) -> np.ndarray:
    """A smooth picture with a box that moves."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    image = np.stack([x, 2 * y, 40 * number + x], axis=-1).astype(np.uint8)
    image[40:70, 3 * frame : 3 * frame + 30] = [150, 120, 90]
    return image


def render(data_set: DataSet, *, name: str = "default", lossless: bool = False, size: int = WIDTH) -> RenderSet:
    stream = ImageStream.of("rgb", width=size, height=HEIGHT, farthest_m=10.0, lossless=lossless)
    camera = {"name": "front", "width": size, "height": HEIGHT, "streams": [stream.to_json()]}
    header = {"cameras": [camera], "modalities": ["rgb"], "rate_hz": 30}
    with RenderSet.create_or_resume(data_set.path, name, header) as renders:
        for summary in data_set.summaries():
            frames = [scene(summary.number, frame)[:, :size] for frame in range(summary.n_actions + 1)]

            def fill(folder: Path, frames: list[np.ndarray] = frames, sha256: str = summary.state_sha256) -> dict:
                path = folder / stream_file("front", stream)
                with FrameVideoWriter(path, stream.encoding, width=size, height=HEIGHT, rate_hz=30) as writer:
                    for frame in frames:
                        writer.add(frame)
                return {"n_frames": len(frames), "state_sha256": sha256, "labels": {}}

            renders.write(summary.number, fill)
    return renders


def export(data_set: DataSet, out: Path, **keys: Any) -> ExportReport:
    cfg = LeRobotCfg(**{"render": "default", **keys})
    return run_export(LeRobotExporter(ExportSource(data_set, cfg), cfg), out)


def psnr_db(a: np.ndarray, b: np.ndarray) -> float:
    return float(10 * np.log10(255.0**2 / np.mean((a.astype(float) - b) ** 2)))


@pytest.mark.slow
def test_streams_are_taken_over_to_the_bit(tmp_path: Path, make_set: MakeSet):
    data_set = make_set([0, 1, 3])
    renders = render(data_set)
    export(data_set, tmp_path / "out")
    found = LeRobotSet.open(tmp_path / "out")
    (path,) = (tmp_path / "out" / "videos" / KEY).rglob("*.mp4")
    for index, number in enumerate([0, 1, 3]):
        wanted = list(renders.frames(number, "front", "rgb"))
        frames = list(found.frames(index, KEY))
        assert len(frames) == len(wanted) - 1
        np.testing.assert_array_equal(frames, wanted[:-1])
    with av.open(str(path)) as container:
        assert sum(1 for _ in container.decode(video=0)) == found.info["total_frames"]


@pytest.mark.slow
@pytest.mark.parametrize(("codec", "name"), [(Codec.h264, "h264"), (Codec.av1, "av1")])
def test_encoded_images_stay_close(tmp_path: Path, make_set: MakeSet, codec: Codec, name: str):
    data_set = make_set([0, 1])
    render(data_set, lossless=True)
    export(data_set, tmp_path / "out", codec=codec)
    found = LeRobotSet.open(tmp_path / "out")
    assert found.info["features"][KEY]["info"]["video.codec"] == name
    for number in range(2):
        for frame, image in enumerate(found.frames(number, KEY)):
            assert psnr_db(image, scene(number, frame)) > 35.0


def test_the_av1_encoder_leaves_no_thread_with_real_time_priority(tmp_path: Path):
    with av.open(str(tmp_path / "video.mp4"), "w") as container:
        stream = container.add_stream("libsvtav1", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p"
        with _same_priority():
            stream.codec_context.open()
        threads = [int(folder.name) for folder in Path("/proc/self/task").iterdir()]
        assert not {os.sched_getscheduler(thread) for thread in threads} & {os.SCHED_FIFO, os.SCHED_RR}


def test_an_odd_column_is_left_out(tmp_path: Path, make_set: MakeSet):
    data_set = make_set([0])
    render(data_set, size=159)
    export(data_set, tmp_path / "out")
    found = LeRobotSet.open(tmp_path / "out")
    assert found.info["features"][KEY]["shape"] == [HEIGHT, 158, 3]
    assert next(found.frames(0, KEY)).shape == (HEIGHT, 158, 3)


def test_a_set_with_videos_grows(tmp_path: Path, make_set: MakeSet):
    data_set = make_set([0])
    render(data_set)
    export(data_set, tmp_path / "out")
    data_set = make_set([1])
    renders = render(data_set)
    assert export(data_set, tmp_path / "out").there == 1
    found = LeRobotSet.open(tmp_path / "out")
    for number in range(2):
        np.testing.assert_array_equal(
            list(found.frames(number, KEY)), list(renders.frames(number, "front", "rgb"))[:-1]
        )
    assert len(list((tmp_path / "out" / "videos").rglob("*.mp4"))) == 2


def test_statistics_of_pixels_are_those_of_the_images(tmp_path: Path, make_set: MakeSet):
    data_set = make_set([0])
    renders = render(data_set)
    path = renders.episode(0).path("front", "rgb")
    frames = np.stack(list(renders.frames(0, "front", "rgb"))[:-1])[:, ::2, ::2] / 255.0
    found = image_statistics(path, len(frames))
    flat = frames.reshape(-1, 3)
    for name, value in {"mean": flat.mean(0), "std": flat.std(0), "min": flat.min(0), "max": flat.max(0)}.items():
        np.testing.assert_allclose(found[name].ravel(), value, atol=1e-9, err_msg=name)
    for name, share in QUANTILES.items():
        wanted = np.quantile(flat, share, axis=0, method="inverted_cdf")
        np.testing.assert_allclose(found[name].ravel(), wanted, atol=1e-9, err_msg=name)


def test_missing_images_are_reported(tmp_path: Path, make_set: MakeSet):
    data_set = make_set([0])
    with pytest.raises(RecordingError, match=r"has no render set 'default'"):
        export(data_set, tmp_path / "out")
    render(data_set)
    data_set = make_set([1])
    with pytest.raises(RecordingError, match=r"1 of 2 episodes are not in render set .* the first 1"):
        export(data_set, tmp_path / "out")
    with pytest.raises(RecordingError, match=r"cameras has 'frnt'.* Did you mean 'front'"):
        export(data_set, tmp_path / "out", cameras=["frnt"])
    with pytest.raises(ConfigError, match="has no render set or is empty"):
        LeRobotCfg(cameras=["front"])
    assert not (tmp_path / "out").exists()


def test_images_of_other_states_are_refused(tmp_path: Path, make_set: MakeSet):
    data_set = make_set([0])
    render(data_set)
    other = make_set([1], name="other")
    moved = other.path / "renders"
    (data_set.path / "renders").rename(moved)
    folder = moved / "default" / "0000000"
    (folder / f"{0:010d}").rename(folder / f"{1:010d}")
    with pytest.raises(RecordingError, match=r"images of episode 1 .* were made from other states"):
        export(other, tmp_path / "out")


@pytest.mark.slow
def test_the_doctor_finds_nothing_that_fails(tmp_path: Path, make_set: MakeSet):
    data_set = make_set([0, 1, 2])
    render(data_set)
    export(data_set, tmp_path / "out")
    doctor = Path(sys.executable).with_name("lerobot-doctor")
    done = subprocess.run(
        [doctor, "check", "--json", tmp_path / "out"], capture_output=True, text=True, check=False, timeout=120
    )
    found = json.loads(done.stdout)
    verdicts = {check["name"]: check["severity"] for check in found["checks"]}
    assert verdicts, done.stderr
    # what it warns of are the numbers of these episodes (short, random), not how they are kept
    for name in ("Metadata & Format Compliance", "Temporal Consistency", "Video Integrity", "Feature Consistency"):
        assert verdicts[name] == "PASS", found
    assert "FAIL" not in verdicts.values(), found
