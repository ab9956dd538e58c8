"""Images of the episodes of a data set: `renders/<render name>/`, made from its records."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.simcore.cameras import Fisheye, Pinhole
from unlatch.simcore.errors import RecordingError
from unlatch.simcore.files import file_sha256, path_word, read_bounded, report_unwritable, sync_path, write_durably
from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.recording.episode_folders import AREAS, EpisodeFolders, check_same_header
from unlatch.simcore.recording.episode_reading import decode_npz
from unlatch.simcore.recording.frame_video import ENCODINGS, read_frames
from unlatch.simcore.recording.json_values import encode_sealed, plain, read_sealed
from unlatch.simcore.recording.modality import ANNOTATIONS, DISTANCE, ImageStream, RenderedAnnotations, annotations_file
from unlatch.simcore.temporary_folders import clean_areas

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
        wanted = {self.folder / name: about["sha256"] for name, about in self.files.items()}
        changed = (path for path in wanted if not path.is_file() or file_sha256(path) != wanted[path])
        return [f"'{path}' is missing or was changed" for path in changed]


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


RENDERS = "renders"
"""Folder of all render sets of a data set."""
RENDER_FILE = "render.json"
RENDER_FORMAT = "unlatch-render"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}\Z")


class RenderSet(EpisodeFolders):
    """One render set of a data set; make it with `create_or_resume` or `open`."""

    def __init__(self, path: Path, header: dict[str, Any]) -> None:
        """Use `create_or_resume` or `open`."""
        super().__init__(path, root=path)
        self.header = header
        """Cameras, modalities, renderer, visuals and versions; what must be equal on resume."""

    @classmethod
    def create_or_resume(cls, data_set: Path, name: str, header: Mapping[str, Any]) -> RenderSet:
        """Makes a render set in the folder of a data set, or opens an existing one with the same header.

        The name has letters, digits, `_` and `-`. `cameras` of the header is a list of maps with `name` and `streams`.

        Raises:
            RecordingError: The name cannot name a folder, the set has another header, or it cannot be written.
        """
        folder = render_folder(data_set, name)
        wanted = plain(header, where="header")
        with report_unwritable(folder):
            folder.mkdir(parents=True, exist_ok=True)
            clean_areas(folder / AREAS)
            with cls(folder, wanted) as render_set:
                content = {"format": RENDER_FORMAT, "format_version": FORMAT_VERSION, "header": wanted}
                render_set.publish(RENDER_FILE, content)
        existing = cls.open(data_set, name)
        advice = "Choose another name=, or remove the folder."
        check_same_header(existing.header, wanted, folder, what="Render set", advice=advice)
        return existing

    @classmethod
    def open(cls, data_set: str | Path, name: str = "default") -> RenderSet:
        """Opens a render set of the data set in a folder.

        Raises:
            RecordingError: It does not exist, is damaged or not ours.
        """
        folder = render_folder(Path(data_set), name)
        if not (folder / RENDER_FILE).is_file():
            there = ", ".join(render_names(Path(data_set))) or "none"
            raise RecordingError(
                f"'{data_set}' has no render set '{name}'. It has: {there}. Name one of them, or make it: "
                f"unlatch render {path_word(data_set)} name={name}",
                path=str(folder),
            )
        file = folder / RENDER_FILE
        content = read_sealed(file, expected=RENDER_FORMAT, versions=(FORMAT_VERSION,), limit=MAX_JSON_BYTES)
        return cls(folder, dict(content["header"]))

    @property
    def name(self) -> str:
        """Its name."""
        return self.path.name

    @cached_property
    def cameras(self) -> dict[str, dict[str, Any]]:
        """Every camera by name: `width`, `height`, `model`, `intrinsics`, `rate_hz` and the configuration it had."""
        return {str(camera["name"]): dict(camera) for camera in self.header["cameras"]}

    @property
    def modalities(self) -> list[str]:
        """Kinds of images; every camera has all of them."""
        return [str(modality) for modality in self.header["modalities"]]

    @property
    def rate_hz(self) -> int:
        """Frames in a second."""
        return int(self.header["rate_hz"])

    @cached_property
    def streams(self) -> dict[str, dict[str, ImageStream]]:
        """How images are stored, by camera and modality."""
        return {
            name: {item["modality"]: ImageStream(**item) for item in camera["streams"]}
            for name, camera in self.cameras.items()
        }

    def episode(self, number: int) -> RenderedEpisode:
        """Returns the images of an episode.

        Raises:
            RecordingError: It was not rendered, or is damaged.
        """
        folder = self.folder_of(number)
        if not folder.is_dir():
            raise RecordingError(
                f"Episode {number} is not in render set '{self.path}', which has {len(self.numbers())}. Render it: "
                f"unlatch render {path_word(self.path.parents[1])} name={self.name} only=[{number}]",
                number=number,
            )
        return RenderedEpisode(folder, self.streams, self.cameras)

    def frames(self, number: int, camera: str, modality: str) -> Iterator[np.ndarray]:
        """Yields the images of an episode; see `RenderedEpisode.frames`."""
        return self.episode(number).frames(camera, modality)

    def write(self, number: int, fill: Callable[[Path], dict[str, Any]]) -> bool:
        """Writes the images of an episode in one step.

        Args:
            number: Episode number.
            fill: Writes all files into the folder that it is given, and returns the content of `frames.json`:
                `n_frames`, `state_sha256`, `labels`.

        Returns:
            Whether they were written; False if another writer was faster.

        Raises:
            RecordingError: The disk cannot be written.
        """

        def fill_folder(draft: Path) -> None:
            content = fill(draft)
            files = {}
            for path in sorted(draft.iterdir()):
                sync_path(path)
                files[path.name] = {"bytes": path.stat().st_size, "sha256": file_sha256(path)}
            head = {"format": FRAMES_FORMAT, "format_version": FORMAT_VERSION, "number": number, "files": files}
            write_durably(draft / FRAMES_FILE, encode_sealed({**content, **head}))

        with report_unwritable(self.path):
            return self.write_folder(number, fill_folder)

    def remove(self, number: int) -> None:
        """Removes the images of an episode."""
        shutil.rmtree(self.folder_of(number), ignore_errors=True)

    def __repr__(self) -> str:
        return f"RenderSet({str(self.path)!r})"


def render_folder(data_set: Path, name: str) -> Path:
    """Returns the folder of a render set, whether it exists or not.

    Raises:
        RecordingError: The name cannot name a folder.
    """
    if not _NAME.match(name):
        raise RecordingError(
            f"name='{name}' cannot name a render set. Expected 1 to 64 letters, digits, '_' and '-'. Change it.",
            name=name,
        )
    return data_set / RENDERS / name


def render_names(data_set: Path) -> list[str]:
    """Returns the names of the render sets of a data set, sorted."""
    return sorted(path.parent.name for path in (data_set / RENDERS).glob(f"*/{RENDER_FILE}"))
