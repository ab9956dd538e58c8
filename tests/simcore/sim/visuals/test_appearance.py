"""Tints, colours, textures, light and scenery change pictures and nothing else."""

from dataclasses import replace

import numpy as np
import pytest

from unlatch.objects.procedural.textures import texture_file
from unlatch.simcore.cameras import Pinhole
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.bodies import ROOT
from unlatch.simcore.sim.renderers.light import tone_map
from unlatch.simcore.sim.renderers.renderer import RenderRequest
from unlatch.simcore.sim.renderers.software import SoftwareRenderer
from unlatch.simcore.sim.visuals import kept_shapes
from unlatch.simcore.sim.visuals.appearance import (
    SOLIDS,
    AppearanceView,
    LightView,
    LinkAppearance,
    TextureStore,
    add_panel,
    add_solid,
)
from unlatch.simcore.sim.visuals.kept_shapes import find_kept_shapes
from unlatch.simcore.sim.visuals.pictures import LookAtCamera, link_labels, take_picture, visible_links
from unlatch.simcore.sim.visuals.visual_shapes import Light
from unlatch.simcore.sim.world import World, WorldCfg

Array = np.ndarray
VIEW = LookAtCamera(eye=(0.5, -0.01, 1.0), target=(0.5, 0.0, 0.0), fov_deg=30.0)
PAIR = """<robot name="pair">
<link name="left"><visual><origin xyz="-0.1 0 0"/><geometry><box size="0.15 0.15 0.1"/></geometry></visual></link>
<link name="right"><visual><geometry><box size="0.15 0.15 0.1"/></geometry></visual></link>
<joint name="beside" type="fixed"><parent link="left"/><child link="right"/><origin xyz="0.1 0 0"/></joint></robot>"""
ABOVE = Light(direction=(0.0, 0.0, 1.0), specular=0.0, shadow=False)


@pytest.fixture
def shown():
    with World(WorldCfg(), visuals=True) as world:
        world.light = ABOVE
        T = Pose.from_translation((0.5, 0.0, -0.5))
        world.add_box("block", size_m=(2.0, 2.0, 1.0), T_world_box=T, rgba=(0.4, 0.5, 0.6, 1.0))
        yield world


def picture(world: World) -> Array:
    return take_picture(world, VIEW, width=48, height=36).astype(float)


def colours(world: World) -> Array:
    """(height, width, 3) colours of the surfaces in the picture, without light."""
    assert isinstance(world.renderer, SoftwareRenderer)
    request = RenderRequest(VIEW.pinhole(48, 36), VIEW.T_world_camera, near_m=0.02, far_m=10.0)
    return world.renderer.render_albedo(world, request).rgb.astype(float)


def brightness(world: World) -> Array:
    """(3,) mean linear brightness of the picture, which must be below the knee of the tone curve."""
    linear = np.linspace(0.0, 0.7, 4096)
    return np.interp(picture(world), tone_map(linear), linear).mean(axis=(0, 1))


def look_of(world: World) -> AppearanceView:
    appearance = LinkAppearance(world, [world.bodies["block"]], TextureStore(texture_file), links=[ROOT])
    return AppearanceView(appearance, name="block", links=["block"])


def test_a_tint_multiplies_and_a_colour_replaces(shown):
    own = colours(shown).mean(axis=(0, 1))
    view = look_of(shown)
    view.attribute("tint").write(0, np.array([0.5, 1.0, 1.5]))
    assert np.allclose(colours(shown).mean(axis=(0, 1)) / own, [0.5, 1.0, 1.5], atol=0.03)
    view.attribute("tint").write(0, np.ones(3))
    view.attribute("colour").write(0, np.array([0.8, 0.25, 0.6]))
    assert np.allclose(colours(shown).mean(axis=(0, 1)) / own, [2.0, 0.5, 1.0], atol=0.05)
    view.attribute("colour").write(0, np.full(3, -1.0))
    assert np.allclose(colours(shown).mean(axis=(0, 1)), own)


def test_a_texture_has_a_pattern_and_zero_takes_it_away(shown):
    plain = colours(shown)
    view = look_of(shown)
    patterns = []
    for number in (7.0, 8.9, 8.0):
        view.attribute("texture").write(0, np.array([number]))
        patterns.append(colours(shown))
    assert patterns[0].std(axis=(0, 1)).max() > 2.0 * max(plain.std(axis=(0, 1)).max(), 0.5)
    assert not np.array_equal(patterns[0], patterns[1])
    assert np.array_equal(patterns[1], patterns[2])  # whole numbers count
    view.attribute("texture").write(0, np.array([0.0]))
    assert np.array_equal(colours(shown), plain)


def test_without_visual_shapes_appearance_is_stored_only(world):
    world.add_box("block", size_m=(1.0, 1.0, 1.0), T_world_box=Pose.identity())
    view = look_of(world)
    view.attribute("tint").write(0, np.array([0.5, 0.6, 0.7]))
    view.attribute("texture").write(0, np.array([3.0]))
    assert view.get("tint").tolist() == [[0.5, 0.6, 0.7]]
    assert view.get("texture").tolist() == [[3.0]]


def test_the_default_light_is_the_renderers_own(shown):
    shown.light = Light()
    assert np.array_equal(picture(shown), picture(shown))
    brighter, head_on, slanting = Light(ambient=0.9), ABOVE, replace(ABOVE, direction=(2.0, 0.0, 1.0))
    seen = []
    for light in (Light(), brighter, head_on, slanting, replace(ABOVE, colour=(1.0, 0.5, 1.0))):
        shown.light = light
        seen.append(picture(shown).mean(axis=(0, 1)))
    assert (seen[1] > seen[0]).all()
    assert (seen[3] < seen[2]).all()
    assert (seen[4] < seen[2]).tolist() == [False, True, False]


def test_the_diffuse_share_and_the_colour_are_those_of_the_light_that_is_added(shown):
    view = LightView(shown)

    def added_light(ambient: float, diffuse: float, green: float = 1.0) -> Array:
        view.attribute("ambient").write(0, np.array([ambient]))
        view.attribute("colour").write(0, np.array([1.0, green, 1.0]))
        seen = []
        for each in (0.0, diffuse):
            view.attribute("diffuse").write(0, np.array([each]))
            seen.append(brightness(shown))
        return seen[1] - seen[0]

    half, full = added_light(0.6, 0.2), added_light(0.6, 0.4)
    np.testing.assert_allclose(full / half, 2.0, rtol=0.03)
    np.testing.assert_allclose(added_light(0.3, 0.4) / full, 1.0, rtol=0.03)
    np.testing.assert_allclose(added_light(0.6, 0.4, green=0.5) / full, [1.0, 0.5, 1.0], rtol=0.03)


def test_the_specular_strength_makes_a_highlight_where_the_light_is_mirrored(shown):
    """The eye is above the block: light from above is mirrored into it, light from the side is not."""
    view, added = LightView(shown), {}
    for direction in ((0.0, 0.0, 1.0), (3.0, 0.0, 1.0)):
        view.attribute("direction").write(0, np.array(direction))
        seen = []
        for specular in (0.0, 0.05, 0.1):
            view.attribute("specular").write(0, np.array([specular]))
            seen.append(picture(shown).max(axis=(0, 1)).min())
        added[direction[0]] = np.diff(seen)
    assert np.all(added[0.0] > 10.0)
    assert np.all(added[3.0] < 0.2 * added[0.0])


def test_the_colour_of_one_link_is_seen_on_that_link_alone(shown, tmp_path):
    path = tmp_path / "pair.urdf"
    path.write_text(PAIR)
    body = shown.load_urdf(path, name="pair", T_world_root=Pose.from_translation((0.5, 0.0, 0.05)))
    appearance = LinkAppearance(shown, [body], TextureStore(texture_file), links=list(body.links.values()))
    view = AppearanceView(appearance, name="pair", links=list(body.links))

    def means() -> dict[str, Array]:
        down = Pose(np.diag([1.0, -1.0, -1.0]), np.array([0.5, 0.0, 1.0]))
        request = RenderRequest(Pinhole.from_fov(96, 72, 0.6), down, near_m=0.1, far_m=3.0)
        images = shown.renderer.render_albedo(shown, request)
        places = {label: place for place, (label, _) in enumerate(link_labels(shown), start=1)}
        return {name: images.rgb[images.link_ids == places[f"pair/{name}"]].mean(axis=0) for name in ("left", "right")}

    plain = means()
    assert np.allclose(plain["left"], plain["right"], atol=2.0)
    view.attribute("colour").write(0, np.array([-1.0, -1.0, -1.0, 0.9, 0.1, 0.1]))
    painted = means()
    assert np.allclose(painted["left"], plain["left"], atol=1.0)
    assert painted["right"][0] > 3.0 * painted["right"][1:].max()
    view.attribute("colour").write(0, np.full(6, -1.0))
    view.attribute("tint").write(0, np.array([0.5, 0.5, 0.5, 1.0, 1.0, 1.0]))
    tinted = means()
    assert np.allclose(tinted["left"] / plain["left"], 0.5, atol=0.03)
    assert np.allclose(tinted["right"], plain["right"], atol=1.0)


def test_a_shadow_falls_where_the_light_is_hidden(shown):
    T = Pose.from_translation((0.5, 0.0, 0.3))
    add_solid(shown, "crate", shape="box", size_m=0.2, T_world_solid=T, rgba=(0, 0, 0, 1))
    shown.light = replace(ABOVE, direction=(1.0, 0.0, 1.0))
    slanting = LookAtCamera(eye=(0.5, -1.0, 1.2), target=(0.5, 0.0, 0.0), fov_deg=60.0)
    seen = []
    for shadow in (0.0, 1.0):
        LightView(shown).attribute("shadow").write(0, np.array([shadow]))
        seen.append(take_picture(shown, slanting, width=160, height=120).astype(float))
    darker = (seen[1] < seen[0] - 5).any(axis=2)
    assert 100 < darker.sum() < 0.1 * darker.size
    assert not (seen[1] > seen[0]).any()
    columns = np.nonzero(darker)[1]
    assert columns.max() < 80  # the light is on the right, the shadow falls to the left


def test_a_reset_takes_light_and_scenery_back(shown):
    LightView(shown).attribute("ambient").write(0, np.array([0.1]))
    add_solid(shown, "ball", shape="box", size_m=0.1, T_world_solid=Pose.identity(), rgba=(1, 0, 0, 1))
    shown.reset()
    assert shown.light == Light()
    assert not shown.scenery


def test_scenery_is_visible_and_has_no_contacts(shown):
    ball = shown.add_sphere("ball", radius_m=0.05, T_world_sphere=Pose.from_translation((0.5, 0.0, 0.4)), mass_kg=0.1)
    for number, shape in enumerate(SOLIDS):
        T = Pose.from_translation((0.35 + 0.1 * number, 0.1, 0.05))
        add_solid(shown, shape, shape=shape, size_m=0.08, T_world_solid=T, rgba=(1, 0, 0, 1)).semantic_class = "thing"
    sheet = Pose.from_translation((0.5, 0.0, 0.2))
    add_panel(shown, "sheet", size_m=(0.2, 0.2), T_world_panel=sheet, rgba=(0, 1, 0, 1), tile_m=0.1)
    counts = visible_links(shown, VIEW, width=160, height=120)
    assert {"block", "ball", "sheet", *SOLIDS} <= set(counts)
    assert ("sheet", "sheet") in link_labels(shown)
    for _ in range(240):
        shown.step()
    assert ball.root_pose().p[2] < 0.06  # it fell through the sheet, onto the block


@pytest.mark.integration
def test_shapes_of_large_models_are_kept_until_a_mesh_changes(tmp_path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("UNLATCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(kept_shapes, "_LEAST_BYTES", 0)
    mesh, urdf = tmp_path / "part.obj", tmp_path / "part.urdf"
    mesh.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n")
    geometry = '<geometry><mesh filename="part.obj" scale="0.1 0.2 0.3"/></geometry>'
    paint = '<material name="red"><color rgba="0.8 0.1 0.2 1"/></material>'
    urdf.write_text(
        f'<robot name="part"><link name="body"><visual><origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/>{geometry}{paint}'
        f"</visual><visual>{geometry}</visual></link></robot>"
    )

    def load():
        with World(WorldCfg(), visuals=True) as world:
            body = world.load_urdf(urdf, name="part", T_world_root=Pose.identity())
            return [
                (replace(shape, T_link_shape=None), shape.T_link_shape.matrix.tolist()) for shape in body.visual_shapes
            ]

    assert find_kept_shapes(urdf) is None
    read = load()
    assert find_kept_shapes(urdf) is not None
    assert load() == read
    mesh.write_text(mesh.read_text() + "v 1 1 1\n")
    assert find_kept_shapes(urdf) is None
    assert load() == read
