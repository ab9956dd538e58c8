"""Observations for trainers: flat, named numbers of each frame, from the arrays of a record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.recording.export.config import ExportCfg, RotationForm, StateKind
from unlatch.simcore.recording.modality import PointSource, PointSurface
from unlatch.simcore.recording.observed_scene import (
    ActedPart,
    CameraFrame,
    ObservedScene,
    geometry_names,
    geometry_values,
)

AXES = ("x", "y", "z")


@dataclass(frozen=True)
class Column:
    """Named numbers, one row per frame."""

    names: tuple[str, ...]
    """Name of each number of the last axis."""
    values: Array
    """(T+1, n) float64 for observations, (T+1, points, 4) float32 for point clouds, (T, n) for actions."""


def read_array(arrays: Mapping[str, Array], key: str, number: int) -> Array:
    """Returns an array of a record, floats in double precision.

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
    return found.astype(np.float64, copy=False) if found.dtype.kind == "f" else found


def prefix_names(prefix: str, words: Sequence[str]) -> tuple[str, ...]:
    """Returns names with a prefix."""
    return tuple(f"{prefix}.{word}" for word in words)


def fitting_names(joints: Sequence[str], n: int) -> Sequence[str]:
    """Returns the names of n joints; other names than the given ones where their number does not fit."""
    return joints if len(joints) == n else [f"joint{index}" for index in range(n)]


def join_columns(columns: Sequence[Column]) -> Column:
    """Puts columns side by side into one column."""
    if not columns:
        return Column((), np.zeros((0, 0)))
    names = tuple(name for column in columns for name in column.names)
    return Column(names, np.hstack([column.values for column in columns]))


def name_values(column: Column, arms: Sequence[str]) -> Column:
    """Returns a column of all arms whose names leave out the arm of a robot that has only one."""
    if len(arms) > 1:
        return column
    return Column(tuple(name.removeprefix(f"{arms[0]}.") for name in column.names), column.values)


COMPONENTS: dict[RotationForm, tuple[str, ...]] = {
    RotationForm.quat_xyzw: ("qx", "qy", "qz", "qw"),
    RotationForm.rotvec: ("rx", "ry", "rz"),
    RotationForm.rot6d: ("r11", "r21", "r31", "r12", "r22", "r32"),
    RotationForm.euler_xyz: ("roll", "pitch", "yaw"),
}
"""Names of the numbers of each form, in their order."""


def convert_rotations(quat_xyzw: Array, form: RotationForm) -> Array:
    """Converts unit quaternions (N, 4) into a form: (N, k) numbers, named by `COMPONENTS`."""
    if form is RotationForm.quat_xyzw:
        return quat_xyzw
    rotations = scipy.spatial.transform.Rotation.from_quat(quat_xyzw)
    if form is RotationForm.rotvec:
        return rotations.as_rotvec()
    if form is RotationForm.euler_xyz:
        return rotations.as_euler("xyz")
    return rotations.as_matrix()[:, :, :2].transpose(0, 2, 1).reshape(len(quat_xyzw), 6)


def rotation_changes(old_quat_xyzw: Array, new_quat_xyzw: Array) -> Array:
    """Returns the quaternions (N, 4) of R_change with R_new = R_change R_old and w >= 0."""
    change = (
        scipy.spatial.transform.Rotation.from_quat(new_quat_xyzw)
        * scipy.spatial.transform.Rotation.from_quat(old_quat_xyzw).inv()
    ).as_quat()
    return np.where(change[:, 3:] < 0, -change, change)


FORCES = ("load_mean", "load_max", "on_part_mean")
JOINT_VALUES = {
    StateKind.joint_position: ("pos", "positions"),
    StateKind.joint_velocity: ("vel", "velocities"),
    StateKind.joint_effort: ("effort", "efforts"),
}
"""How a kind of joint values is named, as LeRobot does it, and its plural in the keys of a record."""


@dataclass(frozen=True)
class ArmColumns:
    """Makes the columns of one arm in one episode, or in one frame of it."""

    arrays: Mapping[str, Array]
    """T+1 states by record key, and the T actions and contacts between them. With as many actions as states, each state
    is the one after its action."""
    cfg: ExportCfg
    """The options of the export."""
    robot: str
    """Name of the robot."""
    arm: str
    """Name of the arm."""
    joints: Sequence[str]
    """Names of its joints; other names are made where their number does not fit."""
    acted: Sequence[ActedPart]
    """The part of every skill of the episode, in the order of `skills` of a record."""
    scene: ObservedScene | None
    """Objects and bases of the arms; None: only columns without them can be made."""
    number: int
    """Episode number, for errors."""

    def state(self, kind: StateKind) -> Column:
        """Returns one part of `observation.state`."""
        if kind in JOINT_VALUES:
            return self.joint_values(*JOINT_VALUES[kind])
        if kind in (StateKind.ee_pose, StateKind.tcp_pose):
            return self.pose(kind.name.removesuffix("_pose"))
        make: dict[StateKind, Callable[[], Column]] = {
            StateKind.gripper: self.gripper,
            StateKind.last_action: self.last_action,
            StateKind.finger_forces: self.finger_forces,
            StateKind.hand_keypoints: self.hand_keypoints,
            StateKind.openness: self.openness,
            StateKind.skill: self.skill,
            StateKind.geometry: self.geometry,
        }
        return make[kind]()

    def joint_values(self, quantity: str, plural: str) -> Column:
        """Returns `pos` [rad], `vel` [rad/s] or `effort` [N m] of the joints; (T+1, n)."""
        values = self._read(f"robots.{self.robot}.{self.arm}.joint_{plural}")
        names = fitting_names(self.joints, values.shape[1])
        return Column(tuple(f"{self.arm}.{name}.{quantity}" for name in names), values)

    def pose(self, frame: str) -> Column:
        """Returns position [m] and orientation of the frame `ee` or `tcp` in the world frame."""
        prefix, form = f"robots.{self.robot}.{self.arm}.{frame}", self.cfg.state_rotation
        turned = convert_rotations(self._read(f"{prefix}_quat_xyzw"), form)
        names = prefix_names(f"{self.arm}.{frame}", (*AXES, *COMPONENTS[form]))
        return Column(names, np.hstack([self._read(f"{prefix}_position"), turned]))

    def gripper(self) -> Column:
        """Returns the distance between the finger pads [m]; (T+1, 1)."""
        return Column((f"{self.arm}.gripper.pos",), self._read(f"robots.{self.robot}.{self.arm}.gripper_opening"))

    def last_action(self) -> Column:
        """Returns joint targets [rad] and target of the gripper [m] of the frame before; (T+1, n+1).

        In the first frame: the joint positions and the target of the gripper.
        """
        measured, commanded = f"robots.{self.robot}.{self.arm}", f"actions.{self.robot}.{self.arm}"
        q = self._before(f"{commanded}.joint_targets", self._read(f"{measured}.joint_positions"))
        opening = self._before(f"{commanded}.gripper_target", self._read(f"{measured}.gripper_target"))
        names = (*fitting_names(self.joints, q.shape[1]), "gripper")
        return Column(prefix_names(f"{self.arm}.last_action", names), np.hstack([q, opening]))

    def finger_forces(self) -> Column:
        """Returns the load of a finger, mean and largest, and the mean force on the part or the carried object [N].

        They were measured over the frame before; in the first frame they are 0.
        """
        zero = np.zeros(len(self._indices()))
        load = f"contacts.{self.robot}.{self.arm}.fingers.force"
        columns = [self._before(f"{load}_{word}_n", zero) for word in ("mean", "max")]
        on_part = {
            name: self._before(f"contacts.{self.robot}.{self.arm}.{name}.fingers_link.force_mean_n", zero)
            for name in {part.carried or part.object for part in self.acted}
        }
        columns.append(np.array([on_part[part.carried or part.object][row] for row, part in enumerate(self._parts())]))
        return Column(prefix_names(f"{self.arm}.finger_forces", FORCES), np.stack(columns, axis=1))

    def openness(self) -> Column:
        """Returns the opening of the part as a share: 0 closed, 1 fully open; (T+1, 1)."""
        share = {
            part: part.opening(self._read(f"objects.{part.object}.joint_positions")) / part.span
            for part in set(self.acted)
        }
        values = np.array([share[part][row] for row, part in enumerate(self._parts())])
        return Column((f"{self.arm}.openness",), values[:, None])

    def skill(self) -> Column:
        """Returns 1 for the skill of the arm and 0 for the others; (T+1, kinds)."""
        scene = self._known_scene()
        kinds = scene.skills
        # of a skill that moves nothing, the next one that moves something
        asked = [
            next((part.skill for part in self.acted[index:] if part.skill not in scene.motionless_skills), "")
            for index in self._indices()
        ]
        asked = [scene.counted_as.get(kind, kind) for kind in asked]
        values = np.array([[float(kind == each) for each in kinds] for kind in asked])
        return Column(prefix_names(f"{self.arm}.skill", kinds), values)

    def hand_keypoints(self) -> Column:
        """Returns the keypoints of the part in the frame of the tcp [m]; (T+1, 3 * keypoints).

        Of a carried object, its origin stands for each of them.
        """
        prefix, scene = f"robots.{self.robot}.{self.arm}.tcp", self._known_scene()
        poses = zip(self._read(f"{prefix}_position"), self._read(f"{prefix}_quat_xyzw"), strict=True)
        points = {}  # (T+1, K, 3) each
        for part in set(self.acted):
            keys = [f"keypoints.{part.object}.{part.part}.{name}" for name in scene.keypoints]
            if part.carried is not None:
                keys = [f"objects.{part.carried}.root_position"] * len(keys)
            points[part] = np.stack([self._read(key) for key in keys], 1)
        rows = [
            (Pose.from_quat_xyzw(*pose).inverse() @ points[part][row]).ravel()
            for row, (pose, part) in enumerate(zip(poses, self._parts(), strict=True))
        ]
        names = [f"{self.arm}.hand_keypoints.{name}.{axis}" for name in scene.keypoints for axis in AXES]
        return Column(tuple(names), np.stack(rows))

    def geometry(self) -> Column:
        """Returns the geometry of the object and the part in the base frame of the arm; (T+1, n).

        `observed_scene.GEOMETRY` names the numbers.
        """
        scene, T_base_world = self._known_scene(), self._known_scene().bases[self.arm].inverse()
        items = {name: scene.load_object(name) for name in {part.object for part in self.acted}}
        rows = []
        for row, part in enumerate(self._parts()):
            T_world_root, positions = self._object_state(part.object, row)
            rows.append(geometry_values(scene, items[part.object], part.part, T_base_world @ T_world_root, positions))
        return Column(prefix_names(self.arm, geometry_names(scene)), np.stack(rows))

    def point_cloud(self, n: int, surface: PointSurface, part_share: float | None) -> Column:
        """Returns n points on the surface of the object; (T+1, n, 4) float32.

        Each has x, y, z in the base frame of the arm [m], then 1 if the joint of the part moves it, else 0. The points
        are drawn once for an episode and move with the links. `part_share`: share of the points that lie on the part.
        """
        scene, T_base_world = self._known_scene(), self._known_scene().bases[self.arm].inverse()
        clouds = {part: scene.cloud(part, n, surface, part_share) for part in set(self.acted)}
        labels = {part: cloud.on_part(part.part) for part, cloud in clouds.items()}
        values: Array = np.empty((len(self._indices()), n, 4), dtype=np.float32)  # as sensors give them
        for row, part in enumerate(self._parts()):
            T_world_root, positions = self._object_state(part.object, row)
            values[row, :, :3] = clouds[part].positions(positions, T_base_world @ T_world_root)
            values[row, :, 3] = labels[part]
        return Column((*AXES, "part"), values)

    def camera_point_cloud(self, n: int, views: Iterable[Sequence[CameraFrame]]) -> Column:
        """Returns n points of the object that cameras see; (T+1, n, 4) float32, see `CameraCloud.points`.

        Args:
            n: Number of points.
            views: For each of the T+1 states, what every camera sees.
        """
        scene, T_base_world = self._known_scene(), self._known_scene().bases[self.arm].inverse()
        values = [
            scene.camera_cloud(part.object, n).points(seen, part.part, T_base_world)
            for part, seen in zip(self._parts(), views, strict=True)
        ]
        return Column((*AXES, "part"), np.stack(values))

    def _object_state(self, name: str, row: int) -> tuple[Pose, Array]:
        """Returns the pose of an object's root link in the world, and the (m,) positions of its joints."""
        pose = (self._read(f"objects.{name}.root_{what}")[row] for what in ("position", "quat_xyzw"))
        return Pose.from_quat_xyzw(*pose), self._read(f"objects.{name}.joint_positions")[row]

    def _known_scene(self) -> ObservedScene:
        if self.scene is None:
            raise RecordingError(
                f"Episode {self.number} comes without its scene, which point_cloud, and skill, hand_keypoints and "
                "geometry of `state` need. Expected a data set that `unlatch collect` made. Choose other values.",
                number=self.number,
            )
        return self.scene

    def _indices(self) -> Array:
        """Returns (T,) the index of the skill that the arm carries out in each frame, among the skills of the episode.

        Without a skill of its own, it is the one that began last; before the first skill, it is the first.
        """
        current = np.asarray(self.arrays["skills.index"])
        own = np.asarray(self.arrays.get(f"skills.{self.arm}.index", current))
        return np.maximum(np.where(own >= 0, own, current), 0)

    def _parts(self) -> list[ActedPart]:
        """Returns the part that is acted on in each frame."""
        return [self.acted[index] for index in self._indices()]

    def _read(self, key: str) -> Array:
        return read_array(self.arrays, key, self.number)

    def _before(self, key: str, first: Array) -> Array:
        """Returns the values of the frame before each state; where there is none, the same row of `first`."""
        if key not in self.arrays and len(first) == 1:
            return first  # nothing has happened yet
        values = self._read(key)
        return np.concatenate([first[: len(first) - len(values)], values])


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
        views: Iterable[Sequence[CameraFrame]] = (),
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
        state = join_columns([each.state(kind) for each in of_arms.values() for kind in self._cfg.state])
        columns = {STATE: name_values(state, arms)}
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

    def _clouds(self, of_arm: ArmColumns, views: Iterable[Sequence[CameraFrame]]) -> dict[str, Column]:
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
        columns += _mechanism_columns(arrays, name, read)
    for place, (name, _, index) in enumerate(parts):
        joint = [read(f"objects.{name}.joint_{what}")[:, index] for what in ("positions", "velocities")]
        columns.append(Column(prefix_names(f"{name}.part{place}", ("pos", "vel")), np.stack(joint, axis=1)))
    return columns


def _mechanism_columns(arrays: Mapping[str, Array], name: str, read: Callable[[str], Array]) -> list[Column]:
    """Returns the positions of all joints of an object with mechanisms, and what each mechanism holds: 1, else 0."""
    prefix = f"objects.{name}.mechanisms."
    keys = sorted(key for key in arrays if key.startswith(prefix))
    if not keys:
        return []
    positions = read(f"objects.{name}.joint_positions")
    columns = [Column(prefix_names(name, [f"joint{i}" for i in range(positions.shape[1])]), positions)]
    for key in keys:
        held: Array = read(key).astype(float)
        words = ["held"] if held.shape[1] == 1 else [f"held{i}" for i in range(held.shape[1])]
        columns.append(Column(prefix_names(f"{name}.{key[len(prefix) :]}", words), held))
    return columns


def _keypoint_columns(arrays: Mapping[str, Array], parts: Sequence[Part], read: Callable[[str], Array]) -> list[Column]:
    columns = []
    for place, (name, part, _) in enumerate(parts):
        prefix = f"keypoints.{name}.{part}."
        for key in sorted(key for key in arrays if key.startswith(prefix)):
            names = prefix_names(f"{name}.part{place}.{key[len(prefix) :]}", AXES)
            columns.append(Column(names, read(key)))
    return columns
