"""With every renderer and lens, images of a known cube agree with its geometry, to a pixel and a millimetre."""

from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from unlatch.simcore.cameras import Pinhole
from unlatch.simcore.catalogs import RENDERERS
from unlatch.simcore.errors import WorldError
from unlatch.simcore.geometry import Pose, matrix_from_rpy
from unlatch.simcore.sim.renderers import auto, pygfx
from unlatch.simcore.sim.renderers.renderer import RenderRequest
from unlatch.simcore.sim.sensors.camera import Camera, CameraCfg, Lens
from unlatch.simcore.sim.sensors.config import MountCfg
from unlatch.simcore.sim.world import World, WorldCfg
from unlatch.simcore.state import Rendering

pytestmark = pytest.mark.integration

EDGE_M = 0.4
T_CAMERA_CUBE = Pose.from_rpy((0.12, -0.06, 1.1), (0.4, 0.7, 0.2))
RPY_DEG = [-109.0, 6.0, 17.0]
T_WORLD_CAMERA = Pose(matrix_from_rpy(np.radians(RPY_DEG)), [0.3, -0.2, 0.5])
LENSES: dict[str, dict[str, Any]] = {
    "pinhole": {"width": 160, "height": 120, "fov_deg": 55.0},
    "off_centre": {"width": 160, "height": 120, "intrinsics": [130.0, 118.0, 60.0, 70.0]},
    "fisheye": {"width": 160, "height": 160, "fov_deg": 170.0, "lens": "fisheye"},
}


@pytest.fixture(scope="module", params=RENDERERS.own_names())
def world(request):
    try:
        with World(WorldCfg(), visuals=True, renderer=RENDERERS.load(request.param)()) as world:
            yield world
    except WorldError as exc:
        if exc.values.get("renderer") != request.param:
            raise
        pytest.skip(exc.message)


def look(world: World, lens: dict[str, Any]) -> tuple[Camera, dict[str, np.ndarray]]:
    fields = {**lens, "lens": Lens[lens.get("lens", "pinhole")]}
    mount = MountCfg(position_m=T_WORLD_CAMERA.p.tolist(), rpy_deg=RPY_DEG)
    camera = Camera(CameraCfg(name="eye", type="camera", mount=mount, **fields), world)
    for kind in Rendering:
        camera.switch_rendering(kind, on=True)
    camera.update_state()
    return camera, {kind.name: camera.image(kind) for kind in Rendering}


def cube(world: World) -> None:
    world.reset()
    box = world.add_box(
        "cube", size_m=(EDGE_M,) * 3, T_world_box=T_WORLD_CAMERA @ T_CAMERA_CUBE, rgba=(0.9, 0.2, 0.1, 1)
    )
    box.semantic_class = "block"
    behind = T_WORLD_CAMERA @ Pose.from_translation((0.0, 0.0, 4.5))
    world.add_box("wall", size_m=(40.0, 40.0, 1.0), T_world_box=behind, rgba=(0.1, 0.3, 0.9, 1))


@pytest.mark.parametrize("name", LENSES)
def test_images_of_a_cube_before_a_wall_agree_with_its_geometry(world, name):
    cube(world)
    camera, images = look(world, LENSES[name])
    rays = camera.optics.rays()
    rays = rays / np.linalg.norm(rays, axis=-1, keepdims=True)
    start, along = T_CAMERA_CUBE.inverse().p, T_CAMERA_CUBE.inverse().rotate(rays)
    bounds = np.sort(np.stack([(-EDGE_M / 2 - start) / along, (EDGE_M / 2 - start) / along]), axis=0)
    enters, leaves = bounds[0].max(axis=-1), bounds[1].min(axis=-1)
    hit = enters < leaves
    seen = images["segmentation"] == camera.labels(Rendering.segmentation).index("block")
    np.testing.assert_array_equal(
        seen, images["instance_id_segmentation"] == camera.labels(Rendering.instance_id_segmentation).index("cube")
    )
    # the outline, corners included, is that of geometry to a pixel
    assert not ((seen != hit) & ~_beside_an_edge(hit)).any()
    assert (seen != hit).sum() <= 0.15 * _beside_an_edge(hit).sum()
    points = T_CAMERA_CUBE @ (np.array(list(product((-1, 1), repeat=3))) * EDGE_M / 2)
    corners = camera.optics.project(points)[:, ::-1]
    assert (np.argwhere(hit).min(axis=0) - corners.min(axis=0) < 2.0).all()  # a tip may lie between two rows
    assert (corners.max(axis=0) - np.argwhere(hit).max(axis=0) < 2.0).all()
    # both lengths, to a millimetre, but for pixels on edges
    face = np.where(hit, np.argmax(bounds[0], axis=-1), -1)
    both = seen & hit & ~_beside_an_edge(seen) & ~_beside_an_edge(face)
    assert both.sum() > 200
    np.testing.assert_allclose(images["distance"][both], enters[both], atol=1e-3)
    np.testing.assert_allclose(images["depth"][both], (enters * rays[..., 2])[both], atol=1e-3)
    wall = (images["segmentation"] == camera.labels(Rendering.segmentation).index("wall")) & ~_beside_an_edge(seen)
    wall &= rays[..., 2] > 0.5
    np.testing.assert_allclose(images["depth"][wall], 4.0, atol=1e-3)
    # normals: of the faces, in the world frame, towards the camera
    normals = images["normals"]
    of_faces = (T_WORLD_CAMERA @ T_CAMERA_CUBE).inverse().rotate(normals[both])
    assert (np.abs(of_faces).max(axis=-1) > 0.9998).mean() > 0.97
    towards = np.einsum("ij,ij->i", normals[both], T_WORLD_CAMERA.rotate(rays[both]))
    assert (towards < 0.0).all()
    np.testing.assert_allclose(normals[wall].mean(axis=0), T_WORLD_CAMERA.rotate([0.0, 0.0, -1.0]), atol=2e-3)
    # colours: red where the cube is, blue where the wall is
    inner = seen & ~_beside_an_edge(seen)
    assert (images["rgb"][inner][:, 0] > images["rgb"][inner][:, 2]).all()
    assert (images["rgb"][wall][:, 2] > images["rgb"][wall][:, 0]).all()


def test_after_a_reset_the_world_is_empty_for_the_renderer_too(world):
    cube(world)
    world.reset()
    world.add_box("other", size_m=(0.1,) * 3, T_world_box=T_WORLD_CAMERA @ Pose.from_translation((0.0, 0.0, 1.0)))
    camera, images = look(world, LENSES["pinhole"])
    assert set(np.unique(images["instance_id_segmentation"])) == {0, 1}
    assert isinstance(camera.optics, Pinhole)
    side = 0.1 * camera.optics.fx / 0.95
    assert (images["instance_id_segmentation"] == 1).sum() == pytest.approx(side**2, rel=0.15)
    assert np.isinf(images["depth"][images["instance_id_segmentation"] == 0]).all()


def test_a_moved_body_appears_at_its_new_pose(world):
    cube(world)
    world.bodies["cube"].set_root_pose(T_WORLD_CAMERA @ Pose.from_translation((-0.2, 0.1, 1.5)))
    camera, images = look(world, LENSES["pinhole"])
    middle = camera.optics.project([[-0.2, 0.1, 1.5 - EDGE_M / 2]])[0]
    found = np.argwhere(images["instance_id_segmentation"] == 1).mean(axis=0)[::-1]
    np.testing.assert_allclose(found, middle, atol=2.0)


def _beside_an_edge(seen: np.ndarray) -> np.ndarray:
    """Pixels within one of where an image of few values changes."""
    grown = np.zeros(seen.shape, dtype=bool)
    for rows, columns in product((-1, 0, 1), repeat=2):
        grown |= np.roll(seen, (rows, columns), axis=(0, 1)) != seen
    return grown


def test_without_labels_and_depth_a_picture_is_the_same(world):
    cube(world)
    pinhole = Pinhole.from_fov(64, 48, 0.9)
    both = RenderRequest(pinhole, T_WORLD_CAMERA, 0.02, 10.0)
    colours = replace(both, depth=False, labels=False)
    first, second = world.renderer.render(world, both).rgb, world.renderer.render(world, colours).rgb
    if world.renderer.name == "mitsuba":  # its paths are drawn at random
        np.testing.assert_allclose(first.mean(axis=(0, 1)), second.mean(axis=(0, 1)), atol=2.0)
    else:
        np.testing.assert_array_equal(first, second)


def test_a_fine_picture_shows_the_same_scene(world):
    cube(world)
    request = RenderRequest(Pinhole.from_fov(64, 48, 0.9), T_WORLD_CAMERA, 0.02, 10.0)
    plain, fine = (
        world.renderer.render(world, each).rgb.astype(float) for each in (request, replace(request, fine=True))
    )
    assert fine.shape == plain.shape
    assert np.abs(fine - plain).mean() < 12.0


@pytest.mark.parametrize(
    ("kind", "expected"), [("DiscreteGPU", "pygfx"), ("IntegratedGPU", "pygfx"), ("CPU", "software")]
)
def test_auto_is_pygfx_on_a_graphics_card_and_a_name_stays_a_name(monkeypatch, kind, expected):
    device = SimpleNamespace(adapter=SimpleNamespace(info={"adapter_type": kind}))
    monkeypatch.setattr(auto, "find_spec", lambda name: name)
    monkeypatch.setattr(auto, "_is_card_likely", lambda: True)
    monkeypatch.setattr(pygfx, "open_device", lambda: device)
    monkeypatch.setattr(auto, "finds_card", auto.finds_card.__wrapped__)
    assert auto.choose_renderer() == expected
    assert auto.choose_renderer("mitsuba") == "mitsuba"


def test_auto_is_the_software_renderer_where_pygfx_is_not_installed_or_finds_no_driver(monkeypatch):
    def find_no_driver():
        raise WorldError("no driver")

    monkeypatch.setattr(auto, "finds_card", auto.finds_card.__wrapped__)
    monkeypatch.setattr(auto, "_is_card_likely", lambda: True)
    monkeypatch.setattr(auto, "find_spec", lambda name: None)
    assert auto.choose_renderer() == "software"
    monkeypatch.setattr(auto, "find_spec", lambda name: name)
    monkeypatch.setattr(pygfx, "open_device", find_no_driver)
    assert auto.choose_renderer() == "software"
