"""Stands below arms whose base is above the table: pictures show no arm that floats."""

from dataclasses import replace

import numpy as np
import pytest

from unlatch.robots.catalog import load_robot
from unlatch.robots.description import base_pose
from unlatch.robots.models import model_path
from unlatch.robots.robot import Robot
from unlatch.simcore.sim.world import World, WorldCfg
from unlatch.workflows.episode.visual_views import find_stands

pytestmark = pytest.mark.integration


@pytest.mark.parametrize(("height_m", "count"), [(0.0, 0), (0.3, 1), (-0.2, 0)])
def test_an_arm_above_the_table_has_a_stand_from_the_table_to_its_foot(height_m, count):
    cfg = replace(load_robot("franka_panda"), base_height_m=height_m)
    with World(WorldCfg()) as world:
        robot = Robot(world, cfg, model_path(cfg), T_world_root=base_pose(cfg))
        stands = find_stands(robot)
        foot = robot.body.link_aabb(cfg.arms[0].base_link)
    assert len(stands) == count
    for low, high in stands:
        assert low[2] == 0.0
        assert high[2] == pytest.approx(foot[0, 2]) == pytest.approx(height_m, abs=0.01)
        assert np.allclose(high[:2] - low[:2], (foot[1] - foot[0])[:2])
