"""Takes short videos of recorded episodes, for pages that contain them."""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unlatch.simcore.recording.images.frame_video import Encoding, FrameVideoWriter
from unlatch.simcore.sim.visuals.pictures import LookAtCamera, framing_camera, take_picture
from unlatch.workflows.viewing.failure_moments import failure_frame
from unlatch.workflows.viewing.picture import BAD
from unlatch.workflows.viewing.recorded_moments import last_finite_frame
from unlatch.workflows.viewing.scene_picture import RecordedWorld

Array = np.ndarray

CLIP_PX = (480, 384)
"""Width and height of a clip [pixels]."""
MOST_CLIP_FRAMES = 32
"""Largest number of different frames; a longer episode is shown faster than it was."""
HELD_FRAMES = 8
"""How often the last frame is repeated before the clip begins again."""
CLIP_RATE_HZ = 8
"""Frames per second of a clip."""
_H264 = Encoding("mp4", "libx264", "yuv420p", "rgb24", {"crf": "25", "preset": "medium", "mbtree": "0"})
"""What every browser plays: H.264 with a quarter of the colours, in MP4."""
_LOOKS_FROM = (-0.75, -1.15, 0.75)
"""Direction from the scene to the camera in the world frame: over the robot's right shoulder."""
_LOOKS_FROM_FAR_SIDE = (1.05, -0.8, 0.75)
"""The same for a robot with several arms, whose shoulders would hide the object."""
_FOV_DEG = 32.0
_MARGIN = 1.14
_BORDER_PX = 4


@dataclass(frozen=True)
class Clip:
    """A video of one episode."""

    mp4: bytes
    """The file."""
    frames: int
    """Number of frames, with those that repeat the last one."""
    speed: float
    """How many times as fast as the episode it plays."""


def take_clip(shown: RecordedWorld) -> Clip:
    """Takes a clip of a whole episode; a red border marks the failure and what comes after it."""
    record = shown.record
    last = last_finite_frame(record)
    times = record.arrays["time"]
    length_s = float(times[last] - times[0])
    count = min(MOST_CLIP_FRAMES, max(2, math.ceil(length_s * CLIP_RATE_HZ) + 1))
    view = choose_clip_view(shown, aspect=CLIP_PX[0] / CLIP_PX[1])
    failed_from = last + 1 if record.success else failure_frame(record)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "clip.mp4")
        with FrameVideoWriter(path, _H264, width=CLIP_PX[0], height=CLIP_PX[1], rate_hz=CLIP_RATE_HZ) as writer:
            for frame in np.linspace(0, last, count).round().astype(int).tolist():
                shown.show(frame)
                picture = take_picture(shown.world, view, width=CLIP_PX[0], height=CLIP_PX[1])
                picture = _add_border(picture) if frame >= failed_from else picture
                writer.add(picture)
            for _ in range(HELD_FRAMES):
                writer.add(picture)
        return Clip(path.read_bytes(), count + HELD_FRAMES, length_s * CLIP_RATE_HZ / max(count - 1, 1))


def choose_clip_view(shown: RecordedWorld, *, aspect: float) -> LookAtCamera:
    """Returns a camera that sees the objects at the start and the end, and the hands in the whole episode.

    Args:
        shown: The recorded episode.
        aspect: Width over height of the pictures.
    """
    arrays = shown.record.arrays
    last = last_finite_frame(shown.record)
    ends = ("tcp_position", "ee_position")
    points = [array[: last + 1 : 10] for key, array in arrays.items() if key.endswith(ends)]
    for frame in (0, last):
        shown.show(frame)
        for item in shown.episode.scene.objects.values():
            low, high = np.array([item.body.link_aabb(link) for link in item.body.links]).swapaxes(0, 1)
            points += [low, high]
    direction = _LOOKS_FROM if len(shown.episode.scene.robot.arms) == 1 else _LOOKS_FROM_FAR_SIDE
    return framing_camera(np.concatenate(points), direction, fov_deg=_FOV_DEG, aspect=aspect, margin=_MARGIN)


def _add_border(picture: Array) -> Array:
    """Returns a picture (height, width, 3) uint8 with a red border."""
    inner = slice(_BORDER_PX, -_BORDER_PX)
    marked: Array = np.empty_like(picture)
    marked[:] = BAD
    marked[inner, inner] = picture[inner, inner]
    return marked
