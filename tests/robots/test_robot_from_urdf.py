"""How much of a region an arm reaches."""

from dataclasses import replace

import pytest

from unlatch.robots.catalog import ROBOTS
from unlatch.robots.description import base_pose
from unlatch.robots.reach import ReachModel, ReachRegion
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
