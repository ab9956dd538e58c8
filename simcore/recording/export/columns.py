"""What a policy observes, as trainers see it: flat, named arrays made of the arrays of a record by one convention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.export.config import ExportCfg, StateKind
from unlatch.simcore.recording.export.rotation import COMPONENTS, in_form

Array = np.ndarray
Part = tuple[str, str, int]
"""Object, part and index of its joint."""

STATE = "observation.state"
ENVIRONMENT = "observation.environment_state"
KEYPOINTS = "observation.keypoints"
IMAGE = "observation.images."
"""What the keys of images begin with; the name of the camera follows."""
AXES = ("x", "y", "z")


@dataclass(frozen=True)
class Column:
    """Named numbers, one row a frame."""

    names: tuple[str, ...]
    """Name of each number."""
    values: Array
    """(T+1, n) float64 for observations, (T, n) for actions."""


class ObservationColumns:
    """Makes the columns of what is observed."""

    def __init__(self, cfg: ExportCfg, config: Mapping[str, Any]) -> None:
        """Makes a maker.

        Args:
            cfg: Which columns, and how orientations are written.
            config: Configuration of the run, as plain values.
        """
        self._cfg = cfg
        robot = config.get("robot")
        arms = robot.get("arms", []) if isinstance(robot, Mapping) else []
        self._joints = {str(arm.get("name")): [str(joint) for joint in arm.get("joints", [])] for arm in arms}

    def make(
        self, arrays: Mapping[str, Array], *, robot: str, arms: Sequence[str], parts: Sequence[Part], number: int
    ) -> dict[str, Column]:
        """The columns of an episode, by key; none without numbers.

        Args:
            arrays: (T+1, n) arrays by record key.
            robot: Name of the robot.
            arms: Names of its arms, in order.
            parts: Those acted on, each once, in the order of the skills.
            number: Number of the episode, for errors.

        Raises:
            RecordingError: A key that is needed is not there.
        """
        columns = {STATE: joined([self._state(arrays, robot, arm, number) for arm in arms])}
        if self._cfg.objects:
            columns[ENVIRONMENT] = joined(_objects(arrays, parts, number))
        if self._cfg.keypoints:
            columns[KEYPOINTS] = joined(_keypoints(arrays, parts, number))
        return {key: column for key, column in columns.items() if column.names}

    def joint_names(self, arm: str, n: int, what: str) -> tuple[str, ...]:
        """Names of the numbers of an arm's n joints; `what` they are ends each."""
        joints = self._joints.get(arm, [])
        names = joints if len(joints) == n else [f"joint{index}" for index in range(n)]
        return tuple(f"{arm}.{name}.{what}" for name in names)

    def _state(self, arrays: Mapping[str, Array], robot: str, arm: str, number: int) -> Column:
        prefix = f"robots.{robot}.{arm}"
        return joined([self._state_part(arrays, kind, prefix, arm, number) for kind in self._cfg.state])

    def _state_part(self, arrays: Mapping[str, Array], kind: StateKind, prefix: str, arm: str, number: int) -> Column:
        if kind is StateKind.gripper:
            return Column((f"{arm}.gripper",), array_of(arrays, f"{prefix}.gripper_opening", number))
        if kind in (StateKind.ee_pose, StateKind.tcp_pose):
            frame = kind.name.removesuffix("_pose")
            form = self._cfg.state_rotation
            quats = in_form(array_of(arrays, f"{prefix}.{frame}_quat_xyzw", number), form)
            position = array_of(arrays, f"{prefix}.{frame}_position", number)
            return Column(named(f"{arm}.{frame}", (*AXES, *COMPONENTS[form])), np.hstack([position, quats]))
        word = kind.name.removeprefix("joint_")
        plural = {"position": "positions", "velocity": "velocities", "effort": "efforts"}[word]
        values = array_of(arrays, f"{prefix}.joint_{plural}", number)
        return Column(self.joint_names(arm, values.shape[1], word), values)


def _objects(arrays: Mapping[str, Array], parts: Sequence[Part], number: int) -> list[Column]:
    """Root poses of all objects, then position and velocity of the parts acted on."""
    columns = []
    for name in sorted({key.split(".")[1] for key in arrays if key.startswith("objects.")}):
        pose = [array_of(arrays, f"objects.{name}.root_{what}", number) for what in ("position", "quat_xyzw")]
        columns.append(Column(named(name, (*AXES, "qx", "qy", "qz", "qw")), np.hstack(pose)))
    for place, (name, _, index) in enumerate(parts):
        keys = [f"objects.{name}.joint_{what}" for what in ("positions", "velocities")]
        joint = [array_of(arrays, key, number)[:, index] for key in keys]
        columns.append(Column(named(f"{name}.part{place}", ("position", "velocity")), np.stack(joint, axis=1)))
    return columns


def _keypoints(arrays: Mapping[str, Array], parts: Sequence[Part], number: int) -> list[Column]:
    columns = []
    for place, (name, part, _) in enumerate(parts):
        prefix = f"keypoints.{name}.{part}."
        for key in sorted(key for key in arrays if key.startswith(prefix)):
            names = named(f"{name}.part{place}.{key[len(prefix) :]}", AXES)
            columns.append(Column(names, array_of(arrays, key, number)))
    return columns


def array_of(arrays: Mapping[str, Array], key: str, number: int) -> Array:
    """An array of a record.

    Raises:
        RecordingError: It is not there.
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


def named(prefix: str, words: Sequence[str]) -> tuple[str, ...]:
    """Names that begin with a prefix."""
    return tuple(f"{prefix}.{word}" for word in words)


def joined(columns: Sequence[Column]) -> Column:
    """Columns side by side."""
    if not columns:
        return Column((), np.zeros((0, 0)))
    return Column(
        tuple(name for column in columns for name in column.names), np.hstack([column.values for column in columns])
    )
