"""The episodes of a data set as trajectories for trainers, with their images and the points that cameras see."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from unlatch.simcore.cameras import Pinhole
from unlatch.simcore.errors import ConfigError, RecordingError, unknown_entry
from unlatch.simcore.files import path_word
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.export.columns import (
    AXES,
    COMPONENTS,
    Column,
    ObservationColumns,
    Part,
    convert_rotations,
    join_columns,
    name_values,
    prefix_names,
    read_array,
    rotation_changes,
)
from unlatch.simcore.recording.export.config import ActionKind, ActionSource, DeltaFrom, ExportCfg
from unlatch.simcore.recording.index import EpisodeSummary
from unlatch.simcore.recording.modality import DEPTH, DISTANCE, LINKS, RGB
from unlatch.simcore.recording.observed_scene import CameraFrame, ObservedScene, recorded_parts
from unlatch.simcore.recording.renders import RenderedEpisode, RenderSet


@dataclass(frozen=True)
class ImageSize:
    """Size of a camera's images [pixels]."""

    width: int
    height: int


@dataclass(frozen=True)
class Images:
    """The images of one camera in one episode, read one at a time."""

    episode: RenderedEpisode
    camera: str
    size: ImageSize
    encoding: str
    """Encoding of the file, one of `unlatch.simcore.recording.frame_video.ENCODINGS`."""

    @property
    def digest(self) -> str:
        """Checksum of the file, as stored in the render set."""
        return str(self.episode.files[self.path.name]["sha256"])

    @property
    def path(self) -> Path:
        """The video file with T+1 frames."""
        return self.episode.path(self.camera, RGB)

    def frames(self) -> Iterator[np.ndarray]:
        """Yields the T+1 images (H, W, 3) uint8, one in memory at a time."""
        return self.episode.frames(self.camera, RGB)


def _find_image_sizes(renders: RenderSet, cameras: Sequence[str] | None) -> dict[str, ImageSize]:
    """Returns the sizes of colour images by camera; `cameras` as in `_choose_cameras`.

    Raises:
        RecordingError: The set has no such camera, or no colour images.
    """
    if RGB not in renders.modalities:
        raise RecordingError(
            f"Render set '{renders.path}' has no '{RGB}', only {', '.join(renders.modalities)}. Colour images are "
            f"exported. Render them: unlatch render {path_word(renders.path.parents[1])} name=NAME modalities=[{RGB}]",
        )
    abouts = {name: renders.cameras[name] for name in _choose_cameras(renders, cameras, key="cameras")}
    return {name: ImageSize(int(about["width"]), int(about["height"])) for name, about in abouts.items()}


def _find_length_kinds(renders: RenderSet, cameras: Sequence[str] | None) -> dict[str, str]:
    """Returns the kind of images of lengths from which points are made, by camera; `cameras` as in `_choose_cameras`.

    Raises:
        RecordingError: The set has no such camera, or not the images that points need.
    """
    kinds: dict[str, str] = {}
    for camera in _choose_cameras(renders, cameras, key="point_cloud_cameras"):
        wanted = (DISTANCE,) if renders.cameras[camera]["lens"] == "fisheye" else (DEPTH, DISTANCE)
        found = [kind for kind in wanted if kind in renders.modalities]
        if not found or LINKS not in renders.modalities:
            raise RecordingError(
                f"Render set '{renders.path}' has only {', '.join(renders.modalities)}. Expected "
                f"{' or '.join(wanted)}, and {LINKS}, for the points of camera '{camera}'. Render them: unlatch render "
                f"{path_word(renders.path.parents[1])} name=NAME modalities=[{wanted[0]},{LINKS}], and give "
                "render=NAME.",
                camera=camera,
            )
        kinds[camera] = found[0]
    return kinds


def _choose_cameras(renders: RenderSet, cameras: Sequence[str] | None, *, key: str) -> list[str]:
    """Returns the named cameras of a render set, each once; None: all.

    Raises:
        RecordingError: The set has no such camera; the message names the option `key`.
    """
    for name in cameras or []:
        if name not in renders.cameras:
            said = f"{key} has '{name}', which is not a camera of render set '{renders.path}'."
            raise unknown_entry(
                said,
                name,
                renders.cameras,
                error=RecordingError,
                heading="It has",
                advice="Name one of them.",
                camera=name,
            )
    return list(renders.cameras) if cameras is None else list(dict.fromkeys(cameras))


def _check_rendered(renders: RenderSet, summaries: Sequence[EpisodeSummary]) -> None:
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


@dataclass(frozen=True)
class EpisodeViews:
    """What cameras see in the frames of an episode; every iteration reads the images anew, one frame at a time."""

    episode: RenderedEpisode
    """Its images."""
    kinds: dict[str, str]
    """Kind of the images of lengths, `depth` or `distance`, by camera."""

    def __iter__(self) -> Iterator[Sequence[CameraFrame]]:
        """Yields the views of each frame."""
        return zip(*(self._read_camera(camera, kind) for camera, kind in self.kinds.items()), strict=True)

    def _read_camera(self, camera: str, kind: str) -> Iterator[CameraFrame]:
        labels, track = self.episode.labels(LINKS), self.episode.tracks[camera]
        images = zip(self.episode.frames(camera, kind), self.episode.frames(camera, LINKS), strict=True)
        for frame, (lengths, links) in enumerate(images):
            optics = self.episode.optics(camera, frame)
            if kind == DISTANCE and isinstance(optics, Pinhole):
                lengths = lengths / optics.ray_lengths
            yield CameraFrame(camera, optics, track.T_world_camera(frame), lengths, links, labels)


def _read_views(renders: RenderSet, kinds: dict[str, str], number: int) -> EpisodeViews:
    """Returns the views of an episode of a render set."""
    return EpisodeViews(renders.episode(number), kinds)


ACTION = "action"
SceneOf = Callable[[EpisodeRecord], ObservedScene]
"""Returns the scene of a record."""


ViewsOf = Callable[[int], Iterable[Sequence[CameraFrame]]]
"""Returns what every camera sees in the states of an episode, by its number."""


@dataclass(frozen=True)
class Trajectory:
    """An attempt, or a part of one, of T actions and T+1 states."""

    number: int
    """Number of the episode in its data set."""
    seed: int
    """Seed of the episode."""
    success: bool
    """Whether the attempt succeeded, and ends with this trajectory."""
    code: str | None
    """Failure code; None: it succeeded."""
    language: str
    """The instruction of this episode."""
    phrasings: tuple[str, ...]
    """All phrasings of the instruction, this one first."""
    robot: str
    """Name of the robot."""
    objects: tuple[str, ...]
    """`name=category:instance` of every object."""
    parts: tuple[str, ...]
    """`object.part` of the parts that are acted on, in the order of the skills; column names call the first `part0`."""
    columns: dict[str, Column]
    """Columns by key: `observation.state`, `observation.environment_state`, `observation.keypoints`, `action`."""
    images: Mapping[str, Images] = field(default_factory=dict)
    """T+1 images by camera."""

    @property
    def n_actions(self) -> int:
        """T, the number of actions."""
        return len(self.columns[ACTION].values)


class TrajectoryMaker:
    """Makes trajectories from the records of one data set."""

    def __init__(
        self,
        cfg: ExportCfg,
        config: Mapping[str, Any],
        *,
        scene_of: SceneOf | None = None,
        views_of: ViewsOf | None = None,
    ) -> None:
        """Takes the options of the export.

        Args:
            cfg: The options.
            config: From the header, the configuration of the data set.
            scene_of: Returns the scene of a record; None: values of `state` that need one are refused.
            views_of: Returns the views of a record; needed for point clouds by camera.
        """
        self._cfg = cfg
        self._observed = ObservationColumns(cfg, config)
        self._scene_of = scene_of
        self._views_of = views_of

    def make(self, record: EpisodeRecord) -> list[Trajectory]:
        """Returns the trajectories of a record: one, unless a policy acted in it and labels are exported.

        Then there is one for every unbroken run of rows with labels, in order of time; rows without are left out.

        Raises:
            RecordingError: The record has no states, or lacks a required array.
        """
        robot, arms = _robot_and_arms(record)
        parts = _acted_parts(record)
        of_task = self._cfg.point_cloud > 0 or any(kind.of_task for kind in self._cfg.state)
        columns = self._observed.make(
            record.arrays,
            robot=robot,
            arms=arms,
            parts=parts,
            number=record.number,
            acted=recorded_parts(record.skills, number=record.number) if of_task else (),
            scene=self._scene_of(record) if of_task and self._scene_of is not None else None,
            views=() if self._views_of is None else self._views_of(record.number),
        )
        columns[ACTION] = name_values(join_columns([self._action_column(record, robot, arm) for arm in arms]), arms)
        whole = Trajectory(
            number=record.number,
            seed=record.seed,
            success=record.success,
            code=record.code,
            language=record.instruction,
            phrasings=tuple(record.language),
            robot=robot,
            objects=tuple(
                f"{name}={instance.get('category', '?')}:{instance.get('instance', '?')}"
                for name, instance in sorted(record.layout.get("instances", {}).items())
            ),
            parts=tuple(f"{name}.{part}" for name, part, _ in parts),
            columns=columns,
        )
        is_labelled = self._cfg.action_source is ActionSource.label
        rows = _labelled_rows(record) if is_labelled else [(0, whole.n_actions)]
        return [whole if row == (0, whole.n_actions) else _cut(whole, *row) for row in rows]

    def _action_column(self, record: EpisodeRecord, robot: str, arm: str) -> Column:
        read = partial(read_array, record.arrays, number=record.number)
        executed, measured = f"actions.{robot}.{arm}", f"robots.{robot}.{arm}"
        commanded = executed
        if self._cfg.action_source is ActionSource.label and f"labels.{robot}.{arm}.joint_targets" in record.arrays:
            commanded = f"labels.{robot}.{arm}"
        kind, gripper = self._cfg.action, Column((f"{arm}.gripper.pos",), read(f"{commanded}.gripper_target"))
        if not kind.has_rotation:
            values = read(f"{commanded}.joint_targets")
            if kind is ActionKind.joint_delta:
                targets, positions = read(f"{executed}.joint_targets"), read(f"{measured}.joint_positions")
                values = values - self._reference(targets, positions)
            what = "pos" if kind is ActionKind.joint_position else "delta"
            return join_columns([Column(self._observed.joint_names(arm, values.shape[1], what), values), gripper])
        position, quats = read(f"{commanded}.ee_target_position"), read(f"{commanded}.ee_target_quat_xyzw")
        if kind is ActionKind.ee_delta:
            before = self._reference(read(f"{executed}.ee_target_position"), read(f"{measured}.ee_position"))
            position = position - before
            before = self._reference(read(f"{executed}.ee_target_quat_xyzw"), read(f"{measured}.ee_quat_xyzw"))
            quats = rotation_changes(before, quats)
        form, what = self._cfg.action_rotation, "ee_delta" if kind is ActionKind.ee_delta else "ee"
        names = prefix_names(f"{arm}.{what}", (*AXES, *COMPONENTS[form]))
        return join_columns([Column(names, np.hstack([position, convert_rotations(quats, form)])), gripper])

    def _reference(self, targets: np.ndarray, measured: np.ndarray) -> np.ndarray:
        """Returns the reference (T, n) of changes: measured values (T+1, n), or the targets (T, n) executed before."""
        if self._cfg.delta_from is DeltaFrom.state:
            return measured[:-1]
        return np.vstack([measured[:1], targets[:-1]])


def _labelled_rows(record: EpisodeRecord) -> list[tuple[int, int]]:
    """Returns the first row of every unbroken run of actions with labels, and the row after its last.

    A run that ends before the first skill begins is left out: the arms only stand still in it.
    """
    masks = [array for key, array in record.arrays.items() if key.startswith("labels.") and key.endswith(".valid")]
    has_label = np.all(masks, axis=0) if masks else np.ones(record.n_actions, dtype=bool)
    ends = np.flatnonzero(np.diff(np.concatenate([[0], has_label.astype(int), [0]]))).reshape(-1, 2)
    begun = min(
        (int(skill["frame_start"]) for skill in record.skills if skill.get("frame_start") is not None), default=0
    )
    return [(int(first), int(end)) for first, end in ends if end > begun or end == record.n_actions]


def _cut(trajectory: Trajectory, first: int, end: int) -> Trajectory:
    """Returns the part of a trajectory from one action to before another."""
    is_last = end == trajectory.n_actions
    columns = {
        key: replace(column, values=column.values[first : end + (key != ACTION)])
        for key, column in trajectory.columns.items()
    }
    return replace(trajectory, columns=columns, success=trajectory.success and is_last)


def _robot_and_arms(record: EpisodeRecord) -> tuple[str, list[str]]:
    """Returns the name of the robot, and the names of its arms in order."""
    found = [key.split(".") for key in record.arrays if key.startswith("actions.") and key.endswith(".joint_targets")]
    robots = {words[1] for words in found}
    if len(robots) != 1:
        raise RecordingError(
            f"Episode {record.number} has actions of {len(robots)} robots ({', '.join(sorted(robots)) or 'none'}), "
            "expected one. Leave it out by only=[...].",
            number=record.number,
        )
    return robots.pop(), sorted(words[2] for words in found)


def _acted_parts(record: EpisodeRecord) -> list[Part]:
    """Returns object, part and joint index of every part that is acted on, each once, in the order of the skills."""
    found: dict[tuple[str, str], int] = {}
    for skill in record.skills:
        name, part, index = skill.get("object"), skill.get("part"), skill.get("joint_index")
        if isinstance(name, str) and isinstance(part, str) and isinstance(index, int):
            found.setdefault((name, part), index)
    return [(name, part, index) for (name, part), index in found.items()]


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
        self._sizes: dict[str, ImageSize] = {}
        views_of: ViewsOf | None = None
        if cfg.render is not None:
            renders = self._renders = RenderSet.open(data_set.path, cfg.render)
            if cfg.has_camera_points:
                kinds = _find_length_kinds(renders, cfg.point_cloud_cameras)
                views_of = partial(_read_views, renders, kinds)
            if RGB in renders.modalities or cfg.cameras is not None or not cfg.has_camera_points:
                self._sizes = _find_image_sizes(renders, cfg.cameras)
            _check_rendered(renders, [by_number[number] for number in self.numbers])
        elif cfg.has_camera_points:
            raise ConfigError(
                f"point_cloud_source={cfg.point_cloud_source.name} has no images: render=null. Expected a render set "
                f"with depth and the visible links. Make one: unlatch render {path_word(data_set.path)} name=NAME "
                f"modalities=[{DEPTH},{LINKS}], and give render=NAME.",
                key="render",
            )
        self._maker = TrajectoryMaker(cfg, self.config, scene_of=scene_of, views_of=views_of)

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
            cameras=self._sizes,
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
        if not self._sizes:
            return found
        exported = sum(trajectory.n_actions for trajectory in found)
        if exported != record.n_actions:
            raise RecordingError(
                f"Episode {number} has {record.n_actions - exported} frames of a policy, which have no labels and are "
                "left out; images of such episodes cannot be exported. Leave out render=..., or export the executed "
                "actions: action_source=executed.",
                number=number,
            )
        episode, streams = self._renders.episode(number), self._renders.streams
        images = {name: Images(episode, name, size, streams[name][RGB].encoding) for name, size in self._sizes.items()}
        return [replace(trajectory, images=images) for trajectory in found]

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
