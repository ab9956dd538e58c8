"""Writes a data set in a form for training: a format that policies are trained from, or labelled images for
estimators of poses and boxes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image

from unlatch.configs.cameras import read_render_settings, with_cameras
from unlatch.configs.dataclass_reader import read_dataclass
from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.validation import SURROUNDINGS, check_classes
from unlatch.simcore.catalogs import EXPORTERS
from unlatch.simcore.errors import ConfigError, RecordingError
from unlatch.simcore.files import user_path
from unlatch.simcore.ranges import Count, check_ranges
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.export.config import ExportCfg
from unlatch.simcore.recording.export.exporter import Draft, ExportReport, HubCfg, run_export
from unlatch.simcore.recording.export.trajectory import ExportSource
from unlatch.simcore.recording.json_values import plain
from unlatch.simcore.sim.annotators.annotation import AnnotationCfg
from unlatch.simcore.sim.annotators.label_files import CocoFile, dope_frame, draw_annotations
from unlatch.workflows.episode.observed_scene import recorded_scene
from unlatch.workflows.episode.visual_views import cameras
from unlatch.workflows.images.render_job import take_camera_frame
from unlatch.workflows.runs.recorded_config import chosen_summaries, config_of
from unlatch.workflows.viewing.scene_picture import open_record

if TYPE_CHECKING:
    from unlatch.configs.composition import Request

DEFAULT_FORMAT = "lerobot"
HUB_KEYS = tuple(item.name for item in fields(HubCfg))
"""Options that say where the export is uploaded, not what it contains."""


def export(
    data: DataSet | str | Path,
    *,
    out: str | Path,
    format: str = DEFAULT_FORMAT,
    **options: Any,
) -> ExportReport:
    """Exports the successful episodes of a data set, and pushes them to the Hugging Face Hub if `push` is given.

    The target is written completely or not at all. Exporting again adds missing episodes to a LeRobot set; other
    formats need a new target.

    Args:
        data: The data set, or its folder.
        out: The folder or file to write.
        format: Name of the format: `lerobot`, `robomimic`, `maniskill` or that of a plugin.
        **options: Fields of the format's configuration, see `ExportCfg`, such as `action="ee_delta"` or `all=True`; and
            those of `HubCfg`, such as `push="ann/microwaves"`.

    Returns:
        Counts of exported episodes and frames, and the address on the Hub.

    Raises:
        PluginError: The format is unknown, or a package that it needs is not installed.
        ConfigError: An option is wrong, or the name on the Hub is taken. Nothing is exported.
        RecordingError: The data set cannot be read, an episode cannot be exported, or the target cannot be written.
        HubError: The Hub refuses the token, or cannot be reached. If it happens after the export, the target stays.

    Example:
        >>> unlatch.export(data, format="lerobot", out="data/lerobot").taken
        4
    """
    values = plain(options)
    hub = read_dataclass(HubCfg, {key: values.pop(key) for key in HUB_KEYS if key in values}, where="")
    cfg = read_dataclass(EXPORTERS.load(format).cfg_type, values, where="")
    return export_data_set(data if isinstance(data, DataSet) else DataSet.open(data), format, cfg, str(out), hub=hub)


def export_data_set(
    data_set: DataSet,
    name: str,
    cfg: ExportCfg,
    out: str,
    *,
    hub: HubCfg | None = None,
    on_episode: Callable[[int, int], None] | None = None,
    on_exported: Callable[[ExportReport], None] | None = None,
) -> ExportReport:
    """Exports a data set with configurations that are read already; see `export`.

    Args:
        data_set: The data set.
        name: Name of the format.
        cfg: The options of the format.
        out: The folder or file to write.
        hub: Where the export is pushed to; None: nowhere.
        on_episode: Called with the number of episodes that have been read and the total number.
        on_exported: Called when the target is complete, before it is pushed.
    """
    hub = hub or HubCfg()
    if hub.push is not None:
        from unlatch.workflows.hub import prepare_push, push_export  # only here: it imports pyarrow

        connection = prepare_push(hub, name)
    episodes = cache(lambda: config_of(data_set))
    source = ExportSource(data_set, cfg, scene_of=lambda record: recorded_scene(episodes(), record))
    report = run_export(EXPORTERS.load(name)(source, cfg), out, on_episode=on_episode)
    if on_exported is not None:
        on_exported(report)
    if hub.push is None:
        return report
    return replace(report, url=push_export(connection, hub, source, report.target))


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
                    name = f"{number:06d}_{frame:06d}"
                    folder = self._folder / camera.cfg.name
                    folder.mkdir(exist_ok=True)
                    Image.fromarray(annotated.images.rgb).save(folder / f"{name}.png")
                    (folder / f"{name}.json").write_text(json.dumps(dope_frame(annotated), indent=1), encoding="utf-8")
                    self._coco[camera.cfg.name].add(annotated, f"{name}.png")
                    if in_middle and not (folder / _PICTURE).exists():
                        Image.fromarray(draw_annotations(annotated)).save(folder / _PICTURE)
                    self.n_images += 1
                    yield

    def finish(self) -> dict[str, tuple[int, int]]:
        """Writes the COCO files; returns the numbers of images and annotations by camera."""
        for name, file in self._coco.items():
            (self._folder / name / "coco.json").write_text(json.dumps(file.content), encoding="utf-8")
        contents = {name: file.content for name, file in self._coco.items()}
        return {name: (len(found["images"]), len(found["annotations"])) for name, found in contents.items()}


def _frames(n_actions: int, *, every: int) -> range:
    """Returns the states of an episode of which images are taken."""
    return range(0, n_actions + 1, every)
