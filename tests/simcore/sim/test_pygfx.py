"""What `renderer=pygfx` keeps between images is renewed when the world changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from unlatch.simcore.cameras import Pinhole
from unlatch.simcore.errors import WorldError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.renderers.pygfx import PygfxRenderer
from unlatch.simcore.sim.renderers.renderer import RawImages, RenderRequest
from unlatch.simcore.sim.visuals.visual_shapes import Light, Paint
from unlatch.simcore.sim.world import World, WorldCfg

pytestmark = pytest.mark.integration
pytest.importorskip("pygfx")
pytest.importorskip("fast_simplification")

T_WORLD_CAMERA = Pose(np.diag([1.0, -1.0, -1.0]), [0.4, 0.0, 2.0])
"""Looks down."""
REQUEST = RenderRequest(Pinhole.from_fov(96, 72, 1.0), T_WORLD_CAMERA, near_m=0.02, far_m=10.0)


def fill(world: World) -> None:
    """A board at a depth of 2 m with a block on it, whose top is at 1.6 m."""
    world.add_box("board", size_m=(1.5, 1.5, 0.1), T_world_box=Pose.from_translation((0.4, 0.0, -0.05)))
    world.add_box("block", size_m=(0.3, 0.3, 0.4), T_world_box=Pose.from_translation((0.4, 0.0, 0.2)))


@pytest.fixture
def world() -> Iterator[World]:
    try:
        with World(WorldCfg(), visuals=True, renderer=PygfxRenderer()) as world:
            fill(world)
            yield world
    except WorldError as exc:
        if exc.values.get("renderer") != "pygfx":
            raise
        pytest.skip(exc.message)


def turn_light(world: World) -> None:
    world.light = replace(Light(), direction=(1.0, 1.0, 1.0))


def paint_block(world: World) -> None:
    (shape,) = world.bodies["block"].visual_shapes
    world.paint[shape.body, shape.link, shape.index] = Paint((0.1, 0.2, 0.9, 1.0), None)


def move_block(world: World) -> None:
    world.bodies["block"].set_root_pose(Pose.from_translation((0.6, 0.1, 0.2)))


def add_block(world: World) -> None:
    world.add_box("other", size_m=(0.2, 0.2, 0.2), T_world_box=Pose.from_translation((0.0, 0.3, 0.1)))


def assert_equal(images: RawImages, expected: RawImages) -> None:
    np.testing.assert_array_equal(images.rgb, expected.rgb)
    np.testing.assert_array_equal(images.depth_m, expected.depth_m)
    np.testing.assert_array_equal(images.link_ids, expected.link_ids)


@pytest.mark.parametrize("change", [turn_light, paint_block, move_block, add_block])
def test_after_a_change_an_image_is_that_of_a_world_that_was_so_from_the_start(
    world: World, change: Callable[[World], None]
):
    before = world.renderer.render(world, REQUEST)
    change(world)
    after = world.renderer.render(world, REQUEST)
    assert (after.rgb != before.rgb).any()
    with World(WorldCfg(), visuals=True, renderer=PygfxRenderer()) as fresh:
        fill(fresh)
        change(fresh)
        assert_equal(after, fresh.renderer.render(fresh, REQUEST))


def test_an_image_of_an_unchanged_world_is_the_same_again(world: World):
    assert_equal(world.renderer.render(world, REQUEST), world.renderer.render(world, REQUEST))


def test_links_beyond_the_far_plane_are_nothing_at_an_infinite_depth(world: World):
    whole = world.renderer.render(world, REQUEST)
    near = world.renderer.render(world, replace(REQUEST, far_m=1.8))
    block = whole.depth_m < 1.8
    assert 0 < block.sum() < block.size
    np.testing.assert_array_equal(near.depth_m, np.where(block, whole.depth_m, np.inf))
    np.testing.assert_array_equal(near.link_ids, np.where(block, whole.link_ids, 0))


def test_a_surface_that_the_light_grazes_has_no_stripes(world: World):
    world.light = replace(Light(), direction=(1.0, 0.3, 0.3))
    without = world.renderer.render(world, replace(REQUEST, shadow=False)).rgb.astype(int)
    lit = world.renderer.render(world, REQUEST).rgb.astype(int)
    towards_light = np.s_[15:57, 62:70]  # inside the board, where no shadow of the block falls
    np.testing.assert_allclose(lit[towards_light], without[towards_light], atol=2)
    assert (lit[:, :40] < without[:, :40] - 10).any()  # the block has a shadow
