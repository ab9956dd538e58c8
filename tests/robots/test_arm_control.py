"""The targets of the motors between two actions, encoders that err, and commands that come late or not at all."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unlatch.robots.arm_control import ArmAction, ArmSignals, MotorTargets, TargetSpline
from unlatch.robots.catalog import load_robot
from unlatch.robots.models import model_path
from unlatch.robots.robot import Robot
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.impedance import JointTargets
from unlatch.simcore.sim.world import World, WorldCfg

FRAME_S = 1.0 / 30.0


@pytest.fixture
def signals():
    return ArmSignals(2)


def command(number):
    return MotorTargets(JointTargets(np.full(2, number), np.full(2, 0.1 * number), np.zeros(2)), number)


def sent(signals, *numbers):
    """What arrives of commands: positions and openings, which are late together."""
    found = [signals.transmit(command(number)) for number in numbers]
    assert all(each.joints.positions[0] == each.gripper_m for each in found)
    return [each.gripper_m for each in found]


def test_without_errors_a_command_arrives_as_it_is(signals):
    given_command, q = command(3.0), np.array([0.1, -0.2])
    assert signals.transmit(given_command) is given_command
    assert signals.reading(q) is q


def test_a_late_command_arrives_after_the_latency_unless_a_reset_forgets_it(signals):
    signals.late_steps = 2
    assert sent(signals, 1.0, 2.0, 3.0, 4.0) == [1.0, 1.0, 1.0, 2.0]
    signals.clear()
    assert sent(signals, 5.0) == [5.0]


def test_a_dropped_command_leaves_the_last_one_in_place(signals):
    assert sent(signals, 1.0) == [1.0]
    signals.dropped = True
    assert sent(signals, 2.0, 3.0) == [1.0, 1.0]
    signals.dropped = False
    assert sent(signals, 4.0) == [4.0]


def test_a_late_command_may_be_dropped_too(signals):
    signals.late_steps = 1
    assert sent(signals, 1.0, 2.0, 3.0) == [1.0, 1.0, 2.0]
    signals.dropped = True
    assert sent(signals, 4.0) == [2.0]
    signals.dropped = False
    assert sent(signals, 5.0) == [4.0]


def test_the_joint_goes_to_where_its_encoder_reads_the_target(signals):
    signals.encoder_offset_rad = np.array([0.01, -0.02])
    reached = signals.transmit(command(1.0)).joints.positions
    assert np.allclose(reached, [0.99, 1.02])
    assert np.allclose(signals.reading(reached), [1.0, 1.0])


def test_late_fingers_close_after_the_latency():
    def first_step_that_closes(late_steps):
        with World(WorldCfg()) as world:
            cfg = load_robot("franka_panda")
            arm = Robot(world, cfg, model_path("franka_panda"), T_world_root=Pose.identity()).arms["left"]
            arm.reset(arm.cfg.home, gripper_m=0.08)
            arm.signals.late_steps = late_steps
            arm.begin_frame(ArmAction(np.array(arm.cfg.home), 0.0, arm.T_base_ee), frame_s=FRAME_S)
            for step in range(80):
                arm.set_step_targets(7, 8, frame_s=FRAME_S)
                world.step()
                if arm.gripper_opening_m < 0.079:
                    return step
        raise AssertionError("the fingers never moved")

    at_once = first_step_that_closes(0)
    assert at_once < 16
    assert first_step_that_closes(24) - at_once == 24


NO_LIMIT = np.full(1, np.inf)
ACTIONS = st.lists(st.floats(-3.0, 3.0), min_size=1, max_size=12)


def at(spline, share):
    return spline.at(share, frame_s=FRAME_S)


@given(ACTIONS)
def test_position_and_velocity_are_continuous_from_frame_to_frame(actions):
    spline = TargetSpline(np.zeros(1))
    for action in actions:
        before = at(spline, 1.0)
        spline.add_action(np.array([action]), NO_LIMIT)
        after = at(spline, 0.0)
        np.testing.assert_allclose(after.positions, before.positions, atol=1e-12)
        np.testing.assert_allclose(after.velocities, before.velocities, atol=1e-9)


@given(ACTIONS, st.floats(0.05, 0.95))
def test_velocity_and_acceleration_are_the_derivatives_of_the_position(actions, share):
    spline, h = TargetSpline(np.zeros(1)), 0.01
    for action in actions:
        spline.add_action(np.array([action]), NO_LIMIT)
    before, now, after = (at(spline, share + d) for d in (-h, 0.0, h))
    twice_s = 2.0 * h * FRAME_S
    np.testing.assert_allclose((after.positions - before.positions) / twice_s, now.velocities, atol=1e-6)
    np.testing.assert_allclose((after.velocities - before.velocities) / twice_s, now.accelerations, atol=1e-6)


def test_a_frame_ends_in_the_middle_of_its_action_and_the_one_before():
    spline = TargetSpline(np.zeros(2))
    for action in ([1.0, -1.0], [2.0, 3.0]):
        spline.add_action(np.array(action), np.full(2, np.inf))
    np.testing.assert_allclose(at(spline, 1.0).positions, [1.5, 1.0])


def test_an_action_that_is_repeated_is_reached_at_rest_two_frames_later():
    spline = TargetSpline(np.zeros(1))
    for _ in range(3):
        spline.add_action(np.ones(1), NO_LIMIT)
    assert (at(spline, 1.0).positions[0], at(spline, 1.0).velocities[0]) == (1.0, 0.0)


@given(ACTIONS)
def test_no_target_is_faster_than_the_largest_step_allows(actions):
    spline = TargetSpline(np.zeros(1))
    for action in actions:
        spline.add_action(np.array([action]), np.array([0.05]))
        speeds = [at(spline, share).velocities[0] for share in np.linspace(0.0, 1.0, 9)]
        assert np.abs(speeds).max() <= 0.05 / FRAME_S + 1e-9


def test_an_action_within_the_largest_step_is_kept_to_the_bit():
    spline = TargetSpline(np.array([0.1]))
    spline.add_action(np.array([0.1 + 1e-3]), np.array([0.05]))
    assert spline.last_action[0] == 0.1 + 1e-3


def test_the_targets_of_all_steps_of_a_frame_are_those_at_their_shares_to_the_bit():
    spline = TargetSpline(np.array([0.1, -0.7]))
    for action in ([0.3, -0.4], [0.7, 0.2], [0.71, 0.3]):
        spline.add_action(np.array(action), np.full(2, np.inf))
        for step, n_steps in ((step, n) for n in (8, 3) for step in range(n)):
            found = spline.at_step(step, n_steps, frame_s=FRAME_S)
            np.testing.assert_array_equal(np.array(found), np.array(at(spline, step / n_steps)))
