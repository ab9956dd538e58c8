"""The ray caster: textures, shadows, smooth edges, and the extra that it needs."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest
from PIL import Image

from unlatch.simcore.cameras import Pinhole
from unlatch.simcore.catalogs import RENDERERS
from unlatch.simcore.errors import WorldError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.registry import install_command
from unlatch.simcore.sim.bodies import ROOT
from unlatch.simcore.sim.renderers import embree
from unlatch.simcore.sim.renderers.renderer import RenderRequest
from unlatch.simcore.sim.visuals.appearance import LinkAppearance, TextureStore, add_panel
from unlatch.simcore.sim.visuals.pictures import take_images
from unlatch.simcore.sim.visuals.visual_shapes import Light
from unlatch.simcore.sim.world import World, WorldCfg

pytestmark = pytest.mark.integration

Array = np.ndarray
DOWN = Pose(np.diag([1.0, -1.0, -1.0]), np.array([0.0, 0.0, 1.0]))
ABOVE = Light(direction=(0.0, 0.0, 1.0), specular=0.0)
RED, GREEN, BLUE, YELLOW = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 0)
QUARTERS = {"upper left": RED, "upper right": GREEN, "lower left": BLUE, "lower right": YELLOW}


@pytest.fixture
def world():
    with World(WorldCfg(), visuals=True, renderer=embree.EmbreeRenderer()) as world:
        world.light = ABOVE
        yield world


def look_down(world: World, *, shadow: bool = True) -> Array:
    pinhole = Pinhole.from_fov(64, 64, np.radians(40.0))
    return take_images(world, RenderRequest(pinhole, DOWN, near_m=0.02, far_m=10.0, shadow=shadow)).rgb.astype(int)


@pytest.fixture
def quartered(tmp_path):
    picture: Array = np.zeros((32, 32, 3), dtype=np.uint8)
    for name, colour in QUARTERS.items():
        rows = slice(0, 16) if "upper" in name else slice(16, 32)
        columns = slice(0, 16) if "left" in name else slice(16, 32)
        picture[rows, columns] = colour
    Image.fromarray(picture).save(tmp_path / "quartered.png")
    return tmp_path / "quartered.png"


@pytest.mark.parametrize("tile_m", [0.6, 0.3])
def test_a_picture_lies_on_a_panel_as_bullet_lays_it(quartered, tile_m):
    seen = {}
    for name in ("tiny", "embree"):
        with World(WorldCfg(), visuals=True, renderer=RENDERERS.load(name)()) as world:
            world.light = ABOVE
            panel = add_panel(
                world,
                "panel",
                size_m=(0.6, 0.6),
                T_world_panel=Pose.from_rpy((0.0, 0.0, 0.0), (0.0, 0.0, 0.3)),
                rgba=(1.0, 1.0, 1.0, 1.0),
                tile_m=tile_m,
            )
            appearance = LinkAppearance(world, [panel], TextureStore(world, lambda _number: quartered), links=[ROOT])
            appearance.textures[:] = 1
            appearance.show()
            seen[name] = look_down(world)
    same = np.abs(seen["tiny"] - seen["embree"]).max(axis=-1) < 30
    assert same.mean() > 0.8  # Bullet takes the nearest texel and draws edges in steps


def test_a_picture_of_a_mesh_file_is_where_bullet_draws_it(quartered):
    folder = quartered.parent
    (folder / "sheet.mtl").write_text("newmtl one\nKd 1 1 1\nmap_Kd quartered.png\n")
    (folder / "sheet.obj").write_text(
        "mtllib sheet.mtl\nusemtl one\nv -1 -1 0\nv 1 -1 0\nv 1 1 0\nv -1 1 0\n"
        "vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nvn 0 0 1\nf 1/1/1 2/2/1 3/3/1 4/4/1\n"
    )
    (folder / "sheet.urdf").write_text(
        '<robot name="sheet"><link name="base"><visual><geometry><mesh filename="sheet.obj" scale="0.25 0.25 0.25"/>'
        "</geometry></visual></link></robot>"
    )
    seen = {}
    for name in ("tiny", "embree"):
        with World(WorldCfg(), visuals=True, renderer=RENDERERS.load(name)()) as world:
            world.light = ABOVE
            world.load_urdf(folder / "sheet.urdf", name="sheet", T_world_root=Pose.identity())
            seen[name] = look_down(world)
    same = np.abs(seen["tiny"] - seen["embree"]).max(axis=-1) < 30
    assert same.mean() > 0.9
    middle = seen["embree"][24, 24]
    assert middle[0] > 2 * middle[2]  # the upper left of the picture is red


def test_a_shadow_lies_where_light_is_kept_off_and_nowhere_else(world):
    world.add_box("floor", size_m=(2.0, 2.0, 0.1), T_world_box=Pose.from_translation((0.0, 0.0, -0.05)))
    bare = look_down(world)
    world.light = Light(direction=(1.0, 0.0, 1.0), specular=0.0)
    slanting = look_down(world)
    world.add_box("roof", size_m=(0.1, 0.1, 0.02), T_world_box=Pose.from_translation((0.1, 0.0, 0.2)))
    shadowed, without = look_down(world), look_down(world, shadow=False)
    # light from +x at 45 degrees: the shadow of what is at x = 0.1, 0.2 above, is about x = -0.1
    column = round(31.5 - 0.1 * 64 / (2.0 * np.tan(np.radians(20.0))))
    assert bare[32, column, 0] > slanting[32, column, 0] > shadowed[32, column, 0]
    assert shadowed[32, column, 0] == pytest.approx(0.6 * 255 * 0.7, abs=2)  # what is seen without light
    assert without[32, column, 0] == slanting[32, column, 0]
    np.testing.assert_array_equal(shadowed[5], slanting[5])


def test_pixels_on_an_edge_have_the_mean_of_both_sides(world):
    T = Pose.from_rpy((0.0, 0.0, 0.0), (0.0, 0.0, 0.4))
    world.add_box("plate", size_m=(0.3, 0.3, 0.01), T_world_box=T, rgba=(0.0, 0.0, 0.0, 1.0))
    red = look_down(world)[:, :, 0]
    levels, counts = np.unique(red, return_counts=True)
    assert levels[0] == 0
    assert levels[-1] == 255
    assert set(levels) <= {0, 64, 128, 191, 255}  # quarters
    assert 20 < counts[1:-1].sum() < 200


def test_transparent_shapes_are_invisible_and_an_empty_world_is_white(world):
    assert (look_down(world) == 255).all()
    world.add_box("ghost", size_m=(0.3,) * 3, T_world_box=Pose.identity(), rgba=(1.0, 0.0, 0.0, 0.0))
    assert (look_down(world) == 255).all()


def test_a_panel_is_invisible_from_behind(world):
    for name, roll in (("front", 0.0), ("back", np.pi)):
        world.reset()
        T = Pose.from_rpy((0.0, 0.0, 0.0), (roll, 0.0, 0.0))
        add_panel(world, "panel", size_m=(0.6, 0.6), T_world_panel=T, rgba=(1.0, 0.0, 0.0, 1.0), tile_m=1.0)
        assert (look_down(world)[32, 32, 1] == 255) == (name == "back")


def test_the_same_request_gives_identical_images(world):
    world.add_box("floor", size_m=(2.0, 2.0, 0.1), T_world_box=Pose.from_translation((0.0, 0.0, -0.05)))
    world.add_sphere("ball", radius_m=0.1, T_world_sphere=Pose.from_translation((0.0, 0.0, 0.2)), mass_kg=1.0)
    np.testing.assert_array_equal(look_down(world), look_down(world))


def test_a_missing_package_is_an_error_that_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "embreex", None)
    with (
        pytest.raises(WorldError, match=re.escape(install_command("raycast"))),
        World(WorldCfg(), visuals=True, renderer=embree.EmbreeRenderer()),
    ):
        pass
