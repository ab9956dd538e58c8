"""Replays the actions of a recorded episode in MuJoCo, open loop, and says how far the result is from Bullet's.

The arms are controlled by code of this file alone: it shares the description of the robot with Unlatch, and neither
code nor engine. Two rules are implemented a second time:

- Targets: a uniform quadratic B-spline whose control points are the actions. With the last three actions P0, P1, P2 and
  the share t of the frame that is over, S(t) = ((1 - t)^2 P0 + (-2 t^2 + 2 t + 1) P1 + t^2 P2) / 2. Each action is at
  most one frame at `max_velocity` from the one before.
- Joint impedance control with feedforward: tau = K (q_d - q) + D (dq_d - dq) + M ddq_d + h, cut off at `max_effort`.
  M and h are MuJoCo's mass matrix and bias torques, K is `ArmCfg.stiffness`. D is critical in each mode of K and M. As
  in the robot's controller, a mode that turns by more than 0.75 rad in 1 / `world.physics_hz` is softer.

The start is the recorded state of frame 0. After that, nothing of the record but its actions is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy
from mujoco_mechanisms import JointState, States, object_mechanisms
from mujoco_scene import FINGER_YIELD_M, ROBOT, STEP_HZ, MujocoScene, build_mujoco_scene, with_grip_forces

from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.annotation import Part
from unlatch.objects.annotation_entries import ClosingForces
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.closing_force_values import handle_lever_m
from unlatch.robots.description import ArmCfg
from unlatch.simcore.closing_profile import DRAWING_SPEED_M_S
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.extras import import_extra
from unlatch.simcore.recording.broken_rules import BrokenRule, JudgedSkill, broken_goal_rules, missed_threshold
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.measurements import moved_object_rows
from unlatch.simcore.rng import EpisodeStreams
from unlatch.tasks.layout import Layout
from unlatch.workflows.episode.assets import load_assets

Array = np.ndarray

LEAD_M = 2.0 * FINGER_YIELD_M
"""How far the position that a finger motor follows may be ahead of the finger: a blocked finger turns back at once."""

MAX_MODE_RAD = 0.75
"""Largest phase of a mode of an arm in one physics step of Bullet."""

JointEffort = Callable[[float, float, float], float]
"""Effort of a mechanism at a joint of an object [N m or N], as a function of its position, its speed, and the effort
that changes its speed by one unit in one step."""


@dataclass(frozen=True)
class Deviation:
    """How far the MuJoCo run is from the record."""

    missed: tuple[BrokenRule, ...]
    """Rules of success about joints that do not hold in MuJoCo; none: the goal is reached."""
    hinge_end_rad: float | None
    """Largest difference of a hinge that was acted on, at the end [rad]; None without hinges."""
    slider_end_m: float | None
    """The same of a slider [m]."""
    arm_most_rad: float
    """Largest difference of a joint of an arm at any frame [rad]."""

    @property
    def reached(self) -> bool:
        """Whether the goal is reached, and lasts."""
        return not self.missed


@dataclass
class Replayed:
    """States of a run in MuJoCo, one row a frame, as in the record."""

    arms: dict[str, list[Array]] = field(default_factory=dict)
    """(n,) arm joints by arm."""
    grippers: dict[str, list[Array]] = field(default_factory=dict)
    """(m,) finger joints by arm."""
    objects: dict[str, list[Array]] = field(default_factory=dict)
    """(k,) joints by object."""
    roots: dict[str, list[tuple[Array, Array]]] = field(default_factory=dict)
    """Position (3,) [m] and quat_xyzw (4,) of the root, by object that stands free."""
    slides: dict[str, list[bool]] = field(default_factory=dict)
    """Whether each joint of an object slides, by object."""


def replay_in_mujoco(record: EpisodeRecord, cfg: EpisodeCfg) -> Replayed:
    """Runs the actions of a record in MuJoCo.

    Raises:
        ConfigError: The episode has randomized physics.
        PluginError: MuJoCo is not installed.
    """
    if record.applied:
        raise ConfigError(
            f"Episode {record.number} was made with randomization, which the second engine does not apply. Expected "
            "none. Make the episodes with randomization=none.",
            key="randomization",
        )
    rng = EpisodeStreams(record.seed)["layout"]
    assets = load_assets(cfg, record.number, record, rng)
    robot = with_grip_forces(cfg.robot, record.skills)
    scene = build_mujoco_scene(robot, assets, Layout.from_dict(record.layout))
    mechanisms = {name: object_mechanisms(item) for name, item in assets.items() if item.articulation.mechanisms}
    return _Run(scene, record, cfg, _closing_efforts(assets), mechanisms).run()


def _closing_efforts(assets: Mapping[str, ObjectAsset]) -> dict[tuple[str, str], JointEffort]:
    """Returns the efforts of the catches and gaskets of objects, by object and joint."""
    efforts = {}
    for name, asset in assets.items():
        for part in asset.articulation.parts.values():
            if part.closing_forces is not None and part.closing_forces.reach_m > 0.0:
                efforts[name, part.joint] = _closing_effort(
                    part, part.closing_forces, handle_lever_m(part, asset.model)
                )
    return efforts


def _closing_effort(part: Part, forces: ClosingForces, lever_m: float) -> JointEffort:
    """Returns the effort of catch and gasket."""
    sign, closed = part.openness.sign, part.openness.closed

    def effort(q: float, dq: float, per_speed: float) -> float:
        pull = lever_m * forces.force_n(sign * (q - closed) * lever_m)
        too_fast = -sign * dq - DRAWING_SPEED_M_S / lever_m
        if pull > 0.0 and too_fast > 0.0:
            pull = max(-pull, -per_speed * too_fast)
        return -sign * pull

    return effort


def compare(record: EpisodeRecord, replayed: Replayed) -> Deviation:
    """Returns how far a run in MuJoCo is from its record, and which rules of success it breaks."""
    arrays = {f"objects.{name}.joint_positions": np.array(rows) for name, rows in replayed.objects.items()}
    for name, poses in replayed.roots.items():
        places, quats = zip(*poses, strict=True)
        arrays |= {f"objects.{name}.root_position": np.array(places), f"objects.{name}.root_quat_xyzw": np.array(quats)}
    ends: dict[bool, list[float]] = {}
    for name, index in sorted(_judged_joints(record)):
        key = f"objects.{name}.joint_positions"
        end = abs(float(arrays[key][-1, index] - record.arrays[key][-1, index]))
        ends.setdefault(replayed.slides[name][index], []).append(end)
    arms = [
        np.abs(np.array(rows) - record.arrays[f"{key}.joint_positions"]).max() for key, rows in replayed.arms.items()
    ]
    return Deviation(
        missed=tuple(_broken_rules(record, arrays)),
        hinge_end_rad=max(ends.get(False, []), default=None),
        slider_end_m=max(ends.get(True, []), default=None),
        arm_most_rad=float(max(arms)),
    )


def _judged_joints(record: EpisodeRecord) -> set[tuple[str, int]]:
    """Returns the joints that skills acted on or the goal names, by object and index."""
    entries = (*record.skills, *record.goal["conditions"])
    return {(entry["object"], entry["joint_index"]) for entry in entries if entry.get("joint_index") is not None}


def _broken_rules(record: EpisodeRecord, arrays: Mapping[str, Array]) -> list[BrokenRule]:
    """Returns the rules about positions of joints and objects that a run breaks; contacts and speeds are not judged."""
    skills = []
    for entry in record.skills:
        key, start = f"objects.{entry.get('object')}.joint_positions", entry.get("frame_start")
        column = entry.get("joint_index")
        moves_joint = key in arrays and start is not None and column is not None
        if moves_joint and entry.get("s0") == float(record.arrays[key][start, column]):
            entry = {**entry, "s0": float(arrays[key][start, column])}
        skills.append(entry)
    run = replace(record, skills=skills, arrays={**record.arrays, **arrays})
    judged = [JudgedSkill.read(run, index) for index in range(len(run.skills))]
    moving = [skill for skill in judged if skill.ran and skill.rule.success_mode is not None and not skill.broken_off]
    broken = [rule for skill in moving for rule in missed_threshold(skill)]
    for skill in moving:
        for row, moved_m, turned in moved_object_rows(run, skill.entry, slice(skill.start, skill.end)):
            broken.append(BrokenRule(row + 1, "moved_object", {"moved_m": moved_m, "turned_rad": turned}))
    return [*broken, *broken_goal_rules(run, judged)]


class _Run:
    """One replay: state of the engine, controllers and the rows so far."""

    def __init__(
        self,
        scene: MujocoScene,
        record: EpisodeRecord,
        cfg: EpisodeCfg,
        efforts: Mapping[tuple[str, str], JointEffort],
        mechanisms: Mapping[str, Callable[[States, float], dict[str, float]]],
    ) -> None:
        self.mj = import_extra("mujoco", extra="bench", needed_by="The second engine")
        self.scene, self.record, self.cfg = scene, record, cfg
        self.data = self.mj.MjData(scene.model)
        self.steps = STEP_HZ // cfg.world.record_hz
        self.frame_s = 1.0 / cfg.world.record_hz
        self.efforts = efforts
        """Efforts of catches and gaskets, by object and joint; applied at every step."""
        self.mechanisms = mechanisms
        """Functions that give the efforts of the mechanisms of objects."""
        for arm in scene.robot.arms:
            key = f"robots.{cfg.robot.name}.{arm.name}"
            self._set(ROBOT, arm.joints, record.arrays[f"{key}.joint_positions"][0])
            self._set(ROBOT, arm.gripper.joints, record.arrays[f"{key}.gripper_joint_positions"][0])
        for name, joints in scene.objects.items():
            self._set(name, joints, record.arrays[f"objects.{name}.joint_positions"][0])
        self.arms = [_ArmControl(self, arm) for arm in scene.robot.arms]

    def _set(self, owner: str, joints: Sequence[str], positions: Array) -> None:
        for joint, position in zip(joints, positions, strict=True):
            self.data.qpos[self.scene.qpos(owner, joint)] = position

    def _get(self, owner: str, joints: Sequence[str]) -> Array:
        return np.array([self.data.qpos[self.scene.qpos(owner, joint)] for joint in joints])

    def run(self) -> Replayed:
        names = self.scene.objects
        rows = Replayed(slides={name: [self.scene.slides(name, joint) for joint in names[name]] for name in names})
        self._read(rows)
        for frame in range(self.record.n_actions):
            for step in range(self.steps):
                self._step(frame, step / self.steps)
            self._read(rows)
        return rows

    def _step(self, frame: int, share: float) -> None:
        """Runs one physics step, which begins when a share of a frame is over."""
        model, data = self.scene.model, self.data
        self.mj.mj_step1(model, data)
        data.qfrc_applied[:] = 0.0
        for arm in self.arms:
            arm.control(frame, share)
        for (owner, joint), effort in self.efforts.items():
            dof = self.scene.dof(owner, joint)
            per_speed = model.dof_M0[dof] / model.opt.timestep
            data.qfrc_applied[dof] += effort(data.qpos[self.scene.qpos(owner, joint)], data.qvel[dof], per_speed)
        for owner, efforts_of in self.mechanisms.items():
            joints = {joint: self._joint_state(owner, joint) for joint in self.scene.objects[owner]}
            for joint, force in efforts_of(joints, model.opt.timestep).items():
                data.qfrc_applied[self.scene.dof(owner, joint)] += force
        self.mj.mj_step2(model, data)

    def _joint_state(self, owner: str, joint: str) -> JointState:
        model, dof = self.scene.model, self.scene.dof(owner, joint)
        position, speed = self.data.qpos[self.scene.qpos(owner, joint)], self.data.qvel[dof]
        return JointState(float(position), float(speed), float(model.dof_M0[dof] / model.opt.timestep))

    def _read(self, rows: Replayed) -> None:
        for arm in self.scene.robot.arms:
            key = f"robots.{self.cfg.robot.name}.{arm.name}"
            rows.arms.setdefault(key, []).append(self._get(ROBOT, arm.joints))
            rows.grippers.setdefault(key, []).append(self._get(ROBOT, arm.gripper.joints))
        for name, joints in self.scene.objects.items():
            rows.objects.setdefault(name, []).append(self._get(name, joints))
            if (pose := self.scene.root_pose(name, self.data.qpos)) is not None:
                rows.roots.setdefault(name, []).append(pose)


class _ArmControl:
    """Turns the actions of one arm into motor commands."""

    def __init__(self, run: _Run, arm: ArmCfg) -> None:
        scene, gripper = run.scene, arm.gripper
        self.run, self.arm = run, arm
        self.q = np.array([scene.qpos(ROBOT, joint) for joint in arm.joints])
        self.dof = np.array([scene.dof(ROBOT, joint) for joint in arm.joints])
        self.motors = [scene.motor(joint) for joint in arm.joints]
        self.fingers = [scene.qpos(ROBOT, joint) for joint in gripper.joints]
        self.finger_motors = [scene.motor(joint) for joint in gripper.joints]
        self.finger_speed = np.array(gripper.speeds())
        self.finger_motion = run.data.qpos[self.fingers].copy()
        self.stiffness, self.most = np.array(arm.stiffness), np.array(arm.max_effort)
        self.balance = np.array([arm.counterbalance.get(joint, 0.0) for joint in arm.joints])
        key = f"actions.{run.cfg.robot.name}.{arm.name}"
        start = np.array(run.record.layout["q_home"][arm.name], dtype=float)
        step = np.array(arm.max_velocity) * run.frame_s
        self.points = _clip_actions(start, run.record.arrays[f"{key}.joint_targets"], step)
        self.openings = run.record.arrays[f"{key}.gripper_target"][:, 0]
        self.frame = -1
        """Frame in which mass matrix and gains were computed."""

    def _compute_mass(self, data: Any) -> Array:
        """Returns (n, n) the mass matrix of the arm's joints now."""
        model = self.run.scene.model
        unit, column, mass = np.zeros(model.nv), np.zeros(model.nv), np.empty((len(self.dof), len(self.dof)))
        for index, dof in enumerate(self.dof):
            unit[dof] = 1.0
            self.run.mj.mj_mulM(model, data, column, unit)
            unit[dof] = 0.0
            mass[:, index] = column[self.dof]
        return mass

    def control(self, frame: int, share: float) -> None:
        """Sets the motors for the step that begins when a share of a frame is over."""
        data = self.run.data
        q, dq = data.qpos[self.q], data.qvel[self.dof]
        wanted, velocity, acceleration = _evaluate_spline(self.points[frame : frame + 3], share, self.run.frame_s)
        if frame != self.frame:
            self.frame = frame
            self.mass = self._compute_mass(data)
            self.gains = _compute_gains(self.mass, self.stiffness, MAX_MODE_RAD * self.run.cfg.world.physics_hz)
        spring, damper = self.gains
        torque = spring @ (wanted - q) + damper @ (velocity - dq) + self.mass @ acceleration + data.qfrc_bias[self.dof]
        balance = self.balance * np.cos(q)
        data.ctrl[self.motors] = np.clip(torque - balance, -self.most, self.most)
        data.qfrc_applied[self.dof] += balance
        self._move_fingers(self.arm.gripper.positions(float(self.openings[frame])))

    def _move_fingers(self, targets: Sequence[float]) -> None:
        """Moves the finger motors' positions toward targets at the hand's speed, never far from the fingers."""
        data, step = self.run.data, self.finger_speed / STEP_HZ
        moved = self.finger_motion + np.clip(np.array(targets) - self.finger_motion, -step, step)
        now, lead = data.qpos[self.fingers], LEAD_M / self.arm.gripper.max_speed_m_s * self.finger_speed
        self.finger_motion = np.clip(moved, now - lead, now + lead)
        data.ctrl[self.finger_motors] = self.finger_motion


def _compute_gains(mass: Array, stiffness: Array, fastest: float) -> tuple[Array, Array]:
    """Returns the stiffness and the critical damping matrix (n, n); no mode is faster than `fastest` [rad/s]."""
    squares, shapes = scipy.linalg.eigh(np.diag(stiffness), mass)  # shapes.T @ mass @ shapes = 1
    frequencies = np.minimum(np.sqrt(squares), fastest)
    modes = mass @ shapes
    return (modes * frequencies**2) @ modes.T, (modes * 2.0 * frequencies) @ modes.T


def _clip_actions(start: Array, actions: Array, most: Array) -> Array:
    """Returns (T+2, n) the control points: the start twice, then each action, at most `most` from the one before."""
    points = [start, start]
    for action in actions:
        points.append(np.clip(action, points[-1] - most, points[-1] + most))
    return np.array(points)


def _evaluate_spline(points: Array, t: float, frame_s: float) -> tuple[Array, Array, Array]:
    """Returns position, velocity and acceleration (n,) at a share t of a frame; points (3, n) are the last actions."""
    basis = np.array([(1.0 - t) ** 2, -2.0 * t**2 + 2.0 * t + 1.0, t**2]) / 2.0
    slope = np.array([t - 1.0, 1.0 - 2.0 * t, t]) / frame_s
    return basis @ points, slope @ points, np.array([1.0, -2.0, 1.0]) @ points / frame_s**2
