"""What a render set keeps is what a reader gets, and an episode's images are there whole or not at all."""

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.frame_video import FrameVideoWriter
from unlatch.simcore.recording.modality import MODALITIES, ImageStream
from unlatch.simcore.recording.renders import CAMERAS_FILE, RenderSet, stream_file
from unlatch.simcore.recording.state_file import encode_npz

WIDTH, HEIGHT, FRAMES = 32, 24, 5
SIZE = {"width": WIDTH, "height": HEIGHT}
STREAMS = [ImageStream.of(kind, **SIZE, farthest_m=10.0, lossless=True) for kind in MODALITIES]


def image_of(modality, rng):
    if modality == "rgb":
        return rng.integers(0, 255, (HEIGHT, WIDTH, 3), dtype=np.uint8)
    if modality in ("depth", "distance"):
        metres = rng.uniform(0.05, 10.0, (HEIGHT, WIDTH)).astype(np.float32)
        metres[:3] = np.inf
        return metres
    if modality == "normals":
        vectors = rng.normal(size=(HEIGHT, WIDTH, 3))
        vectors /= np.linalg.norm(vectors, axis=-1, keepdims=True)
        vectors[:3] = 0.0
        return vectors.astype(np.float32)
    return rng.integers(0, 300, (HEIGHT, WIDTH), dtype=np.int32)


def open_set(folder, name="default", **changes):
    camera = {"name": "top", **SIZE, "streams": [asdict(item) for item in STREAMS]}
    header = {"cameras": [camera], "modalities": list(MODALITIES), "rate_hz": 30, **changes}
    return RenderSet.create_or_resume(folder, name, header)


def write(render_set, number, images):
    def fill(folder):
        for stream in STREAMS:
            path = folder / stream_file("top", stream)
            with FrameVideoWriter(path, stream.encoding, **SIZE, rate_hz=30) as writer:
                for image in images[stream.modality]:
                    writer.add(stream.pack(image))
        rows = {
            "position": np.ones((FRAMES, 3)),
            "quat_xyzw": np.eye(4)[[3] * FRAMES],
            "intrinsics": np.ones((FRAMES, 4)),
        }
        (folder / CAMERAS_FILE).write_bytes(encode_npz({f"top.{key}": value for key, value in rows.items()}))
        return {"n_frames": FRAMES, "state_sha256": "0", "labels": {"segmentation": ["nothing", "table"]}}

    return render_set.write(number, fill)


@pytest.fixture(scope="module")
def images():
    rng = np.random.default_rng(0)
    return {kind: [image_of(kind, rng) for _ in range(FRAMES)] for kind in MODALITIES}


def test_images_are_read_back_as_written(tmp_path, images):
    with open_set(tmp_path) as render_set:
        assert write(render_set, 1003, images)
        assert not write(render_set, 1003, images)  # the first one stays
    found = RenderSet.open(tmp_path)
    assert found.numbers() == [1003]
    assert not (found.path / ".tmp").exists() or not any((found.path / ".tmp").iterdir())
    episode = found.episode(1003)
    assert episode.problems() == []
    assert episode.labels("segmentation") == ["nothing", "table"]
    np.testing.assert_array_equal(episode.tracks["top"].T_world_camera(2).p, np.ones(3))
    metres = found.streams["top"]["depth"].unit_m / 2 + 1e-6
    tolerance = {"depth": metres, "distance": metres, "normals": 2e-5}
    for kind in MODALITIES:
        back = list(found.frames(1003, "top", kind))
        assert len(back) == FRAMES
        for seen, image in zip(back, images[kind], strict=True):
            assert seen.dtype == image.dtype
            np.testing.assert_allclose(seen, image, rtol=0.0, atol=tolerance.get(kind, 0.0))


def test_the_encoder_reads_no_uninitialized_memory(tmp_path):
    with FrameVideoWriter(tmp_path / "small.mp4", "h264", width=48, height=36, rate_hz=30) as video:
        video.add(np.zeros((36, 48, 3), np.uint8))
    assert b" mbtree=0 " in (tmp_path / "small.mp4").read_bytes()  # the encoder writes its options into the file


def test_a_set_with_another_header_is_refused_and_differences_are_listed(tmp_path, monkeypatch):
    open_set(tmp_path).close()
    with pytest.raises(RecordingError, match=r"rate_hz: there 30, now 15.*Choose another name="):
        open_set(tmp_path, rate_hz=15)
    open_set(tmp_path, "other", rate_hz=15).close()
    exists = Path.exists
    # the header of a faster run was not there yet when this run looked
    monkeypatch.setattr(Path, "exists", lambda self: self.name != "render.json" and exists(self))
    with pytest.raises(RecordingError, match="rate_hz: there 30, now 15"):
        open_set(tmp_path, rate_hz=15)
    assert RenderSet.open(tmp_path).header["rate_hz"] == 30


def test_missing_images_are_named_with_the_existing_ones_and_damaged_ones_are_reported(tmp_path, images):
    with open_set(tmp_path) as render_set:
        write(render_set, 3, images)
        with pytest.raises(RecordingError, match=r"Episode 4 is not in render set .* only=\[4\]"):
            render_set.episode(4)
        with pytest.raises(RecordingError, match=r"no images 'rgb' of camera 'side'. Cameras: top"):
            next(render_set.frames(3, "side", "rgb"))
        episode = render_set.episode(3)
    with pytest.raises(RecordingError, match=r"no render set 'night'. It has: default"):
        RenderSet.open(tmp_path, "night")
    with pytest.raises(RecordingError, match="cannot name a render set"):
        RenderSet.open(tmp_path, "../elsewhere")
    path = episode.path("top", "depth")
    path.write_bytes(path.read_bytes()[:-400])
    assert len(episode.problems()) == 1
    with pytest.raises(RecordingError, match="damaged"):
        list(episode.frames("top", "depth"))
