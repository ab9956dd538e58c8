"""Light of pictures: from all sides, darkened in corners, and shadows whose bias grows with the slope of a surface."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from unlatch.simcore.cameras import Pinhole

Array = np.ndarray

HEADROOM = 1.6
"""Brightness that a renderer may draw, as a multiple of what a white surface shows as white."""
SUN, SKY = 0.88, 0.54
"""Share of a surface's colour that shows under the light along its normal, at the default `Light.diffuse`, and under
the surroundings, at the default `Light.ambient`."""
_LAMPS = (
    ((-0.59, -0.81), 0.55, (0.22, 0.22), 6.0),
    ((0.94, -0.35), 0.45, (0.16, 0.16), 4.0),
    ((0.1, 0.995), 0.35, (0.45, 0.25), 1.6),
)
"""Two soft boxes and a window: direction over the ground, height, half width and height, brightness."""
_CARDS, _CARD_HALF = ((-0.94, 0.34), (0.5, -0.87)), 0.25
"""Directions and half width of the dark cards that photographers set up so that metal shows its shape."""
_KNEE = 0.72
_BRIGHTEST = _KNEE + (1.0 - _KNEE) * (HEADROOM - _KNEE) / (HEADROOM - _KNEE + 1.0 - _KNEE)


def environment_light(directions: Array) -> Array:
    """Returns the light (..., 3) from unit directions (..., 3) of the world frame, linear.

    A bright ceiling, walls that darken downwards, two soft boxes, a window, two dark cards, and a table that
    reflects warm light.
    """
    x, y, z = directions[..., 0], directions[..., 1], directions[..., 2]
    up = 0.5 + 0.5 * z
    wall = 0.24 + 0.50 * up**1.5
    light = wall[..., None] * np.array([0.98, 1.0, 1.03])
    floor = np.clip(-z * 4.0 - 0.2, 0.0, 1.0)[..., None]
    light = light * (1.0 - floor) + floor * np.array([0.72, 0.69, 0.65])
    across = np.maximum(np.hypot(x, y), 1e-9)
    for along in _CARDS:
        card = _edge(_CARD_HALF - np.hypot(x / across - along[0], y / across - along[1]))
        light = light * (1.0 - 0.6 * card)[..., None]
    for along, up_m, (wide, high), strength in _LAMPS:
        ahead = x * along[0] + y * along[1]
        aside = np.abs(x * along[1] - y * along[0])
        box = _edge(wide - aside) * _edge(high - np.abs(z - up_m)) * (ahead > 0.0)
        light = light + strength * box[..., None]
    return light


def environment_faces(size: int) -> Array:
    """Returns the light (6, size, size, 3) as the faces +x, -x, +y, -y, +z, -z of a cube map, mirrored in x."""
    at = (np.arange(size) + 0.5) / size * 2.0 - 1.0
    u: Array
    v: Array
    u, v = np.meshgrid(at, -at)
    one = np.ones_like(u)
    faces = [(one, v, -u), (-one, v, u), (u, one, -v), (u, -one, v), (u, v, one), (-u, v, -one)]
    found = []
    for face in faces:
        along = np.stack(face, axis=-1)
        along = along / np.linalg.norm(along, axis=-1, keepdims=True)
        found.append(environment_light(along * np.array([-1.0, 1.0, 1.0])))
    return np.stack(found)


def tone_map(linear: Array) -> Array:
    """Returns levels of a picture, uint8, by light of which 1 is what a white surface shows.

    Middle tones keep their brightness; bright ones approach white slowly, so that highlights keep their shape.
    """
    over = np.maximum(linear - _KNEE, 0.0)
    mapped = np.where(linear <= _KNEE, linear, _KNEE + (1.0 - _KNEE) * over / (over + (1.0 - _KNEE))) / _BRIGHTEST
    return np.rint(255.0 * encode_srgb(np.clip(mapped, 0.0, 1.0))).astype(np.uint8)


@cache
def tone_curve() -> Array:
    """Returns `tone_map` as levels (256,) uint8 by the levels of a drawing that is darker by `HEADROOM`."""
    curve = tone_map(HEADROOM * decode_srgb(np.arange(256) / 255.0))
    curve.setflags(write=False)
    return curve


def decode_srgb(values: Array) -> Array:
    """Returns linear light by sRGB values, 0 to 1."""
    return np.where(values <= 0.04045, values / 12.92, ((np.maximum(values, 0.0) + 0.055) / 1.055) ** 2.4)


def encode_srgb(linear: Array) -> Array:
    """Returns sRGB values by linear light, 0 to 1, and beyond for brighter light."""
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * np.maximum(linear, 1e-9) ** (1 / 2.4) - 0.055)


def _edge(distance: Array) -> Array:
    """Returns 1 inside, 0 outside, with a soft edge."""
    return np.clip(0.5 + distance / 0.12, 0.0, 1.0)


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
    return total / count


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


_SLOPE_SCALE = 3.0
"""Bias as a multiple of the change of depth from one texel to the next. Soft shadows read texels up to three away."""
_LARGEST_BIAS = 0.006
"""Limit of that bias, as a share of the depth that the shadow map covers: 4 cm. Else light leaks at steep edges."""


def use_sloped_bias(mesh: Any) -> None:
    """Makes pygfx draw a mesh into shadow maps with a bias that grows with the slope.

    pygfx keeps the pipeline of a mesh's shadow on the mesh, by a key. It takes the one that is set here.
    """
    from pygfx.renderers.wgpu.engine import shadowutil

    positions = mesh.geometry.positions
    key = (positions.itemsize, positions.format, shadowutil.get_shadow_topology(mesh), "none", False)
    mesh._gfx_shadow_pipeline_none = (key, _make_pipeline(*key))


@cache
def _make_pipeline(stride: int, vertex_format: str, topology: str, cull_mode: str, instanced: bool) -> Any:
    from pygfx.renderers.wgpu import get_shared
    from pygfx.renderers.wgpu.engine import shadowutil

    device = get_shared().device
    if shadowutil.global_bind_group_layout is None:  # else pygfx makes it in its first drawing
        entries = [shadowutil.bind_group_layout_entry]
        shadowutil.global_bind_group_layout = device.create_bind_group_layout(entries=entries)
    return shadowutil.create_shadow_pipeline(
        _BiasedDevice(device), stride, vertex_format, topology, cull_mode, instanced
    )


class _BiasedDevice:
    """A device of wgpu whose pipelines draw depth with a bias that grows with the slope."""

    def __init__(self, device: Any) -> None:
        self._device = device

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def create_render_pipeline(self, **settings: Any) -> Any:
        settings["depth_stencil"].depth_bias_slope_scale = _SLOPE_SCALE
        settings["depth_stencil"].depth_bias_clamp = _LARGEST_BIAS
        return self._device.create_render_pipeline(**settings)
