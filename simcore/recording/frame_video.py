"""Writes and reads the frames of one camera as a video: colours by H.264 or lossless, 16-bit values lossless."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.extras import import_extra

Array = np.ndarray

CRF = 14
"""Quality of H.264: smaller is better."""
_FFV1 = {"level": "3", "slices": "4", "coder": "1", "context": "0", "slicecrc": "1"}


@dataclass(frozen=True)
class Encoding:
    """How frames are encoded in a file."""

    ending: str
    """Extension of the file name."""
    codec: str
    """FFmpeg's name of the codec."""
    pixels: str
    """FFmpeg's name of the pixel format in the file."""
    frames: str
    """FFmpeg's name of the pixel format of the arrays."""
    options: dict[str, str] = field(default_factory=dict)
    """Options of the codec."""
    file_options: dict[str, str] = field(default_factory=dict)
    """Options of the file format."""
    palette: bool = False
    """Whether the file has one palette of 256 colours, which is chosen when all frames are known."""


H264_OPTIONS = {"crf": str(CRF), "bf": "0", "g": "2", "preset": "veryfast", "mbtree": "0"}
"""Options of the encoder: no frame depends on a later one, and every second frame is a key frame.

`mbtree` is off: on small images it reads uninitialized memory, and one or two files in a hundred had other bytes.
"""
ENCODINGS = {
    "h264": Encoding("mp4", "libx264", "yuv420p", "rgb24", H264_OPTIONS),
    "h264_444": Encoding("mp4", "libx264", "yuv444p", "rgb24", H264_OPTIONS),
    "ffv1_rgb": Encoding("mkv", "ffv1", "bgr0", "rgb24", _FFV1),
    "ffv1_gray16": Encoding("mkv", "ffv1", "gray16le", "gray16le", _FFV1),
    "ffv1_rgb16": Encoding("mkv", "ffv1", "gbrp16le", "gbrp16le", _FFV1),
}
"""Encodings by name: H.264 for colours, `h264_444` where a side is odd, lossless FFV1."""


def _load_av() -> Any:
    """Returns PyAV, the library of FFmpeg."""
    return import_extra("av", extra="video", needed_by="A video")


class FrameVideoWriter:
    """Writes frames one by one; use as a context manager."""

    def __init__(self, path: Path, encoding: str | Encoding, *, width: int, height: int, rate_hz: int) -> None:
        """Opens a file that does not exist yet; `encoding` is a name in `ENCODINGS`, or an encoding of the caller."""
        self._av = _load_av()
        self._encoding = ENCODINGS[encoding] if isinstance(encoding, str) else encoding
        file_options = {"fflags": "+bitexact", **self._encoding.file_options}  # no random numbers in the file
        self._container = self._av.open(str(path), "w", options=file_options)
        stream: Any = self._container.add_stream(
            self._encoding.codec, rate=rate_hz, options=dict(self._encoding.options)
        )
        stream.width, stream.height, stream.pix_fmt = width, height, self._encoding.pixels
        stream.codec_context.thread_count = 1  # one core per worker, and equal bytes for any number of cores
        self._stream = stream
        self._time_base = Fraction(1, rate_hz)
        self._palette = self._make_palette_filter(width, height) if self._encoding.palette else None
        self._count = 0

    def add(self, image: Array) -> None:
        """Adds a frame (height, width) or (height, width, 3), of the encoding's type."""
        frame = self._av.VideoFrame.from_ndarray(np.ascontiguousarray(image), format=self._encoding.frames)
        frame.pts, frame.time_base = self._count, self._time_base
        self._count += 1
        if self._palette is None:
            self._container.mux(self._stream.encode(frame))
        else:
            self._palette.push(frame)

    def close(self) -> None:
        """Writes the remaining frames."""
        if self._palette is not None and self._count:
            self._palette.push(None)
            with suppress(EOFError):
                while True:
                    self._container.mux(self._stream.encode(self._palette.pull()))
        self._container.mux(self._stream.encode())
        self._container.close()

    def _make_palette_filter(self, width: int, height: int) -> Any:
        """Returns FFmpeg's filters that choose a palette for all frames and give them its colours."""
        graph = self._av.filter.Graph()
        pixels = self._av.VideoFormat(self._encoding.frames)
        source = graph.add_buffer(width=width, height=height, format=pixels, time_base=self._time_base)
        copies, choose, sink = graph.add("split"), graph.add("palettegen"), graph.add("buffersink")
        # a regular pattern of dots does not move, so that what stands still needs no bytes
        use = graph.add("paletteuse", "dither=bayer:bayer_scale=4")
        source.link_to(copies)
        copies.link_to(choose, 0, 0)
        copies.link_to(use, 1, 0)
        choose.link_to(use, 0, 1)
        use.link_to(sink)
        graph.configure()
        return graph

    def __enter__(self) -> FrameVideoWriter:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def read_frames(path: Path, encoding: str) -> Iterator[Array]:
    """Yields the frames of a file.

    Raises:
        RecordingError: It is missing or damaged.
    """
    av = _load_av()

    form = ENCODINGS[encoding].frames
    try:
        with av.open(str(path)) as container:
            for frame in container.decode(video=0):
                yield frame.to_ndarray(format=form)
    except (av.FFmpegError, OSError, IndexError) as exc:
        raise RecordingError(
            f"Images '{path}' cannot be read: {exc}. They are damaged or not ours. Remove their folder and render "
            "again.",
            path=str(path),
        ) from exc
