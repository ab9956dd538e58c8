"""How much of a region an arm reaches."""

from dataclasses import replace

import numpy as np
import pytest

from unlatch.robots.catalog import ROBOTS
from unlatch.robots.description import base_pose
from unlatch.robots.reach import ReachModel, ReachRegion
from unlatch.robots.robot_from_urdf import shoulder_index
from unlatch.solver.kinematics import Kinematics


@pytest.mark.slow
def test_the_shares_at_several_bases_are_those_at_each_base_alone_and_0_out_of_reach():
    near, far = (ReachModel(ReachRegion((x, 0.0, 0.34), (0.10, 0.18, 0.12)), Kinematics.from_urdf) for x in (0.54, 5.0))
    cfg = ROBOTS.make("xarm6")
    robots = [replace(cfg, base_x_m=x, base_height_m=height) for x, height in ((0.0, 0.0), (-0.4, 0.1), (0.1, 0.3))]
    shares = near.shares_at(cfg, [base_pose(robot) for robot in robots], count=2)
    assert shares == [near.shares(robot, count=2) for robot in robots]
    assert len({share for (share,) in shares}) == 3
    assert far.shares(cfg, count=2) == pytest.approx([0.0])


X, Y, Z = np.eye(3)


@pytest.mark.parametrize(
    ("slides", "axes", "shoulder"),
    [
        ([0, 0, 0, 0, 0], [Z, Y, Y, Y, X], 1),  # an arm
        ([1, 0, 0, 0, 0], [Z, Z, Y, Y, X], 2),  # an arm on a lift
        ([1, 1, 1, 0, 0], [X, Y, Z, Z, Y], 1),  # a gantry
        ([1, 1, 1, 0, 0, 0], [Z, X, X, Z, Y, X], 1),  # a telescope on a mast
        ([0, 0, 1, 0, 0], [Z, Z, Z, Z, Y], 0),  # a SCARA
        ([1, 1, 1], [X, Y, Z], 1),
        ([1], [X], 0),
    ],
)
def test_an_arm_reaches_out_from_its_shoulder_or_the_first_slide_that_carries_no_whole_arm(slides, axes, shoulder):
    assert shoulder_index(np.array(slides, dtype=bool), np.array(axes)) == shoulder
