"""The videos of a LeRobot set: many episodes in one MP4, joined without decoding them."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import av
import numpy as np
from av.error import FFmpegError

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.export.lerobot_tables import MIB, QUANTILES, VIDEO_PATH, FilePlace, Statistics
from unlatch.simcore.recording.export.trajectory import Images, ImageSize
from unlatch.simcore.recording.frame_video import CRF, H264_OPTIONS

Array = np.ndarray

_SAMPLED = 100


class Codec(Enum):
    """How images are encoded."""

    h264 = "h264"
    """H.264 without B-frames. If the render set has such a stream, it is copied; else the images are encoded."""
    av1 = "av1"
    """AV1 with LeRobot's own parameters, for sets that are to be merged with sets made by LeRobot."""


class _Encoder(NamedTuple):
    name: str
    options: dict[str, str]
    crf: int
    preset: str | int
    extra: dict[str, int]


_ENCODERS = {
    Codec.h264: _Encoder("libx264", H264_OPTIONS, CRF, "veryfast", {"bf": 0, "mbtree": 0}),
    Codec.av1: _Encoder(
        "libsvtav1",
        # without look-ahead it is up to a third faster, for a quarter more bytes; LeRobot records neither
        {"crf": "30", "g": "2", "preset": "12", "svtav1-params": "fast-decode=0:lookahead=0:pred-struct=1"},
        crf=30,
        preset=12,
        extra={},
    ),
}
"""How FFmpeg is called for each codec, and what `info.json` says of it."""


def video_feature(size: ImageSize, *, fps: int, codec: Codec) -> dict[str, Any]:
    """Returns the feature of a video for `info.json`, with the keys that LeRobot writes and compares."""
    encoder, size = _ENCODERS[codec], _even_size(size)
    return {
        "dtype": "video",
        "shape": [size.height, size.width, 3],
        "names": ["height", "width", "channels"],
        "info": {
            "video.height": size.height,
            "video.width": size.width,
            "video.codec": codec.name,
            "video.pix_fmt": "yuv420p",
            "video.fps": fps,
            "video.channels": 3,
            "has_audio": False,
            "video.g": 2,
            "video.crf": encoder.crf,
            "video.preset": encoder.preset,
            "video.fast_decode": 0,
            "video.video_backend": "pyav",
            "video.extra_options": encoder.extra,
            "is_depth_map": False,
        },
    }


def encode_video(images: Images, part: Path, *, fps: int, codec: Codec) -> Path:
    """Returns the video of an episode in a codec.

    It is the file of the render set if that has the codec. Else the images are encoded into the file `part`, unless it
    exists.
    """
    if codec is Codec.h264 and images.encoding == "h264":
        return images.path
    if part.exists():
        return part
    part.parent.mkdir(parents=True, exist_ok=True)
    draft, encoder = part.with_suffix(".tmp.mp4"), _ENCODERS[codec]
    os.environ.setdefault("SVT_LOG", "1")  # else the AV1 encoder prints its settings for every episode
    with av.open(str(draft), "w") as container:
        stream: Any = container.add_stream(encoder.name, rate=fps, options=dict(encoder.options))
        size = _even_size(images.size)
        stream.width, stream.height, stream.pix_fmt = size.width, size.height, "yuv420p"
        with _same_priority():
            stream.codec_context.open()
        for index, image in enumerate(images.frames()):
            even = np.ascontiguousarray(image[: size.height, : size.width])
            frame = av.VideoFrame.from_ndarray(even, format="rgb24")
            frame.pts, frame.time_base = index, Fraction(1, fps)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    draft.rename(part)
    return part


@contextmanager
def _same_priority() -> Iterator[None]:
    """Undoes that the AV1 encoder, if root runs it, gives the calling thread and its own ones real-time priority.

    Processes that are started later would inherit it, and could stop everything else on the machine.
    """
    policy, priority, before = os.sched_getscheduler(0), os.sched_getparam(0), _list_threads()
    yield
    for thread in _list_threads() - before | {threading.get_native_id()}:
        with suppress(OSError):  # it has ended
            os.sched_setscheduler(thread, policy, priority)


def _list_threads() -> set[int]:
    return {int(folder.name) for folder in Path("/proc/self/task").iterdir()}


def _even_size(size: ImageSize) -> ImageSize:
    """Drops an odd last row or column: 4:2:0 stores one colour for two pixels each way."""
    return ImageSize(size.width // 2 * 2, size.height // 2 * 2)


class VideoFiles:
    """Joins the videos of one camera's episodes; starts a new file when one becomes too large."""

    def __init__(self, root: Path, key: str, first: FilePlace, *, size_mb: int, fps: int) -> None:
        """Takes the folder of the set, the key of the video, the place of its first file and the rate.

        `size_mb` is the size limit of a file with more than one episode [MiB].
        """
        self._root = root
        self._key = key
        self._limit = size_mb * MIB
        self._fps = fps
        self.place = first
        """Place of the file with the last episode."""
        self._container: Any = None
        self._stream: Any = None
        self._head: bytes | None = None
        self._bytes = 0
        self._frames = 0

    def add(self, path: Path, n_frames: int) -> tuple[float, float]:
        """Adds an episode.

        Args:
            path: Its video with at least `n_frames` frames, none of which depends on a later one.
            n_frames: Number of frames to take.

        Returns:
            Start and end in the file [s].

        Raises:
            RecordingError: The video has fewer frames, or another order of frames.
        """
        with _report_video_errors(path), av.open(str(path)) as source:
            stream: Any = source.streams.video[0]
            self._begin_file(stream, path.stat().st_size)
            frames = range(self._frames, self._frames + n_frames)
            self._bytes += _copy_packets(source, stream, self._container, self._stream, frames, self._fps)
        begin, self._frames = self._frames, self._frames + n_frames
        return begin / self._fps, self._frames / self._fps

    def _begin_file(self, stream: Any, n_bytes: int) -> None:
        """Opens the next file if there is none, the current one is full, or the stream needs another decoder header."""
        head = stream.codec_context.extradata
        if self._container is not None and (self._bytes + n_bytes > self._limit or head != self._head):
            self.close()
            self.place = self.place.next()
        if self._container is None:
            path = self.place.path(self._root, VIDEO_PATH, video_key=self._key)
            path.parent.mkdir(parents=True, exist_ok=True)
            container: Any = av.open(str(path), "w", options={"movflags": "faststart"})
            copied = container.add_stream_from_template(stream, opaque=True)
            copied.time_base = Fraction(1, self._fps)
            self._container, self._stream = container, copied
            self._head, self._bytes, self._frames = head, 0, 0

    def close(self) -> None:
        """Closes the current file."""
        if self._container is not None:
            self._container.close()
            self._container = None


@contextmanager
def _report_video_errors(path: Path) -> Iterator[None]:
    """Turns an error of FFmpeg into an OSError if the disk is full or read-only, else into one about the video."""
    try:
        yield
    except (FFmpegError, IndexError) as exc:
        number = getattr(exc, "errno", None)
        if number in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
            raise OSError(number, os.strerror(number)) from exc
        raise RecordingError(f"Video '{path}' cannot be read: {exc}. Render it again.", path=str(path)) from exc


def _copy_packets(source: Any, stream: Any, container: Any, copied: Any, frames: range, fps: int) -> int:
    """Copies the first packets of a video to another file without decoding them; returns the number of their bytes.

    Args:
        source: The opened video.
        stream: Its stream.
        container: The file to write.
        copied: The stream of that file.
        frames: Numbers that the frames get in that file; as many packets are copied.
        fps: Frames per second of both.
    """
    count = n_bytes = 0
    for packet in source.demux(stream):
        if packet.pts is None:
            continue
        if packet.pts != packet.dts or round(packet.pts * packet.time_base * fps) != count:
            raise RecordingError(
                f"Video '{source.name}' has frames out of order, or another rate than {fps}. Expected frames in "
                "order. Render it again.",
                path=source.name,
            )
        if count < len(frames):
            n_bytes += packet.size
            packet.stream = copied
            packet.time_base = Fraction(1, fps)
            packet.pts = packet.dts = frames[count]
            packet.duration = 1
            container.mux(packet)
        count += 1
    if count < len(frames):
        raise RecordingError(
            f"Video '{source.name}' has {count} frames, expected {len(frames)}. It is damaged. Render it again.",
            path=source.name,
        )
    return n_bytes


def image_statistics(path: Path, n_frames: int) -> Statistics:
    """Returns the statistics of pixel values 0 to 1 by channel, (3, 1, 1), of at most 100 frames.

    They are evenly spaced among the first `n_frames` frames.
    """
    wanted = {round(index) for index in np.linspace(0, n_frames - 1, min(n_frames, _SAMPLED))}
    counts: Array = np.zeros((3, 256), dtype=np.int64)
    with av.open(str(path)) as container:
        for index, frame in enumerate(container.decode(video=0)):
            if index in wanted:
                # every second pixel in both directions: a quarter of the work, nearly the same mean
                pixels = frame.to_ndarray(format="rgb24")[::2, ::2]
                for channel in range(3):
                    counts[channel] += np.bincount(pixels[:, :, channel].ravel(), minlength=256)
            if index >= n_frames - 1:
                break
    values = np.arange(256) / 255.0
    total = counts.sum(axis=1)  # (3,)
    mean = counts @ values / total
    seen = counts > 0
    reached = np.cumsum(counts, axis=1) / total[:, None]  # (3, 256)
    found = {
        "min": values[seen.argmax(axis=1)],
        "max": values[255 - seen[:, ::-1].argmax(axis=1)],
        "mean": mean,
        "std": np.sqrt(np.maximum(counts @ values**2 / total - mean**2, 0.0)),
        **{name: values[(reached >= share).argmax(axis=1)] for name, share in QUANTILES.items()},
    }
    return {**{name: value.reshape(3, 1, 1) for name, value in found.items()}, "count": np.array([len(wanted)])}


def read_video(path: Path, *, first: int, n_frames: int, fps: int) -> Iterator[Array]:
    """Yields `n_frames` frames of a file from the frame `first` on, (H, W, 3) uint8, one in memory at a time.

    Raises:
        RecordingError: It is missing or damaged.
    """
    count = 0
    try:
        with av.open(str(path)) as container:
            stream: Any = container.streams.video[0]
            container.seek(round(first / fps / stream.time_base), stream=stream)
            for frame in container.decode(stream):
                index = round(frame.pts * frame.time_base * fps)
                if first <= index < first + n_frames:
                    count += 1
                    yield frame.to_ndarray(format="rgb24")
                if index >= first + n_frames - 1:
                    break
    except (FFmpegError, OSError, IndexError) as exc:
        raise RecordingError(f"Video '{path}' cannot be read: {exc}. Export the set again.", path=str(path)) from exc
    if count != n_frames:
        raise RecordingError(
            f"Video '{path}' has {count} of the {n_frames} frames from {first} on. It is damaged. Export it again.",
            path=str(path),
        )
