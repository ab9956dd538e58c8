"""The targets of the motors between two actions, encoders that err, and commands that come late or not at all.

`tests/simcore/sim/test_core.py` compares them with a model, to the bit.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unlatch.robots.arm_control import ArmAction, ArmSignals
from unlatch.robots.catalog import load_robot
from unlatch.robots.models import model_path
from unlatch.robots.robot import Robot
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.core import ServoState
from unlatch.simcore.sim.world import World, WorldCfg

FRAME_S, STEPS = 1.0 / 30.0, 8


class Joint:
    """The targets of one joint."""

    def __init__(self, q=0.0):
        self.servo = ServoState([0])
        self.signals = ArmSignals(self.servo)
        self.rest_at(q)

    def rest_at(self, q):
        servo, struct = self.servo, self.servo.struct
        servo.points[:], servo.arrived[:] = q, (q, 0.0, 0.0, 0.0)
        servo.sent[0], struct.n_sent, struct.has_arrived = servo.arrived, 1, 1

    def frame(self, q, *, most=np.inf, steps=STEPS):
        """Positions, velocities and accelerations at the beginning of each step of a frame."""
        points, struct = self.servo.points, self.servo.struct
        points[:3] = points[1:].copy()
        points[3] = np.clip(q, points[2] - most, points[2] + most)
        struct.step, struct.frame_steps, struct.frame_s = 0, steps, FRAME_S
        return np.array([self.servo.transmit()[:3] for _ in range(steps)]).T


def sent(joint, *openings):
    """The openings that arrive, one a step."""
    found = []
    for opening in openings:
        joint.servo.struct.opening = opening
        found.append(joint.servo.transmit()[-1])
    return found


@pytest.fixture
def joint():
    return Joint()


def test_a_late_command_arrives_after_the_latency_unless_a_reset_forgets_it(joint):
    joint.signals.late_steps = 2
    assert sent(joint, 1.0, 2.0, 3.0, 4.0) == [0.0, 0.0, 1.0, 2.0]
    joint.rest_at(0.5)
    assert sent(joint, 5.0, 6.0, 7.0) == [0.0, 0.0, 5.0]


def test_a_dropped_command_leaves_the_last_one_in_place(joint):
    assert sent(joint, 1.0) == [1.0]
    joint.signals.dropped = True
    assert sent(joint, 2.0, 3.0) == [1.0, 1.0]
    joint.signals.dropped = False
    assert sent(joint, 4.0) == [4.0]


def load_arm(world):
    cfg = load_robot("franka_panda")
    robot = Robot(world, cfg, model_path("franka_panda"), T_world_root=Pose.identity())
    arm = robot.arms["left"]
    arm.reset(arm.cfg.home, gripper_m=0.08)
    return robot, arm


def test_the_joint_goes_to_where_its_encoder_reads_the_target():
    with World(WorldCfg()) as world:
        _, arm = load_arm(world)
        arm.signals.encoder_offset_rad = np.array([0.01, -0.02, 0.0, 0.0, 0.0, 0.0, 0.0])
        world.step(480)
        assert np.allclose(arm.q - arm.cfg.home, [-0.01, 0.02, 0.0, 0.0, 0.0, 0.0, 0.0], atol=1e-4)
        assert np.allclose(arm.q_read, arm.cfg.home, atol=1e-4)


def test_late_fingers_close_after_the_latency():
    def first_step_that_closes(late_steps):
        with World(WorldCfg()) as world:
            _, arm = load_arm(world)
            arm.signals.late_steps = late_steps
            arm.begin_frame(ArmAction(np.array(arm.cfg.home), 0.0, arm.T_base_ee), frame_s=FRAME_S, steps=STEPS)
            for step in range(80):
                world.step()
                if arm.gripper_opening_m < 0.079:
                    return step
        raise AssertionError("the fingers never moved")

    at_once = first_step_that_closes(0)
    assert at_once < 16
    assert first_step_that_closes(24) - at_once == 24


ACTIONS = st.lists(st.floats(-3.0, 3.0), min_size=1, max_size=12)


@given(ACTIONS)
def test_targets_are_continuous_and_move_by_their_velocities(actions):
    joint, fine = Joint(), 400
    frames = [joint.frame(action, steps=fine) for action in actions]
    q, dq, ddq = np.concatenate(frames, axis=1)
    dt = FRAME_S / fine
    np.testing.assert_allclose(np.diff(q), dt * dq[:-1] + dt**2 * (2.0 * ddq[:-1] + ddq[1:]) / 6.0, atol=1e-9)
    np.testing.assert_allclose(np.diff(dq), 0.5 * dt * (ddq[:-1] + ddq[1:]), atol=1e-6)
    # accelerations do not jump either: in a frame they change by at most the third difference of four actions
    assert np.abs(np.diff(ddq)).max() <= 8.0 * 6.0 / FRAME_S**2 / fine


def test_a_frame_ends_nearest_to_the_action_before_its_own(joint):
    for action in (1.0, 2.0, 3.5):
        joint.frame(action)
    assert joint.frame(3.5)[0, 0] == pytest.approx((1.0 + 4.0 * 2.0 + 3.5) / 6.0)


@given(ACTIONS)
def test_no_target_is_faster_than_the_largest_step_allows(actions):
    joint = Joint()
    for action in actions:
        assert np.abs(joint.frame(action, most=0.05)[1]).max() <= 0.05 / FRAME_S + 1e-9


def test_an_action_faster_than_a_motor_is_cut_off_and_a_slower_one_kept_to_the_bit():
    with World(WorldCfg()) as world:
        _, arm = load_arm(world)
        most = np.array(arm.cfg.max_velocity) * FRAME_S
        for change in (0.5 * most, 2.0 * most):
            before = arm.q_target
            arm.begin_frame(ArmAction(before + change, 0.08, arm.T_base_ee), frame_s=FRAME_S, steps=STEPS)
            np.testing.assert_array_equal(arm.q_target, before + np.minimum(change, most))
