"""The colours of surfaces without light, which help `renderer=mitsuba` to tell noise from texture."""

from __future__ import annotations

import numpy as np
import pytest

from unlatch.simcore.cameras import Pinhole
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.renderers.bullet_image import TinyRenderer
from unlatch.simcore.sim.renderers.renderer import RenderRequest
from unlatch.simcore.sim.visuals.visual_shapes import Light
from unlatch.simcore.sim.world import World, WorldCfg

pytestmark = pytest.mark.integration
REQUEST = RenderRequest(
    Pinhole.from_fov(64, 48, 1.0), Pose(np.diag([1.0, -1.0, -1.0]), [0.4, 0.0, 2.0]), near_m=0.02, far_m=10.0
)


def test_surfaces_without_light_have_one_colour_also_in_shadow():
    with World(WorldCfg(), visuals=True, renderer=TinyRenderer()) as world:
        world.add_box("board", size_m=(1.5, 1.5, 0.1), T_world_box=Pose.from_translation((0.4, 0.0, -0.05)))
        world.add_box("block", size_m=(0.3, 0.3, 0.4), T_world_box=Pose.from_translation((0.4, 0.0, 0.2)))
        world.light = Light(direction=(1.0, 0.3, 0.6))
        lit, albedo = world.renderer.render(world, REQUEST), TinyRenderer().render_albedo(world, REQUEST)
    board = albedo.link_ids == albedo.link_ids[12, 20]
    assert np.ptp(lit.rgb[board], axis=0).max() > 3  # the block throws a shadow
    assert np.ptp(albedo.rgb[board], axis=0).max() == 0
    assert (albedo.rgb[board] > lit.rgb[board]).all()
    np.testing.assert_array_equal(albedo.depth_m, lit.depth_m)
    np.testing.assert_array_equal(albedo.link_ids, lit.link_ids)
