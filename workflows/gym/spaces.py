"""What a policy does and sees: actions as targets of the arms, bounds of observations, images and views of cameras."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import chooses_instance, largest_joint_position
from unlatch.objects.scene_object import SceneObject
from unlatch.robots.arm_control import ArmAction
from unlatch.robots.description import ArmCfg, RobotCfg
from unlatch.robots.robot import Robot
from unlatch.simcore.errors import ConfigError, count_noun, shorten, unknown_name
from unlatch.simcore.geometry import Array, Pose, matrix_from_axis_angle
from unlatch.simcore.recording.export.columns import JOINT_VALUES
from unlatch.simcore.recording.modality import LINKS, ImageStream
from unlatch.simcore.recording.observed_scene import CameraFrame, length_kind
from unlatch.simcore.sim.bodies import JointInfo
from unlatch.simcore.sim.sensors.camera import Camera
from unlatch.simcore.state import Rendering
from unlatch.solver.scene import ArmModel
from unlatch.workflows.episode.scene import EpisodeScene, arm_model
from unlatch.workflows.episode.visual_views import cameras
from unlatch.workflows.gym.config import ActionCfg, ActionMode, GripperForm, ObservationCfg
from unlatch.workflows.runs.schema import EnvCfg

_IK_STEPS = 5
_MOST_SHOWN = 120
"""Most characters of a wrong action in a message."""


class ActionDecoder:
    """Turns a flat array into one `ArmAction` an arm."""

    def __init__(self, cfg: ActionCfg, robot: RobotCfg) -> None:
        """Gives each arm its numbers in an action: those of its joints or its hand, then that of its gripper."""
        self.cfg = cfg
        self._arms = robot.arms
        self._models = [arm_model(robot, arm) for arm in robot.arms]
        self._sizes = [1 + (6 if cfg.mode is ActionMode.ee_delta else len(arm.joints)) for arm in robot.arms]
        self.size = sum(self._sizes)

    def bounds(self) -> tuple[Array, Array]:
        """Returns the lowest and highest values, (size,) each."""
        low, high = [], []
        for arm, size in zip(self._arms, self._sizes, strict=True):
            is_absolute = self.cfg.mode is ActionMode.joint_position
            low += [*(arm.lower if is_absolute else [-1.0] * (size - 1)), min(self._gripper_ends(arm))]
            high += [*(arm.upper if is_absolute else [1.0] * (size - 1)), max(self._gripper_ends(arm))]
        return np.array(low), np.array(high)

    def _gripper_ends(self, arm: ArmCfg) -> tuple[float, float]:
        """Returns the number of a closed gripper and that of an open one."""
        if self.cfg.gripper is GripperForm.own:
            return (0.0, arm.gripper.max_width_m) if self.cfg.mode is ActionMode.joint_position else (-1.0, 1.0)
        opened = 0.0 if self.cfg.gripper is GripperForm.closed_1 else -1.0
        return 1.0, opened

    def hold(self, robot: Robot) -> Array:
        """Returns the action (size,) that leaves all targets as they are."""
        parts = []
        for arm, size in zip(self._arms, self._sizes, strict=True):
            now, (closed, opened) = robot.arm(arm.name), self._gripper_ends(arm)
            share = now.gripper_target_m / arm.gripper.max_width_m
            is_absolute = self.cfg.mode is ActionMode.joint_position
            parts += [now.q_target if is_absolute else np.zeros(size - 1), [closed + share * (opened - closed)]]
        return np.concatenate(parts)

    def decode(self, action: Array, robot: Robot) -> dict[str, ArmAction]:
        """Returns the targets by arm name.

        Args:
            action: (size,) numbers; those outside the bounds are clipped.
            robot: The robot; changes are relative to its present targets.

        Raises:
            ConfigError: The number of values is wrong, or a value is not finite.
        """
        values, shape = np.zeros(0), ""
        try:
            given = np.asarray(action)
            shape = f" of shape {list(given.shape)}"
            values = given.astype(float) if given.dtype.kind in "biufO" else values
        except (TypeError, ValueError):  # no numbers, or rows of several lengths
            pass
        if values.shape != (self.size,) or not np.isfinite(values).all():
            raise ConfigError(
                f"An action of {self.size} finite numbers is expected ({self.cfg.mode.value}, "
                f"{count_noun(len(self._arms), 'arm')}), got {type(action).__name__}{shape}: "
                f"{shorten(' '.join(str(action).split()), _MOST_SHOWN)}.",
                key="action",
            )
        parts = np.split(np.clip(values, *self.bounds()), np.cumsum(self._sizes)[:-1])
        return {
            arm.name: self._decode_arm(arm, model, part, robot.arm(arm.name).q_target)
            for arm, model, part in zip(self._arms, self._models, parts, strict=True)
        }

    def _decode_arm(self, arm: ArmCfg, model: ArmModel, values: Array, q: Array) -> ArmAction:
        """Returns the targets of one arm from its numbers and its present joint targets q (n,) [rad]."""
        change, (closed, opened) = values[:-1], self._gripper_ends(arm)
        gripper_m = float(values[-1])
        if (closed, opened) != (0.0, arm.gripper.max_width_m):
            gripper_m = (gripper_m - closed) / (opened - closed) * arm.gripper.max_width_m
        if self.cfg.mode is ActionMode.joint_position:
            return ArmAction.of(change.copy(), gripper_m, model.kinematics.fk)
        if self.cfg.mode is ActionMode.joint_delta:
            q = np.clip(q + self.cfg.max_joint_delta_rad * change, model.q_lower, model.q_upper)
        else:
            q = self._move_hand(model, q, change)
        return ArmAction.of(q, gripper_m, model.kinematics.fk)

    def _move_hand(self, model: ArmModel, q: Array, part: Array) -> Array:
        """Returns joints (n,) that move the hand's target by a step, by damped least squares."""
        T = model.kinematics.fk(q)
        wanted_p = T[:3, 3] + self.cfg.max_ee_delta_m * part[:3]
        angle = float(np.linalg.norm(part[3:]))
        turn = matrix_from_axis_angle(part[3:] / angle, self.cfg.max_ee_delta_rad * angle) if angle else np.eye(3)
        wanted_R = turn @ T[:3, :3]
        for _ in range(_IK_STEPS):
            T = model.kinematics.fk(q)
            R = wanted_R @ T[:3, :3].T
            turn_left = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])  # R is small
            error = np.concatenate([wanted_p - T[:3, 3], turn_left])
            J = model.kinematics.jacobian(q)  # (6, n)
            # damping of the step towards a hand pose: near a singularity the arm moves more slowly
            q = q + J.T @ np.linalg.solve(J @ J.T + 0.05**2 * np.eye(6), error)
            q = np.clip(q, model.q_lower, model.q_upper)
        return q


Bounds = tuple[Array, Array]
"""Least and largest values, each of the shape of the observation or ()."""

MARGIN_RAD, MARGIN_M = 0.1, 0.01
"""How far a simulated joint may be beyond its limits, as the stops of Bullet give way. With random actions of every
mode, all robots and parts of every kind went at most 0.08 rad and 0.006 m beyond them."""
SPEED_FACTOR = 10.0
"""Largest speed of an arm's joint as a multiple of its maker's limit. The limit holds for targets: after a jump of the
targets an arm was up to three times as fast, and after a collision eight times."""
FASTEST = 100.0
"""Largest speed of any joint [rad/s or m/s]: Bullet cuts off faster ones. Light fingers and knobs come near it when
something hits them."""
_POSITIONS = ("joint_positions", "joint_position", "gripper_joint_positions", "gripper_opening")
_VELOCITIES = ("joint_velocities", "joint_velocity", "gripper_joint_velocities")
_FREED = {
    "encoder_offset": ("joint_positions",),
    **dict.fromkeys(("joint_positions", "lower_dof_limits", "upper_dof_limits"), _POSITIONS),
    **dict.fromkeys(("joint_velocities", "joint_max_velocities"), _VELOCITIES),
    **dict.fromkeys(("joint_efforts", "max_efforts"), ("joint_efforts",)),
}
"""Attribute of a randomization rule, and last words of the keys that have no bounds under such a rule."""


def observation_bounds(cfg: EnvCfg, scene: EpisodeScene) -> dict[str, Bounds]:
    """Returns least and largest values by record key, for every episode; keys that can have any value are left out.

    The limits of an object count where every episode has the same object, or one of a generator of Unlatch.
    """
    found: dict[str, Bounds] = {}
    for name, arm in scene.robot.arms.items():
        joints = [scene.robot.body.joint(joint) for joint in (*arm.cfg.joints, *arm.cfg.gripper.joints)]
        values = _arm_bounds(arm.cfg, joints)
        found |= {f"robots.{cfg.robot.name}.{name}.{key}": bounds for key, bounds in values.items()}
    for name, item in scene.objects.items():
        found |= _object_bounds(name, item, cfg.all_objects()[name])
    randomization = cfg.randomization
    replays = randomization.source is not None or randomization.recorded is not None  # rules that are not known here
    attributes = _FREED if replays else [rule.attribute for rule in randomization.rules]
    freed = {word for attribute in attributes for word in _FREED.get(attribute, ())}
    return {key: bounds for key, bounds in found.items() if key.split(".")[-1] not in freed}


def column_bounds(names: Sequence[str], cfg: EnvCfg, bounds: Mapping[str, Bounds]) -> Bounds:
    """Returns least and largest values (n,) of a column of an export.

    Args:
        names: Names of its n values. Joints of arms and openings of grippers have bounds, other values have none.
        cfg: The configuration.
        bounds: Bounds by record key.
    """
    anything = (np.array(-np.inf), np.array(np.inf))
    known: dict[str, tuple[float, float]] = {}
    for arm in cfg.robot.arms:
        prefix = f"{arm.name}." if len(cfg.robot.arms) > 1 else ""
        columns = {
            f"joint_{plural}": [f"{prefix}{joint}.{word}" for joint in arm.joints]
            for word, plural in JOINT_VALUES.values()
        }
        for key, values in {**columns, "gripper_opening": [f"{prefix}gripper.pos"]}.items():
            ends = bounds.get(f"robots.{cfg.robot.name}.{arm.name}.{key}", anything)
            low, high = (np.broadcast_to(end, len(values)).tolist() for end in ends)
            known |= zip(values, zip(low, high, strict=True), strict=True)
    low, high = np.array([known.get(name, (-np.inf, np.inf)) for name in names]).T
    return low, high


def _arm_bounds(arm: ArmCfg, joints: Sequence[JointInfo]) -> dict[str, Bounds]:
    """Returns the bounds of an arm with its gripper; `joints` are those of the arm, then those of the gripper."""
    own, fingers = joints[: len(arm.joints)], joints[len(arm.joints) :]
    # the stops of the model may be farther apart than the limits of the data sheet
    low = [min(limit, joint.lower) if joint.limited else limit for limit, joint in zip(arm.lower, own, strict=True)]
    high = [max(limit, joint.upper) if joint.limited else limit for limit, joint in zip(arm.upper, own, strict=True)]
    gripper = arm.gripper
    ends = np.array([gripper.positions(0.0), gripper.positions(gripper.max_width_m)])
    return {
        "joint_positions": _widen(low, high, own),
        "joint_velocities": _either_way(np.minimum(SPEED_FACTOR * np.array(arm.max_velocity), FASTEST)),
        "joint_efforts": _either_way(np.array(arm.max_effort)),
        "gripper_joint_positions": _widen(ends.min(axis=0), ends.max(axis=0), fingers),
        "gripper_joint_velocities": _either_way(np.array(FASTEST)),
        # between two pads, each with the margin of a finger
        "gripper_opening": (np.array(-2 * MARGIN_M), np.array(gripper.max_width_m + 2 * MARGIN_M)),
        "gripper_target": (np.array(0.0), np.array(gripper.max_width_m)),
    }


def _object_bounds(name: str, item: SceneObject, cfg: ObjectCfg) -> dict[str, Bounds]:
    joints = item.body.movable_joints
    parts = item.asset.articulation.parts.values()
    kinds = {part.joint: part.kind for part in parts}
    limits = [(joint.lower, joint.upper) if joint.limited else (-np.inf, np.inf) for joint in joints]
    if chooses_instance(cfg):  # the limits are those of one instance
        largest = [largest_joint_position(cfg, kinds[j.name]) if j.name in kinds else np.inf for j in joints]
        limits = [(-value, value) for value in largest]
    low, high = _widen([low for low, _ in limits], [high for _, high in limits], joints)
    speeds = _either_way(np.array(FASTEST))
    found: dict[str, Bounds] = {
        f"objects.{name}.joint_positions": (low, high),
        f"objects.{name}.joint_velocities": speeds,
    }
    for part in parts:
        index = item.joint_index(part.joint)
        found[f"parts.{name}.{part.name}.joint_position"] = low[index], high[index]
        found[f"parts.{name}.{part.name}.joint_velocity"] = speeds
    return found


def _widen(low: Sequence[float] | Array, high: Sequence[float] | Array, joints: Sequence[JointInfo]) -> Bounds:
    """Returns limits (n,) of joints, widened by the margin of each."""
    margins = np.array([MARGIN_M if joint.prismatic else MARGIN_RAD for joint in joints])
    return np.array(low) - margins, np.array(high) + margins


def _either_way(largest: Array) -> Bounds:
    return -largest, largest


def point_cameras(scene: EpisodeScene, names: Sequence[str] | None) -> list[Camera]:
    """Returns the named cameras of a scene; None: all.

    Raises:
        ConfigError: There is no camera, or none of this name.
    """
    found = {camera.cfg.name: camera for camera in cameras(scene)}
    if not found:
        raise ConfigError(
            "observation.point_cloud_source asks for points by camera, and the sensors have no camera. Expected at "
            "least one. Add one, such as sensors=[front], or set observation.point_cloud_source=geometry.",
            key="sensors",
        )
    for name in names or []:
        if name not in found:
            where = "observation.point_cloud_cameras"
            raise unknown_name(name, "a camera among the sensors", where=where, known=found)
    return [camera for name, camera in found.items() if names is None or name in names]


def camera_view(camera: Camera) -> CameraFrame:
    """Returns what a camera saw in the last `update_state`, equal to what is read from a render set."""
    optics, kind, cfg = camera.optics, length_kind(camera.optics), camera.cfg
    # in the steps in which a render set stores lengths, so that both give the same points
    stream = ImageStream.of(
        kind, width=optics.width, height=optics.height, farthest_m=cfg.farthest_m(kind), lossless=True
    )
    lengths = stream.unpack(stream.pack(camera.image(Rendering[kind])))
    place = camera.pose_and_intrinsics()  # as a render set stores it
    T_world_camera = Pose.from_quat_xyzw(place["position"], place["quat_xyzw"])
    links = camera.image(Rendering.instance_id_segmentation)
    labels = camera.labels(Rendering.instance_id_segmentation)
    return CameraFrame(cfg.name, optics, T_world_camera, lengths, links, labels)


IMAGES = ("rgb", "depth", "segmentation", "normals")
"""Tags of image buffers."""


class ObservedImages:
    """Images of the configured kinds, and those from which points are made.

    The first ones are made with the object. Then each simulated frame runs within `frame`, and every
    `images_every`-th of these frames makes new images. Between them, `values` and `views` stay as they are, and nothing
    is rendered.
    """

    def __init__(self, scene: EpisodeScene, cfg: ObservationCfg) -> None:
        """Makes the first images, of the present state.

        Raises:
            ConfigError: There is no camera for the points.
        """
        self.values: dict[str, Array] = {}
        """The last images by record key."""
        self.views: list[CameraFrame] = []
        """What the cameras that give points saw when the last images were made."""
        self._scene = scene.state_tree
        self._kinds = [Rendering[kind] for kind in cfg.images]
        # not the names of labels, nor images that are there for points
        self._asked = tuple(f"{kind}_image" for kind in cfg.images)
        self._every = cfg.images_every or 1
        self._cameras = point_cameras(scene, cfg.point_cloud_cameras) if cfg.has_camera_points else []
        self._has_images = cfg.has_images
        self._frame = 0
        if self._has_images:
            self._switch_on()
            self._scene.update_state()
            self._take_and_switch_off()

    @contextmanager
    def frame(self) -> Iterator[None]:
        """Makes new images of the frame that is simulated within this context, if they are due in it."""
        self._frame += 1
        is_due = self._has_images and self._frame % self._every == 0
        if is_due:
            self._switch_on()
        yield
        if is_due:
            self._take_and_switch_off()

    def _switch_on(self) -> None:
        for kind in self._kinds:
            self._scene.switch_rendering(kind, on=True)
        for camera in self._cameras:
            for kind_of_view in (length_kind(camera.optics), LINKS):
                camera.switch_rendering(Rendering[kind_of_view], on=True)

    def _take_and_switch_off(self) -> None:
        """Takes the images over from the sensors, whose buffers are then empty."""
        images = self._scene.state_dict(include_tags=IMAGES)
        self.values = {key: image for key, image in images.items() if key.split(".")[-1].startswith(self._asked)}
        self.views = [camera_view(camera) for camera in self._cameras]
        self._scene.disable_rendering()
