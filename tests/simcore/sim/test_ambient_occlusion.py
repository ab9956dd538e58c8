"""Corners are darker in pictures for people, and lamps are not."""

from __future__ import annotations

import numpy as np
import pytest

from unlatch.simcore.cameras import Pinhole
from unlatch.simcore.sim.renderers.light import darken_corners

Array = np.ndarray

WIDTH, HEIGHT = 120, 90
GREY: Array = np.full((HEIGHT, WIDTH, 3), 200, dtype=np.uint8)


@pytest.fixture
def corner() -> tuple[Array, Pinhole]:
    """Distances (HEIGHT, WIDTH) to two walls that meet in the middle of a picture, 1.5 m away [m]."""
    pinhole = Pinhole.from_fov(WIDTH, HEIGHT, np.radians(50.0))
    slope: Array = np.abs(pinhole.rays()[..., 0])
    return 1.5 / (1.0 + slope), pinhole


def test_a_corner_is_darker_than_the_walls_beside_it(corner: tuple[Array, Pinhole]) -> None:
    depth_m, pinhole = corner
    seen: Array = darken_corners(GREY, depth_m, pinhole, glows=np.zeros((HEIGHT, WIDTH), dtype=bool))[..., 0]
    columns = seen[10:-10].mean(axis=0)
    assert columns[WIDTH // 2 - 1 : WIDTH // 2 + 1].max() < columns[10:20].min() - 40.0
    assert columns[10:20].min() > 195.0


def test_a_surface_that_emits_light_keeps_its_brightness(corner: tuple[Array, Pinhole]) -> None:
    depth_m, pinhole = corner
    glows = np.indices((HEIGHT, WIDTH))[0] < HEIGHT // 2
    seen = darken_corners(GREY, depth_m, pinhole, glows=glows)
    assert (seen[glows] == 200).all()
    assert (seen[~glows] < 200).any()


def test_nothing_behind_a_picture_is_darkened() -> None:
    pinhole = Pinhole.from_fov(WIDTH, HEIGHT, np.radians(50.0))
    empty = np.full((HEIGHT, WIDTH), np.inf)
    assert (darken_corners(GREY, empty, pinhole, glows=np.zeros((HEIGHT, WIDTH), dtype=bool)) == 200).all()
