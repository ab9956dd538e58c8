"""Darkens corners and the surroundings of contacts in a picture, by the depth of its pixels.

Alchemy AO (McGuire, Osman, Bukowski, Hennessy 2011, "The Alchemy Screen-Space Ambient Obscurance Algorithm"), eq. 10,
with the same few samples in each tile of 4 x 4 pixels and a blur over the tile. Half of the samples are
within half of the radius, so that contacts are darkest.
"""

from __future__ import annotations

import numpy as np

from unlatch.simcore.geometry import Pinhole

Array = np.ndarray

_RADIUS_M = 0.14
"""Distance of the surfaces that darken a point [m]."""
_SAMPLES = 10
_BIAS, _STRENGTH = 0.015, 0.7
_LEAST_PX, _MOST_PX = 3.0, 90.0
_TILE = 4
_BESIDE = 0.03
"""Largest difference of depth of neighbours on one surface, as a share of it."""
_BLOCK_ROWS = 32
"""Rows that are computed together: few enough for the cache of a processor."""
_GOLDEN_RAD = 2.39996


def darken_corners(rgb: Array, depth_m: Array, pinhole: Pinhole, *, glows: Array) -> Array:
    """Returns a picture (height, width, 3) uint8, darker where other surfaces take light away.

    Args:
        rgb: (height, width, 3) uint8.
        depth_m: (height, width) distance to the image plane [m], infinite where nothing is visible.
        pinhole: Size and lens.
        glows: (height, width) bool, where a surface emits light, which others do not take away.
    """
    share = np.where(glows, 0.0, _occlusion(depth_m, pinhole))
    return np.rint(rgb * (1.0 - share)[..., None] ** (1.0 / 2.2)).astype(np.uint8)


def _occlusion(depth_m: Array, pinhole: Pinhole) -> Array:
    """Returns the share (height, width) of the light that is taken away."""
    seen = np.isfinite(depth_m)
    depth = np.where(seen, depth_m, 1e3).astype(np.float32)
    points = np.moveaxis(pinhole.rays().astype(np.float32) * depth[..., None], -1, 0).copy()  # (3, height, width)
    normals = np.moveaxis(pinhole.normals(np.where(seen, depth_m, np.inf)).astype(np.float32), -1, 0).copy()
    radius_px = np.clip(_RADIUS_M * pinhole.fy / depth, _LEAST_PX, _MOST_PX)
    taken = np.concatenate(
        [
            _taken_light(points, normals, depth, radius_px, slice(first, first + _BLOCK_ROWS))
            for first in range(0, len(depth), _BLOCK_ROWS)
        ]
    )
    taken = np.minimum(taken * (2.0 * _RADIUS_M / _SAMPLES * _STRENGTH), 1.0)
    return np.where(seen, np.clip(_blur_tiles(taken, depth), 0.0, 0.75), 0.0)


def _blur_tiles(taken: Array, depth: Array) -> Array:
    """Returns the mean (height, width) of a tile, of the pixels that are about as far away as the one in its middle."""
    height, width = taken.shape
    before, after = _TILE // 2, _TILE - _TILE // 2 - 1
    wide_taken, wide_depth = (np.pad(values, (before, after), mode="edge") for values in (taken, depth))
    total, count = np.zeros_like(taken), np.zeros_like(taken)
    for row, column in np.ndindex(_TILE, _TILE):
        window = slice(row, row + height), slice(column, column + width)
        beside = np.abs(wide_depth[window] - depth) < _BESIDE * depth
        total += np.where(beside, wide_taken[window], 0.0)
        count += beside
    blurred: Array = total / count
    return blurred


def _taken_light(points: Array, normals: Array, depth: Array, radius_px: Array, block: slice) -> Array:
    """Returns, for a block of rows, the sum of equation 10 (rows, width) over the samples.

    Args:
        points: (3, height, width) in the camera frame [m].
        normals: (3, height, width), likewise.
        depth: (height, width) distance to the image plane [m].
        radius_px: (height, width) distance of the farthest sample.
        block: The rows.
    """
    height, width = depth.shape
    rows, columns = np.indices(depth.shape, dtype=np.float32)[:, block]
    # an angle of its own for each pixel of a tile
    turn = 2.0 * np.pi * (((rows % _TILE) * _TILE + (columns % _TILE)) * 7.0 % 16.0) / 16.0
    here, outwards, bias = points[:, block], normals[:, block], _BIAS * depth[block] * 0.2
    taken: Array = np.zeros(rows.shape, dtype=np.float32)
    for sample in range(_SAMPLES):
        reach = radius_px[block] * ((sample + 0.5) / _SAMPLES)
        angle = turn + sample * _GOLDEN_RAD
        v = np.clip(rows + reach * np.sin(angle), 0, height - 1).astype(np.intp)
        u = np.clip(columns + reach * np.cos(angle), 0, width - 1).astype(np.intp)
        at = v * width + u
        x, y, z = (there.ravel().take(at) - own for there, own in zip(points, here, strict=True))
        squared = x * x + y * y + z * z
        above = x * outwards[0] + y * outwards[1] + z * outwards[2] - bias
        fading = np.maximum(1.0 - squared / (2.0 * _RADIUS_M) ** 2, 0.0)
        taken += fading * np.maximum(above, 0.0) / (squared + 1e-4)
    return taken
