"""Light in pictures: corners are darker, lamps are not; the tone curve; colours of surfaces without light."""

import numpy as np
import pytest

from unlatch.simcore.cameras import Pinhole
from unlatch.simcore.sim.renderers.light import HEADROOM, darken_corners, decode_srgb, encode_srgb, tone_curve, tone_map

WIDTH, HEIGHT = 120, 90
GREY = np.full((HEIGHT, WIDTH, 3), 200, dtype=np.uint8)
PINHOLE = Pinhole.from_fov(WIDTH, HEIGHT, np.radians(50.0))
CORNER_M = 1.5 / (1.0 + np.abs(PINHOLE.rays()[..., 0]))
"""(HEIGHT, WIDTH) distances to two walls that meet in the middle of a picture, 1.5 m away."""
DARK = np.zeros((HEIGHT, WIDTH), dtype=bool)


def test_a_corner_is_darker_than_the_walls_beside_it():
    columns = darken_corners(GREY, CORNER_M, PINHOLE, glows=DARK)[10:-10, :, 0].mean(axis=0)
    assert columns[WIDTH // 2 - 1 : WIDTH // 2 + 1].max() < columns[10:20].min() - 40.0
    assert columns[10:20].min() > 195.0


def test_a_surface_that_emits_light_keeps_its_brightness_and_so_does_what_is_behind_a_picture():
    glows = np.indices((HEIGHT, WIDTH))[0] < HEIGHT // 2
    seen = darken_corners(GREY, CORNER_M, PINHOLE, glows=glows)
    assert (seen[glows] == 200).all()
    assert (seen[~glows] < 200).any()
    assert (darken_corners(GREY, np.full((HEIGHT, WIDTH), np.inf), PINHOLE, glows=DARK) == 200).all()


def test_brighter_light_never_looks_darker_and_black_is_black():
    levels = tone_curve().astype(int)
    assert (np.diff(levels) >= 0).all()
    assert (levels[0], levels[-1]) == (0, 255)
    assert tone_map(np.array([HEADROOM, 10.0])).tolist() == [255, 255]
    assert np.diff(tone_map(np.array([1.0, 1.2, 1.4, HEADROOM])).astype(int)).min() > 0  # highlights keep their shape


@pytest.mark.parametrize("value", [0.0, 0.01, 0.2, 1.0])
def test_srgb_is_the_inverse_of_linear_light(value):
    assert encode_srgb(decode_srgb(np.array(value))) == pytest.approx(value, abs=1e-6)
