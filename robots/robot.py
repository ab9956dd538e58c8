"""A robot in a world: its arms as Modules, and `apply`, the only way to move it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from unlatch.robots.arm_control import Action, ArmAction, ArmSignals
from unlatch.robots.description import ArmCfg, RobotCfg
from unlatch.simcore.errors import WorldError, unknown_entry
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.drives import DriveGroup, DriveMode, JointDrive
from unlatch.simcore.sim.impedance import JointTargets
from unlatch.simcore.sim.joint_mechanisms import couple_joints
from unlatch.simcore.sim.world import World
from unlatch.simcore.state import Buffer, Module

Array = np.ndarray
_FINGER_COUPLING_N = 140.0
_STILL_RAD_S = 1.0


class Arm(Module):
    """One arm with its gripper: state buffers and motor targets."""

    def __init__(self, body: Body, cfg: ArmCfg, *, world: World | None = None) -> None:
        super().__init__()
        self._body = body
        self.cfg = cfg
        gripper = cfg.gripper
        turning_fingers = [joint for joint in gripper.joints if not body.joint(joint).prismatic]
        arm_drives = {
            joint: JointDrive(
                mode=DriveMode.impedance,
                stiffness=stiffness,
                damping=1.0,
                max_effort=effort,
                max_velocity=speed,
                armature=armature,
                counterbalance=cfg.counterbalance.get(joint, 0.0),
            )
            for joint, stiffness, effort, speed, armature in zip(
                cfg.joints, cfg.stiffness, cfg.max_effort, cfg.max_velocity, cfg.armature, strict=True
            )
        }
        finger_drives = {
            joint: JointDrive(
                mode=DriveMode.servo,
                max_effort=effort,
                max_velocity=speed,
                armature=gripper.armature_kg_m2 if joint in turning_fingers else 0.0,
            )
            for joint, effort, speed in zip(gripper.joints, gripper.efforts(), gripper.speeds(), strict=True)
        }
        self.drives = DriveGroup(body, arm_drives | finger_drives, world=world)
        """Motors of its joints, fingers included."""
        (first, *others), (travel, *travels), (offset, *offsets) = gripper.joints, gripper.travel(), gripper.offsets()
        for joint, its_travel, its_offset in zip(others, travels, offsets, strict=True):
            couple_joints(
                body,
                first,
                joint,
                ratio=travel / its_travel,
                offset=offset - travel / its_travel * its_offset,
                max_force_n=_FINGER_COUPLING_N,
            )
        for link in gripper.finger_links:
            body.set_contact_material(
                link,
                friction=gripper.friction,
                spinning_friction=gripper.spinning_friction,
                friction_anchor=gripper.friction_anchor,
                stiffness_n_m=gripper.pad_stiffness_n_m,
                damping_n_s_m=gripper.pad_damping_n_s_m,
            )
        self.joint_positions = Buffer()
        self.joint_velocities = Buffer()
        self.joint_efforts = Buffer()
        self.joint_efforts_mean = Buffer(np.zeros(len(cfg.joints)), tags=["interval"])
        """(n,) mean of the motors' efforts over the physics steps of the last record frame [N m]; `joint_efforts` are
        those of its last step."""
        self.ee_position = Buffer()
        self.ee_quat_xyzw = Buffer()
        self.tcp_position = Buffer()
        self.tcp_quat_xyzw = Buffer()
        self.gripper_joint_positions = Buffer()
        self.gripper_joint_velocities = Buffer()
        self.gripper_opening = Buffer()
        self.gripper_target = Buffer()
        self._servo = self.drives.servo
        self._rows, self._finger_rows = body.rows_of(cfg.joints), body.rows_of(gripper.joints)
        """Rows of the joints of the arm and of the fingers among the movable joints of the body."""
        self._planned_from: Array | None = None
        self._gripper_target_m = gripper.max_width_m
        self._finger_targets = (math.nan, np.zeros(0))
        """The opening that the motors were sent last [m], and the positions of the fingers' joints for it."""
        self._place_tool = body.state.point_reader(body.link_index(cfg.ee_link), np.array(cfg.keypoints["tool_head"]))
        self._fingers_at_rest = np.zeros(len(gripper.joints))
        self.signals = ArmSignals(self._servo.state)
        """Errors of its encoders and of its commands."""
        if world is not None:
            world.core.finger_motors.append(self.move_fingers)

    @property
    def name(self) -> str:
        """`left` or `right`."""
        return self.cfg.name

    @property
    def T_world_base(self) -> Pose:
        """Pose of the arm's base frame."""
        return self._body.link_pose(self.cfg.base_link)

    @property
    def q(self) -> Array:
        """(n,) joint positions now [rad]."""
        return self._body.read_state().q[self._rows]

    @property
    def q_read(self) -> Array:
        """(n,) what its encoders read now [rad]; planner and controller know no other positions."""
        return self.signals.reading(self.q)

    @property
    def q_target(self) -> Array:
        """(n,) the joint targets of the last action [rad]; the motors reach them two frames after it."""
        return self._servo.state.points[3].copy() if self._planned_from is None else self._planned_from.copy()

    @contextmanager
    def planned_from(self, q: Array) -> Iterator[None]:
        """Returns a context in which `q_target` is (n,) the joints at which the present motion will end [rad]."""
        self._planned_from = np.array(q)
        try:
            yield
        finally:
            self._planned_from = None

    @property
    def step_targets(self) -> JointTargets:
        """Targets that the motors follow in this physics step."""
        return self._servo.targets

    def path_error(self) -> float:
        """Returns the largest distance of a joint, as its encoder reads it, from its target in this step [rad or m]."""
        q = self.q_read
        return float(np.abs(q - self._servo.state.arrived[: len(q)]).max())

    @property
    def gripper_target_m(self) -> float:
        """The last target of the opening [m]."""
        return self._gripper_target_m

    @property
    def gripper_opening_m(self) -> float:
        """Opening between the pads now [m]."""
        return self.cfg.gripper.width(self._body.read_state().q[self._finger_rows])

    @property
    def T_base_ee(self) -> Pose:
        """Pose of the ee frame in the arm's base frame now."""
        return self.T_world_base.inverse() @ self._body.link_pose(self.cfg.ee_link)

    def reset(self, q: ArrayLike, *, gripper_m: float) -> None:
        """Puts the arm at joint positions (n,) [rad] and an opening [m], at rest."""
        positions = np.array(q, dtype=float)
        gripper = self.cfg.gripper
        self._body.set_joint_positions(self.cfg.joints, positions)
        self._body.set_joint_positions(gripper.joints, gripper.positions(gripper_m))
        self._rest_at(positions, gripper_m)

    def hold_position(self) -> None:
        """Makes the present joint positions the targets; used by resets only."""
        self._rest_at(self.q_read, float(np.clip(self.gripper_opening_m, 0.0, self.cfg.gripper.max_width_m)))

    def _rest_at(self, positions: Array, gripper_m: float) -> None:
        self._servo.rest_at(positions, gripper_m)
        self._gripper_target_m = gripper_m
        self.drives.refresh_inertia()
        self.move_fingers()

    def begin_frame(self, action: ArmAction, *, frame_s: float, steps: int) -> None:
        """Takes the action of the next record frame; targets faster than a motor are cut off.

        Args:
            action: The action.
            frame_s: Length of the frame [s].
            steps: Its number of physics steps.
        """
        max_velocity = self.drives.max_velocity(self.cfg.joints)
        if action.joint_targets.shape != max_velocity.shape:
            raise WorldError(
                f"Arm '{self.name}' got {action.joint_targets.shape[0]} joint targets, expected {len(max_velocity)}."
            )
        self._gripper_target_m = float(action.gripper_target_m)
        self._servo.add_action(
            action.joint_targets, max_velocity * frame_s, self._gripper_target_m, frame_s=frame_s, steps=steps
        )
        self.drives.refresh_inertia(least_motion_rad=_LEAST_MOTION_RAD)

    def move_fingers(self) -> None:
        """Sets the targets of the fingers' motors to the opening of the command that arrived last."""
        gripper, state = self.cfg.gripper, self._servo.state
        opening_m = float(state.arrived[-1])
        is_new = self._finger_targets[0] != opening_m
        if is_new:
            self._finger_targets = opening_m, np.array(gripper.positions(opening_m))
        if is_new or self.drives.must_repeat_targets:
            self.drives.set_targets(gripper.joints, self._finger_targets[1], self._fingers_at_rest)
        state.struct.told_opening, state.struct.repeats_fingers = opening_m, self.drives.must_repeat_targets
        state.struct.is_told = 1

    def end_frame(self, n_steps: int) -> None:
        """Closes a record frame of some physics steps: the means of the motors' efforts are those of these steps."""
        self.joint_efforts_mean.hold(self._servo.state.torque_sum / n_steps)

    def _read_state(self) -> None:
        gripper, body = self.cfg.gripper, self._body
        joints = body.read_state().joints  # (3, J) positions, velocities, efforts
        arm, fingers = joints[:, self._rows], joints[:, self._finger_rows]
        tool = self._place_tool()
        quat_xyzw, tcp_position = tool[:4], tool[4:]
        self._hold(
            joint_positions=arm[0],
            joint_velocities=arm[1],
            joint_efforts=arm[2],
            ee_position=body.link_frame(self.cfg.ee_link)[:3].copy(),
            ee_quat_xyzw=quat_xyzw,
            tcp_position=tcp_position,
            tcp_quat_xyzw=quat_xyzw,
            gripper_joint_positions=fingers[0],
            gripper_joint_velocities=fingers[1],
            gripper_opening=gripper.widths(fingers[:1]),
            gripper_target=np.array([self._gripper_target_m]),
        )

    def _write_state(self) -> None:
        cfg = self.cfg
        positions, fingers = self.joint_positions.get_value(), self.gripper_joint_positions.get_value()
        if positions is not None:
            self._body.set_joint_positions(cfg.joints, positions, self.joint_velocities.get_value())
        if fingers is not None:
            self._body.set_joint_positions(cfg.gripper.joints, fingers, self.gripper_joint_velocities.get_value())
        target = self.gripper_target.get_value()
        if target is not None:
            self._gripper_target_m = float(target[0])


_LEAST_MOTION_RAD = 0.03
"""Motion of a joint after which the controller computes its inertia anew; a fast joint moves by 0.05 a frame [rad]."""


class Robot(Module):
    """All arms of one body."""

    def __init__(
        self, world: World, cfg: RobotCfg, urdf_path: Path, *, T_world_root: Pose, face_contacts: bool = False
    ) -> None:
        """Loads the robot into a world; see `World.load_urdf`."""
        super().__init__()
        self.cfg = cfg
        self._world = world
        self.body = world.load_urdf(
            urdf_path, name=cfg.name, T_world_root=T_world_root, self_collision=True, face_contacts=face_contacts
        )
        """The body in the world."""
        self.T_world_root = T_world_root
        """Pose of its root link, which does not move."""
        for first, second in cfg.self_collision_ignored:
            self.body.ignore_collision(self.body, first, second)
        self.arms: dict[str, Arm] = {}
        """Arms by name."""
        for arm_cfg in cfg.arms:
            self.arms[arm_cfg.name] = Arm(self.body, arm_cfg, world=world)
            self.add_child(arm_cfg.name, self.arms[arm_cfg.name])
        self._hold_still()

    def _hold_still(self) -> None:
        """Holds joints that belong to no arm, such as those of a head, at the model's positions."""
        used = {joint for arm in self.cfg.arms for joint in (*arm.joints, *arm.gripper.joints)}
        others = [joint for joint in self.body.movable_joints if joint.name not in used]
        if others:
            still = {
                j.name: JointDrive(mode=DriveMode.servo, max_effort=j.max_effort, max_velocity=_STILL_RAD_S)
                for j in others
            }
            DriveGroup(self.body, still).set_targets(list(still), np.zeros(len(others)), np.zeros(len(others)))

    def arm(self, name: str | None) -> Arm:
        """Returns an arm by name; the only arm if the name is None.

        Raises:
            WorldError: No such arm, or several and no name.
        """
        if name is None and len(self.arms) == 1:
            return next(iter(self.arms.values()))
        if name is None or name not in self.arms:
            said, advice = f"Robot '{self.cfg.name}' has no arm '{name}'.", "Set `arm:` of the skill to one of them."
            known = sorted(self.arms)
            raise unknown_entry(said, str(name), known, error=WorldError, heading="Arms", advice=advice, arm=name)
        return self.arms[name]

    def apply(self, action: Action) -> None:
        """Takes the action of one record frame, which `simulate_frame` carries out."""
        for name, arm_action in action.arms.items():
            self.arm(name).begin_frame(arm_action, frame_s=self._frame_s, steps=self._world.cfg.steps_per_frame)

    def simulate_frame(
        self, before_control_step: Callable[[], None] | None = None, *, keeps_states: bool = False
    ) -> None:
        """Runs the physics steps of one record frame with the motors following the last action.

        Args:
            before_control_step: Runs before each control step; it may move bodies and change motors.
            keeps_states: Whether nothing has moved a body since the last step, see `World.step`.
        """
        world, rates = self._world, self._world.cfg
        world.core.begin_frame()
        count = rates.steps_per_frame if before_control_step is None else rates.physics_steps
        for first in range(0, rates.steps_per_frame, count):
            if before_control_step is not None:
                before_control_step()
            is_known = before_control_step is None and (keeps_states or first > 0)
            world.step(count, first=first, keeps_states=is_known)
        for arm in self.arms.values():
            arm.end_frame(rates.steps_per_frame)

    @property
    def _frame_s(self) -> float:
        return 1.0 / self._world.cfg.record_hz

    @property
    def time_s(self) -> float:
        """Simulated time of its world [s]."""
        return self._world.time_s
