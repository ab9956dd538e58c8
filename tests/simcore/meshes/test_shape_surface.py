"""Distances to surfaces."""

from __future__ import annotations

import numpy as np
import pytest

from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.shape_surface import surface_distance, triangle_distances
from unlatch.simcore.urdf.model import Shape, ShapeKind


@pytest.mark.parametrize(
    ("kind", "size", "point", "distance"),
    [
        (ShapeKind.box, (2.0, 2.0, 2.0), (0.0, 0.0, 0.9), 0.1),
        (ShapeKind.box, (2.0, 2.0, 2.0), (2.0, 2.0, 1.0), np.sqrt(2.0)),
        (ShapeKind.cylinder, (0.5, 2.0), (0.4, 0.0, 0.0), 0.1),
        (ShapeKind.cylinder, (0.5, 2.0), (0.8, 0.0, 1.4), 0.5),
        (ShapeKind.sphere, (0.5,), (0.0, 0.2, 0.0), 0.3),
    ],
)
def test_distances_to_primitives_are_exact(
    kind: ShapeKind, size: tuple[float, ...], point: tuple[float, ...], distance: float
) -> None:
    T = Pose.from_rpy([1.0, -2.0, 0.5], [0.3, -0.7, 1.1])
    assert surface_distance([Shape(kind, size, T)], T @ np.array(point)) == pytest.approx(distance)


def test_triangles_agree_with_dense_sampling() -> None:
    rng = np.random.default_rng(4)
    triangles = rng.normal(size=(20, 3, 3))
    u, v = np.meshgrid(np.linspace(0, 1, 200), np.linspace(0, 1, 200))
    keep = u + v <= 1
    weights = np.stack([1 - u[keep] - v[keep], u[keep], v[keep]], axis=1)
    for point in rng.normal(size=(10, 3)) * 2:
        sampled = [np.linalg.norm(weights @ t - point, axis=1).min() for t in triangles]
        np.testing.assert_allclose(triangle_distances(point, triangles), sampled, atol=0.02)
