"""Renders episodes into a render set, with their annotations; every worker of an executor gets one such job."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.configs.schema import EpisodeCfg
from unlatch.simcore.catalogs import RENDERERS
from unlatch.simcore.errors import RecordingError
from unlatch.simcore.randomization.config import RandomizationCfg, VisualDraw
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.frame_video import FrameVideoWriter
from unlatch.simcore.recording.modality import annotations_file
from unlatch.simcore.recording.renders import CAMERAS_FILE, RenderSet, stream_file
from unlatch.simcore.recording.state_file import encode_npz
from unlatch.simcore.rng import derived_seed
from unlatch.simcore.sim.annotators.annotation import AnnotatedFrame, AnnotationCfg, annotate, take_annotated_frame
from unlatch.simcore.sim.collision import BulletCollisionChecker
from unlatch.simcore.sim.renderers.renderer import RawImages
from unlatch.simcore.sim.sensors.camera import Camera
from unlatch.simcore.sim.world import World
from unlatch.simcore.state import Rendering
from unlatch.workflows.episode.visual_views import cameras
from unlatch.workflows.runs.executors import EpisodeMaker, Outcome
from unlatch.workflows.viewing.scene_picture import RecordedWorld, open_record

Array = np.ndarray


class EpisodeAnnotations:
    """Collects annotations frame by frame; things that are not visible have rows too, so all frames have one shape."""

    def __init__(self, recorded: RecordedWorld, request: Mapping[str, Any]) -> None:
        """Starts with no frames; the request has the names of `annotators` and fields of `AnnotationCfg`."""
        self._recorded = recorded
        self._names: Sequence[str] = request["annotators"]
        self._cfg = AnnotationCfg(
            **{key: value for key, value in request.items() if key != "annotators"}, include_occluded=True
        )
        self._rows: dict[str, dict[str, list[Array]]] = {}
        self._descriptions: dict[str, dict[str, Any]] = {}

    def add(self, camera: Camera) -> None:
        """Annotates the current image of an updated camera whose depth images are switched on."""
        frame = take_camera_frame(self._recorded, camera, self._cfg, images=camera.raw_images())
        found = annotate(frame, self._names)
        description = {
            "paths": list(found.paths),
            "semantic_ids": list(found.semantic_ids),
            "id_to_labels": {str(number): dict(labels) for number, labels in found.id_to_labels.items()},
            "names": {key: value.tolist() for key, value in found.values.items() if value.dtype.kind == "U"},
        }
        self._descriptions.setdefault(camera.cfg.name, description)
        rows = self._rows.setdefault(camera.cfg.name, {})
        for key, value in found.values.items():
            if value.dtype.kind != "U":  # names are the same in every frame
                rows.setdefault(key, []).append(value)

    def write(self, folder: Path) -> dict[str, Any]:
        """Writes one file per camera; returns their descriptions for `frames.json`."""
        for name, rows in self._rows.items():
            arrays = {key: np.stack(values) for key, values in rows.items()}
            (folder / annotations_file(name)).write_bytes(encode_npz(arrays))
        return self._descriptions


def take_camera_frame(
    recorded: RecordedWorld, camera: Camera, cfg: AnnotationCfg, *, images: RawImages | None = None
) -> AnnotatedFrame:
    """Returns what a camera sees of the shown state, with what is needed to annotate it; None: it takes its images."""
    keypoints = recorded.episode.scene.state_tree.keypoints
    keypoints.update_state()
    return take_annotated_frame(
        recorded.world,
        camera.optics,
        camera.T_world_sensor,
        near_m=camera.cfg.near_m,
        far_m=camera.cfg.far_m,
        cfg=cfg,
        keypoints=keypoints.state_dict(),
        images=images,
    )


@dataclass(frozen=True)
class RenderOutcome(Outcome):
    """Result of rendering one episode."""

    problem: str = ""
    """Why it could not be rendered; empty if it was."""
    n_frames: int = 0
    """Frames of each camera."""


@dataclass(frozen=True)
class RenderJob:
    """Renders episodes of a data set; implements `Job`."""

    cfg: EpisodeCfg
    """Configuration of the episodes; the cameras are its only sensors."""
    data_set: DataSet
    """The data set."""
    render_set: RenderSet
    """Where the images go."""
    renderer: str
    """Name in the catalog of renderers."""
    randomization: RandomizationCfg | None
    """Randomization with visual rules to draw from; None: the episodes look as recorded."""
    digests: Mapping[int, str]
    """Checksum of the arrays of every requested episode, by number."""
    draws_room: bool = False
    """Whether the room is drawn anew for this set; otherwise it looks as it does in other pictures of the episode."""

    @contextmanager
    def open(self, worker: str) -> Iterator[EpisodeMaker]:
        """See `Job.open`."""
        with self._open_place() as place:

            def render_number(number: int) -> Outcome:
                try:
                    return self.render(self.data_set.read(number), *place)
                except RecordingError as exc:
                    return RenderOutcome(number, False, "damaged", problem=exc.message)

            yield render_number

    @contextmanager
    def open_follow_up(self) -> Iterator[Callable[[EpisodeRecord], None]]:
        """Opens what draws a success as soon as its record is written; see `FollowUp`.

        Images that cannot be drawn are left out: `unlatch render` draws what is missing, and says why it cannot.
        """
        with self._open_place() as place:

            def draw(record: EpisodeRecord) -> None:
                if not record.success or record.n_actions == 0:
                    return
                place[-1].remove(record.number)  # of an earlier record of this number
                with suppress(RecordingError):
                    self.render(record, *place)

            yield draw

    @contextmanager
    def _open_place(self) -> Iterator[tuple[World, BulletCollisionChecker, RenderSet]]:
        """Opens a world with visual shapes, a checker, and the render set for writing."""
        renderer = RENDERERS.load(self.renderer)()
        with (
            World(self.cfg.world, visuals=True, renderer=renderer) as world,
            BulletCollisionChecker() as checker,
            self.render_set as render_set,
        ):
            yield world, checker, render_set

    def record_loss(self, number: int, reason: str, *, code: str = "error") -> Outcome:
        """See `Job.record_loss`."""
        return RenderOutcome(number, False, code, problem=f"its images were lost: {reason}")

    def render(
        self, record: EpisodeRecord, world: World, checker: BulletCollisionChecker, render_set: RenderSet
    ) -> RenderOutcome:
        """Renders one record in an open world with visual shapes, which is emptied.

        Raises:
            RecordingError: The record does not fit the objects that exist now, or the images cannot be written.
        """
        started = time.perf_counter()
        seed = derived_seed(record.seed, f"render.{render_set.name}")
        draw = None if self.randomization is None else VisualDraw(self.randomization, seed)
        room = seed if self.draws_room else None
        with open_record(self.cfg, record, checker, visual_draw=draw, scenery_seed=room, world=world) as recorded:
            opened = time.perf_counter()
            images = EpisodeImages(recorded, render_set)
            images.write(record.number, record.state_sha256 or self.digests[record.number])
        timings = {
            "open": 1e3 * (opened - started),
            **images.timings_ms,
            "total": 1e3 * (time.perf_counter() - started),
        }
        return RenderOutcome(record.number, True, None, timings, n_frames=record.n_actions + 1)


class EpisodeImages:
    """Renders the images of one open episode, one frame in memory at a time."""

    def __init__(self, recorded: RecordedWorld, render_set: RenderSet) -> None:
        """Switches on the cameras in the scene of the record."""
        self._recorded = recorded
        self._set = render_set
        self._cameras: list[Camera] = cameras(recorded.episode.scene)
        self._kinds: dict[str, Rendering] = {name: Rendering[name] for name in render_set.modalities}
        self.timings_ms = {"show": 0.0, "image": 0.0, "annotate": 0.0, "encode": 0.0}
        """Wall time of setting states, of rendering and annotating images, and of encoding them [ms]."""
        request = render_set.header.get("annotations")
        self._annotations = None if request is None else EpisodeAnnotations(recorded, request)
        for camera in self._cameras:
            for kind in self._kinds.values():
                camera.switch_rendering(kind, on=True)
            if self._annotations is not None:
                camera.switch_rendering(Rendering.depth, on=True)

    def write(self, number: int, state_sha256: str) -> None:
        """Writes all images of the episode, with the checksum of the arrays of its record.

        Raises:
            RecordingError: They cannot be written.
        """

        def fill(folder: Path) -> dict[str, Any]:
            self._write_frames(folder)
            first = self._cameras[0]
            labels = {name: first.labels(kind) for name, kind in self._kinds.items() if first.labels(kind)}
            n_frames = self._recorded.record.n_actions + 1
            about = {} if self._annotations is None else {"annotations": self._annotations.write(folder)}
            return {"n_frames": n_frames, "state_sha256": state_sha256, "labels": labels, **about}

        self._set.write(number, fill)

    def _write_frames(self, folder: Path) -> None:
        tracks: dict[str, list[np.ndarray]] = {}
        with ExitStack() as stack:
            writers = self._open_writers(folder, stack)
            encoder = stack.enter_context(_EncoderThread())
            for frame in range(self._recorded.record.n_actions + 1):
                with self._timed("show"):
                    self._recorded.show(frame)
                for camera in self._cameras:
                    with self._timed("image"):
                        camera.update_state()
                    if self._annotations is not None:
                        with self._timed("annotate"):
                            self._annotations.add(camera)
                    images = {modality: camera.image(kind) for modality, kind in self._kinds.items()}
                    encoder.run(partial(self._encode, camera.cfg.name, images, writers))
                    for key, value in camera.pose_and_intrinsics().items():
                        tracks.setdefault(f"{camera.cfg.name}.{key}", []).append(value)
        arrays = {key: np.stack(rows) for key, rows in tracks.items()}
        (folder / CAMERAS_FILE).write_bytes(encode_npz(arrays))

    def _open_writers(self, folder: Path, stack: ExitStack) -> dict[tuple[str, str], FrameVideoWriter]:
        """Opens a writer for every camera and modality; the stack closes them."""
        writers = {}
        for camera in self._cameras:
            name, cfg = camera.cfg.name, camera.cfg
            for stream in self._set.streams[name].values():
                path = folder / stream_file(name, stream)
                writer = FrameVideoWriter(
                    path, stream.encoding, width=cfg.width, height=cfg.height, rate_hz=self._set.rate_hz
                )
                writers[name, stream.modality] = stack.enter_context(writer)
        return writers

    def _encode(
        self, name: str, images: Mapping[str, np.ndarray], writers: Mapping[tuple[str, str], FrameVideoWriter]
    ) -> None:
        with self._timed("encode"):
            for modality, image in images.items():
                writers[name, modality].add(self._set.streams[name][modality].pack(image))

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.timings_ms[stage] += 1e3 * (time.perf_counter() - started)


class _EncoderThread:
    """Encodes frames in their order, in one thread, while the next ones are drawn; use as a context manager.

    Leaving the context waits for the frames that were passed, and raises what their encoding raised.
    """

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="encoder")
        self._pending: deque[Future[None]] = deque()

    def run(self, encode: Callable[[], None]) -> None:
        """Encodes soon; waits if two frames are not encoded yet, so that few are in memory."""
        while len(self._pending) >= 2:  # frames that may wait for their encoding
            self._pending.popleft().result()
        self._pending.append(self._executor.submit(encode))

    def __enter__(self) -> _EncoderThread:
        return self

    def __exit__(self, exc_type: type[BaseException] | None, *exc_info: object) -> None:
        self._executor.shutdown(cancel_futures=exc_type is not None)
        if exc_type is None:
            for future in self._pending:
                future.result()
