"""A camera makes the images that are switched on, and no others, from where it is mounted."""

from __future__ import annotations

import numpy as np
import pytest

from unlatch.simcore.errors import ConfigError, WorldError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.scene import NOT_RECORDED
from unlatch.simcore.sim.sensors.camera import Camera, CameraCfg
from unlatch.simcore.sim.sensors.config import MountCfg
from unlatch.simcore.sim.world import World
from unlatch.simcore.state import Rendering

pytestmark = pytest.mark.integration

BUFFERS = {
    "rgb": {"rgb_image"},
    "depth": {"depth_image_m"},
    "segmentation": {"segmentation_image", "segmentation_labels"},
    "instance_id_segmentation": {"instance_id_segmentation_image", "instance_id_segmentation_labels"},
    "normals": {"normals_image"},
}
ABOVE = MountCfg(position_m=[0.0, -0.6, 1.4], look_at_m=[0.0, 0.0, 0.5])


def make(world: World, mount: MountCfg = ABOVE, **fields) -> Camera:
    return Camera(CameraCfg(name="eye", type="camera", mount=mount, width=48, height=36, **fields), world)


def test_by_default_a_camera_has_a_pose_and_no_images(turntable: tuple[World, Body]):
    camera = make(turntable[0])
    camera.update_state()
    assert set(camera.state_dict()) == {"position", "quat_xyzw"}


@pytest.mark.parametrize("kind", BUFFERS)
def test_each_switch_fills_its_own_buffers_under_its_tag(turntable: tuple[World, Body], kind: str):
    camera = make(turntable[0])
    getattr(camera, f"enable_{kind}_rendering")()
    getattr(camera, f"enable_{kind}_rendering")()
    camera.update_state()
    tag = "segmentation" if "segmentation" in kind else kind
    assert set(camera.state_dict(include_tags=[tag])) == BUFFERS[kind]
    assert set(camera.state_dict(exclude_tags=NOT_RECORDED)) == {"position", "quat_xyzw"}
    camera.disable_rendering()
    camera.update_state()
    assert set(camera.state_dict()) == {"position", "quat_xyzw"}


def test_images_agree_with_each_other(turntable: tuple[World, Body]):
    world, body = turntable
    body.semantic_class = "furniture"
    world.add_box("floor", size_m=(4, 4, 0.1), T_world_box=Pose.from_translation((0, 0, -0.05)))
    camera = make(world, fov_deg=30.0)
    for kind in Rendering:
        camera.switch_rendering(kind, on=True)
    camera.update_state()
    images = camera.state_dict()
    assert images["rgb_image"].shape == (36, 48, 3)
    assert images["rgb_image"].dtype == np.uint8
    assert images["segmentation_labels"].tolist() == ["nothing", "furniture", "floor"]
    assert images["instance_id_segmentation_labels"].tolist() == [
        "nothing", "turntable/stand", "turntable/plate", "floor",
    ]  # fmt: skip
    links, classes = images["instance_id_segmentation_image"], images["segmentation_image"]
    plate = links == 2
    assert 20 < plate.sum() < 600
    np.testing.assert_array_equal(plate, classes == 1)
    np.testing.assert_array_equal(links == 3, classes == 2)
    # the plate's upper side and the floor lie flat, at their heights in the world
    heights = (camera.T_world_sensor @ camera.pinhole.points(images["depth_image_m"]).reshape(-1, 3))[:, 2]
    heights = heights.reshape(36, 48)
    up = images["normals_image"][..., 2] > 0.99
    assert up[plate].mean() > 0.8
    np.testing.assert_allclose(heights[plate & up], 0.51, atol=1e-3)
    np.testing.assert_allclose(heights[links == 3], 0.0, atol=1e-3)


def test_a_camera_on_a_link_moves_with_it(turntable: tuple[World, Body]):
    world, body = turntable
    world.add_box("post", size_m=(0.1, 0.1, 1.0), T_world_box=Pose.from_translation((1.0, 0.0, 0.5)))
    looking_out = MountCfg(body="turntable", link="plate", position_m=[0.3, 0.0, 0.0], look_at_m=[1.0, 0.0, 0.0])
    camera = make(world, looking_out)
    camera.enable_depth_rendering()
    camera.update_state()
    assert camera.depth_image_m.get_value()[18, 24] == pytest.approx(0.65, abs=1e-3)
    body.set_joint_positions(["axis"], [1.5])
    camera.update_state()
    assert np.isinf(camera.depth_image_m.get_value()[18, 24])
    np.testing.assert_allclose(camera.position.get_value(), [0.3 * np.cos(1.5), 0.3 * np.sin(1.5), 0.5], atol=1e-6)


def test_intrinsics_replace_the_field_of_view():
    cfg = CameraCfg(name="eye", type="camera", intrinsics=[100.0, 110.0, 20.0, 30.0])
    optics = cfg.optics()
    assert (optics.fx, optics.fy, optics.cx, optics.cy) == (100.0, 110.0, 20.0, 30.0)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"width": 4}, r"width=4 is out of range\. Expected 8 or more"),
        (
            {"width": 100_000, "height": 100_000},
            r"width\*height=10000000000 is out of range\. Expected 64 to 16000000 pixels",
        ),
        ({"fov_deg": 0.0}, r"fov_deg=0 is out of range"),
        ({"intrinsics": [1.0, 2.0, 3.0]}, "Expected fx, fy, cx, cy in pixels"),
        ({"intrinsics": [0.0, 2.0, 3.0, 4.0]}, "fx and fy above 0"),
        ({"near_m": 1.0, "far_m": 0.5}, r"far_m=0\.5 is out of range\. Expected above 1 m"),
    ],
)
def test_an_impossible_camera_is_refused(fields, message: str):
    with pytest.raises(ConfigError, match=message):
        CameraCfg(name="eye", type="camera", **fields)


def test_images_in_a_world_without_visual_shapes_are_refused_when_they_are_switched_on(world: World):
    camera = make(world)
    camera.update_state()
    with pytest.raises(WorldError, match="no visual shapes"):
        camera.enable_rgb_rendering()
