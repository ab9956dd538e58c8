"""Compares video encoders on the images of a render set: speed on one core, file size, and image quality.

    unlatch render data/mw name=exact rgb=lossless cameras=[front] cameras.0.width=320 cameras.0.height=240
    python benchmarks/codecs.py data=data/mw render=exact [episode=0]

Encodes every frame of one camera to a file and reads it again. Prints frames per second of CPU time, kilobytes, and the
peak signal-to-noise ratio (PSNR): the mean over the frames and the lowest. `h264` and `av1` are the encoders of
`unlatch export`.
"""

from __future__ import annotations

import dataclasses
import os

os.environ.setdefault("SVT_LOG", "1")
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

from unlatch.simcore.recording.frame_video import H264_OPTIONS
from unlatch.simcore.recording.modality import RGB
from unlatch.simcore.recording.renders import RenderSet
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.terminal import run_guarded

AV1 = {"crf": "30", "g": "2", "preset": "12", "svtav1-params": "fast-decode=0:lookahead=0:pred-struct=1"}
ENCODERS: dict[str, tuple[str, dict[str, str]]] = {
    "h264": ("libx264", H264_OPTIONS),
    "av1": ("libsvtav1", AV1),
    "av1, preset 13": ("libsvtav1", {**AV1, "preset": "13"}),
    "av1, key frame every 30": ("libsvtav1", {**AV1, "g": "30"}),
    "av1, looking ahead": ("libsvtav1", {**AV1, "svtav1-params": "fast-decode=0"}),
}
"""FFmpeg's name and options of each encoder."""


@dataclasses.dataclass
class BenchCfg:
    """The keys of the benchmark."""

    data: str = "data/mw"
    """A data set with a render set."""
    render: str = "exact"
    """Name of the render set."""
    episode: int = 0
    """Number of the episode."""


def encode_video(images: list[np.ndarray], path: Path, rate_hz: int, codec: str, options: dict[str, str]) -> float:
    """Writes a video on one thread; returns the CPU time [s]."""
    started = time.process_time()
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream(codec, rate=rate_hz, options=dict(options))
        stream.height, stream.width = images[0].shape[:2]
        stream.pix_fmt, stream.codec_context.thread_count = "yuv420p", 1
        for index, image in enumerate(images):
            frame = av.VideoFrame.from_ndarray(image, format="rgb24")
            frame.pts, frame.time_base = index, Fraction(1, rate_hz)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return time.process_time() - started


def psnr(images: list[np.ndarray], path: Path) -> tuple[float, float]:
    """Returns the mean PSNR of the frames and the lowest one [dB]."""
    with av.open(str(path)) as container:
        found = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    errors = np.array([np.mean((a.astype(float) - b) ** 2) for a, b in zip(images, found, strict=True)])
    ratios = 10.0 * np.log10(255.0**2 / np.maximum(errors, 1e-9))
    return float(ratios.mean()), float(ratios.min())


def main() -> None:
    """Prints the table of encoders."""
    cfg = read_pairs(BenchCfg, sys.argv[1:])
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    renders = RenderSet.open(cfg.data, cfg.render)
    camera = next(iter(renders.cameras))
    images = list(renders.episode(cfg.episode).frames(camera, RGB))
    seconds = len(images) / renders.rate_hz
    print(
        f"Encoders on one core: {len(images)} frames of {camera}, {images[0].shape[1]}x{images[0].shape[0]}, "
        f"{seconds:.1f} s"
    )
    print(f"{'':26}{'frames/s':>10}{'x real time':>13}{'kB':>8}{'PSNR mean':>11}{'lowest':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for name, (codec, options) in ENCODERS.items():
            path = Path(folder) / f"{codec}.mp4"
            spent = encode_video(images, path, renders.rate_hz, codec, options)
            mean, least = psnr(images, path)
            size = path.stat().st_size / 1e3
            print(f"{name:26}{len(images) / spent:10.0f}{seconds / spent:13.1f}{size:8.0f}{mean:11.1f}{least:8.1f}")


if __name__ == "__main__":
    sys.exit(run_guarded(main, usage=__doc__))
