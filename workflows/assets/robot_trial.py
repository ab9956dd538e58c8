"""Tries a robot in physics: its hands close on a bar, lift a weight and follow a path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from unlatch.objects.friction import OBJECT_FRICTION
from unlatch.robots.arm_control import Action, ArmAction
from unlatch.robots.description import ArmCfg, RobotCfg, base_pose
from unlatch.robots.hand_shape import tool_frame
from unlatch.robots.models import model_path
from unlatch.robots.robot import Arm, Robot
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.contacts import ContactMonitor, FingerLoads
from unlatch.simcore.sim.world import World, WorldCfg
from unlatch.solver.kinematics import Kinematics

Array = np.ndarray

_BAR_M, _BAR_SHARE = 0.02, 0.4
"""Thickness of the bar, at most this share of the opening."""
_BAR_LENGTH_M = 0.06
_WEIGHT_KG, _LIFT_M = 0.5, 0.1
"""Mass that is lifted and how far; a small arm has a share of both."""
_LEAST_SHARE = 0.5
"""A hand that delivers less than this share of the force that it was told is of no use."""
_SWING_RAD, _SWING_M = 0.2, 0.02
_OFF_PATH_M = 0.01
_CLOSE_FRAMES, _MOVE_FRAMES, _HOLD_FRAMES = 60, 60, 30


@dataclass(frozen=True)
class TrialResult:
    """What came of one test of one arm."""

    arm: str
    text: str
    passed: bool

    @property
    def line(self) -> str:
        """One line for a terminal."""
        return f"arm {self.arm}: {self.text}" if self.passed else f"arm {self.arm}: FAILED: {self.text}"


def try_robot(robot: RobotCfg) -> list[TrialResult]:
    """Returns the results of three tests for each arm, from its home: grip, lift and path.

    Raises:
        AssetError: The model is missing or damaged.
    """
    return [result for arm in robot.arms for test in (_grip, _lift, _follow) for result in test(robot, arm)]


class _Bench:
    """One arm of a robot at home in an empty world."""

    def __init__(self, world: World, robot: RobotCfg, arm: ArmCfg) -> None:
        self.world = world
        self.robot = Robot(world, robot, model_path(robot), T_world_root=base_pose(robot))
        for each in self.robot.arms.values():
            each.reset(each.cfg.home, gripper_m=each.cfg.gripper.max_width_m)
        self.arm: Arm = self.robot.arm(arm.name)
        own = frozenset(arm.gripper.finger_links)
        fingers = [group & own for group in self.robot.body.rigid_groups if group & own]
        self.loads = FingerLoads("fingers", fingers, physics_hz=world.cfg.physics_hz)
        self._monitor: ContactMonitor | None = None

    def place_bar(self, mass_kg: float) -> None:
        """Puts a bar between the pads, fixed if it has no mass."""
        cfg = self.arm.cfg
        thickness_m = min(_BAR_M, _BAR_SHARE * cfg.gripper.max_width_m)
        T_world_tool = self.robot.body.link_pose(cfg.ee_link) @ tool_frame(cfg.keypoints)
        size = (0.5 * _BAR_M, thickness_m, _BAR_LENGTH_M)
        self.bar = self.world.add_box(
            "bar", size_m=size, T_world_box=T_world_tool, friction=OBJECT_FRICTION, mass_kg=mass_kg
        )
        self.thickness_m = thickness_m
        self._monitor = ContactMonitor(self.world, self.robot.body)
        self._monitor.add_loads(self.loads)

    def move(self, q: Array, width_m: float) -> None:
        """Simulates a frame towards joint positions (n,) and an opening [m]."""
        self.robot.apply(Action({self.arm.name: ArmAction(q, width_m, Pose.identity())}))
        self.robot.simulate_frame()
        if self._monitor is not None:
            self._monitor.sample()
            self._monitor.end_frame()

    def close(self) -> float:
        """Closes the hand, and returns the mean force of the finger that presses harder in the last frames [N]."""
        q, forces = self.arm.q, []
        for frame in range(_CLOSE_FRAMES):
            self.move(q, 0.0)
            if frame >= _CLOSE_FRAMES - 10:
                forces.append(float(np.asarray(self.loads.force_mean_n.get_value())))
        return float(np.mean(forces))

    @property
    def head(self) -> Array:
        """(3,) place of `tool_head` in the world [m]."""
        cfg = self.arm.cfg
        return self.robot.body.link_pose(cfg.ee_link) @ np.array(cfg.keypoints["tool_head"])


def _grip(robot: RobotCfg, arm: ArmCfg) -> Iterator[TrialResult]:
    with World(WorldCfg()) as world:
        bench = _Bench(world, robot, arm)
        bench.place_bar(0.0)
        force_n, told_n = bench.close(), arm.gripper.grip_force_n
    text = f"closes on a bar of {1e3 * bench.thickness_m:.0f} mm with {force_n:.1f} N (told {told_n:g} N)"
    passed = force_n >= _LEAST_SHARE * told_n
    mend = "" if passed else ". Compare keypoints, closed and opened, and the masses of the fingers with the data sheet"
    yield TrialResult(arm.name, text + mend, passed)


def _lift(robot: RobotCfg, arm: ArmCfg) -> Iterator[TrialResult]:
    weight_kg, lift_m = (round(min(1.0, robot.scale) * value, 3) for value in (_WEIGHT_KG, _LIFT_M))
    kinematics = Kinematics.from_urdf(model_path(robot), base_link=arm.base_link, tip_link=arm.ee_link)
    with World(WorldCfg()) as world:
        bench = _Bench(world, robot, arm)
        gravity = np.array(world.gravity_m_s2)
        world.set_gravity(np.zeros(3))  # the bar floats until it is held
        bench.place_bar(weight_kg)
        bench.close()
        world.set_gravity(gravity)
        q, start, up = bench.arm.q, bench.bar.root_pose().p[2], bench.arm.T_world_base.R[2]
        head_start = bench.head[2]
        for _ in range(_MOVE_FRAMES):
            q = q + _step_up(kinematics, arm, q, up * lift_m / _MOVE_FRAMES)
            bench.move(q, 0.0)
        for _ in range(_HOLD_FRAMES):
            bench.move(q, 0.0)
        risen_m, moved_m = float(bench.bar.root_pose().p[2] - start), float(bench.head[2] - head_start)
    if risen_m >= 0.8 * lift_m:
        yield TrialResult(arm.name, f"lifts {weight_kg:g} kg by {1e3 * risen_m:.0f} mm", passed=True)
        return
    why = "the arm is too weak" if moved_m < 0.8 * lift_m else "it slips out of the hand"
    text = f"lifts {weight_kg:g} kg by {1e3 * risen_m:.0f} of {1e3 * lift_m:.0f} mm: {why}. Compare "
    yield TrialResult(
        arm.name, text + ("max_effort" if moved_m < 0.8 * lift_m else "grip_force_n") + " with the data sheet", False
    )


def _step_up(kinematics: Kinematics, arm: ArmCfg, q: Array, shift: Array) -> Array:
    """Returns the (n,) change of the joints that moves `tool_head` by (3,) `shift`, base frame, and turns it least."""
    J = kinematics.jacobian(q)
    lever = kinematics.pose(q).R @ np.array(arm.keypoints["tool_head"])
    linear = J[:3] + np.cross(J[3:].T, lever).T
    rows = np.vstack([linear, 0.05 * J[3:], 0.01 * np.eye(kinematics.n_q)])
    change: Array = np.linalg.lstsq(rows, np.concatenate([shift, np.zeros(3 + kinematics.n_q)]), rcond=None)[0]
    return np.clip(q + change, arm.lower, arm.upper) - q


def _follow(robot: RobotCfg, arm: ArmCfg) -> Iterator[TrialResult]:
    kinematics = Kinematics.from_urdf(model_path(robot), base_link=arm.base_link, tip_link=arm.ee_link)
    head = np.array(arm.keypoints["tool_head"])
    home, low, high = (np.array(values) for values in (arm.home, arm.lower, arm.upper))
    swing = np.array([_SWING_M if joint.prismatic else _SWING_RAD for joint in kinematics.joints])
    swing = np.minimum(swing, 0.5 * np.minimum(home - low, high - home)) * np.where(np.arange(len(home)) % 2, 1.0, -1.0)
    with World(WorldCfg()) as world:
        bench = _Bench(world, robot, arm)
        before, off, length, last = home, 0.0, 0.0, kinematics.pose(home) @ head
        for frame in range(2 * _MOVE_FRAMES):
            q = home + swing * np.sin(np.pi * frame / _MOVE_FRAMES) ** 2 * np.sign(np.sin(np.pi * frame / _MOVE_FRAMES))
            bench.move(q, arm.gripper.max_width_m)
            told = kinematics.pose(0.5 * (before + q)) @ head  # a frame ends midway between two actions
            off = max(off, float(np.linalg.norm(bench.arm.T_base_ee @ head - told)))
            length += float(np.linalg.norm(told - last))
            before, last = q, told
    text = f"follows a path of {1e3 * length:.0f} mm to within {1e3 * off:.1f} mm"
    passed = off <= _OFF_PATH_M
    yield TrialResult(
        arm.name, text + ("" if passed else ". Compare max_effort and stiffness with the data sheet"), passed
    )
