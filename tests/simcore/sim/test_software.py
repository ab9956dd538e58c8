"""The software renderer: textures, shadows, smooth edges, the near plane, and what is kept between pictures."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from unlatch.objects.procedural.mesh_makers import bevelled_box
from unlatch.simcore.cameras import Pinhole
from unlatch.simcore.catalogs import RENDERERS
from unlatch.simcore.errors import UnknownEntryError, WorldError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.mesh_reader import SurfaceMesh
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh
from unlatch.simcore.sim.bodies import ROOT
from unlatch.simcore.sim.renderers.renderer import RawImages, RenderRequest
from unlatch.simcore.sim.renderers.software import SoftwareRenderer
from unlatch.simcore.sim.visuals.appearance import LinkAppearance, TextureStore, add_panel, add_surface, carry
from unlatch.simcore.sim.visuals.pictures import LookAtCamera, take_picture
from unlatch.simcore.sim.visuals.visual_shapes import FINISHES, Light
from unlatch.simcore.sim.world import World, WorldCfg

pytestmark = pytest.mark.integration

Array = np.ndarray
DOWN = Pose(np.diag([1.0, -1.0, -1.0]), np.array([0.4, 0.0, 1.0]))
PINHOLE = Pinhole.from_fov(64, 64, np.radians(40.0))
MIDDLE = Pose.from_translation((0.4, 0.0, 0.0))
ABOVE = Light(direction=(0.0, 0.0, 1.0))
RED, GREEN, BLUE, YELLOW = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 0)


@pytest.fixture
def world():
    with World(WorldCfg(), visuals=True, renderer=SoftwareRenderer()) as world:
        world.light = ABOVE
        yield world


def request(T_world_camera: Pose = DOWN, **fields: bool) -> RenderRequest:
    return RenderRequest(PINHOLE, T_world_camera, near_m=0.02, far_m=10.0, **fields)


def look(world: World, T_world_camera: Pose = DOWN, **fields: bool) -> Array:
    return world.renderer.render(world, request(T_world_camera, **fields)).rgb.astype(int)


def look_at_colours(world: World, **fields: bool) -> Array:
    assert isinstance(world.renderer, SoftwareRenderer)
    return world.renderer.render_albedo(world, request(**fields)).rgb.astype(int)


def add_floor(world: World) -> None:
    world.add_box("floor", size_m=(2.0, 2.0, 0.1), T_world_box=Pose.from_translation((0.4, 0.0, -0.05)))


@pytest.fixture
def quartered(tmp_path):
    """A picture: red at its upper left, green at its upper right, blue and yellow below."""
    picture: Array = np.zeros((32, 32, 3), dtype=np.uint8)
    picture[:16, :16], picture[:16, 16:], picture[16:, :16], picture[16:, 16:] = RED, GREEN, BLUE, YELLOW
    Image.fromarray(picture).save(tmp_path / "quartered.png")
    return tmp_path / "quartered.png"


def quarters(picture: Array) -> list[list[int]]:
    return [picture[row, column].tolist() for row in (24, 40) for column in (24, 40)]


def test_a_picture_lies_upright_on_a_panel(world, quartered):
    panel = add_panel(world, "panel", size_m=(0.6, 0.6), T_world_panel=MIDDLE, rgba=(1.0,) * 4, tile_m=0.6)
    appearance = LinkAppearance(world, [panel], TextureStore(lambda _number: quartered), links=[ROOT])
    appearance.textures[:] = 1
    appearance.show()
    assert quarters(look_at_colours(world)) == [list(colour) for colour in (RED, GREEN, BLUE, YELLOW)]


def test_a_picture_repeats_after_the_length_of_a_tile(world, quartered):
    add_panel(world, "panel", size_m=(0.6, 0.6), T_world_panel=MIDDLE, rgba=(1.0,) * 4, tile_m=0.2, picture=quartered)
    seen = look_at_colours(world)
    pixels = 64 * 0.2 / (2.0 * np.tan(np.radians(20.0)))
    assert np.array_equal(seen[32 - 3, 32 - 3], seen[32 - 3, 32 - 3 + round(pixels)])


def test_a_picture_of_a_mesh_file_is_drawn_in_perspective(world, quartered):
    folder = quartered.parent
    (folder / "sheet.mtl").write_text("newmtl one\nKd 1 1 1\nmap_Kd quartered.png\n")
    (folder / "sheet.obj").write_text(
        "mtllib sheet.mtl\nusemtl one\nv -1 -1 0\nv 1 -1 0\nv 1 1 0\nv -1 1 0\n"
        "vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nvn 0 0 1\nf 1/1/1 2/2/1 3/3/1 4/4/1\n"
    )
    (folder / "sheet.urdf").write_text(
        '<robot name="sheet"><link name="base"><visual><geometry><mesh filename="sheet.obj" scale="0.3 0.3 0.3"/>'
        "</geometry></visual></link></robot>"
    )
    tilted = Pose.from_rpy((0.4, 0.0, 0.0), (0.0, np.radians(60.0), 0.0))
    world.load_urdf(folder / "sheet.urdf", name="sheet", T_world_root=tilted)
    seen = look_at_colours(world)
    row = seen[28, :, :2]  # red on the left, green on the right: they meet at the middle of the sheet
    assert abs(int(np.argmax((row[:, 1] > 128) & (row[:, 0] < 128))) - 32) <= 1


def test_a_shadow_lies_where_light_is_kept_off_and_nowhere_else(world):
    add_floor(world)
    world.light = Light(direction=(1.0, 0.0, 1.0))
    bare = look(world)
    world.add_box("roof", size_m=(0.1, 0.1, 0.02), T_world_box=Pose.from_translation((0.5, 0.0, 0.2)))
    shadowed, without = look(world), look(world, shadow=False)
    # light from +x at 45 degrees: the shadow of what is 0.1 m right of the middle, 0.2 m above, is 0.1 m left of it
    column = round(31.5 - 0.1 * 64 / (2.0 * np.tan(np.radians(20.0))))
    assert bare[32, column, 0] > shadowed[32, column, 0] + 30
    assert without[32, column, 0] >= bare[32, column, 0] - 8  # the roof also takes light of the surroundings away
    np.testing.assert_array_equal(shadowed[2], bare[2])


def test_things_at_the_end_of_a_room_cast_shadows(world):
    """Beyond the shadow map of what a robot reaches, the wide one of what never moves counts."""
    far = Pose.from_translation((3.4, 0.0, 0.0))
    world.add_box("floor", size_m=(2.0, 2.0, 0.1), T_world_box=far @ Pose.from_translation((0.0, 0.0, -0.05)))
    camera = Pose(DOWN.R, np.array([3.4, 0.0, 1.0]))
    bare = look(world, camera)
    world.add_box("roof", size_m=(0.2, 0.2, 0.02), T_world_box=far @ Pose.from_translation((0.0, 0.0, 1.2)))
    roofed = look(world, camera)
    assert bare[32, 32, 0] > roofed[32, 32, 0] + 30
    # what may move casts none there, whether it has moved already or not
    ball = world.add_sphere(
        "ball", radius_m=0.1, T_world_sphere=far @ Pose.from_translation((0.2, 0.2, 1.2)), mass_kg=1.0
    )
    np.testing.assert_array_equal(look(world, camera), roofed)
    ball.set_root_pose(far @ Pose.from_translation((-0.2, -0.2, 1.2)))
    np.testing.assert_array_equal(look(world, camera), roofed)
    # the shadow of a fixed thing goes with it each time that it is put elsewhere
    for y in (0.15, -0.15, 0.0):
        world.bodies["roof"].set_root_pose(far @ Pose.from_translation((0.0, y, 1.2)))
        anew = SoftwareRenderer().render(world, request(camera)).rgb.astype(int)
        np.testing.assert_array_equal(look(world, camera), anew)
    # what a body carries moves with it, so it casts none there
    carry(world.bodies["roof"], ball, ROOT, Pose.identity())
    carried = SoftwareRenderer().render(world, request(camera)).rgb.astype(int)
    assert carried[32, 32, 0] > roofed[32, 32, 0] + 30


def test_a_wall_at_a_grazing_angle_darkens_without_a_pattern(world):
    """Half of the pixels look for corners; where a pixel had none of them beside it, the darkening was a zigzag."""
    world.add_box("wall", size_m=(2.0, 0.02, 2.0), T_world_box=Pose.from_translation((1.0, 0.01, 0.0)))
    world.add_box("end", size_m=(0.02, 2.0, 2.0), T_world_box=Pose.from_translation((0.45, 0.0, 0.0)))
    along_x = np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
    seen = look(world, Pose(along_x, np.array([0.1, -0.005, 0.0])))[32, :10, 0]  # the wall is 5 mm to the left
    assert np.abs(np.diff(seen, 2)).max() <= 6  # it was 18


def test_a_lit_surface_throws_no_shadow_on_itself(world):
    add_floor(world)
    world.add_sphere("ball", radius_m=0.15, T_world_sphere=Pose.from_translation((0.4, 0.0, 0.15)), mass_kg=1.0)
    for direction in ((0.0, 0.0, 1.0), (-1.0, -1.2, 2.5), (3.0, 0.0, 1.0)):
        world.light = Light(direction=direction)
        images = world.renderer.render(world, request(normals=True))
        darker = look(world, shadow=False) - images.rgb.astype(int)
        towards = np.array(direction) / np.linalg.norm(direction)
        facing = DOWN.rotate(images.normals) @ towards > 0.3
        ball = (images.link_ids == 2) & facing
        assert ball.sum() > 50
        assert np.abs(darker[ball]).max() <= 2


def test_pixels_on_an_edge_have_a_mean_of_both_sides(world):
    turned = Pose.from_rpy((0.4, 0.0, 0.0), (0.0, 0.0, 0.4))
    world.add_box("plate", size_m=(0.3, 0.3, 0.01), T_world_box=turned, rgba=(0.0, 0.0, 0.0, 1.0))
    smooth, hard = (look_at_colours(world, smooth=each)[:, :, 0] for each in (True, False))
    assert set(np.unique(hard)) == {0, 255}
    assert 100 < ((smooth > 0) & (smooth < 255)).sum() < 400  # four sides of 26 pixels, up to three wide


def test_what_is_transparent_shows_what_is_behind_it(world):
    world.add_box("back", size_m=(0.4, 0.4, 0.01), T_world_box=MIDDLE, rgba=(0.0, 0.0, 1.0, 1.0))
    bare = look(world)[32, 32]
    pane = Pose.from_translation((0.4, 0.0, 0.3))
    world.add_box("pane", size_m=(0.2, 0.2, 0.01), T_world_box=pane, rgba=(1.0, 0.0, 0.0, 0.5))
    images = world.renderer.render(world, request())
    through = images.rgb[32, 32].astype(int)
    assert through[0] > bare[0] + 40
    assert 40 < through[2] < bare[2]
    assert images.link_ids[32, 32] == 2
    assert images.depth_m[32, 32] == pytest.approx(0.695, abs=1e-5)
    world.add_box("ghost", size_m=(0.1,) * 3, T_world_box=Pose.from_translation((0.4, 0.0, 0.5)), rgba=(1, 1, 1, 0))
    np.testing.assert_array_equal(look(world)[32, 32], through)


def test_a_panel_is_invisible_from_behind(world):
    empty = look(world)
    for name, roll in (("front", 0.0), ("back", np.pi)):
        world.reset()
        T = Pose.from_rpy((0.4, 0.0, 0.0), (roll, 0.0, 0.0))
        add_panel(world, "panel", size_m=(0.6, 0.6), T_world_panel=T, rgba=(1.0, 0.0, 0.0, 1.0), tile_m=1.0)
        assert np.array_equal(look(world)[32, 32], empty[32, 32]) == (name == "back")


def test_triangles_that_reach_behind_the_camera_are_drawn_up_to_the_near_plane(world):
    add_floor(world)
    level = Pose(np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]]), np.array([0.4, 0.0, 0.1]))
    images = world.renderer.render(world, request(level))
    lower = images.depth_m[33:, 10]  # the floor is 0.1 m below the camera
    v = (np.arange(33, 64) - PINHOLE.cy) / PINHOLE.fy
    near = 0.1 / v < 1.0  # the floor ends 1 m ahead
    np.testing.assert_allclose(lower[near], (0.1 / v)[near], rtol=1e-5)
    assert (images.link_ids[:31] == 0).all()


def moving_scene(world: World, frame: int) -> None:
    """A drawer front before a cupboard, a ball that rolls, and a light on both."""
    if "floor" not in world.bodies:
        add_floor(world)
        world.add_box("cupboard", size_m=(0.3, 0.2, 0.3), T_world_box=Pose.from_translation((0.45, 0.1, 0.15)))
        for name, colour in (("front", (0.8, 0.5, 0.2, 1.0)), ("pane", (0.3, 0.4, 0.9, 0.4))):
            world.add_box(name, size_m=(0.25, 0.02, 0.1), T_world_box=MIDDLE, rgba=colour)
        world.add_sphere("ball", radius_m=0.04, T_world_sphere=MIDDLE, mass_kg=1.0)
    world.light = Light()
    world.bodies["front"].set_root_pose(Pose.from_translation((0.45, -0.02 - 0.01 * max(frame - 2, 0), 0.2)))
    world.bodies["pane"].set_root_pose(Pose.from_translation((0.4, -0.1, 0.05 + 0.02 * frame)))
    world.bodies["ball"].set_root_pose(Pose.from_translation((0.2 + 0.03 * frame, -0.1, 0.04)))


CAMERAS = (DOWN, Pose.from_rpy((0.3, -0.7, 0.5), (np.radians(-120.0), 0.0, np.radians(-10.0))))


def test_what_is_kept_between_pictures_changes_no_bit(world):
    for frame in range(6):
        moving_scene(world, frame)
        for T_world_camera in CAMERAS:
            wanted = request(T_world_camera, normals=True)
            kept, fresh = (each.render(world, wanted) for each in (world.renderer, SoftwareRenderer()))
            for name in ("rgb", "depth_m", "link_ids", "normals"):
                np.testing.assert_array_equal(getattr(kept, name), getattr(fresh, name), err_msg=f"{frame} {name}")


def test_a_camera_that_moves_sees_nothing_of_its_last_picture(world):
    """What is transparent is elsewhere, and the range another, in each picture."""
    for frame, far_m in enumerate((10.0, 10.0, 2.0, 10.0)):
        moving_scene(world, 3)
        world.bodies["pane"].set_root_pose(Pose.from_translation((0.2 + 0.15 * frame, -0.1, 0.1)))
        turned = DOWN @ Pose.from_rpy((0.1 * frame, 0.0, 0.0), (0.0, 0.0, 0.3 * frame))
        wanted = replace(request(turned), far_m=far_m)
        same, fresh = (each.render(world, wanted) for each in (world.renderer, SoftwareRenderer()))
        for name in ("rgb", "depth_m", "link_ids"):
            np.testing.assert_array_equal(getattr(same, name), getattr(fresh, name), err_msg=f"{frame} {name}")


def test_depth_links_and_normals_are_alike_with_colours_and_without(world):
    moving_scene(world, 3)
    fields = [{"colours": True}, {"colours": False}, {"colours": True, "smooth": False}]
    found: list[RawImages] = [
        SoftwareRenderer().render(world, request(CAMERAS[1], normals=True, **each)) for each in fields
    ]
    for other in found[1:]:
        for name in ("depth_m", "link_ids", "normals"):
            np.testing.assert_array_equal(getattr(found[0], name), getattr(other, name))


@pytest.mark.slow
def test_a_picture_looks_like_that_of_the_renderer_for_graphics_cards():
    try:
        with World(WorldCfg(), visuals=True, renderer=RENDERERS.load("pygfx")()) as world:
            moving_scene(world, 3)
            world.remove("pane")  # pygfx blends two of its sides
            wanted = request(CAMERAS[1], fine=True)
            expected, found = (
                each.render(world, wanted).rgb.astype(int) for each in (world.renderer, SoftwareRenderer())
            )
    except WorldError as exc:
        pytest.skip(exc.message)
    difference = np.abs(found - expected)
    assert difference.mean() < 6.0  # levels of 255
    assert np.quantile(difference, 0.95) < 25.0  # some on edges and in corners
    assert np.abs(found.mean(axis=(0, 1)) - expected.mean(axis=(0, 1))).max() < 4.0


@pytest.mark.parametrize("name", ["tiny", "egl", "embree"])
def test_a_renderer_that_is_gone_is_refused_with_the_name_to_take(name):
    with pytest.raises(UnknownEntryError, match=f"The renderer '{name}' is gone. Take 'software'."):
        RENDERERS.load(name)


def test_a_fisheye_is_refused_because_it_is_assembled_from_pinholes(world):
    from unlatch.simcore.cameras import Fisheye

    with pytest.raises(WorldError, match="draws through a pinhole"):
        world.renderer.render(world, RenderRequest(Fisheye.from_fov(32, 32, 2.0), DOWN, 0.02, 10.0))


def test_a_rounded_edge_narrower_than_a_pixel_shows_no_glints(tmp_path):
    """A bevel mirrors the sun into single pixels, which are white dashes on dark enamel."""
    mesh = bevelled_box((-0.2, -0.2, 0.0), (0.2, 0.2, 0.3), 0.0015).textured()
    surface = SurfaceMesh(TriangleMesh(mesh.vertices, mesh.faces), corner_normals=mesh.normals[mesh.faces])
    with World(WorldCfg(), visuals=True) as world:
        add_surface(
            world,
            "box",
            surface,
            T_world_surface=Pose.from_rpy((0.0, 0.0, 0.0), (0.0, 0.0, 0.3)),
            rgba=(0.1, 0.1, 0.11, 1.0),
            finish=FINISHES["enamel"],
        )
        for eye in ((-0.9, -0.7, 0.9), (-0.6, -1.0, 0.7), (-1.1, -0.3, 0.8)):
            picture = take_picture(world, LookAtCamera(eye, (0.0, 0.0, 0.15), 40.0), width=128, height=128)
            inside = visible_box(picture)
            assert picture[inside].max() < 2.0 * np.median(picture[inside]) + 40.0


def visible_box(picture):
    """Pixels of a dark box whose neighbours up to two pixels away are of the box, too."""
    dark = picture.max(axis=2) < 200
    filled = np.maximum.accumulate(dark, axis=0) & np.maximum.accumulate(dark[::-1], axis=0)[::-1]
    inside = filled.copy()
    for axis in (0, 1):
        for step in (-2, -1, 1, 2):
            inside &= np.roll(filled, step, axis=axis)
    return inside
