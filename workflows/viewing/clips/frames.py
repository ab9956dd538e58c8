"""The pictures of a clip, one after the other, and how they are encoded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.images.frame_video import Encoding, FrameVideoWriter
from unlatch.workflows.viewing.failure_moments import failure_frame
from unlatch.workflows.viewing.picture import BAD
from unlatch.workflows.viewing.recorded_moments import last_finite_frame
from unlatch.workflows.viewing.scene_picture import RecordedWorld

Array = np.ndarray

CLIP_ENCODINGS = {
    # H.264 with a quarter of the colours is what every browser plays; `faststart` lets it begin while it loads
    "mp4": Encoding(
        "mp4",
        "libx264",
        "yuv420p",
        "rgb24",
        {"crf": "20", "preset": "medium", "mbtree": "0"},
        file_options={"movflags": "+faststart"},
    ),
    "webp": Encoding("webp", "libwebp_anim", "yuv420p", "rgb24", {"quality": "75"}, file_options={"loop": "0"}),
    "gif": Encoding("gif", "gif", "pal8", "rgb24", palette=True, file_options={"loop": "0"}),
}
"""Encodings of clips by the ending of the file; `loop` 0 plays it again and again."""
HELD_S = 1.0
"""Time for which the last picture is shown before the clip begins again [s]."""
_BORDER_SHARE = 0.01
"""Width of the red border as a share of the picture's height."""


def frame_numbers(record: EpisodeRecord, *, fps: float, speed: float) -> list[int]:
    """Returns the state frames that a clip shows, at equal time steps; the last one is the last state.

    Args:
        record: The episode, with its arrays.
        fps: Pictures per second of the clip.
        speed: How many times as fast as the episode it plays.
    """
    last = last_finite_frame(record)
    times = record.arrays["time"][: last + 1] - record.arrays["time"][0]
    count = int(np.ceil(float(times[last]) / speed * fps - 1e-6)) + 1
    wanted: Array = np.minimum(np.arange(count) * speed / fps, times[last])
    middles: Array = (times[1:] + times[:-1]) / 2
    frames: Array = np.asarray(np.searchsorted(middles, wanted))
    return frames.tolist()


def take_frames(
    shown: RecordedWorld,
    numbers: Iterable[int],
    take: Callable[[], Array],
    *,
    on_picture: Callable[[], None] = lambda: None,
) -> Iterator[Array]:
    """Yields a picture (height, width, 3) uint8 of each state frame; a red border marks the failure and what follows.

    Args:
        shown: The recorded episode.
        numbers: State frames.
        take: Takes a picture of the shown state.
        on_picture: Called when a picture is taken.
    """
    record = shown.record
    failed_from = record.n_actions + 1 if record.success else failure_frame(record)
    before, picture = None, None
    for frame in numbers:
        if picture is None or frame != before:
            shown.show(frame)
            picture = take()
        before = frame
        on_picture()
        yield _add_border(picture) if frame >= failed_from else picture


def write_frames(path: Path, encoding: Encoding, pictures: Iterator[Array], *, fps: int) -> int:
    """Writes pictures one by one as they are made, and the last one for `HELD_S`; returns how many.

    Args:
        path: A file that does not exist yet.
        encoding: One of `CLIP_ENCODINGS`.
        pictures: At least one, (height, width, 3) uint8, all of one size.
        fps: Pictures per second.
    """
    picture = next(pictures)
    count, held = 1, round(HELD_S * fps)
    with FrameVideoWriter(path, encoding, width=picture.shape[1], height=picture.shape[0], rate_hz=fps) as writer:
        writer.add(picture)
        for picture in pictures:
            writer.add(picture)
            count += 1
        for _ in range(held):
            writer.add(picture)
    return count + held


def _add_border(picture: Array) -> Array:
    """Returns a picture (height, width, 3) uint8 with a red border."""
    width = max(2, round(_BORDER_SHARE * picture.shape[0]))
    inner = slice(width, -width)
    marked: Array = np.empty_like(picture)
    marked[:] = BAD
    marked[inner, inner] = picture[inner, inner]
    return marked
