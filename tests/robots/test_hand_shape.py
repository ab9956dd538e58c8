"""The boxes that stand for a hand."""

from dataclasses import replace

import numpy as np
import pytest

from unlatch.robots.catalog import load_robot
from unlatch.robots.hand_shape import hand_shape, hand_shapes
from unlatch.simcore.errors import ConfigError

ARM = load_robot("franka_panda").arms[0]
HAND = hand_shape("franka_panda", ARM)


def test_hands_of_the_same_shape_are_listed_once():
    robot = load_robot("dual_panda")
    assert len(hand_shapes(robot)) == 1
    wider = replace(robot.arms[1], gripper=replace(robot.arms[1].gripper, max_width_m=0.06))
    both = replace(robot, arms=[robot.arms[0], wider])
    assert [hand.max_width_m for hand in hand_shapes(both)] == [0.08, 0.06]
    assert [hand.max_width_m for hand in hand_shapes(both, arm="right")] == [0.06]


@pytest.mark.parametrize("width", [0.0, 0.03, 0.08])
def test_pads_stand_as_far_apart_as_the_fingers_are_open(width):
    fingers, palm = HAND.boxes(width)
    left, right = fingers[fingers[:, 0, 1] >= -1e-3], fingers[fingers[:, 1, 1] <= 1e-3]
    assert len(left) == len(right) == len(fingers) / 2
    assert left[:, 0, 1].min() - right[:, 1, 1].max() == pytest.approx(width, abs=2e-3)
    # the data sheet: 18 mm from the middle of the pads to the fingertips at most, fingers 20 mm wide
    assert 0.005 < HAND.tip_m < 0.018
    assert fingers[:, 1, 2].max() - fingers[:, 0, 2].min() == pytest.approx(0.021, abs=2e-3)
    assert palm[:, 1, 0].max() < fingers[:, 0, 0].max()
    assert palm[:, 1, 1].max() - palm[:, 0, 1].min() == pytest.approx(0.204, abs=5e-3)
    thickness = (left[:, 1] - left[:, 0])[np.argsort(left[:, 0, 0]), 1]
    assert thickness[-1] < thickness[0]  # slices follow the fingers


def test_a_body_between_the_pads_touches_no_finger():
    (box,), (fingers, _) = HAND.gap_box(0.04), HAND.boxes(0.04)
    assert np.all((fingers[:, 0, 1] >= box[1, 1] - 1e-3) | (fingers[:, 1, 1] <= box[0, 1] + 1e-3))
    assert box[1, 0] == HAND.tip_m


@pytest.mark.parametrize("name", ["tool_tail", "tool_side"])
def test_a_hand_without_a_keypoint_is_refused(name):
    keypoints = {key: value for key, value in ARM.keypoints.items() if key != name}
    with pytest.raises(ConfigError, match=rf"arm\.keypoints\.{name} of robot 'franka_panda' is missing"):
        hand_shape("franka_panda", replace(ARM, keypoints=keypoints))
