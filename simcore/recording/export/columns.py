"""Makes observations for trainers: flat, named arrays from the arrays of a record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from unlatch.simcore.recording.export.arm_columns import ArmColumns
from unlatch.simcore.recording.export.column import (
    AXES,
    Array,
    Column,
    fitting_names,
    join_columns,
    prefix_names,
    read_array,
)
from unlatch.simcore.recording.export.config import ExportCfg
from unlatch.simcore.recording.observed.acted_part import ActedPart
from unlatch.simcore.recording.observed.camera_cloud import CameraView
from unlatch.simcore.recording.observed.point_choice import PointSource
from unlatch.simcore.recording.observed.scene import ObservedScene

Part = tuple[str, str, int]
"""Object, part and index of its joint."""

STATE = "observation.state"
ENVIRONMENT = "observation.environment_state"
KEYPOINTS = "observation.keypoints"
CLOUD = "observation.point_cloud"
CAMERA_CLOUD = "observation.point_cloud_camera"
"""Keys of the point cloud, and of the one by cameras if there is one from geometry too. For a robot with several arms,
the name of the arm follows."""
IMAGE = "observation.images."
"""Prefix of the keys of images; the name of the camera follows."""


class ObservationColumns:
    """Makes the columns of observations."""

    def __init__(self, cfg: ExportCfg, config: Mapping[str, Any]) -> None:
        """Takes the options of the export and the configuration of the run, as plain values."""
        self._cfg = cfg
        robot = config.get("robot")
        arms = robot.get("arms", []) if isinstance(robot, Mapping) else []
        self._joints = {str(arm.get("name")): [str(joint) for joint in arm.get("joints", [])] for arm in arms}

    def make(
        self,
        arrays: Mapping[str, Array],
        *,
        robot: str,
        arms: Sequence[str],
        parts: Sequence[Part],
        number: int,
        acted: Sequence[ActedPart] = (),
        scene: ObservedScene | None = None,
        views: Iterable[Sequence[CameraView]] = (),
    ) -> dict[str, Column]:
        """Returns the columns of an episode by key, without empty ones.

        Args:
            arrays: T+1 states by record key, and the T actions and contacts between them. With as many actions as
                states, each state is the one after its action.
            robot: Name of the robot.
            arms: Names of its arms in order.
            parts: Parts that are acted on, each once, in the order of the skills.
            number: Episode number, for errors.
            acted: The part of every skill, in the order of `skills` of a record; for the values of `state` that
                describe the task.
            scene: Objects and bases of the arms; for the same values.
            views: For each state, what every camera sees; for point clouds by cameras. Read once for each arm.

        Raises:
            RecordingError: A required key is missing, or a value of `state` needs a scene and there is none.
        """
        read = partial(read_array, arrays, number=number)
        of_arms = {
            arm: ArmColumns(
                arrays,
                self._cfg,
                robot=robot,
                arm=arm,
                joints=self._joints.get(arm, []),
                acted=acted,
                scene=scene,
                number=number,
            )
            for arm in arms
        }
        columns = {STATE: join_columns([each.state(kind) for each in of_arms.values() for kind in self._cfg.state])}
        if self._cfg.objects:
            columns[ENVIRONMENT] = join_columns(_object_columns(arrays, parts, read))
        if self._cfg.keypoints:
            columns[KEYPOINTS] = join_columns(_keypoint_columns(arrays, parts, read))
        if self._cfg.point_cloud:
            for arm, of_arm in of_arms.items():
                ending = "" if len(of_arms) == 1 else f".{arm}"
                columns |= {f"{key}{ending}": cloud for key, cloud in self._clouds(of_arm, views).items()}
        return {key: column for key, column in columns.items() if column.names}

    def joint_names(self, arm: str, n: int, quantity: str) -> tuple[str, ...]:
        """Returns the names `<arm>.<joint>.<quantity>` of the n joint values of an arm."""
        return tuple(f"{arm}.{name}.{quantity}" for name in fitting_names(self._joints.get(arm, []), n))

    def _clouds(self, of_arm: ArmColumns, views: Iterable[Sequence[CameraView]]) -> dict[str, Column]:
        """Returns the point clouds of an arm by key."""
        n, source = self._cfg.point_cloud, self._cfg.point_cloud_source
        if source is PointSource.camera:
            return {CLOUD: of_arm.camera_point_cloud(n, views)}
        clouds = {CLOUD: of_arm.point_cloud(n, self._cfg.point_cloud_surface, self._cfg.point_cloud_part_share)}
        if source is PointSource.both:
            clouds[CAMERA_CLOUD] = of_arm.camera_point_cloud(n, views)
        return clouds


def _object_columns(arrays: Mapping[str, Array], parts: Sequence[Part], read: Callable[[str], Array]) -> list[Column]:
    """Returns root poses of all objects, then position and velocity of the parts that are acted on."""
    columns = []
    for name in sorted({key.split(".")[1] for key in arrays if key.startswith("objects.")}):
        pose = [read(f"objects.{name}.root_{what}") for what in ("position", "quat_xyzw")]
        columns.append(Column(prefix_names(name, (*AXES, "qx", "qy", "qz", "qw")), np.hstack(pose)))
    for place, (name, _, index) in enumerate(parts):
        joint = [read(f"objects.{name}.joint_{what}")[:, index] for what in ("positions", "velocities")]
        columns.append(Column(prefix_names(f"{name}.part{place}", ("position", "velocity")), np.stack(joint, axis=1)))
    return columns


def _keypoint_columns(arrays: Mapping[str, Array], parts: Sequence[Part], read: Callable[[str], Array]) -> list[Column]:
    columns = []
    for place, (name, part, _) in enumerate(parts):
        prefix = f"keypoints.{name}.{part}."
        for key in sorted(key for key in arrays if key.startswith(prefix)):
            names = prefix_names(f"{name}.part{place}.{key[len(prefix) :]}", AXES)
            columns.append(Column(names, read(key)))
    return columns
