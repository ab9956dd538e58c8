"""A camera: what it may be, the images that are switched on, from where it is mounted, and what they lack."""

from dataclasses import replace

import numpy as np
import pytest

from unlatch.simcore.cameras import Fisheye, Pinhole
from unlatch.simcore.errors import ConfigError, WorldError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.scene import NOT_RECORDED
from unlatch.simcore.sim.sensors.camera import CAMERA_MODELS, Camera, CameraCfg, ImageNoise, Lens
from unlatch.simcore.sim.sensors.config import MountCfg

pytestmark = pytest.mark.integration

BUFFERS = {
    "rgb": {"rgb_image"},
    "depth": {"depth_image_m"},
    "segmentation": {"segmentation_image", "segmentation_labels"},
    "instance_id_segmentation": {"instance_id_segmentation_image", "instance_id_segmentation_labels"},
    "normals": {"normals_image"},
}
ABOVE = MountCfg(position_m=[0.0, -0.6, 1.4], look_at_m=[0.0, 0.0, 0.5])


def configure(**fields):
    return CameraCfg(name="eye", type="camera", **fields)


def make(world, mount=ABOVE, **fields):
    return Camera(configure(mount=mount, width=48, height=36, **fields), world)


class TestImages:
    @pytest.mark.parametrize("kind", BUFFERS)
    def test_each_switch_fills_its_own_buffers_under_its_tag(self, turntable, kind):
        camera, pose = make(turntable[0]), {"position", "quat_xyzw"}
        camera.update_state()
        assert set(camera.state_dict()) == pose
        for _ in range(2):
            getattr(camera, f"enable_{kind}_rendering")()
        camera.update_state()
        tag = "segmentation" if "segmentation" in kind else kind
        assert set(camera.state_dict(include_tags=[tag])) == BUFFERS[kind]
        assert set(camera.state_dict(exclude_tags=NOT_RECORDED)) == pose
        camera.disable_rendering()
        camera.update_state()
        assert set(camera.state_dict()) == pose

    def test_a_camera_on_a_link_moves_with_it(self, turntable):
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

    def test_images_in_a_world_without_visual_shapes_are_refused_when_they_are_switched_on(self, world):
        camera = make(world)
        camera.update_state()
        with pytest.raises(WorldError, match="no visual shapes"):
            camera.enable_rgb_rendering()


class TestConfig:
    @pytest.mark.parametrize("name", CAMERA_MODELS)
    def test_a_preset_has_the_angles_of_its_data_sheet(self, name):
        model, cfg = CAMERA_MODELS[name], configure(preset=name, scale=0.5)
        optics = cfg.optics()
        assert isinstance(optics, Pinhole)
        assert (cfg.width, cfg.height) == (model.width / 2, model.height / 2)
        across = np.degrees(2 * np.arctan(cfg.width / 2 / optics.fx))
        down = np.degrees(2 * np.arctan(cfg.height / 2 / optics.fy))
        assert (across, down) == (pytest.approx(model.fov_across_deg), pytest.approx(model.fov_down_deg))
        # pixels of a real sensor are square; the data sheets round their angles
        assert optics.fx == pytest.approx(optics.fy, rel=0.15)
        assert cfg.depth_range_m == list(model.depth_range_m)

    def test_a_camera_that_was_made_from_a_preset_is_read_again_and_made_smaller(self):
        half, quarter = (configure(preset="realsense_d405", scale=scale) for scale in (0.5, 0.25))
        sizes = {"width": 320, "height": 180, "intrinsics": quarter.intrinsics}
        assert configure(preset="realsense_d405", scale=0.25, **sizes) == quarter
        assert replace(half, scale=0.25) == quarter

    def test_intrinsics_replace_the_field_of_view_and_a_fisheye_has_the_configured_lens(self):
        optics = configure(intrinsics=[100.0, 110.0, 20.0, 30.0]).optics()
        assert (optics.fx, optics.fy, optics.cx, optics.cy) == (100.0, 110.0, 20.0, 30.0)
        cfg = configure(lens=Lens.fisheye, fov_deg=180.0, distortion=[0.01, 0.0, 0.0, 0.0])
        assert isinstance(cfg.optics(), Fisheye)
        assert cfg.optics().fov_rad == pytest.approx(np.pi)
        assert cfg.lens_values()["distortion"] == [0.01, 0.0, 0.0, 0.0]

    @pytest.mark.parametrize(
        ("fields", "text"),
        [
            ({"width": 4}, "width=4 is out of range. Expected 8 or more"),
            ({"width": 10**5, "height": 10**5}, "width*height=10000000000 is out of range. Expected 64 to 16000000 p"),
            ({"fov_deg": 0.0}, "fov_deg=0 is out of range"),
            ({"fov_deg": 171.0}, "Expected 1 to 170"),
            ({"fov_deg": 221.0, "lens": Lens.fisheye}, "Expected 1 to 220"),
            ({"intrinsics": [1.0, 2.0, 3.0]}, "Expected fx, fy, cx, cy in pixels"),
            ({"intrinsics": [0.0, 2.0, 3.0, 4.0]}, "fx and fy above 0"),
            ({"near_m": 1.0, "far_m": 0.5}, "far_m=0.5 is out of range. Expected above 1 m"),
            ({"preset": "realsense_d435"}, "Did you mean 'realsense_d405' or 'realsense_d435i_depth'"),
            ({"preset": "zed", "width": 100}, "width=100 and preset='zed' are both given"),
            ({"preset": "zed", "fov_deg": 50.0}, "fov_deg and preset='zed' are both given"),
            ({"preset": "zed", "lens": Lens.fisheye}, "lens and preset='zed' are both given"),
            ({"scale": 0.5}, "scale=0.5 has no effect without preset"),
            ({"distortion": [0.0, 0.0, 0.0, 0.0]}, "camera with lens: fisheye"),
            ({"distortion": [-0.9, 0.0, 0.0, 0.0], "lens": Lens.fisheye}, "folds the image"),
            ({"depth_range_m": [2.0, 1.0]}, "Expected smallest and largest depth"),
        ],
    )
    def test_an_impossible_camera_is_explained(self, fields, text):
        with pytest.raises(ConfigError) as raised:
            configure(**fields)
        assert text in raised.value.message


SHAPE = (120, 160)
GREY = np.full((*SHAPE, 3), 100, np.uint8)


def draws():
    return np.random.default_rng(3)


def colours(image=GREY, **strengths):
    return ImageNoise(**strengths).add_colour_noise(image, draws())


class TestNoise:
    def test_grain_has_its_standard_deviation_and_exposure_its_factor_and_the_same_draws_make_the_same_image(self):
        seen = colours(image_noise=5.0, exposure=1.2)
        assert seen.dtype == np.uint8
        assert seen.astype(float).mean() == pytest.approx(120.0, abs=0.2)
        assert seen.astype(float).std() == pytest.approx(5.0, rel=0.05)
        assert np.array_equal(seen, colours(image_noise=5.0, exposure=1.2))

    def test_white_balance_makes_red_brighter_and_blue_darker_by_its_share(self):
        assert colours(white_balance=0.1)[0, 0].tolist() == [110, 100, 90]
        assert colours(white_balance=-0.1, exposure=0.5)[0, 0].tolist() == [45, 50, 55]

    def test_blur_has_its_standard_deviation(self):
        rgb, x = np.zeros((*SHAPE, 3), np.uint8), np.arange(SHAPE[1]) - 80
        rgb[60, 80] = 255
        lines = [colours(rgb, image_blur=sigma)[60, :, 0].astype(float) for sigma in (0.8, 1.6)]
        widths = [float(np.sqrt((line * x**2).sum() / line.sum())) for line in lines]
        assert widths == pytest.approx([0.8, 1.6], rel=0.15)

    def test_depth_errs_with_the_square_of_the_distance(self):
        noise = ImageNoise(depth_noise=0.004)
        stds = [noise.add_depth_noise(np.full(SHAPE, z, np.float32), draws()).std() for z in (0.5, 1.0, 2.0)]
        assert stds == pytest.approx([0.001, 0.004, 0.016], rel=0.05)

    def test_holes_have_their_share_and_infinite_depths_stay(self):
        depth = np.full(SHAPE, 1.0, np.float32)
        depth[:10] = np.inf
        holes = ~np.isfinite(ImageNoise(depth_holes=0.1).add_depth_noise(depth, draws()))
        assert holes[:10].all()
        assert np.mean(holes[10:]) == pytest.approx(0.1, abs=0.02)
        beside = holes[20:, 1:] & holes[20:, :-1]
        assert beside.sum() > 0.5 * holes[20:].sum()  # of single pixels it would be a tenth

    def test_a_strength_out_of_range_is_refused(self):
        with pytest.raises(ConfigError, match=r"noise\.depth_holes=1\.5 is out of range\. Expected 0 to 1 \[-\]"):
            ImageNoise(depth_holes=1.5)
