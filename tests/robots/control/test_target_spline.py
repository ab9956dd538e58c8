"""The targets of the motors between two actions."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from unlatch.robots.arm_control import TargetSpline

FRAME_S = 1.0 / 30.0
NO_LIMIT = np.full(1, np.inf)
ACTIONS = st.lists(st.floats(-3.0, 3.0), min_size=1, max_size=12)


@given(ACTIONS)
def test_position_and_velocity_are_continuous_from_frame_to_frame(actions):
    spline = TargetSpline(np.zeros(1))
    for action in actions:
        before = spline.at(1.0, frame_s=FRAME_S)
        spline.add_action(np.array([action]), NO_LIMIT)
        after = spline.at(0.0, frame_s=FRAME_S)
        np.testing.assert_allclose(after.positions, before.positions, atol=1e-12)
        np.testing.assert_allclose(after.velocities, before.velocities, atol=1e-9)


@given(ACTIONS, st.floats(0.05, 0.95))
def test_velocity_and_acceleration_are_the_derivatives_of_the_position(actions, share):
    spline = TargetSpline(np.zeros(1))
    for action in actions:
        spline.add_action(np.array([action]), NO_LIMIT)
    h = 0.01
    before, now, after = (spline.at(share + d, frame_s=FRAME_S) for d in (-h, 0.0, h))
    step_s = h * FRAME_S
    np.testing.assert_allclose((after.positions - before.positions) / (2.0 * step_s), now.velocities, atol=1e-6)
    np.testing.assert_allclose((after.velocities - before.velocities) / (2.0 * step_s), now.accelerations, atol=1e-6)


def test_a_frame_ends_in_the_middle_of_its_action_and_the_one_before():
    spline = TargetSpline(np.zeros(2))
    spline.add_action(np.array([1.0, -1.0]), np.full(2, np.inf))
    spline.add_action(np.array([2.0, 3.0]), np.full(2, np.inf))
    np.testing.assert_allclose(spline.at(1.0, frame_s=FRAME_S).positions, [1.5, 1.0])


def test_an_action_that_is_repeated_is_reached_at_rest_two_frames_later():
    spline = TargetSpline(np.zeros(1))
    for _ in range(3):
        spline.add_action(np.ones(1), NO_LIMIT)
    assert spline.at(1.0, frame_s=FRAME_S).positions[0] == 1.0
    assert spline.at(1.0, frame_s=FRAME_S).velocities[0] == 0.0


@given(ACTIONS)
def test_no_target_is_faster_than_the_largest_step_allows(actions):
    spline = TargetSpline(np.zeros(1))
    for action in actions:
        spline.add_action(np.array([action]), np.array([0.05]))
        speeds = [spline.at(share, frame_s=FRAME_S).velocities[0] for share in np.linspace(0.0, 1.0, 9)]
        assert np.abs(speeds).max() <= 0.05 / FRAME_S + 1e-9


def test_an_action_within_the_largest_step_is_kept_to_the_bit():
    spline = TargetSpline(np.array([0.1]))
    spline.add_action(np.array([0.1 + 1e-3]), np.array([0.05]))
    assert spline.last_action[0] == 0.1 + 1e-3


def test_the_targets_of_all_steps_of_a_frame_are_those_at_their_shares_to_the_bit():
    spline = TargetSpline(np.array([0.1, -0.7]))
    for action in ([0.3, -0.4], [0.7, 0.2], [0.71, 0.3]):
        spline.add_action(np.array(action), np.full(2, np.inf))
        for n_steps in (8, 3):
            for step in range(n_steps):
                found = spline.at_step(step, n_steps, frame_s=FRAME_S)
                expected = spline.at(step / n_steps, frame_s=FRAME_S)
                np.testing.assert_array_equal(np.array(found), np.array(expected))
