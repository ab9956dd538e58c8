"""Images of recorded episodes into a render set, one episode after the other; one such job is sent to every worker."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.randomization.config import RandomizationCfg
from unlatch.workflows.cli.console import banner_hidden
from unlatch.workflows.runs.executors.executor import EpisodeMaker, Outcome

if TYPE_CHECKING:
    import numpy as np

    from unlatch.configs.schema import EpisodeCfg
    from unlatch.simcore.recording.data_set.data_set import DataSet
    from unlatch.simcore.recording.episode import EpisodeRecord
    from unlatch.simcore.recording.images.renders import RenderSet
    from unlatch.simcore.sim.collision import BulletCollisionChecker
    from unlatch.simcore.sim.sensors.camera import Camera
    from unlatch.simcore.sim.world import World
    from unlatch.simcore.state import Rendering
    from unlatch.workflows.viewing.scene_picture import RecordedWorld


@dataclass(frozen=True)
class RenderOutcome(Outcome):
    """What came of rendering one episode."""

    problem: str = ""
    """Why it could not be rendered."""
    n_frames: int = 0
    """Frames of each camera."""


@dataclass(frozen=True)
class RenderJob:
    """Renders episodes of a data set; see `Job`."""

    cfg: EpisodeCfg
    """What the episodes are made of, with the cameras as its only sensors."""
    data_set: DataSet
    """Where they are."""
    render_set: RenderSet
    """Where the images go."""
    renderer: str
    """Name in the catalog of renderers."""
    randomization: RandomizationCfg | None
    """Whose visual rules are drawn anew; None: an episode looks as it did."""
    digests: Mapping[int, str]
    """Checksum of the arrays of every episode that is rendered."""

    @contextmanager
    def open(self, worker: str) -> Iterator[EpisodeMaker]:
        """See `Job`."""
        from unlatch.simcore.sim.renderers.catalog import RENDERERS

        with banner_hidden():
            from unlatch.simcore.sim.collision import BulletCollisionChecker
            from unlatch.simcore.sim.world import World

        with ExitStack() as stack:
            with banner_hidden():  # the driver of a graphics card greets too
                world = stack.enter_context(
                    World(self.cfg.world, visuals=True, renderer=RENDERERS.load(self.renderer)())
                )
                checker = stack.enter_context(BulletCollisionChecker())
            render_set = stack.enter_context(self.render_set)

            def render(number: int) -> Outcome:
                try:
                    return self.render(self.data_set.read(number), world, checker, render_set)
                except RecordingError as exc:
                    return RenderOutcome(number, False, "damaged", problem=exc.message)

            yield render

    def lost(self, number: int, reason: str, *, code: str = "error") -> Outcome:
        """See `Job`."""
        return RenderOutcome(number, False, code, problem=f"its images were lost: {reason}")

    def render(
        self, record: EpisodeRecord, world: World, checker: BulletCollisionChecker, render_set: RenderSet
    ) -> RenderOutcome:
        """Renders one record.

        Args:
            record: The record, with its arrays.
            world: An open world with visual shapes, which is emptied.
            checker: An open collision checker.
            render_set: Where the images go.

        Raises:
            RecordingError: It does not fit the objects that are there now, or the images cannot be written.
        """
        from unlatch.simcore.rng import derived_seed
        from unlatch.workflows.episode.randomization.episode_randomization import VisualDraw
        from unlatch.workflows.viewing.scene_picture import open_record

        started = time.perf_counter()
        draw = None
        if self.randomization is not None:
            draw = VisualDraw(self.randomization, derived_seed(record.seed, f"render.{render_set.name}"))
        with open_record(self.cfg, record, checker, visual_draw=draw, world=world) as shown:
            opened = time.perf_counter()
            pictures = EpisodePictures(shown, render_set)
            pictures.write(record.number, self.digests[record.number])
        timings = {
            "open": 1e3 * (opened - started),
            **pictures.timings_ms,
            "total": 1e3 * (time.perf_counter() - started),
        }
        return RenderOutcome(record.number, True, None, timings, n_frames=record.n_actions + 1)


class EpisodePictures:
    """The images of one episode that is open: made frame by frame, one frame in memory at a time."""

    def __init__(self, shown: RecordedWorld, render_set: RenderSet) -> None:
        """Switches the cameras on.

        Args:
            shown: The record, with the set's cameras in its scene.
            render_set: Where the images go.
        """
        from unlatch.simcore.state import Rendering
        from unlatch.workflows.episode.randomization.visual_views import cameras
        from unlatch.workflows.images.render_annotations import EpisodeAnnotations

        self._shown = shown
        self._set = render_set
        self._cameras: list[Camera] = cameras(shown.episode.scene)
        self._kinds: dict[str, Rendering] = {name: Rendering[name] for name in render_set.modalities}
        self.timings_ms = {"show": 0.0, "image": 0.0, "annotate": 0.0, "encode": 0.0}
        """Wall time of writing states into the world, of making and annotating images, and of writing them [ms]."""
        asked = render_set.header.get("annotations")
        self._annotations = None if asked is None else EpisodeAnnotations(shown, asked)
        for camera in self._cameras:
            for kind in self._kinds.values():
                camera.switch_rendering(kind, on=True)
            if self._annotations is not None:
                camera.switch_rendering(Rendering.depth, on=True)

    def write(self, number: int, state_sha256: str) -> None:
        """Writes all images of the episode.

        Args:
            number: Episode number.
            state_sha256: Checksum of the arrays of the record.

        Raises:
            RecordingError: They cannot be written.
        """

        def fill(folder: Path) -> dict[str, Any]:
            self._write_frames(folder)
            first = self._cameras[0]
            labels = {name: first.labels(kind) for name, kind in self._kinds.items() if first.labels(kind)}
            n_frames = self._shown.record.n_actions + 1
            about = {} if self._annotations is None else {"annotations": self._annotations.write(folder)}
            return {"n_frames": n_frames, "state_sha256": state_sha256, "labels": labels, **about}

        self._set.write(number, fill)

    def _write_frames(self, folder: Path) -> None:
        import numpy as np

        from unlatch.simcore.recording.images.frame_video import FrameVideoWriter
        from unlatch.simcore.recording.images.rendered_episode import CAMERAS_FILE, stream_file
        from unlatch.simcore.recording.state_file import encode_state

        tracks: dict[str, list[np.ndarray]] = {}
        with ExitStack() as stack:
            writers = {}
            for camera in self._cameras:
                name, cfg = camera.cfg.name, camera.cfg
                for stream in self._set.streams[name].values():
                    writer = FrameVideoWriter(
                        folder / stream_file(name, stream),
                        stream.encoding,
                        width=cfg.width,
                        height=cfg.height,
                        rate_hz=self._set.rate_hz,
                    )
                    writers[name, stream.modality] = stack.enter_context(writer)
            for frame in range(self._shown.record.n_actions + 1):
                with self._timed("show"):
                    self._shown.show(frame)
                for camera in self._cameras:
                    with self._timed("image"):
                        camera.update_state()
                    if self._annotations is not None:
                        with self._timed("annotate"):
                            self._annotations.add(camera)
                    name = camera.cfg.name
                    for key, value in camera.track().items():
                        tracks.setdefault(f"{name}.{key}", []).append(value)
                    with self._timed("encode"):
                        for modality, kind in self._kinds.items():
                            image = self._set.streams[name][modality].pack(camera.image(kind))
                            writers[name, modality].add(image)
        arrays = {key: np.stack(rows) for key, rows in tracks.items()}
        (folder / CAMERAS_FILE).write_bytes(encode_state(arrays))

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.timings_ms[stage] += 1e3 * (time.perf_counter() - started)
