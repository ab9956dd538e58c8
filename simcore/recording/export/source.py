"""Chooses the episodes of a data set to export and reads them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from unlatch.simcore.errors import ConfigError, RecordingError
from unlatch.simcore.files import path_word
from unlatch.simcore.recording.data_set.data_set import DataSet
from unlatch.simcore.recording.export.camera_views import ViewSource
from unlatch.simcore.recording.export.config import ExportCfg
from unlatch.simcore.recording.export.images import ImageSize, ImageSource, check_rendered
from unlatch.simcore.recording.export.trajectory import SceneOf, Trajectory, TrajectoryMaker
from unlatch.simcore.recording.images.modality import DEPTH, LINKS, RGB
from unlatch.simcore.recording.images.renders import RenderSet


@dataclass(frozen=True)
class ExportLayout:
    """Properties that all exported episodes share."""

    fps: int
    """Frames per second: `world.record_hz`."""
    robot: str
    """Name of the robot."""
    names: dict[str, tuple[str, ...]]
    """Names of the numbers of each column, by key."""
    shapes: dict[str, tuple[int, ...]]
    """Shape of a row of each column, by key."""
    convention: dict[str, str]
    """Meaning of actions and states as text, by key."""
    cameras: Mapping[str, ImageSize]
    """Sizes of images by camera."""


class ExportSource:
    """The exported episodes of a data set, read one at a time."""

    def __init__(self, data_set: DataSet, cfg: ExportCfg, *, scene_of: SceneOf | None = None) -> None:
        """Chooses the episodes.

        Args:
            data_set: The data set.
            cfg: The options.
            scene_of: Returns the scene of a record; None: values of `state` that need one are refused.

        Raises:
            RecordingError: There is nothing to export, a named episode does not exist, or its images do not.
            ConfigError: Points by camera are asked for without a render set.
        """
        self.data_set = data_set
        self.cfg = cfg
        self.config: dict[str, Any] = data_set.header.get("config") or {}
        summaries = data_set.summaries()
        by_number = {summary.number: summary for summary in summaries}
        missing = [number for number in cfg.only or [] if number not in by_number]
        if missing:
            raise RecordingError(
                f"only={cfg.only} names episode {missing[0]}, which is not in '{data_set.path}' "
                f"({len(summaries)} episodes). Name others.",
                number=missing[0],
            )
        wanted = summaries if cfg.only is None else [by_number[number] for number in sorted(set(cfg.only))]
        self.numbers = [item.number for item in wanted if item.n_actions > 0 and (item.success or cfg.all)]
        """Numbers of the episodes that are exported, sorted."""
        self.left_out = len(wanted) - len(self.numbers)
        """Number of episodes that were not successful or have no states."""
        if not self.numbers:
            raise RecordingError(
                f"There is nothing to export in '{data_set.path}': {len(wanted)} attempts, none of them successful. "
                "Collect more, or export the failed ones that have states too: all=true.",
                path=str(data_set.path),
            )
        self._images: ImageSource | None = None
        views: ViewSource | None = None
        if cfg.render is not None:
            renders = RenderSet.open(data_set.path, cfg.render)
            if cfg.has_camera_points:
                views = ViewSource(renders, cfg.point_cloud_cameras)
            if RGB in renders.modalities or cfg.cameras is not None or not cfg.has_camera_points:
                self._images = ImageSource(renders, cfg.cameras)
            check_rendered(renders, [by_number[number] for number in self.numbers])
        elif cfg.has_camera_points:
            raise ConfigError(
                f"point_cloud_source={cfg.point_cloud_source.name} has no images: render=null. Expected a render set "
                f"with depth and the visible links. Make one: unlatch render {path_word(data_set.path)} name=NAME "
                f"modalities=[{DEPTH},{LINKS}], and give render=NAME.",
                key="render",
            )
        self._maker = TrajectoryMaker(cfg, self.config, scene_of=scene_of, views_of=None if views is None else views.of)

    @property
    def task(self) -> str | None:
        """Name of the task; None if the data set does not say it."""
        task = self.config.get("task")
        return str(task["name"]) if isinstance(task, Mapping) and task.get("name") else None

    @property
    def identity(self) -> str:
        """Digest of the header: equal for shards of one run, different for other runs."""
        text = json.dumps(self.data_set.header, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @cached_property
    def layout(self) -> ExportLayout:
        """Properties that all episodes share, taken from the first one."""
        first = next((trajectory for number in self.numbers for trajectory in self._read(number)), None)
        if first is None:
            raise RecordingError(
                f"There is nothing to export in '{self.data_set.path}': a policy acted in all frames of "
                f"{len(self.numbers)} episodes, and they have no labels. Collect with label_every=..., or export the "
                "executed actions: action_source=executed.",
                path=str(self.data_set.path),
            )
        return ExportLayout(
            fps=int(self.config["world"]["record_hz"]),
            robot=first.robot,
            names={key: column.names for key, column in first.columns.items()},
            shapes={key: column.values.shape[1:] for key, column in first.columns.items()},
            convention=self.cfg.convention(),
            cameras=self._images.sizes if self._images is not None else {},
        )

    def trajectories(self, numbers: list[int] | None = None) -> Iterator[Trajectory]:
        """Yields the trajectories of the episodes of the given numbers; None: of all exported ones.

        Raises:
            RecordingError: An episode is damaged, or has other columns than the first one.
        """
        for number in self.numbers if numbers is None else numbers:
            for trajectory in self._read(number):
                self._check_layout(trajectory)
                yield trajectory

    def _read(self, number: int) -> list[Trajectory]:
        record = self.data_set.read(number)
        found = self._maker.make(record)
        if self._images is None:
            return found
        exported = sum(trajectory.n_actions for trajectory in found)
        if exported != record.n_actions:
            raise RecordingError(
                f"Episode {number} has {record.n_actions - exported} frames of a policy, which have no labels and are "
                "left out; images of such episodes cannot be exported. Leave out render=..., or export the executed "
                "actions: action_source=executed.",
                number=number,
            )
        return [replace(trajectory, images=self._images.of(number)) for trajectory in found]

    def _check_layout(self, trajectory: Trajectory) -> None:
        for key, expected in self.layout.names.items():
            column = trajectory.columns.get(key)
            got = column.names if column is not None else ()
            if got != expected:
                odd = [f"'{name}'" for name in sorted(set(got) ^ set(expected))] or ["their order"]
                raise RecordingError(
                    f"Episode {trajectory.number} has {len(got)} numbers in {key}, episode {self.numbers[0]} has "
                    f"{len(expected)}; they differ in {odd[0]}. Expected the same in all. Export objects with other "
                    "parts separately (only=[...]), or leave that column out (keypoints=false, objects=false).",
                    number=trajectory.number,
                    key=key,
                )
