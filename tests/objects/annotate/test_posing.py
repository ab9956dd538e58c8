"""Cuts and rays."""

import numpy as np
import pytest

from unlatch.objects.annotate.posing import cut_mesh, heights_in_front, outermost_interval
from unlatch.simcore.meshes.solids import convex_hull
from unlatch.simcore.meshes.triangle_mesh import join_meshes


def box(low, high):
    return convex_hull(np.stack(np.meshgrid(*zip(low, high, strict=True)), axis=-1).reshape(-1, 3))


@pytest.mark.parametrize("at", [0.0, 0.1, 0.5])
def test_a_cut_through_a_box_is_its_outline(at):
    segments = cut_mesh(box((0, 0, -0.2), (1, 2, 1)), axis=2, at=at)
    points = segments.reshape(-1, 3)
    np.testing.assert_allclose([points.min(axis=0), points.max(axis=0)], [[0, 0, at], [1, 2, at]], atol=1e-9)
    assert np.linalg.norm(segments[:, 0] - segments[:, 1], axis=1).sum() == pytest.approx(6.0)


def test_a_cut_beside_the_mesh_is_empty_and_a_bar_is_distinguished_from_the_plate_behind_it():
    segments = cut_mesh(box((0, 0, 0), (1, 1, 1)), axis=0, at=2.0)
    assert segments.shape == (0, 2, 3)
    assert outermost_interval(segments, axis=0) is None
    handle = join_meshes([box((0, 0, 0), (0.01, 1, 0.1)), box((0.05, 0, 0), (0.07, 1, 0.1))])
    assert outermost_interval(cut_mesh(handle, axis=1, at=0.5), axis=0) == pytest.approx((0.05, 0.07))


def test_heights_seen_from_the_front():
    step = join_meshes([box((0, 0, 0), (0.5, 1, 1)), box((0.5, 0, 0), (0.8, 0.4, 1))])
    heights = heights_in_front(step, np.array([[0.2, 0.5], [0.7, 0.5], [1.5, 0.5]]))
    assert heights == pytest.approx([0.8, 0.5, -np.inf])
