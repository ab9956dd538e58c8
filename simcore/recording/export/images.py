"""Reads the colour images of episodes from a render set: one for each of the T+1 states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unlatch.simcore.errors import RecordingError, close_matches
from unlatch.simcore.files import path_word
from unlatch.simcore.recording.data_set.index import EpisodeSummary
from unlatch.simcore.recording.images.modality import RGB
from unlatch.simcore.recording.images.renders import RenderSet


@dataclass(frozen=True)
class ImageSize:
    """Size of a camera's images [pixels]."""

    width: int
    height: int


class Images:
    """The images of one camera in one episode, read one at a time."""

    def __init__(self, renders: RenderSet, number: int, camera: str, size: ImageSize) -> None:
        self._episode = renders.episode(number)
        self._camera = camera
        self.size = size
        self.encoding = renders.streams[camera][RGB].encoding
        """Encoding of the file, one of `unlatch.simcore.recording.images.frame_video.ENCODINGS`."""

    @property
    def digest(self) -> str:
        """Checksum of the file, as stored in the render set."""
        return str(self._episode.files[self.path.name]["sha256"])

    @property
    def path(self) -> Path:
        """The video file with T+1 frames."""
        return self._episode.path(self._camera, RGB)

    def frames(self) -> Iterator[np.ndarray]:
        """Yields the T+1 images (H, W, 3) uint8, one in memory at a time."""
        return self._episode.frames(self._camera, RGB)


class ImageSource:
    """The cameras of a render set that are exported."""

    def __init__(self, renders: RenderSet, cameras: Sequence[str] | None) -> None:
        """Chooses the named cameras of a render set; None: all.

        Raises:
            RecordingError: The set has no such camera, or no colour images.
        """
        self._renders = renders
        if RGB not in renders.modalities:
            raise RecordingError(
                f"Render set '{renders.path}' has no '{RGB}', only {', '.join(renders.modalities)}. Colour images are "
                f"exported. Render them: unlatch render {path_word(renders.path.parents[1])} name=NAME "
                f"modalities=[{RGB}]",
            )
        chosen = choose_cameras(renders, cameras, key="cameras")
        self.sizes: Mapping[str, ImageSize] = {
            name: ImageSize(int(renders.cameras[name]["width"]), int(renders.cameras[name]["height"]))
            for name in chosen
        }
        """Sizes of images by camera."""

    def of(self, number: int) -> dict[str, Images]:
        """Returns the images of an episode by camera."""
        return {camera: Images(self._renders, number, camera, size) for camera, size in self.sizes.items()}


def choose_cameras(renders: RenderSet, cameras: Sequence[str] | None, *, key: str) -> list[str]:
    """Returns the named cameras of a render set, each once; None: all.

    Raises:
        RecordingError: The set has no such camera; the message names the option `key`.
    """
    for name in cameras or []:
        if name not in renders.cameras:
            raise RecordingError(
                f"{key} has '{name}', which is not a camera of render set '{renders.path}'."
                f"{close_matches(name, renders.cameras)} It has: {', '.join(renders.cameras)}. Name one of them.",
                camera=name,
            )
    return list(renders.cameras) if cameras is None else list(dict.fromkeys(cameras))


def check_rendered(renders: RenderSet, summaries: Sequence[EpisodeSummary]) -> None:
    """Raises unless all episodes have images that were made from their current states.

    Raises:
        RecordingError: An episode is not rendered, or has changed since.
    """
    missing = [item.number for item in summaries if item.number not in renders]
    if missing:
        raise RecordingError(
            f"{len(missing)} of {len(summaries)} episodes are not in render set '{renders.path}', the first "
            f"{missing[0]}. Render them: unlatch render {path_word(renders.path.parents[1])} name={renders.name} "
            "with the same cameras; or leave them out by only=[...].",
            number=missing[0],
        )
    for item in summaries:
        if renders.episode(item.number).state_sha256 != item.state_sha256:
            raise RecordingError(
                f"The images of episode {item.number} in '{renders.path}' were made from other states than "
                "the data set has. Run the same `unlatch render` command again.",
                number=item.number,
            )
