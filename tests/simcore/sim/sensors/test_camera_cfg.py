"""What a camera may be, and what is said of one that cannot be."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from unlatch.simcore.cameras import Fisheye, Pinhole
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.sim.sensors.camera import CAMERA_MODELS, CameraCfg, Lens


def camera(**fields: Any) -> CameraCfg:
    return CameraCfg(name="eye", type="camera", **fields)


@pytest.mark.parametrize("name", CAMERA_MODELS)
def test_a_preset_has_the_angles_of_its_data_sheet(name: str):
    model, cfg = CAMERA_MODELS[name], camera(preset=name, scale=0.5)
    optics = cfg.optics()
    assert isinstance(optics, Pinhole)
    assert (cfg.width, cfg.height) == (model.width / 2, model.height / 2)
    across = np.degrees(2 * np.arctan(cfg.width / 2 / optics.fx))
    down = np.degrees(2 * np.arctan(cfg.height / 2 / optics.fy))
    assert (across, down) == (pytest.approx(model.fov_across_deg), pytest.approx(model.fov_down_deg))
    # pixels of a real sensor are square; the data sheets round their angles
    assert optics.fx == pytest.approx(optics.fy, rel=0.15)
    assert cfg.depth_range_m == list(model.depth_range_m)


def test_a_camera_that_was_made_from_a_preset_is_read_again():
    first = camera(preset="realsense_d405", scale=0.25)
    again = camera(preset="realsense_d405", scale=0.25, width=320, height=180, intrinsics=first.intrinsics)
    assert again == first


def test_a_camera_that_was_made_from_a_preset_is_made_smaller():
    smaller = replace(camera(preset="realsense_d405", scale=0.5), scale=0.25)
    assert smaller == camera(preset="realsense_d405", scale=0.25)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"preset": "realsense_d435"}, "Did you mean 'realsense_d405' or 'realsense_d435i_depth'"),
        ({"preset": "zed", "width": 100}, "width=100 and preset='zed' are both given"),
        ({"preset": "zed", "fov_deg": 50.0}, "fov_deg and preset='zed' are both given"),
        ({"preset": "zed", "lens": Lens.fisheye}, "lens and preset='zed' are both given"),
        ({"scale": 0.5}, "scale=0.5 has no effect without preset"),
        ({"fov_deg": 171.0}, "Expected 1 to 170"),
        ({"fov_deg": 221.0, "lens": Lens.fisheye}, "Expected 1 to 220"),
        ({"distortion": [0.0, 0.0, 0.0, 0.0]}, "camera with lens: fisheye"),
        ({"distortion": [-0.9, 0.0, 0.0, 0.0], "lens": Lens.fisheye}, "folds the image"),
        ({"depth_range_m": [2.0, 1.0]}, "Expected smallest and largest depth"),
    ],
)
def test_an_impossible_camera_is_explained(fields: dict[str, Any], text: str):
    with pytest.raises(ConfigError) as raised:
        camera(**fields)
    assert text in raised.value.message


def test_a_fisheye_has_the_configured_lens():
    cfg = camera(lens=Lens.fisheye, fov_deg=180.0, distortion=[0.01, 0.0, 0.0, 0.0])
    optics = cfg.optics()
    assert isinstance(optics, Fisheye)
    assert optics.fov_rad == pytest.approx(np.pi)
    assert cfg.lens_values()["distortion"] == [0.01, 0.0, 0.0, 0.0]
