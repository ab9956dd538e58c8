"""Takes short clips of recorded episodes, for pages that contain them."""

from __future__ import annotations

import tempfile
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.workflows.viewing.clips.frames import CLIP_ENCODINGS, frame_numbers, take_frames, write_frames
from unlatch.workflows.viewing.clips.views import CLOSE, view_taker
from unlatch.workflows.viewing.recorded_moments import last_finite_frame
from unlatch.workflows.viewing.scene_picture import RecordedWorld

CLIP_PX = (480, 384)
"""Width and height of a clip [pixels]."""
MOST_CLIP_FRAMES = 32
"""Largest number of different frames; a longer episode is shown faster than it was."""
CLIP_RATE_HZ = 8
"""Frames per second of a clip."""


@dataclass(frozen=True)
class PageClip:
    """A clip of one episode."""

    mp4_base64: str
    """The file as text for a page."""
    frames: int
    """Number of frames, with those that repeat the last one."""
    speed: float
    """How many times as fast as the episode it plays."""


def count_clip_frames(record: EpisodeRecord) -> int:
    """Returns how many pictures `take_clip` takes of an episode."""
    return len(frame_numbers(record, fps=CLIP_RATE_HZ, speed=_choose_speed(record)))


def _choose_speed(record: EpisodeRecord) -> float:
    times = record.arrays["time"]
    length_s = float(times[last_finite_frame(record)] - times[0])
    return max(1.0, length_s * CLIP_RATE_HZ / (MOST_CLIP_FRAMES - 1))


def take_clip(shown: RecordedWorld, *, on_picture: Callable[[], None] = lambda: None) -> PageClip:
    """Takes a clip of a whole episode; a red border marks the failure and what comes after it.

    `on_picture` is called after each picture.
    """
    speed = _choose_speed(shown.record)
    numbers = frame_numbers(shown.record, fps=CLIP_RATE_HZ, speed=speed)
    take = view_taker(shown, CLOSE, width=CLIP_PX[0], height=CLIP_PX[1])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "clip.mp4")
        pictures = take_frames(shown, numbers, take, on_picture=on_picture)
        frames = write_frames(path, CLIP_ENCODINGS["mp4"], pictures, fps=CLIP_RATE_HZ)
        return PageClip(b64encode(path.read_bytes()).decode(), frames, speed)
