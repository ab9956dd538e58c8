"""Reads what the cameras of a render set see, for point clouds by camera."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.files import path_word
from unlatch.simcore.geometry import Pinhole
from unlatch.simcore.recording.export.images import choose_cameras
from unlatch.simcore.recording.images.modality import DEPTH, DISTANCE, LINKS
from unlatch.simcore.recording.images.rendered_episode import RenderedEpisode
from unlatch.simcore.recording.images.renders import RenderSet
from unlatch.simcore.recording.observed.camera_cloud import CameraView


@dataclass(frozen=True)
class EpisodeViews:
    """What cameras see in the frames of an episode; every iteration reads the images anew, one frame at a time."""

    episode: RenderedEpisode
    """Its images."""
    kinds: dict[str, str]
    """Kind of the images of lengths, `depth` or `distance`, by camera."""

    def __iter__(self) -> Iterator[Sequence[CameraView]]:
        """Yields the views of each frame."""
        return zip(*(self._read_camera(camera, kind) for camera, kind in self.kinds.items()), strict=True)

    def _read_camera(self, camera: str, kind: str) -> Iterator[CameraView]:
        labels, track = self.episode.labels(LINKS), self.episode.tracks[camera]
        images = zip(self.episode.frames(camera, kind), self.episode.frames(camera, LINKS), strict=True)
        for frame, (lengths, links) in enumerate(images):
            optics = self.episode.optics(camera, frame)
            if kind == DISTANCE and isinstance(optics, Pinhole):
                lengths = lengths / optics.ray_lengths
            yield CameraView(camera, optics, track.T_world_camera(frame), lengths, links, labels)


class ViewSource:
    """The cameras of a render set from which points are made."""

    def __init__(self, renders: RenderSet, cameras: Sequence[str] | None) -> None:
        """Chooses the named cameras of a render set; None: all.

        Raises:
            RecordingError: The set has no such camera, or not the images that points need.
        """
        self._renders = renders
        chosen = choose_cameras(renders, cameras, key="point_cloud_cameras")
        self._kinds = {name: self._choose_kind(name) for name in chosen}

    def _choose_kind(self, camera: str) -> str:
        """Returns the kind of a camera's images of lengths."""
        about, there = self._renders.cameras[camera], self._renders.modalities
        wanted = (DISTANCE,) if about["lens"] == "fisheye" else (DEPTH, DISTANCE)
        found = [kind for kind in wanted if kind in there]
        if not found or LINKS not in there:
            raise RecordingError(
                f"Render set '{self._renders.path}' has only {', '.join(there)}. Expected {' or '.join(wanted)}, and "
                f"{LINKS}, for the points of camera '{camera}'. Render them: unlatch render "
                f"{path_word(self._renders.path.parents[1])} name=NAME "
                f"modalities=[{wanted[0]},{LINKS}], and give render=NAME.",
                camera=camera,
            )
        return found[0]

    def of(self, number: int) -> EpisodeViews:
        """Returns what the cameras see in an episode."""
        return EpisodeViews(self._renders.episode(number), self._kinds)
