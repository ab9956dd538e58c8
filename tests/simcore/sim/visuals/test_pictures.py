"""Images have the geometry of a pinhole camera, to the pixel."""

import numpy as np
import pytest

from unlatch.simcore.cameras import Pinhole
from unlatch.simcore.errors import WorldError
from unlatch.simcore.geometry import Pose, matrix_from_rpy
from unlatch.simcore.sim.renderers.renderer import RenderRequest
from unlatch.simcore.sim.visuals.pictures import framing_camera, link_labels, project_points, take_images
from unlatch.simcore.sim.world import World, WorldCfg

pytestmark = pytest.mark.integration

CENTRED = Pinhole.from_fov(96, 72, np.radians(60.0))
T_WORLD_CAMERA = Pose(matrix_from_rpy([-1.9, 0.1, 0.3]), [0.3, -0.2, 0.5])


def take(world: World, pinhole: Pinhole, T_world_camera: Pose = T_WORLD_CAMERA):
    return take_images(world, RenderRequest(pinhole, T_world_camera, near_m=0.02, far_m=10.0))


def test_links_are_counted_over_all_bodies():
    with World(WorldCfg(), visuals=True) as world:
        for index, y in enumerate((-0.2, 0.2)):
            world.add_box(f"box{index}", size_m=(0.1, 0.1, 0.1), T_world_box=Pose.from_translation((1.0, y, 0.0)))
        world.bodies["box1"].semantic_class = "block"
        looking_along_x = Pose([[0, 0, 1], [-1, 0, 0], [0, -1, 0]], np.zeros(3))
        images = take(world, CENTRED, looking_along_x)
        assert link_labels(world) == [("box0", "box0"), ("box1", "block")]
    assert set(np.unique(images.link_ids)) == {0, 1, 2}
    assert np.argwhere(images.link_ids == 1)[:, 1].min() > 48  # y = -0.2 is on the right
    assert np.argwhere(images.link_ids == 2)[:, 1].max() < 48


def test_a_world_without_visual_shapes_says_how_to_open_one():
    with World(WorldCfg()) as world, pytest.raises(WorldError, match=r"Open it as World\(cfg, visuals=True\)"):
        take(world, CENTRED)


@pytest.mark.parametrize("aspect", [0.7, 1.0, 1.6])
def test_a_framed_view_has_every_point_in_the_picture_and_fills_it(aspect):
    rng = np.random.default_rng(3)
    for _ in range(20):
        points = rng.normal(size=(12, 3)) * rng.uniform(0.05, 0.5, size=3) + rng.normal(size=3)
        view = framing_camera(points, rng.normal(size=3), fov_deg=30.0, aspect=aspect)
        pixels = project_points(view, points, width=round(200 * aspect), height=200) / [200 * aspect, 200]
        assert (pixels > -0.01).all()
        assert (pixels < 1.01).all()
        assert np.ptp(pixels, axis=0).max() > 0.5
