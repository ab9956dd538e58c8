"""The scene that observations are computed from agrees with the simulated one."""

from __future__ import annotations

import pytest

from unlatch.robots.catalog import ROBOTS
from unlatch.robots.description import base_pose
from unlatch.robots.models import model_path
from unlatch.robots.robot import Robot
from unlatch.simcore.sim.world import World, WorldCfg
from unlatch.skills.catalog import SKILLS
from unlatch.workflows.episode.observed_scene import MOTIONLESS, SKILL_KINDS, observed_scene
from unlatch.workflows.runs.loading import load

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("name", ROBOTS.own_names())
def test_the_base_of_an_arm_is_where_the_engine_has_it(name):
    cfg = load("close_drawer", f"robot={name}").robot
    scene = observed_scene(cfg, dict, seed=0)
    with World(WorldCfg()) as world:
        robot = Robot(world, cfg, model_path(cfg), T_world_root=base_pose(cfg))
        assert set(scene.bases) == set(robot.arms)
        for arm, T_world_base in scene.bases.items():
            assert T_world_base.is_close(robot.arms[arm].T_world_base, atol_m=1e-6, atol_rad=1e-6)


def test_every_skill_that_moves_an_arm_has_a_number():
    moving = [name for name in SKILLS.own_names() if name != MOTIONLESS]
    assert sorted(SKILL_KINDS) == sorted(moving)
