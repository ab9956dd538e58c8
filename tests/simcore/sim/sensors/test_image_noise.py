"""What images of a camera lack, measured."""

from __future__ import annotations

import numpy as np
import pytest

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.sim.sensors.camera import ImageNoise

SHAPE = (120, 160)


def draws() -> np.random.Generator:
    return np.random.default_rng(3)


def test_without_noise_the_rendered_image_is_unchanged():
    rgb, depth = np.full((*SHAPE, 3), 100, np.uint8), np.full(SHAPE, 1.5, np.float32)
    assert ImageNoise().add_colour_noise(rgb, draws()) is rgb
    assert ImageNoise().add_depth_noise(depth, draws()) is depth


def test_grain_has_its_standard_deviation_and_exposure_its_factor():
    rgb = np.full((*SHAPE, 3), 100, np.uint8)
    seen = ImageNoise(image_noise=5.0, exposure=1.2).add_colour_noise(rgb, draws()).astype(float)
    assert seen.mean() == pytest.approx(120.0, abs=0.2)
    assert seen.std() == pytest.approx(5.0, rel=0.05)
    assert seen.dtype == float


def test_blur_has_its_standard_deviation():
    rgb = np.zeros((*SHAPE, 3), np.uint8)
    rgb[60, 80] = 255
    spread = [
        ImageNoise(image_blur=sigma).add_colour_noise(rgb, draws())[60, :, 0].astype(float) for sigma in (0.8, 1.6)
    ]
    x = np.arange(SHAPE[1]) - 80
    widths = [float(np.sqrt((line * x**2).sum() / line.sum())) for line in spread]
    assert widths == pytest.approx([0.8, 1.6], rel=0.15)


def test_depth_errs_with_the_square_of_the_distance():
    noise = ImageNoise(depth_noise=0.004)
    stds = [noise.add_depth_noise(np.full(SHAPE, z, np.float32), draws()).std() for z in (0.5, 1.0, 2.0)]
    assert stds == pytest.approx([0.001, 0.004, 0.016], rel=0.05)


def test_holes_have_their_share_and_infinite_depths_stay():
    depth = np.full(SHAPE, 1.0, np.float32)
    depth[:10] = np.inf
    seen = ImageNoise(depth_holes=0.1).add_depth_noise(depth, draws())
    holes = ~np.isfinite(seen)
    assert holes[:10].all()
    assert np.mean(holes[10:]) == pytest.approx(0.1, abs=0.02)
    beside = holes[20:, 1:] & holes[20:, :-1]
    assert beside.sum() > 0.5 * holes[20:].sum()  # of single pixels it would be a tenth


def test_the_same_draws_make_the_same_image():
    rgb = np.full((*SHAPE, 3), 100, np.uint8)
    noise = ImageNoise(image_noise=3.0)
    assert np.array_equal(noise.add_colour_noise(rgb, draws()), noise.add_colour_noise(rgb, draws()))


def test_a_strength_out_of_range_is_refused():
    with pytest.raises(ConfigError, match=r"noise\.depth_holes=1\.5 is out of range\. Expected 0 to 1 \[-\]"):
        ImageNoise(depth_holes=1.5)
