"""Writes images of recorded episodes with labels for training estimators of poses and boxes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image

from unlatch.configs.cameras import read_render_settings, with_cameras
from unlatch.configs.composition import Request
from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.semantic_classes import SURROUNDINGS, check_classes
from unlatch.simcore.errors import ConfigError, RecordingError
from unlatch.simcore.files import user_path
from unlatch.simcore.ranges import Count, check_ranges
from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.simcore.recording.export.draft import Draft
from unlatch.simcore.sim.annotators.annotated_frame import AnnotatedFrame
from unlatch.simcore.sim.annotators.config import AnnotationCfg
from unlatch.simcore.sim.annotators.formats.coco_file import CocoFile
from unlatch.simcore.sim.annotators.formats.dope_file import dope_frame
from unlatch.simcore.sim.annotators.formats.drawing import draw_annotations
from unlatch.workflows.episode.randomization.visual_views import cameras
from unlatch.workflows.images.render_annotations import take_camera_frame
from unlatch.workflows.runs.recorded_config import chosen_summaries, config_of
from unlatch.workflows.viewing.scene_picture import open_record

_COCO_FILE = "coco.json"
_PICTURE = "annotated.png"


@dataclass
class LabelCfg:
    """Options of `unlatch label`."""

    out: str | None = None
    """Folder to create."""
    cameras: list[Any] = field(default_factory=lambda: ["front"])
    """Cameras: names, or maps with settings."""
    every: Count = 30
    """Frames between images."""
    only: list[int] | None = None
    """Only these episodes; null: all successes."""
    semantic_types: list[str] = field(default_factory=lambda: ["part", "class"])
    """Types of the labels: `class` of whole bodies, `part`, `link`, ..."""
    camera_rotation_deg: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    """Rotation from our camera frame to that of annotated poses [degrees]."""
    leave_out: list[str] = field(default_factory=lambda: list(SURROUNDINGS))
    """Classes that are not labelled."""

    def __post_init__(self) -> None:
        if self.out is None:
            raise ConfigError("out= is missing. Expected the folder to create. Name it.", key="out")
        check_ranges(self)


@dataclass(frozen=True)
class LabelReport:
    """Result of labelling."""

    folder: Path
    """The folder that was created."""
    counts: dict[str, tuple[int, int]]
    """Numbers of images and of annotations, by camera."""


def label(
    data_set: DataSet,
    cfg: LabelCfg,
    request: Request | None = None,
    *,
    on_image: Callable[[int, int], None] = lambda done, total: None,
) -> LabelReport:
    """Writes images and labels of recorded episodes into a new folder.

    `on_image` is called after each image with how many are done, and how many there will be.

    Raises:
        UnlatchError: The input is wrong. No folder is created.
    """
    annotation_cfg = AnnotationCfg(
        semantic_types=cfg.semantic_types, leave_out=cfg.leave_out, camera_rotation_deg=cfg.camera_rotation_deg
    )
    chosen = chosen_summaries(data_set, only=cfg.only)
    if not chosen:
        raise ConfigError(
            f"There is nothing to label in '{data_set.path}'. Expected a success, or episodes named by only=[0]."
        )
    episode_cfg = config_of(data_set)
    settings = read_render_settings(episode_cfg, cfg.cameras, request=request)
    seen_cfg = with_cameras(episode_cfg, settings.cameras)
    out = user_path(str(cfg.out)).absolute()
    with Draft(out, key="label", is_file=False) as draft:
        if out.exists():
            raise RecordingError(
                f"Folder '{out}' exists already. Expected a folder that does not exist yet. Change out=.", path=str(out)
            )
        writer = _LabelWriter(draft.path, [camera.name for camera in settings.cameras], annotation_cfg)
        total = len(settings.cameras) * sum(len(_frames(item.n_actions, every=cfg.every)) for item in chosen)
        for item in chosen:
            for _ in writer.add_episode(data_set, item.number, seen_cfg, every=cfg.every):
                on_image(writer.n_images, total)
        counts = writer.finish()
        draft.commit()
    return LabelReport(out, counts)


class _LabelWriter:
    """Writes the images and labels of episodes into one folder per camera."""

    def __init__(self, folder: Path, camera_names: list[str], cfg: AnnotationCfg) -> None:
        self._folder = folder
        self._cfg = cfg
        self._coco = {name: CocoFile() for name in camera_names}
        self.n_images = 0
        """Images written so far."""

    def add_episode(self, data_set: DataSet, number: int, cfg: EpisodeCfg, *, every: int) -> Iterator[None]:
        """Yields after each image."""
        record = data_set.read(number)
        with open_record(cfg, record) as recorded:
            check_classes(self._cfg.leave_out, recorded.world, key="leave_out")
            frames = _frames(record.n_actions, every=every)
            for frame in frames:
                recorded.show(frame)
                for camera in cameras(recorded.episode.scene):
                    annotated = take_camera_frame(recorded, camera, self._cfg)
                    in_middle = frame == frames[len(frames) // 2]
                    self._add_frame(camera.cfg.name, annotated, f"{number:06d}_{frame:06d}", is_example=in_middle)
                    self.n_images += 1
                    yield

    def _add_frame(self, camera: str, annotated: AnnotatedFrame, name: str, *, is_example: bool) -> None:
        folder = self._folder / camera
        folder.mkdir(exist_ok=True)
        Image.fromarray(annotated.images.rgb).save(folder / f"{name}.png")
        (folder / f"{name}.json").write_text(json.dumps(dope_frame(annotated), indent=1), encoding="utf-8")
        self._coco[camera].add(annotated, f"{name}.png")
        if is_example and not (folder / _PICTURE).exists():
            Image.fromarray(draw_annotations(annotated)).save(folder / _PICTURE)

    def finish(self) -> dict[str, tuple[int, int]]:
        """Writes the COCO files; returns the numbers of images and annotations by camera."""
        for name, file in self._coco.items():
            (self._folder / name / _COCO_FILE).write_text(json.dumps(file.content), encoding="utf-8")
        contents = {name: file.content for name, file in self._coco.items()}
        return {name: (len(found["images"]), len(found["annotations"])) for name, found in contents.items()}


def _frames(n_actions: int, *, every: int) -> range:
    """Returns the states of an episode of which images are taken."""
    return range(0, n_actions + 1, every)
