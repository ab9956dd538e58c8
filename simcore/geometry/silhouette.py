"""Which pixels triangles cover, and how far away they are there; no renderer inside."""

from __future__ import annotations

import numpy as np

from simcore.geometry.pinhole import Pinhole

Array = np.ndarray

_BATCH = 2_000_000
"""Most pairs of a triangle and a pixel that are looked at together."""


def nearest_depth(pinhole: Pinhole, triangles_camera: Array, *, near_m: float) -> Array:
    """Depth of the nearest triangle on every pixel's ray.

    A pixel is covered where its centre lies in a triangle, whichever side is seen.

    Args:
        pinhole: Size and intrinsics.
        triangles_camera: (F, 3, 3) corners in the camera frame [m].
        near_m: Nothing nearer is seen [m].

    Returns:
        (height, width) distance to the image plane [m]; infinite where there is no triangle.
    """
    depth = np.full(pinhole.height * pinhole.width, np.inf)
    triangles = in_front(triangles_camera, near_m)
    pixels = pinhole.project(triangles.reshape(-1, 3)).reshape(-1, 3, 2)
    first = np.clip(np.ceil(pixels.min(axis=1)), 0, [pinhole.width, pinhole.height]).astype(int)  # (F, 2)
    past = np.clip(np.floor(pixels.max(axis=1)) + 1, 0, [pinhole.width, pinhole.height]).astype(int)
    size = np.maximum(past - first, 0)
    counts = size.prod(axis=1)
    kept = np.flatnonzero(counts)
    ends = np.cumsum(counts[kept])
    cuts = np.searchsorted(ends, np.arange(_BATCH, ends[-1] if len(ends) else 0, _BATCH))
    for part in np.split(kept, cuts):
        _cover(depth, pinhole.width, pixels[part], 1.0 / triangles[part, :, 2], first[part], size[part])
    return depth.reshape(pinhole.height, pinhole.width)


def in_front(triangles: Array, near_m: float) -> Array:
    """What of triangles (F, 3, 3) lies at z >= near_m, as triangles (G, 3, 3) [m]."""
    inside = triangles[:, :, 2] >= near_m  # (F, 3)
    count = inside.sum(axis=1)
    kept = [triangles[count == 3]]
    for wanted in (1, 2):
        cut = triangles[count == wanted]
        odd = np.argmax(inside[count == wanted] == (wanted == 1), axis=1)  # the corner that is alone on its side
        a, b, c = (cut[np.arange(len(cut)), (odd + k) % 3] for k in range(3))
        ab, ac = _crossing(a, b, near_m), _crossing(a, c, near_m)
        kept += (
            [np.stack([a, ab, ac], axis=1)]
            if wanted == 1
            else [
                np.stack([ab, b, c], axis=1),
                np.stack([ab, c, ac], axis=1),
            ]
        )
    return np.concatenate(kept)


def _crossing(a: Array, b: Array, z: float) -> Array:
    """(F, 3) where lines from a to b reach a depth, exactly at that depth."""
    share = (z - a[:, 2:]) / (b[:, 2:] - a[:, 2:])
    met = a + share * (b - a)
    met[:, 2] = z
    return met


def _cover(depth: Array, width: int, corners: Array, inverse: Array, first: Array, size: Array) -> None:
    """Lowers the depths (height * width,) to those of triangles.

    Args:
        depth: Written to.
        width: Pixels across.
        corners: (F, 3, 2) corners [pixels].
        inverse: (F, 3) inverse depths at the corners [1/m]; these are affine in the pixel.
        first: (F, 2) first column and row to look at.
        size: (F, 2) how many columns and rows.
    """
    counts = size.prod(axis=1)
    of: Array = np.repeat(np.arange(len(counts)), counts)  # (P,) triangle of every pair
    place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    u = first[of, 0] + place % size[of, 0]
    v = first[of, 1] + place // size[of, 0]
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    area = _cross(b - a, c - a)
    with np.errstate(divide="ignore", invalid="ignore"):
        du, dv = u - a[of, 0], v - a[of, 1]
        to_b = (du * (c - a)[of, 1] - dv * (c - a)[of, 0]) / area[of]
        to_c = (dv * (b - a)[of, 0] - du * (b - a)[of, 1]) / area[of]
        hit = (to_b >= 0.0) & (to_c >= 0.0) & (to_b + to_c <= 1.0)
    of, to_b, to_c = of[hit], to_b[hit], to_c[hit]
    met = inverse[of, 0] + to_b * (inverse[of, 1] - inverse[of, 0]) + to_c * (inverse[of, 2] - inverse[of, 0])
    np.minimum.at(depth, v[hit] * width + u[hit], 1.0 / met)


def _cross(a: Array, b: Array) -> Array:
    crossed: Array = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
    return crossed
