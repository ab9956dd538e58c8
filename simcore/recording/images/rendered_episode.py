"""The images of one rendered episode."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.files import read_bounded
from unlatch.simcore.geometry import Fisheye, Pinhole, Pose
from unlatch.simcore.recording.images.frame_video import ENCODINGS, read_frames
from unlatch.simcore.recording.images.modality import DISTANCE, ImageStream
from unlatch.simcore.recording.images.rendered_annotations import ANNOTATIONS, RenderedAnnotations, annotations_file
from unlatch.simcore.recording.json_values import read_sealed
from unlatch.simcore.recording.state_file import decode_npz

Array = np.ndarray

FRAMES_FILE = "frames.json"
CAMERAS_FILE = "cameras.npz"
FRAMES_FORMAT = "unlatch-frames"
FORMAT_VERSION = 1
"""Version of the format of render sets."""
MAX_JSON_BYTES = 16 << 20
"""Largest JSON file of a render set that is read [bytes]."""
_MAX_POSES_BYTES = 1 << 30


@dataclass(frozen=True)
class CameraTrack:
    """Pose and intrinsics of one camera in every frame."""

    position: Array
    """(T+1, 3) origin of its frame in the world frame [m]."""
    quat_xyzw: Array
    """(T+1, 4) orientation of its frame (x right, y down, z forward) in the world frame."""
    intrinsics: Array
    """(T+1, 4) fx, fy, cx, cy [pixels]; whole numbers are the centres of pixels."""

    def T_world_camera(self, frame: int) -> Pose:
        """Returns the pose of the camera in a frame of the episode."""
        return Pose.from_quat_xyzw(self.position[frame], self.quat_xyzw[frame])


class RenderedEpisode:
    """The images of one episode; they are read on request."""

    def __init__(
        self, folder: Path, streams: Mapping[str, Mapping[str, ImageStream]], cameras: Mapping[str, Mapping[str, Any]]
    ) -> None:
        """Use `RenderSet.episode`."""
        self.folder = folder
        """Folder of its files."""
        self._streams = streams
        self._cameras = cameras
        self._content = read_sealed(
            folder / FRAMES_FILE, expected=FRAMES_FORMAT, versions=(FORMAT_VERSION,), limit=MAX_JSON_BYTES
        )
        self.number = int(self._content["number"])
        """Episode number."""
        self.n_frames = int(self._content["n_frames"])
        """T+1: one image per recorded state."""
        self.state_sha256 = str(self._content["state_sha256"])
        """Checksum of the `state.npz` from which the images were made."""
        self.files: dict[str, dict[str, Any]] = dict(self._content["files"])
        """`bytes` and `sha256` of every file by name."""

    def labels(self, modality: str) -> list[str]:
        """Returns the labels of a segmentation: value v has label v of the list."""
        return [str(label) for label in self._content["labels"][modality]]

    def path(self, camera: str, modality: str) -> Path:
        """Returns the file of a camera's images of one kind."""
        stream = _find_stream(self._streams, camera, modality)
        return self.folder / stream_file(camera, stream)

    def frames(self, camera: str, modality: str) -> Iterator[Array]:
        """Yields the images of frames 0 to T; one image is in memory at a time.

        Args:
            camera: Name of the camera.
            modality: `rgb` (H, W, 3) uint8; `depth`, `distance` (H, W) float32 [m], infinite where nothing is seen;
                `segmentation`, `instance_id_segmentation` (H, W) int32; `normals` (H, W, 3) float32, world frame.

        Raises:
            RecordingError: There are no such images, or they are damaged.
        """
        stream = _find_stream(self._streams, camera, modality)
        path, count = self.path(camera, modality), 0
        for stored in read_frames(path, stream.encoding):
            count += 1
            yield stream.unpack(stored)
        if count != self.n_frames:
            raise RecordingError(
                f"Images '{path}' have {count} frames, expected {self.n_frames}. They are damaged. Remove their folder "
                "and render again.",
                path=str(path),
            )

    def point_clouds(self, camera: str) -> Iterator[Array]:
        """Yields the points of frames 0 to T at which pixel rays meet a surface: (H, W, 3) float32, world frame [m].

        NaN where nothing is seen. One point cloud is in memory at a time.

        Raises:
            RecordingError: There are no images `distance` of it, or they are damaged.
        """
        _find_stream(self._streams, camera, DISTANCE)
        track, known, rays = self.tracks[camera], None, np.zeros(0)
        for frame, distance in enumerate(self.frames(camera, DISTANCE)):
            lens = self.optics(camera, frame)
            if lens != known:
                known, rays = lens, lens.rays() / np.linalg.norm(lens.rays(), axis=-1, keepdims=True)
            reach = np.where(np.isfinite(distance), distance, np.nan)
            yield (track.T_world_camera(frame) @ (rays * reach[..., None])).astype(np.float32)

    def optics(self, camera: str, frame: int) -> Pinhole | Fisheye:
        """Returns the image size and the lens of a camera in a frame of the episode."""
        about, (fx, fy, cx, cy) = self._cameras[camera], self.tracks[camera].intrinsics[frame].tolist()
        width, height, distortion = int(about["width"]), int(about["height"]), about.get("distortion")
        if distortion is None:
            return Pinhole(width, height, fx, fy, cx, cy)
        k1, k2, k3, k4 = distortion
        return Fisheye(width, height, fx, fy, cx, cy, (k1, k2, k3, k4))

    def annotations(self, camera: str) -> RenderedAnnotations:
        """Returns the annotations of every frame of a camera.

        Raises:
            RecordingError: There are none, or they are damaged.
        """
        about = self._content.get("annotations", {}).get(camera)
        if about is None:
            raise RecordingError(
                f"There are no annotations of camera '{camera}' in '{self.folder}'. Render a set that has them: "
                f"modalities=[{', '.join(ANNOTATIONS)}].",
                camera=camera,
            )
        path = self.folder / annotations_file(camera)
        return RenderedAnnotations(
            decode_npz(read_bounded(path, limit=_MAX_POSES_BYTES), where=str(path)),
            tuple(about["paths"]),
            tuple(about["semantic_ids"]),
            {int(number): dict(labels) for number, labels in about["id_to_labels"].items()},
            {key: tuple(names) for key, names in about["names"].items()},
        )

    @cached_property
    def tracks(self) -> dict[str, CameraTrack]:
        """Pose and intrinsics of every camera in every frame."""
        path = self.folder / CAMERAS_FILE
        arrays = decode_npz(read_bounded(path, limit=_MAX_POSES_BYTES), where=str(path))
        return {
            camera: CameraTrack(*(arrays[f"{camera}.{key}"] for key in ("position", "quat_xyzw", "intrinsics")))
            for camera in self._streams
        }

    def problems(self) -> list[str]:
        """Returns the files that are missing or changed, by their checksums."""
        found = []
        for name, wanted in self.files.items():
            path = self.folder / name
            if not path.is_file() or file_sha256(path) != wanted["sha256"]:
                found.append(f"'{path}' is missing or was changed")
        return found


def stream_file(camera: str, stream: ImageStream) -> str:
    """Returns the name of the file of a camera's images of one kind."""
    return f"{camera}.{stream.modality}.{ENCODINGS[stream.encoding].ending}"


def _find_stream(streams: Mapping[str, Mapping[str, ImageStream]], camera: str, modality: str) -> ImageStream:
    if camera not in streams or modality not in streams[camera]:
        kinds = ", ".join(next(iter(streams.values()), {}))
        raise RecordingError(
            f"There are no images '{modality}' of camera '{camera}'. Cameras: {', '.join(streams)}; modalities: "
            f"{kinds}. Name one of them, or render a set that has it.",
            camera=camera,
            modality=modality,
        )
    return streams[camera][modality]


def file_sha256(path: Path) -> str:
    """Returns the SHA-256 checksum of a file of any size."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
