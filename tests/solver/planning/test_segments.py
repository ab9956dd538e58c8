"""Timed segments: closed fingers touch a part slowly, and push it slowly onto its stop."""

import numpy as np
import pytest

from unlatch.solver.path_solver import PathSolution
from unlatch.solver.plan import PlanRequest
from unlatch.solver.setting import PlannerSettingCfg
from unlatch.solver.timing import PART_RISE_HZ, SLIDER_SPEED_M_S, TOUCH_SPEED_M_S, time_segments

DT = 1.0 / 30.0


@pytest.fixture
def time_push(arm, drawer):
    """Times a motion of the hand that pushes a drawer from 0.197 m on, by name of the segment."""

    def make(*, closed_gripper, end):
        def turn(share):
            return arm.q_home + 0.4 * share[:, None] * np.eye(7)[0]

        share = np.linspace(0.0, 1.0, 15)
        s = 0.197 + share * (end - 0.197)
        request = PlanRequest(
            arm=arm,
            scene=drawer(s=0.197),
            setting=PlannerSettingCfg(),
            q_current=arm.q_home,
            closed_gripper=closed_gripper,
            frame_s=DT,
        )
        found = time_segments(
            request,
            transit=turn(np.array([-0.5, -0.2])),
            approach=turn(np.linspace(-0.2, 0.0, 5)),
            follow=PathSolution(True, turn(share), s, end, "", 1.0, 0.4),
            retreat=None,
            is_clear=lambda q: True,
        )
        return {segment.kind: segment for segment in found}

    return make


def hand_speeds(arm, q):
    R, p = arm.kinematics.fk_batch(q)
    return np.linalg.norm(np.diff(R @ arm.tool_keypoints["tool_head"] + p, axis=0), axis=1) / DT


@pytest.mark.parametrize("end", [0.0, -0.003])
def test_a_push_onto_a_stop_arrives_slowly_and_is_faster_nowhere(arm, time_push, end):
    slow, fast = (time_push(closed_gripper=closed, end=end)["follow"] for closed in (True, False))
    middle = 0.5 * (slow.s[1:] + slow.s[:-1])
    assert hand_speeds(arm, slow.q)[middle < 0.012].max() < 1.1 * TOUCH_SPEED_M_S
    assert hand_speeds(arm, fast.q)[0.5 * (fast.s[1:] + fast.s[:-1]) < 0.012].max() > 1.5 * TOUCH_SPEED_M_S
    assert np.abs(np.diff(slow.s)).max() <= np.abs(np.diff(fast.s)).max() + 1e-9
    assert np.abs(np.diff(slow.s, 2)).max() / DT**2 < 1.1 * PART_RISE_HZ * SLIDER_SPEED_M_S
    np.testing.assert_array_equal(slow.q[[0, -1]], fast.q[[0, -1]])
    assert 0 < len(slow.q) - len(fast.q) < 0.6 / DT


def test_a_push_that_ends_inside_the_range_of_the_part_is_not_slowed(time_push):
    slow, fast = (time_push(closed_gripper=closed, end=0.1)["follow"] for closed in (True, False))
    np.testing.assert_array_equal(slow.q, fast.q)


def test_closed_fingers_approach_slowly_in_the_end(arm, time_push):
    slow, fast = (time_push(closed_gripper=closed, end=-0.003)["approach"] for closed in (True, False))
    left_m = np.cumsum(hand_speeds(arm, slow.q)[::-1])[::-1] * DT
    assert hand_speeds(arm, slow.q)[left_m < 0.012].max() < 1.1 * TOUCH_SPEED_M_S
    np.testing.assert_array_equal(slow.q[[0, -1]], fast.q[[0, -1]])
    assert 0 < len(slow.q) - len(fast.q) < 0.5 / DT
