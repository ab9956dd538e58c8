"""Primitives as triangles with texture coordinates in metres, for OBJ files."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unlatch.objects.procedural.building.textures import Texture, TextureKind
from unlatch.simcore.urdf.model import Shape, ShapeKind

Array = np.ndarray

_SEGMENTS = 32
"""Number of sides of a round shape."""
_DIGITS = 6
"""Values are rounded to this, because machines differ in the last digits."""


@dataclass(frozen=True)
class TexturedMesh:
    """Triangles of one texture in the frame of their link."""

    vertices: Array
    """(V, 3) [m]; every face of a box has vertices of its own."""
    normals: Array
    """(V, 3) outward unit vectors."""
    uvs: Array
    """(V, 2) places in the picture; it repeats at every whole number, and Bullet shows black below 0."""
    faces: Array
    """(F, 3) indices, counterclockwise from outside."""

    def obj_lines(self, first: int) -> list[str]:
        """Returns the lines of an OBJ; `first` is the number of its first vertex."""
        lines = [f"v {x:.6g} {y:.6g} {z:.6g}" for x, y, z in (self.vertices.round(_DIGITS) + 0.0).tolist()]
        lines += [f"vt {u:.6g} {v:.6g}" for u, v in (self.uvs.round(4) + 0.0).tolist()]
        lines += [f"vn {x:.4g} {y:.4g} {z:.4g}" for x, y, z in (self.normals.round(4) + 0.0).tolist()]
        return lines + [f"f {a}/{a}/{a} {b}/{b}/{b} {c}/{c}/{c}" for a, b, c in (self.faces + first).tolist()]


def textured_mesh(shape: Shape, texture: Texture, rng: np.random.Generator) -> TexturedMesh:
    """Returns the triangles of a box, cylinder or sphere. `rng` draws where in the picture a loose piece starts; it
    always draws two numbers.
    """
    start = rng.random(2)
    surface = {ShapeKind.box: _map_box, ShapeKind.cylinder: _map_cylinder, ShapeKind.sphere: _map_ball}[shape.kind]
    vertices, normals, places, faces = surface(shape, texture)
    uvs = places / np.asarray(texture.size_m)
    # pieces that continue each other keep their places; whole repeats are subtracted to stay above 0
    uvs = uvs - uvs.min(axis=0) + start if texture.loose else uvs - np.floor(uvs.min(axis=0))
    return TexturedMesh(shape.T_link_shape @ vertices, normals @ shape.T_link_shape.R.T, uvs, faces)


Surface = tuple[Array, Array, Array, Array]
"""Vertices and normals (V, 3) in the shape's frame, places (V, 2) along and across the grain [m], faces (F, 3)."""


def _unit_box() -> tuple[Array, Array, Array]:
    """Returns corners (24, 3) of a box from -1 to 1, four a side, counterclockwise; normals (24, 3); faces."""
    corners, normals = np.zeros((6, 4, 3)), np.zeros((6, 4, 3))
    for number in range(6):
        axis, sign = number // 2, 1.0 if number % 2 else -1.0
        turns = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
        corners[number][:, [(axis + 1) % 3, (axis + 2) % 3]] = turns if sign > 0 else turns[:, ::-1]
        corners[number][:, axis] = normals[number][:, axis] = sign
    faces = np.concatenate([np.array([[0, 1, 2], [0, 2, 3]]) + 4 * number for number in range(6)])
    return corners.reshape(24, 3), normals.reshape(24, 3), faces


_CORNERS, _NORMALS, _FACES = _unit_box()


def _map_box(shape: Shape, texture: Texture) -> Surface:
    pose = shape.T_link_shape
    corners = _CORNERS * (np.asarray(shape.size) / 2)
    # measured along the shape's axes from the origin of its link: aligned boxes continue each other
    measured = corners + pose.R.T @ pose.p
    places = np.empty((24, 2))
    for axis in range(3):
        side = slice(8 * axis, 8 * axis + 8)
        places[side] = measured[side][:, _map_along_grain(((axis + 1) % 3, (axis + 2) % 3), shape, texture.kind)]
    return corners, _NORMALS, places, _FACES


def _map_along_grain(axes: tuple[int, int], shape: Shape, kind: TextureKind) -> tuple[int, int]:
    """Returns the axis of a face along the grain, and the other one."""
    first, second = axes
    R = shape.T_link_shape.R
    if kind in (TextureKind.wood, TextureKind.painted_wood):
        swap = shape.size[second] > shape.size[first]  # boards are cut along the grain
    elif kind is TextureKind.cardboard:
        swap = abs(R[2, second]) > abs(R[2, first])  # flutes are upright: so a carton carries more
    else:
        swap = abs(R[2, second]) < abs(R[2, first])  # metal is brushed from side to side
    return (second, first) if swap else (first, second)


def _map_cylinder(shape: Shape, texture: Texture) -> Surface:
    radius, length = shape.size
    angles = np.linspace(0.0, 2 * np.pi, _SEGMENTS + 1)
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)  # (N + 1, 2)
    ends = (-length / 2, length / 2)
    side = np.concatenate([np.column_stack([radius * ring, np.full(len(ring), z)]) for z in ends])
    outward = np.tile(np.column_stack([ring, np.zeros(len(ring))]), (2, 1))
    runs_along = texture.kind in (TextureKind.wood, TextureKind.painted_wood, TextureKind.cardboard)
    # the picture repeats a whole number of times around
    wide = texture.size_m[1 if runs_along else 0]
    turn = wide * max(1, round(2 * np.pi * radius / wide))
    around = np.tile(angles / (2 * np.pi) * turn, 2)
    up = np.repeat(ends, len(ring)) + length / 2
    places = [np.column_stack([up, around] if runs_along else [around, up])]
    vertices, normals = [side], [outward]
    low = np.arange(_SEGMENTS)
    high: Array = low + _SEGMENTS + 1
    faces = [np.stack([low, low + 1, high + 1], axis=1), np.stack([low, high + 1, high], axis=1)]
    for z, sign in zip(ends, (-1.0, 1.0), strict=True):
        first = sum(len(v) for v in vertices)
        vertices.append(np.column_stack([radius * ring[:-1], np.full(_SEGMENTS, z)]))
        normals.append(np.tile([0.0, 0.0, sign], (_SEGMENTS, 1)))
        places.append(radius * ring[:-1] + radius)
        fan = np.arange(1, _SEGMENTS - 1)
        corners = [np.zeros_like(fan), fan, fan + 1] if sign > 0 else [np.zeros_like(fan), fan + 1, fan]
        faces.append(np.stack(corners, axis=1) + first)
    return np.concatenate(vertices), np.concatenate(normals), np.concatenate(places), np.concatenate(faces)


def _map_ball(shape: Shape, texture: Texture) -> Surface:
    (radius,) = shape.size
    rows, columns = _SEGMENTS // 2, _SEGMENTS
    theta: Array
    phi: Array
    theta, phi = np.meshgrid(np.linspace(0.0, np.pi, rows + 1), np.linspace(0.0, 2 * np.pi, columns + 1), indexing="ij")
    normals = np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], axis=-1)
    wide = texture.size_m[0]
    turn = wide * max(1, round(2 * np.pi * radius / wide))
    places = np.stack([phi / (2 * np.pi) * turn, radius * theta], axis=-1).reshape(-1, 2)
    corner = (np.arange(rows)[:, None] * (columns + 1) + np.arange(columns)).reshape(-1)
    below = corner + columns + 1
    faces = np.concatenate(
        [np.stack([corner, below, below + 1], axis=1), np.stack([corner, below + 1, corner + 1], axis=1)]
    )
    normals = normals.reshape(-1, 3)
    return radius * normals, normals, places, faces
