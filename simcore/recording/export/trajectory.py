"""An episode as trainers see it: flat, named arrays of states and actions, made from a record by one convention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simcore.errors import RecordingError
from simcore.recording.episode import EpisodeRecord
from simcore.recording.export.config import ActionKind, DeltaFrom, ExportCfg, StateKind
from simcore.recording.export.images import Images
from simcore.recording.export.rotation import COMPONENTS, change_between, in_form

Array = np.ndarray

STATE = "observation.state"
ENVIRONMENT = "observation.environment_state"
KEYPOINTS = "observation.keypoints"
ACTION = "action"
_AXES = ("x", "y", "z")


@dataclass(frozen=True)
class Column:
    """Named numbers, one row a frame."""

    names: tuple[str, ...]
    """Name of each number."""
    values: Array
    """(T+1, n) float64 for observations, (T, n) for actions."""


@dataclass(frozen=True)
class Trajectory:
    """An attempt of T actions and T+1 states."""

    number: int
    """Number of its episode in the data set that it comes from."""
    seed: int
    """Seed of the episode."""
    success: bool
    """Whether it succeeded."""
    code: str | None
    """Why it failed; None on success."""
    language: str
    """The instruction of this episode."""
    phrasings: tuple[str, ...]
    """All phrasings of it, this one first."""
    robot: str
    """Name of the robot."""
    objects: tuple[str, ...]
    """`name=category:instance` of every object."""
    parts: tuple[str, ...]
    """`object.part` acted on, in the order of the skills; `part0` of a column's names is the first."""
    columns: dict[str, Column]
    """By key: `observation.state`, `observation.environment_state`, `observation.keypoints` and `action`."""
    images: Mapping[str, Images] = field(default_factory=dict)
    """By camera, its T+1 images."""

    @property
    def n_actions(self) -> int:
        """T."""
        return len(self.columns[ACTION].values)


class TrajectoryMaker:
    """Makes trajectories of the records of one data set."""

    def __init__(self, cfg: ExportCfg, config: Mapping[str, Any]) -> None:
        """Makes a maker.

        Args:
            cfg: What is exported, and how.
            config: Configuration of the data set, from its header.
        """
        self._cfg = cfg
        robot = config.get("robot")
        arms = robot.get("arms", []) if isinstance(robot, Mapping) else []
        self._joints = {str(arm.get("name")): [str(joint) for joint in arm.get("joints", [])] for arm in arms}

    def make(self, record: EpisodeRecord) -> Trajectory:
        """The trajectory of a record.

        Args:
            record: The attempt, with its arrays.

        Raises:
            RecordingError: It has no states, or lacks what was asked for.
        """
        robot, arms = _arms_of(record)
        parts = _parts_of(record)
        columns = {STATE: _joined([self._state(record, robot, arm) for arm in arms])}
        if self._cfg.objects:
            columns[ENVIRONMENT] = _joined(_objects(record, parts))
        if self._cfg.keypoints:
            columns[KEYPOINTS] = _joined(_keypoints(record, parts))
        columns[ACTION] = _joined([self._action(record, robot, arm) for arm in arms])
        return Trajectory(
            number=record.number,
            seed=record.seed,
            success=record.success,
            code=record.code,
            language=record.language[0] if record.language else "",
            phrasings=tuple(record.language),
            robot=robot,
            objects=_object_words(record),
            parts=tuple(f"{name}.{part}" for name, part, _ in parts),
            columns={key: column for key, column in columns.items() if column.names},
        )

    def _joint_names(self, arm: str, n: int, what: str) -> tuple[str, ...]:
        joints = self._joints.get(arm, [])
        names = joints if len(joints) == n else [f"joint{index}" for index in range(n)]
        return tuple(f"{arm}.{name}.{what}" for name in names)

    def _state(self, record: EpisodeRecord, robot: str, arm: str) -> Column:
        return _joined([self._state_part(record, kind, f"robots.{robot}.{arm}", arm) for kind in self._cfg.state])

    def _state_part(self, record: EpisodeRecord, kind: StateKind, prefix: str, arm: str) -> Column:
        if kind is StateKind.gripper:
            return Column((f"{arm}.gripper",), _array(record, f"{prefix}.gripper_opening"))
        if kind in (StateKind.ee_pose, StateKind.tcp_pose):
            frame = kind.name.removesuffix("_pose")
            form = self._cfg.state_rotation
            quats = in_form(_array(record, f"{prefix}.{frame}_quat_xyzw"), form)
            position = _array(record, f"{prefix}.{frame}_position")
            return Column(_named(f"{arm}.{frame}", (*_AXES, *COMPONENTS[form])), np.hstack([position, quats]))
        word = kind.name.removeprefix("joint_")
        plural = {"position": "positions", "velocity": "velocities", "effort": "efforts"}[word]
        values = _array(record, f"{prefix}.joint_{plural}")
        return Column(self._joint_names(arm, values.shape[1], word), values)

    def _action(self, record: EpisodeRecord, robot: str, arm: str) -> Column:
        asked, measured = f"actions.{robot}.{arm}", f"robots.{robot}.{arm}"
        gripper = Column((f"{arm}.gripper",), _array(record, f"{asked}.gripper_target"))
        kind = self._cfg.action
        if not kind.has_rotation:
            values = _array(record, f"{asked}.joint_targets")
            if kind is ActionKind.joint_delta:
                values = values - self._reference(values, _array(record, f"{measured}.joint_positions"))
            what = "position" if kind is ActionKind.joint_position else "delta"
            return _joined([Column(self._joint_names(arm, values.shape[1], what), values), gripper])
        position = _array(record, f"{asked}.ee_target_position")
        quats = _array(record, f"{asked}.ee_target_quat_xyzw")
        what = "ee"
        if kind is ActionKind.ee_delta:
            what = "ee_delta"
            position = position - self._reference(position, _array(record, f"{measured}.ee_position"))
            quats = change_between(self._reference(quats, _array(record, f"{measured}.ee_quat_xyzw")), quats)
        form = self._cfg.action_rotation
        names = _named(f"{arm}.{what}", (*_AXES, *COMPONENTS[form]))
        return _joined([Column(names, np.hstack([position, in_form(quats, form)])), gripper])

    def _reference(self, targets: Array, measured: Array) -> Array:
        """(T, n) what the changes to (T, n) targets are counted from, of (T+1, n) measured values."""
        if self._cfg.delta_from is DeltaFrom.state:
            return measured[:-1]
        return np.vstack([measured[:1], targets[:-1]])


def _arms_of(record: EpisodeRecord) -> tuple[str, list[str]]:
    """Name of the robot, and of its arms in order."""
    found = [key.split(".") for key in record.arrays if key.startswith("actions.") and key.endswith(".joint_targets")]
    robots = {words[1] for words in found}
    if len(robots) != 1:
        raise RecordingError(
            f"Episode {record.number} has actions of {len(robots)} robots ({', '.join(sorted(robots)) or 'none'}), "
            "expected one. Leave it out by only=[...].",
            number=record.number,
        )
    return robots.pop(), sorted(words[2] for words in found)


def _parts_of(record: EpisodeRecord) -> list[tuple[str, str, int]]:
    """Object, part and joint index of every part acted on, each once, in the order of the skills."""
    found: dict[tuple[str, str], int] = {}
    for skill in record.skills:
        name, part, index = skill.get("object"), skill.get("part"), skill.get("joint_index")
        if isinstance(name, str) and isinstance(part, str) and isinstance(index, int):
            found.setdefault((name, part), index)
    return [(name, part, index) for (name, part), index in found.items()]


def _objects(record: EpisodeRecord, parts: Sequence[tuple[str, str, int]]) -> list[Column]:
    """Root poses of all objects, then position and velocity of the parts acted on."""
    columns = []
    for name in sorted({key.split(".")[1] for key in record.arrays if key.startswith("objects.")}):
        pose = [_array(record, f"objects.{name}.root_{what}") for what in ("position", "quat_xyzw")]
        columns.append(Column(_named(name, (*_AXES, "qx", "qy", "qz", "qw")), np.hstack(pose)))
    for place, (name, _, index) in enumerate(parts):
        joint = [_array(record, f"objects.{name}.joint_{what}")[:, index] for what in ("positions", "velocities")]
        columns.append(Column(_named(f"{name}.part{place}", ("position", "velocity")), np.stack(joint, axis=1)))
    return columns


def _keypoints(record: EpisodeRecord, parts: Sequence[tuple[str, str, int]]) -> list[Column]:
    columns = []
    for place, (name, part, _) in enumerate(parts):
        prefix = f"keypoints.{name}.{part}."
        for key in sorted(key for key in record.arrays if key.startswith(prefix)):
            columns.append(Column(_named(f"{name}.part{place}.{key[len(prefix) :]}", _AXES), _array(record, key)))
    return columns


def _object_words(record: EpisodeRecord) -> tuple[str, ...]:
    instances = record.layout.get("instances", {})
    return tuple(
        f"{name}={instance.get('category', '?')}:{instance.get('instance', '?')}"
        for name, instance in sorted(instances.items())
    )


def _array(record: EpisodeRecord, key: str) -> Array:
    found = record.arrays.get(key)
    if found is None:
        raise RecordingError(
            f"Episode {record.number} has no '{key}', which this export needs. Expected it in every record of an "
            "attempt that began. Leave the episode out by only=[...], or choose another action or state.",
            number=record.number,
            key=key,
        )
    return found


def _named(prefix: str, words: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{prefix}.{word}" for word in words)


def _joined(columns: Sequence[Column]) -> Column:
    if not columns:
        return Column((), np.zeros((0, 0)))
    return Column(
        tuple(name for column in columns for name in column.names), np.hstack([column.values for column in columns])
    )
