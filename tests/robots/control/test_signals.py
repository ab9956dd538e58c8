"""Encoders that err and commands that come late or not at all."""

import numpy as np

from unlatch.robots.arm_control import ArmAction, ArmSignals, MotorTargets
from unlatch.robots.catalog import load_robot
from unlatch.robots.models import model_path
from unlatch.robots.robot import Robot
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.impedance import JointTargets
from unlatch.simcore.sim.world import World, WorldCfg


def command(number):
    return MotorTargets(JointTargets(np.full(2, number), np.full(2, 0.1 * number), np.zeros(2)), number)


def positions(signals, numbers):
    return [float(signals.transmit(command(number)).joints.positions[0]) for number in numbers]


def test_without_errors_a_command_arrives_as_it_is():
    signals = ArmSignals(2)
    sent = command(3.0)
    assert signals.transmit(sent) is sent
    q = np.array([0.1, -0.2])
    assert signals.reading(q) is q


def test_a_late_command_arrives_after_the_latency():
    signals = ArmSignals(2)
    signals.late_steps = 2
    assert positions(signals, [1.0, 2.0, 3.0, 4.0]) == [1.0, 1.0, 1.0, 2.0]


def test_a_dropped_command_leaves_the_last_one_in_place():
    signals = ArmSignals(2)
    assert positions(signals, [1.0]) == [1.0]
    signals.dropped = True
    assert positions(signals, [2.0, 3.0]) == [1.0, 1.0]
    signals.dropped = False
    assert positions(signals, [4.0]) == [4.0]


def test_the_joint_goes_to_where_its_encoder_reads_the_target():
    signals = ArmSignals(2)
    signals.encoder_offset_rad = np.array([0.01, -0.02])
    reached = signals.transmit(command(1.0)).joints.positions
    assert np.allclose(reached, [0.99, 1.02])
    assert np.allclose(signals.reading(reached), [1.0, 1.0])


def test_a_reset_forgets_commands_that_have_not_arrived():
    signals = ArmSignals(2)
    signals.late_steps = 3
    positions(signals, [1.0, 2.0])
    signals.clear()
    assert positions(signals, [5.0]) == [5.0]


def test_the_gripper_is_as_late_as_the_joints_and_loses_the_same_commands():
    signals = ArmSignals(2)
    signals.late_steps = 1
    assert [signals.transmit(command(number)).gripper_m for number in (1.0, 2.0, 3.0)] == [1.0, 1.0, 2.0]
    signals.dropped = True
    assert signals.transmit(command(4.0)).gripper_m == 2.0
    signals.dropped = False
    assert signals.transmit(command(5.0)).gripper_m == 4.0


def first_step_that_closes(late_steps):
    """Physics step in which the fingers of a Panda begin to close; they are told to in the first one."""
    with World(WorldCfg()) as world:
        arm = Robot(world, load_robot("franka_panda"), model_path("franka_panda"), T_world_root=Pose.identity()).arms[
            "left"
        ]
        arm.reset(arm.cfg.home, gripper_m=0.08)
        arm.signals.late_steps = late_steps
        arm.begin_frame(ArmAction(np.array(arm.cfg.home), 0.0, arm.T_base_ee), frame_s=1 / 30)
        for step in range(80):
            arm.set_step_targets(7, 8, frame_s=1 / 30)
            world.step()
            if arm.gripper_opening_m < 0.079:
                return step
    raise AssertionError("the fingers never moved")


def test_late_fingers_close_after_the_latency():
    at_once = first_step_that_closes(0)
    assert at_once < 16
    assert first_step_that_closes(24) - at_once == 24
