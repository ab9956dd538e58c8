"""Makes observations for trainers: flat, named arrays from the arrays of a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.export.config import ExportCfg, StateKind
from unlatch.simcore.recording.export.rotation import COMPONENTS, convert_rotations

Array = np.ndarray
Part = tuple[str, str, int]
"""Object, part and index of its joint."""

STATE = "observation.state"
ENVIRONMENT = "observation.environment_state"
KEYPOINTS = "observation.keypoints"
IMAGE = "observation.images."
"""Prefix of the keys of images; the name of the camera follows."""
AXES = ("x", "y", "z")


@dataclass(frozen=True)
class Column:
    """Named numbers, one row per frame."""

    names: tuple[str, ...]
    """Name of each number."""
    values: Array
    """(T+1, n) float64 for observations, (T, n) for actions."""


class ObservationColumns:
    """Makes the columns of observations."""

    def __init__(self, cfg: ExportCfg, config: Mapping[str, Any]) -> None:
        """Stores the options.

        Args:
            cfg: Columns and rotation format.
            config: Configuration of the run, as plain values.
        """
        self._cfg = cfg
        robot = config.get("robot")
        arms = robot.get("arms", []) if isinstance(robot, Mapping) else []
        self._joints = {str(arm.get("name")): [str(joint) for joint in arm.get("joints", [])] for arm in arms}

    def make(
        self, arrays: Mapping[str, Array], *, robot: str, arms: Sequence[str], parts: Sequence[Part], number: int
    ) -> dict[str, Column]:
        """Returns the columns of an episode by key, without empty ones.

        Args:
            arrays: (T+1, n) arrays by record key.
            robot: Name of the robot.
            arms: Names of its arms in order.
            parts: Parts that are acted on, each once, in the order of the skills.
            number: Episode number, for errors.

        Raises:
            RecordingError: A required key is missing.
        """
        columns = {STATE: join_columns([self._state(arrays, robot, arm, number) for arm in arms])}
        if self._cfg.objects:
            columns[ENVIRONMENT] = join_columns(_object_columns(arrays, parts, number))
        if self._cfg.keypoints:
            columns[KEYPOINTS] = join_columns(_keypoint_columns(arrays, parts, number))
        return {key: column for key, column in columns.items() if column.names}

    def joint_names(self, arm: str, n: int, what: str) -> tuple[str, ...]:
        """Returns the names of the n joint values of an arm; `what` is the last word of each."""
        joints = self._joints.get(arm, [])
        names = joints if len(joints) == n else [f"joint{index}" for index in range(n)]
        return tuple(f"{arm}.{name}.{what}" for name in names)

    def _state(self, arrays: Mapping[str, Array], robot: str, arm: str, number: int) -> Column:
        prefix = f"robots.{robot}.{arm}"
        return join_columns([self._state_part(arrays, kind, prefix, arm, number) for kind in self._cfg.state])

    def _state_part(self, arrays: Mapping[str, Array], kind: StateKind, prefix: str, arm: str, number: int) -> Column:
        if kind is StateKind.gripper:
            return Column((f"{arm}.gripper",), read_array(arrays, f"{prefix}.gripper_opening", number))
        if kind in (StateKind.ee_pose, StateKind.tcp_pose):
            frame = kind.name.removesuffix("_pose")
            form = self._cfg.state_rotation
            quats = convert_rotations(read_array(arrays, f"{prefix}.{frame}_quat_xyzw", number), form)
            position = read_array(arrays, f"{prefix}.{frame}_position", number)
            return Column(prefix_names(f"{arm}.{frame}", (*AXES, *COMPONENTS[form])), np.hstack([position, quats]))
        word = kind.name.removeprefix("joint_")
        plural = {"position": "positions", "velocity": "velocities", "effort": "efforts"}[word]
        values = read_array(arrays, f"{prefix}.joint_{plural}", number)
        return Column(self.joint_names(arm, values.shape[1], word), values)


def _object_columns(arrays: Mapping[str, Array], parts: Sequence[Part], number: int) -> list[Column]:
    """Returns root poses of all objects, then position and velocity of the parts that are acted on."""
    columns = []
    for name in sorted({key.split(".")[1] for key in arrays if key.startswith("objects.")}):
        pose = [read_array(arrays, f"objects.{name}.root_{what}", number) for what in ("position", "quat_xyzw")]
        columns.append(Column(prefix_names(name, (*AXES, "qx", "qy", "qz", "qw")), np.hstack(pose)))
    for place, (name, _, index) in enumerate(parts):
        keys = [f"objects.{name}.joint_{what}" for what in ("positions", "velocities")]
        joint = [read_array(arrays, key, number)[:, index] for key in keys]
        columns.append(Column(prefix_names(f"{name}.part{place}", ("position", "velocity")), np.stack(joint, axis=1)))
    return columns


def _keypoint_columns(arrays: Mapping[str, Array], parts: Sequence[Part], number: int) -> list[Column]:
    columns = []
    for place, (name, part, _) in enumerate(parts):
        prefix = f"keypoints.{name}.{part}."
        for key in sorted(key for key in arrays if key.startswith(prefix)):
            names = prefix_names(f"{name}.part{place}.{key[len(prefix) :]}", AXES)
            columns.append(Column(names, read_array(arrays, key, number)))
    return columns


def read_array(arrays: Mapping[str, Array], key: str, number: int) -> Array:
    """Returns an array of a record.

    Raises:
        RecordingError: It is missing.
    """
    found = arrays.get(key)
    if found is None:
        raise RecordingError(
            f"Episode {number} has no '{key}', which this export needs. Expected it in every record of an "
            "attempt that began. Leave the episode out by only=[...], or choose another action or state.",
            number=number,
            key=key,
        )
    return found


def prefix_names(prefix: str, words: Sequence[str]) -> tuple[str, ...]:
    """Returns names with a prefix."""
    return tuple(f"{prefix}.{word}" for word in words)


def join_columns(columns: Sequence[Column]) -> Column:
    """Puts columns side by side into one column."""
    if not columns:
        return Column((), np.zeros((0, 0)))
    return Column(
        tuple(name for column in columns for name in column.names), np.hstack([column.values for column in columns])
    )
