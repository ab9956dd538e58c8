"""The columns of one arm: its own state, and the skill at hand with the part that it acts on.

All have one size for every object and task. Positions and directions of the part are in the base frame of the arm,
except keypoints in the frame of the tcp.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import numpy as np

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.export.column import AXES, Array, Column, fitting_names, prefix_names, read_array
from unlatch.simcore.recording.export.config import ExportCfg, StateKind
from unlatch.simcore.recording.export.rotation import COMPONENTS, convert_rotations
from unlatch.simcore.recording.observed.acted_part import ActedPart, entry_indices
from unlatch.simcore.recording.observed.camera_cloud import CameraView
from unlatch.simcore.recording.observed.geometry import geometry_names, geometry_values
from unlatch.simcore.recording.observed.object_geometry import ObjectGeometry
from unlatch.simcore.recording.observed.point_choice import PointSurface
from unlatch.simcore.recording.observed.scene import ObservedScene

FORCES = ("load_mean", "load_max", "on_part_mean")


class ArmColumns:
    """Makes the columns of one arm in one episode."""

    def __init__(
        self,
        arrays: Mapping[str, Array],
        cfg: ExportCfg,
        *,
        robot: str,
        arm: str,
        joints: Sequence[str],
        acted: Sequence[ActedPart],
        scene: ObservedScene | None,
        number: int,
    ) -> None:
        """Takes the arrays of an episode or of one frame of it.

        Args:
            arrays: T+1 states by record key, and the T actions and contacts between them. With as many actions as
                states, each state is the one after its action.
            cfg: The options of the export.
            robot: Name of the robot.
            arm: Name of the arm.
            joints: Names of its joints; other names are made where their number does not fit.
            acted: The part of every skill of the episode, in the order of `skills` of a record.
            scene: Objects and bases of the arms; None: only columns without them can be made.
            number: Episode number, for errors.
        """
        self._arrays, self._cfg = arrays, cfg
        self._robot, self._arm, self._joints = robot, arm, joints
        self._acted = acted
        self._scene = scene
        self._number = number

    def state(self, kind: StateKind) -> Column:
        """Returns one part of `observation.state`."""
        make: dict[StateKind, Callable[[], Column]] = {
            StateKind.joint_position: partial(self.joint_values, "position"),
            StateKind.joint_velocity: partial(self.joint_values, "velocity"),
            StateKind.joint_effort: partial(self.joint_values, "effort"),
            StateKind.ee_pose: partial(self.pose, "ee"),
            StateKind.tcp_pose: partial(self.pose, "tcp"),
            StateKind.gripper: self.gripper,
            StateKind.last_action: self.last_action,
            StateKind.finger_forces: self.finger_forces,
            StateKind.hand_keypoints: self.hand_keypoints,
            StateKind.openness: self.openness,
            StateKind.skill: self.skill,
            StateKind.geometry: self.geometry,
        }
        return make[kind]()

    def joint_values(self, quantity: str) -> Column:
        """Returns `position` [rad], `velocity` [rad/s] or `effort` [N m] of the joints; (T+1, n)."""
        plural = {"position": "positions", "velocity": "velocities", "effort": "efforts"}[quantity]
        values = self._read(f"robots.{self._robot}.{self._arm}.joint_{plural}")
        names = fitting_names(self._joints, values.shape[1])
        return Column(tuple(f"{self._arm}.{name}.{quantity}" for name in names), values)

    def pose(self, frame: str) -> Column:
        """Returns position [m] and orientation of the frame `ee` or `tcp` in the world frame."""
        prefix, form = f"robots.{self._robot}.{self._arm}.{frame}", self._cfg.state_rotation
        turned = convert_rotations(self._read(f"{prefix}_quat_xyzw"), form)
        names = prefix_names(f"{self._arm}.{frame}", (*AXES, *COMPONENTS[form]))
        return Column(names, np.hstack([self._read(f"{prefix}_position"), turned]))

    def gripper(self) -> Column:
        """Returns the distance between the finger pads [m]; (T+1, 1)."""
        return Column((f"{self._arm}.gripper",), self._read(f"robots.{self._robot}.{self._arm}.gripper_opening"))

    def last_action(self) -> Column:
        """Returns joint targets [rad] and target of the gripper [m] of the frame before; (T+1, n+1).

        In the first frame: the joint positions and the target of the gripper.
        """
        measured, commanded = f"robots.{self._robot}.{self._arm}", f"actions.{self._robot}.{self._arm}"
        q = self._before(f"{commanded}.joint_targets", self._read(f"{measured}.joint_positions"))
        opening = self._before(f"{commanded}.gripper_target", self._read(f"{measured}.gripper_target"))
        names = (*fitting_names(self._joints, q.shape[1]), "gripper")
        return Column(prefix_names(f"{self._arm}.last_action", names), np.hstack([q, opening]))

    def finger_forces(self) -> Column:
        """Returns the load of a finger, mean and largest, and the mean force on the part that is acted on [N].

        They were measured over the frame before; in the first frame they are 0.
        """
        zero = np.zeros(len(self._indices()))
        load = f"contacts.{self._robot}.{self._arm}.fingers.force"
        columns = [self._before(f"{load}_{word}_n", zero) for word in ("mean", "max")]
        on_part = {
            name: self._before(f"contacts.{self._robot}.{self._arm}.{name}.fingers_link.force_mean_n", zero)
            for name in {part.object for part in self._acted}
        }
        columns.append(np.array([on_part[part.object][row] for row, part in enumerate(self._parts())]))
        return Column(prefix_names(f"{self._arm}.finger_forces", FORCES), np.stack(columns, axis=1))

    def openness(self) -> Column:
        """Returns the opening of the part as a share: 0 closed, 1 fully open; (T+1, 1)."""
        share = {
            part: part.opening(self._read(f"objects.{part.object}.joint_positions")) / part.span
            for part in set(self._acted)
        }
        values = np.array([share[part][row] for row, part in enumerate(self._parts())])
        return Column((f"{self._arm}.openness",), values[:, None])

    def skill(self) -> Column:
        """Returns 1 for the skill of the arm and 0 for the others; (T+1, kinds)."""
        scene = self._known_scene()
        kinds = scene.skills
        asked = [self._asked_skill(index, scene.motionless_skills) for index in self._indices()]
        values = np.array([[float(kind == each) for each in kinds] for kind in asked])
        return Column(prefix_names(f"{self._arm}.skill", kinds), values)

    def hand_keypoints(self) -> Column:
        """Returns the keypoints of the part in the frame of the tcp [m]; (T+1, 3 * keypoints)."""
        prefix, scene = f"robots.{self._robot}.{self._arm}.tcp", self._known_scene()
        poses = zip(self._read(f"{prefix}_position"), self._read(f"{prefix}_quat_xyzw"), strict=True)
        points = {
            part: np.stack([self._read(f"keypoints.{part.object}.{part.part}.{name}") for name in scene.keypoints], 1)
            for part in set(self._acted)
        }  # (T+1, K, 3) each
        rows = [
            (Pose.from_quat_xyzw(*pose).inverse() @ points[part][row]).ravel()
            for row, (pose, part) in enumerate(zip(poses, self._parts(), strict=True))
        ]
        names = [f"{self._arm}.hand_keypoints.{name}.{axis}" for name in scene.keypoints for axis in AXES]
        return Column(tuple(names), np.stack(rows))

    def geometry(self) -> Column:
        """Returns the geometry of the object and the part in the base frame of the arm; (T+1, n).

        `observed.geometry.GEOMETRY` names the numbers.
        """
        scene = self._known_scene()
        T_base_world = scene.bases[self._arm].inverse()
        items = {name: scene.load_object(name) for name in {part.object for part in self._acted}}
        rows = [
            self._geometry_row(scene, items[part.object], part, row, T_base_world)
            for row, part in enumerate(self._parts())
        ]
        return Column(prefix_names(self._arm, geometry_names(scene)), np.stack(rows))

    def point_cloud(self, n: int, surface: PointSurface, part_share: float | None) -> Column:
        """Returns n points on the surface of the object; (T+1, n, 4) float32.

        Each has x, y, z in the base frame of the arm [m], then 1 if the joint of the part moves it, else 0. The points
        are drawn once for an episode and move with the links. `part_share`: share of the points that lie on the part.
        """
        scene = self._known_scene()
        T_base_world = scene.bases[self._arm].inverse()
        clouds = {part: scene.cloud(part, n, surface, part_share) for part in set(self._acted)}
        labels = {part: cloud.on_part(part.part) for part, cloud in clouds.items()}
        values: Array = np.empty((len(self._indices()), n, 4), dtype=np.float32)  # as sensors give them
        for row, part in enumerate(self._parts()):
            T_world_root, positions = self._object_state(part.object, row)
            values[row, :, :3] = clouds[part].positions(positions, T_base_world @ T_world_root)
            values[row, :, 3] = labels[part]
        return Column((*AXES, "part"), values)

    def camera_point_cloud(self, n: int, views: Iterable[Sequence[CameraView]]) -> Column:
        """Returns n points of the object that cameras see; (T+1, n, 4) float32, see `CameraCloud.points`.

        Args:
            n: Number of points.
            views: For each of the T+1 states, what every camera sees.
        """
        scene = self._known_scene()
        T_base_world = scene.bases[self._arm].inverse()
        values = [
            scene.camera_cloud(part.object, n).points(seen, part.part, T_base_world)
            for part, seen in zip(self._parts(), views, strict=True)
        ]
        return Column((*AXES, "part"), np.stack(values))

    def _object_state(self, name: str, row: int) -> tuple[Pose, Array]:
        """Returns the pose of an object's root link in the world, and the (m,) positions of its joints."""
        pose = (self._read(f"objects.{name}.root_{what}")[row] for what in ("position", "quat_xyzw"))
        return Pose.from_quat_xyzw(*pose), self._read(f"objects.{name}.joint_positions")[row]

    def _geometry_row(
        self, scene: ObservedScene, item: ObjectGeometry, part: ActedPart, row: int, T_base_world: Pose
    ) -> Array:
        T_world_root, positions = self._object_state(part.object, row)
        T_base_root = T_base_world @ T_world_root
        return geometry_values(scene, item, item.parts[part.part], T_base_root=T_base_root, positions=positions)

    def _asked_skill(self, index: int, motionless: Sequence[str]) -> str:
        """Returns the name of a skill; for one that moves nothing, that of the next one that moves something."""
        return next((part.skill for part in self._acted[index:] if part.skill not in motionless), "")

    def _known_scene(self) -> ObservedScene:
        if self._scene is None:
            raise RecordingError(
                f"Episode {self._number} comes without its scene, which point_cloud, and skill, hand_keypoints and "
                "geometry of `state` need. Expected a data set that `unlatch collect` made. Choose other values.",
                number=self._number,
            )
        return self._scene

    def _indices(self) -> Array:
        return entry_indices(self._arrays, self._arm)

    def _parts(self) -> list[ActedPart]:
        """Returns the part that is acted on in each frame."""
        return [self._acted[index] for index in self._indices()]

    def _read(self, key: str) -> Array:
        return read_array(self._arrays, key, self._number)

    def _before(self, key: str, first: Array) -> Array:
        """Returns the values of the frame before each state; where there is none, the same row of `first`."""
        if key not in self._arrays and len(first) == 1:
            return first  # nothing has happened yet
        values = self._read(key)
        return np.concatenate([first[: len(first) - len(values)], values])
