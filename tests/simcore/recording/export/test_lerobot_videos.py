"""Videos of LeRobot sets: copied as they are where they can be, close to the images where they cannot."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.simcore.recording.export.builders import write_renders
from unlatch.simcore.errors import ConfigError, RecordingError
from unlatch.simcore.recording.export.exporter import run_export
from unlatch.simcore.recording.export.lerobot import LeRobotCfg, LeRobotExporter, LeRobotSet
from unlatch.simcore.recording.export.lerobot_tables import QUANTILES
from unlatch.simcore.recording.export.lerobot_videos import Codec, _same_priority, image_statistics
from unlatch.simcore.recording.export.trajectory import ExportSource
from unlatch.simcore.recording.modality import ImageStream

KEY = "observation.images.front"
WIDTH, HEIGHT = 160, 120


def scene(number, frame):
    """A smooth picture with a box that moves."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    image = np.stack([x, 2 * y, 40 * number + x], axis=-1).astype(np.uint8)
    image[40:70, 3 * frame : 3 * frame + 30] = [150, 120, 90]
    return image


def render(data_set, *, lossless=False, width=WIDTH):
    size = {"width": width, "height": HEIGHT}
    stream = ImageStream.of("rgb", **size, farthest_m=10.0, lossless=lossless)
    return write_renders(data_set, [stream], lambda _, number, frame: scene(number, frame)[:, :width], **size)


def export(data_set, out, **keys):
    cfg = LeRobotCfg(**{"render": "default", **keys})
    return run_export(LeRobotExporter(ExportSource(data_set, cfg), cfg), out)


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


@pytest.mark.slow
def test_streams_are_taken_over_to_the_bit(out, make_set):
    import av

    data_set = make_set([0, 1, 3])
    renders = render(data_set)
    export(data_set, out)
    found = LeRobotSet.open(out)
    (path,) = (out / "videos" / KEY).rglob("*.mp4")
    for index, number in enumerate([0, 1, 3]):
        wanted = list(renders.frames(number, "front", "rgb"))
        np.testing.assert_array_equal(list(found.frames(index, KEY)), wanted[:-1])
    with av.open(str(path)) as container:
        assert sum(1 for _ in container.decode(video=0)) == found.info["total_frames"]


@pytest.mark.slow
@pytest.mark.parametrize(("codec", "name"), [(Codec.h264, "h264"), (Codec.av1, "av1")])
def test_encoded_images_stay_close(out, make_set, codec, name):
    data_set = make_set([0, 1])
    render(data_set, lossless=True)
    export(data_set, out, codec=codec)
    found = LeRobotSet.open(out)
    assert found.info["features"][KEY]["info"]["video.codec"] == name
    for number in range(2):
        for frame, image in enumerate(found.frames(number, KEY)):
            psnr_db = 10 * np.log10(255.0**2 / np.mean((image.astype(float) - scene(number, frame)) ** 2))
            assert psnr_db > 35.0


def test_the_av1_encoder_leaves_no_thread_with_real_time_priority(tmp_path):
    import av

    with av.open(str(tmp_path / "video.mp4"), "w") as container:
        stream = container.add_stream("libsvtav1", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p"
        with _same_priority():
            stream.codec_context.open()
        threads = [int(folder.name) for folder in Path("/proc/self/task").iterdir()]
        assert not {os.sched_getscheduler(thread) for thread in threads} & {os.SCHED_FIFO, os.SCHED_RR}


def test_an_odd_column_is_left_out(out, make_set):
    data_set = make_set([0])
    render(data_set, width=159)
    export(data_set, out)
    found = LeRobotSet.open(out)
    assert found.info["features"][KEY]["shape"] == [HEIGHT, 158, 3]
    assert next(found.frames(0, KEY)).shape == (HEIGHT, 158, 3)


def test_a_set_with_videos_grows(out, make_set):
    for number in range(2):
        data_set = make_set([number])
        renders = render(data_set)
        assert export(data_set, out).there == number
    found = LeRobotSet.open(out)
    for number in range(2):
        wanted = list(renders.frames(number, "front", "rgb"))[:-1]
        np.testing.assert_array_equal(list(found.frames(number, KEY)), wanted)
    assert len(list((out / "videos").rglob("*.mp4"))) == 2


def test_statistics_of_pixels_are_those_of_the_images(make_set):
    renders = render(make_set([0]))
    frames = np.stack(list(renders.frames(0, "front", "rgb"))[:-1])[:, ::2, ::2] / 255.0
    found = image_statistics(renders.episode(0).path("front", "rgb"), len(frames))
    flat = frames.reshape(-1, 3)
    wanted = {"mean": flat.mean(0), "std": flat.std(0), "min": flat.min(0), "max": flat.max(0)}
    wanted |= {key: np.quantile(flat, share, axis=0, method="inverted_cdf") for key, share in QUANTILES.items()}
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name].ravel(), value, atol=1e-9, err_msg=name)


def test_missing_images_and_images_of_other_states_are_refused(out, make_set):
    data_set = make_set([0])
    with pytest.raises(RecordingError, match=r"has no render set 'default'"):
        export(data_set, out)
    render(data_set)
    other = make_set([1], name="other")
    moved = other.path / "renders"
    (data_set.path / "renders").rename(moved)
    folder = moved / "default" / "0000000"
    (folder / f"{0:010d}").rename(folder / f"{1:010d}")
    with pytest.raises(RecordingError, match=r"images of episode 1 .* were made from other states"):
        export(other, out)
    render(data_set)
    data_set = make_set([1])
    for keys, message in (
        ({}, r"1 of 2 episodes are not in render set .* the first 1"),
        ({"cameras": ["frnt"]}, r"cameras has 'frnt'.* Did you mean 'front'"),
    ):
        with pytest.raises(RecordingError, match=message):
            export(data_set, out, **keys)
    with pytest.raises(ConfigError, match="has no render set or is empty"):
        LeRobotCfg(cameras=["front"])
    assert not out.exists()


@pytest.mark.slow
def test_the_doctor_finds_nothing_that_fails(out, make_set):
    data_set = make_set([0, 1, 2])
    render(data_set)
    export(data_set, out)
    doctor = Path(sys.executable).with_name("lerobot-doctor")
    done = subprocess.run([doctor, "check", "--json", out], capture_output=True, text=True, check=False, timeout=120)
    found = json.loads(done.stdout)
    verdicts = {check["name"]: check["severity"] for check in found["checks"]}
    assert verdicts, done.stderr
    # what it warns of are the numbers of these episodes (short, random), not how they are kept
    for name in ("Metadata & Format Compliance", "Temporal Consistency", "Video Integrity", "Feature Consistency"):
        assert verdicts[name] == "PASS", found
    assert "FAIL" not in verdicts.values(), found
