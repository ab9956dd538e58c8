"""Options of an export that all formats share."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.ranges import Fraction, Range, check_ranges
from unlatch.simcore.recording.modality import PointSource, PointSurface


class DescribedOption(Enum):
    """Values of an option, each with a text that explains it in the exported files."""

    meaning: str
    """Text that says what the value means."""

    def __new__(cls, value: str, meaning: str) -> DescribedOption:
        """Makes a member from its value and its meaning."""
        member = object.__new__(cls)
        member._value_ = value
        member.meaning = meaning
        return member


class ActionKind(DescribedOption):
    """Meaning of the numbers of an action; the gripper's target opening [m] follows them for each arm."""

    joint_position = "joint_position", "joint positions of the action [rad]"
    joint_delta = "joint_delta", "change of the joint positions of the action [rad]"
    ee_pose = "ee_pose", "pose of the ee link of the action, world frame [m]"
    ee_delta = (
        "ee_delta",
        "change of the pose of the ee link, position [m] then orientation (new = change * old), world frame",
    )

    @property
    def is_delta(self) -> bool:
        """Whether the action is a change."""
        return self in (ActionKind.joint_delta, ActionKind.ee_delta)

    @property
    def has_rotation(self) -> bool:
        """Whether the action has an orientation."""
        return self in (ActionKind.ee_pose, ActionKind.ee_delta)


class ActionSource(DescribedOption):
    """Which actions are exported where a record has two for a frame."""

    label = "label", "the planner's own action where the record has one, else the executed action"
    executed = "executed", "the action that the arms executed"


class RotationForm(DescribedOption):
    """Format of an orientation."""

    quat_xyzw = "quat_xyzw", "unit quaternion x, y, z, w"
    rotvec = "rotvec", "axis times angle [rad]"
    # Zhou et al. 2019: unlike the other forms, it has no jumps
    rot6d = "rot6d", "first two columns of the rotation matrix, one after the other"
    euler_xyz = "euler_xyz", "roll, pitch, yaw of URDF [rad], R = Rz(yaw) Ry(pitch) Rx(roll)"


class DeltaFrom(DescribedOption):
    """Reference of a change."""

    target = "target", "the target of the frame before, in the first frame from what was measured"
    state = "state", "what was measured at the same frame"


class StateKind(DescribedOption):
    """One part of `observation.state`, of every arm."""

    joint_position = "joint_position", "rad"
    joint_velocity = "joint_velocity", "rad/s"
    joint_effort = "joint_effort", "N m"
    ee_pose = "ee_pose", "pose of the ee link, world frame, m"
    tcp_pose = "tcp_pose", "pose of the point between the fingertips, world frame, m"
    gripper = "gripper", "distance between the finger pads, m"
    last_action = "last_action", "joint targets, rad, and target of the gripper, m, of the frame before"
    finger_forces = "finger_forces", "forces on the fingers over the frame before, N"
    hand_keypoints = "hand_keypoints", "keypoints of the part that is acted on, frame of the tcp, m"
    openness = "openness", "0 where the part that is acted on is closed, 1 where it is fully open"
    skill = "skill", "1 for the skill that is asked for, 0 for the others"
    geometry = "geometry", "geometry of the object and of the part that is acted on, base frame of the arm, m and rad"

    @property
    def of_task(self) -> bool:
        """Whether the values describe the task at hand, not the arm."""
        return self in _OF_TASK


_OF_TASK = (
    StateKind.last_action,
    StateKind.finger_forces,
    StateKind.hand_keypoints,
    StateKind.openness,
    StateKind.skill,
    StateKind.geometry,
)
_CLOUD_NUMBERS = "x, y, z [m] in the base frame of the arm, then 1 on the part that is acted on and 0 elsewhere"


@dataclass(kw_only=True)
class ColumnsCfg:
    """Which values the columns of an export have; an environment observes the same columns."""

    state: list[StateKind] = field(default_factory=lambda: [StateKind.joint_position, StateKind.gripper])
    """Contents of `observation.state` in this order, for each arm."""
    rotation: RotationForm | None = None
    """Form of orientations; null: `quat_xyzw`, for changes in actions `rotvec`."""
    objects: bool = True
    """Whether `observation.environment_state`, poses of objects and positions of the parts that are acted on, is one of
    the columns."""
    keypoints: bool = True
    """Whether `observation.keypoints`, those of the parts that are acted on, is one of the columns."""
    point_cloud: Annotated[int, Range(0, 100_000)] = 0  # largest number of points of a point cloud
    """Number of points of the object that is acted on, as `observation.point_cloud`; 0: none."""
    point_cloud_source: PointSource = PointSource.geometry
    """Whether the points lie on the whole surface (`geometry`), or where cameras see the object (`camera`): those of
    the set `render` in an export, those among the `sensors` in an environment. `both` has the latter as
    `observation.point_cloud_camera`, too."""
    point_cloud_cameras: list[str] | None = None
    """Cameras that give points; null: all."""
    point_cloud_surface: PointSurface = PointSurface.visual
    """Shapes on whose surface the points from geometry are drawn."""
    point_cloud_part_share: Fraction | None = None
    """Share of the points from geometry that lie on the part that is acted on, such as 0.5; null: the density is the
    same on all links, so that a small handle of a large object has few points."""


@dataclass
class ExportCfg(ColumnsCfg):
    """Options of every format; a format's own dataclass extends it."""

    all: bool = False
    """Whether failed attempts are exported too; attempts without states never are."""
    only: list[int] | None = None
    """Numbers of the episodes to export; null: all."""
    append: bool = False
    """Whether to add to a target that has episodes of other data sets."""
    force: bool = False
    """Whether an existing export of this format is replaced."""
    action: ActionKind = ActionKind.joint_position
    """Meaning of the numbers of an action."""
    action_source: ActionSource = ActionSource.label
    """Which actions are exported: the planner's own (`label`), or the executed ones with their disturbances. They
    differ only in records that have `labels.`."""
    delta_from: DeltaFrom = DeltaFrom.target
    """Reference of `joint_delta` and `ee_delta`."""
    render: str | None = None
    """Name of the render set whose colour images are exported, and whose depth gives points by camera; null: none."""
    cameras: list[str] | None = None
    """Cameras of that set; null: all."""

    def __post_init__(self) -> None:
        if not self.state or len(set(self.state)) != len(self.state):
            known = ", ".join(kind.name for kind in StateKind)
            got = ", ".join(kind.name for kind in self.state)
            raise ConfigError(
                f"state=[{got}] cannot be exported. Expected at least one of {known}, each once. Change it.",
                key="state",
            )
        check_ranges(self)
        if self.append and self.force:
            raise ConfigError(
                "append=true adds to an export, and force=true replaces it. Expected one of them. Remove the other.",
                key="force",
            )
        if self.has_camera_points and not self.point_cloud:
            raise ConfigError(
                f"point_cloud_source={self.point_cloud_source.name} has no effect: point_cloud=0. Set the number of "
                "points, such as point_cloud=1024, or remove it.",
                key="point_cloud_source",
            )
        if self.point_cloud_part_share is not None and (
            not self.point_cloud or self.point_cloud_source is PointSource.camera
        ):
            raise ConfigError(
                f"point_cloud_part_share={self.point_cloud_part_share} has no effect: there are no points from "
                "geometry. Set point_cloud=1024 and point_cloud_source=geometry or both, or remove it.",
                key="point_cloud_part_share",
            )
        if self.point_cloud_cameras is not None and (not self.has_camera_points or not self.point_cloud_cameras):
            raise ConfigError(
                f"point_cloud_cameras={self.point_cloud_cameras} is empty or has no effect. Expected names of cameras "
                "and point_cloud_source=camera or both. Give both, or neither.",
                key="point_cloud_cameras",
            )
        if self.cameras is not None and (self.render is None or not self.cameras):
            raise ConfigError(
                f"cameras={self.cameras} has no render set or is empty. Expected names of cameras and "
                "render=NAME (`unlatch render` makes sets). Give both, or neither.",
                key="cameras",
            )

    @property
    def has_camera_points(self) -> bool:
        """Whether there is a point cloud by cameras."""
        return self.point_cloud_source is not PointSource.geometry

    @property
    def action_rotation(self) -> RotationForm:
        """Format of orientations in actions."""
        return self.rotation or (RotationForm.rotvec if self.action.is_delta else RotationForm.quat_xyzw)

    @property
    def state_rotation(self) -> RotationForm:
        """Format of orientations in states."""
        return self.rotation or RotationForm.quat_xyzw

    def convention(self) -> dict[str, str]:
        """Returns the meaning of actions and states as text, by key."""
        action = f"{self.action.name}: {self.action.meaning}"
        if self.action.is_delta:
            action += f"; counted from {self.delta_from.meaning}"
        if self.action.has_rotation:
            action += f"; orientation as {self.action_rotation.name}: {self.action_rotation.meaning}"
        if self.action_source is ActionSource.executed:
            action += f"; {self.action_source.meaning}"
        state = ", ".join(f"{kind.name} ({kind.meaning})" for kind in self.state)
        if {StateKind.ee_pose, StateKind.tcp_pose} & set(self.state):
            state += f"; orientation as {self.state_rotation.name}: {self.state_rotation.meaning}"
        return {
            "action": f"{action}; of each arm in turn, then its gripper: distance between the finger pads to reach [m]",
            "observation.state": f"of each arm in turn: {state}",
            "frames": "the action of a frame is what was asked for from this frame's state to the next one's",
            "units": "SI units, radians, seconds; the world frame has z up, z = 0 at the top of the table",
            **self._cloud_convention(),
        }

    def _cloud_convention(self) -> dict[str, str]:
        """Returns the meaning of the point clouds as text, by key."""
        if not self.point_cloud:
            return {}
        item = "of the object that is acted on"
        geometry = f"{self.point_cloud} points on the {self.point_cloud_surface.name} surface {item}: {_CLOUD_NUMBERS}"
        if self.point_cloud_part_share is not None:
            geometry += f"; a share of {self.point_cloud_part_share:g} lies on the part"
        seen = "all cameras" if self.point_cloud_cameras is None else "cameras " + ", ".join(self.point_cloud_cameras)
        camera = f"{self.point_cloud} points {item} that {seen} see, all 0 if none sees it: {_CLOUD_NUMBERS}"
        return {
            PointSource.geometry: {"observation.point_cloud": geometry},
            PointSource.camera: {"observation.point_cloud": camera},
            PointSource.both: {"observation.point_cloud": geometry, "observation.point_cloud_camera": camera},
        }[self.point_cloud_source]
