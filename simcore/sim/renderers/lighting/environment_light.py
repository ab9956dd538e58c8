"""The light that reaches a scene from all sides, and the curve that maps light to levels of a picture."""

from __future__ import annotations

from functools import cache

import numpy as np

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
