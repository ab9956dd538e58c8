"""Clips and pictures of a report: they can be decoded, and show the episodes that they name."""

import base64
import io
import json
import math

import av
import numpy as np
import pytest
from PIL import Image

from tests.workflows.viewing.report_page import ReportPage
from unlatch import command_table
from unlatch.simcore.recording.data_set import DataSet
from unlatch.workflows.cli.terminal import OK
from unlatch.workflows.viewing import clip as page_clip
from unlatch.workflows.viewing import phase_sheet as phase_pictures
from unlatch.workflows.viewing.clip import CLIP_RATE_HZ, HELD_S

pytestmark = [pytest.mark.slow, pytest.mark.integration]

CLIP_PX = (160, 128)
MOST_CLIP_FRAMES = 8


@pytest.fixture(scope="module")
def page(noisy_drawers, tmp_path_factory) -> ReportPage:
    out = tmp_path_factory.mktemp("page") / "report.html"
    with pytest.MonkeyPatch.context() as patch:  # fewer and smaller pictures: without a graphics card, each takes 0.3 s
        patch.setattr(page_clip, "CLIP_PX", CLIP_PX)
        patch.setattr(page_clip, "MOST_CLIP_FRAMES", MOST_CLIP_FRAMES)
        patch.setattr(phase_pictures, "OVERSAMPLED", 1)
        assert command_table.main(["report", str(noisy_drawers), f"out={out}"]) == OK
    return ReportPage(out)


def decode(address: str) -> list[np.ndarray]:
    kind, _, data = address.partition(",")
    assert kind == "data:video/mp4;base64"
    with av.open(io.BytesIO(base64.b64decode(data))) as container:
        (stream,) = container.streams.video
        assert (stream.codec_context.name, stream.codec_context.pix_fmt) == ("h264", "yuv420p")
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


def test_each_outcome_has_a_clip_with_the_number_of_frames_that_the_json_states(page, noisy_drawers):
    strips = json.loads(page.path.with_suffix(".json").read_text())["strips"]
    assert [strip["code"] for strip in strips] == [None, "grasp_missed"]
    clips = [decode(address) for address in page.videos]
    assert [len(frames) for frames in clips] == [strip["clip_frames"] for strip in strips]
    for strip, frames in zip(strips, clips, strict=True):
        length_s = np.ptp(DataSet.open(noisy_drawers).read(strip["episode"]).arrays["time"])
        assert len(frames) == min(MOST_CLIP_FRAMES, math.ceil(length_s * CLIP_RATE_HZ) + 1) + round(
            HELD_S * CLIP_RATE_HZ
        )
        assert frames[0].shape == (CLIP_PX[1], CLIP_PX[0], 3)
        moved = np.abs(frames[0].astype(int) - frames[-1].astype(int)).max(axis=2) > 40
        assert np.mean(moved) > 0.02
        red = frames[-1][:2].reshape(-1, 3).mean(axis=0)  # the border
        assert (red[0] > 100 and red[1:].max() < 80) == (strip["code"] is not None)


def test_pictures_can_be_decoded_and_the_failure_is_named(page):
    for address in page.images:
        with Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2]))) as image:
            assert image.size == (480, 375)
    assert len(page.images) > 8
    assert "failure in phase grasp: The fingers closed to 0.0 mm and hold nothing of 'drawer'" in page.text
