"""How much of a region an arm reaches."""

from dataclasses import replace

import pytest

from unlatch.robots.catalog import ROBOTS
from unlatch.robots.description import base_pose
from unlatch.robots.robot_from_urdf import ReachModel, ReachRegion
from unlatch.solver.kinematics import Kinematics

pytestmark = pytest.mark.slow

REACH = ReachModel(ReachRegion((0.54, 0.0, 0.34), (0.10, 0.18, 0.12)), Kinematics.from_urdf)


def test_the_shares_at_several_bases_are_those_at_each_base_alone():
    cfg = ROBOTS.make("xarm6")
    robots = [replace(cfg, base_x_m=x, base_height_m=height) for x, height in ((0.0, 0.0), (-0.4, 0.1), (0.1, 0.3))]
    shares = REACH.shares_at(cfg, [base_pose(robot) for robot in robots], count=2)
    assert shares == [REACH.shares(robot, count=2) for robot in robots]
    assert len({share for (share,) in shares}) == 3


def test_a_region_out_of_reach_is_not_reached():
    far = ReachModel(ReachRegion((5.0, 0.0, 0.34), (0.1, 0.1, 0.1)), Kinematics.from_urdf)
    assert far.shares(ROBOTS.make("xarm6"), count=2) == pytest.approx([0.0])
