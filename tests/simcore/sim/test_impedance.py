"""Impedance control moves an arm as its stiffness, damping and limits say."""

from __future__ import annotations

import numpy as np
import pytest

from unlatch.robots.franka_panda import franka_panda, urdf_path
from unlatch.robots.robot import Arm, Robot
from unlatch.simcore.errors import WorldError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.drives import DriveGroup, DriveMode, JointDrive
from unlatch.simcore.sim.impedance import JointTargets
from unlatch.simcore.sim.world import World


@pytest.fixture
def arm(world: World) -> Arm:
    made = Robot(world, franka_panda(), urdf_path(), T_world_root=Pose.identity()).arm(None)
    made.reset(made.cfg.home, gripper_m=0.08)
    return made


def follow(arm: Arm, world: World, positions: np.ndarray, *, seconds: float) -> None:
    still = np.zeros(7)
    arm.drives.follow(JointTargets(positions, still, still))
    for _ in range(round(240 * seconds)):
        world.step()


def test_an_arm_that_holds_its_position_does_not_move_under_gravity(arm: Arm, world: World) -> None:
    follow(arm, world, np.array(arm.cfg.home), seconds=1.0)
    assert np.abs(arm.q - arm.cfg.home).max() < 1e-4


@pytest.mark.parametrize("joint", [0, 3, 5])
def test_a_joint_yields_by_torque_over_stiffness(arm: Arm, world: World, joint: int) -> None:
    name, torque_n_m = arm.cfg.joints[joint], 3.0
    arm.drives.set_effort(name, torque_n_m)
    follow(arm, world, np.array(arm.cfg.home), seconds=2.0)
    assert arm.q[joint] - arm.cfg.home[joint] == pytest.approx(torque_n_m / arm.cfg.stiffness[joint], rel=0.02)


def test_a_joint_returns_to_its_target_without_swinging(arm: Arm, world: World) -> None:
    q = np.array(arm.cfg.home)
    q[1] += 0.05
    arm.reset(q, gripper_m=0.08)
    errors = []
    for _ in range(240):
        follow(arm, world, np.array(arm.cfg.home), seconds=1 / 240)
        errors.append(arm.q[1] - arm.cfg.home[1])
    assert min(errors) > -0.02 * 0.05
    assert abs(errors[-1]) < 1e-4


def test_torques_stay_within_the_limits_and_are_read_back(arm: Arm, world: World) -> None:
    largest = np.zeros(7)
    for _ in range(30):
        follow(arm, world, np.array(arm.cfg.home) + 1.0, seconds=1 / 240)
        largest = np.maximum(largest, np.abs(arm._body.joint_states(arm.cfg.joints)[2]))
    limits = np.array(arm.cfg.max_effort)
    assert np.all(largest <= limits + 1e-9)
    assert largest[1] == pytest.approx(limits[1])


def test_a_stiffness_of_a_thousand_times_does_not_make_the_simulation_unstable(arm: Arm, world: World) -> None:
    arm.drives.change("stiffness", arm.cfg.joints, [1000.0 * value for value in arm.cfg.stiffness])
    follow(arm, world, np.array(arm.cfg.home) + 1e-4, seconds=1.0)  # further away, the motors would be saturated
    assert np.abs(arm.q - arm.cfg.home - 1e-4).max() < 1e-6


def test_joints_with_impedance_control_take_no_targets_of_servos(arm: Arm) -> None:
    with pytest.raises(WorldError, match=r"Joint 'panda_joint1' .* mode 'impedance' and takes no target here"):
        arm.drives.set_targets(["panda_joint1"], np.zeros(1), np.zeros(1))


def test_a_group_without_impedance_control_has_no_targets_to_follow(world: World) -> None:
    body = Robot(world, franka_panda(), urdf_path(), T_world_root=Pose.identity()).body
    fingers = DriveGroup(body, {"panda_finger_joint1": JointDrive(DriveMode.servo, max_effort=1.0)})
    with pytest.raises(WorldError, match=r"No drive of this group of 'franka_panda' has impedance control"):
        fingers.follow(JointTargets(np.zeros(1), np.zeros(1), np.zeros(1)))
