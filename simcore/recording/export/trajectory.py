"""Makes trajectories for trainers: flat, named arrays of states and actions from a record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.export.column import AXES, Column, join_columns, prefix_names, read_array
from unlatch.simcore.recording.export.columns import ObservationColumns, Part
from unlatch.simcore.recording.export.config import ActionKind, ActionSource, DeltaFrom, ExportCfg
from unlatch.simcore.recording.export.images import Images
from unlatch.simcore.recording.export.rotation import COMPONENTS, convert_rotations, rotation_changes
from unlatch.simcore.recording.observed.acted_part import recorded_parts
from unlatch.simcore.recording.observed.camera_cloud import CameraView
from unlatch.simcore.recording.observed.scene import ObservedScene

ACTION = "action"
SceneOf = Callable[[EpisodeRecord], ObservedScene]
"""Returns the scene of a record."""
ViewsOf = Callable[[int], Iterable[Sequence[CameraView]]]
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
        columns[ACTION] = join_columns([self._action_column(record, robot, arm) for arm in arms])
        whole = Trajectory(
            number=record.number,
            seed=record.seed,
            success=record.success,
            code=record.code,
            language=record.instruction,
            phrasings=tuple(record.language),
            robot=robot,
            objects=_describe_objects(record),
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
        gripper = Column((f"{arm}.gripper",), read(f"{commanded}.gripper_target"))
        kind = self._cfg.action
        if not kind.has_rotation:
            values = read(f"{commanded}.joint_targets")
            if kind is ActionKind.joint_delta:
                values = values - self._reference(
                    read(f"{executed}.joint_targets"), read(f"{measured}.joint_positions")
                )
            what = "position" if kind is ActionKind.joint_position else "delta"
            return join_columns([Column(self._observed.joint_names(arm, values.shape[1], what), values), gripper])
        position = read(f"{commanded}.ee_target_position")
        quats = read(f"{commanded}.ee_target_quat_xyzw")
        what = "ee"
        if kind is ActionKind.ee_delta:
            what = "ee_delta"
            position = position - self._reference(
                read(f"{executed}.ee_target_position"), read(f"{measured}.ee_position")
            )
            before = self._reference(read(f"{executed}.ee_target_quat_xyzw"), read(f"{measured}.ee_quat_xyzw"))
            quats = rotation_changes(before, quats)
        form = self._cfg.action_rotation
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


def _describe_objects(record: EpisodeRecord) -> tuple[str, ...]:
    instances = record.layout.get("instances", {})
    return tuple(
        f"{name}={instance.get('category', '?')}:{instance.get('instance', '?')}"
        for name, instance in sorted(instances.items())
    )
