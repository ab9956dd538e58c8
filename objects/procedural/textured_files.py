"""The files of a generated object with textures.

Neither Bullet nor MuJoCo draws a texture on a primitive of a URDF, so a visual with a texture becomes an OBJ with
texture coordinates. Colliders stay primitives, and a simulation without pictures never loads these files.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from unlatch.objects.procedural.assembly import GeneratedObject
from unlatch.objects.procedural.colours import TextureKind
from unlatch.objects.procedural.parameters import Colour
from unlatch.objects.procedural.textures import Texture, draw_texture
from unlatch.simcore.geometry import Pose
from unlatch.simcore.rng import stream
from unlatch.simcore.sim.visuals.visual_shapes import FINISHES
from unlatch.simcore.temporary_folders import scratch_files
from unlatch.simcore.urdf.model import Shape, ShapeKind, UrdfModel

Array = np.ndarray

MATERIAL_FILE = "object.mtl"


def textured_files(made: GeneratedObject) -> tuple[UrdfModel, dict[str, bytes]]:
    """Returns the model with textures on its visuals, and its files: OBJ, MTL and PNG, all beside the URDF.

    They are drawn from a stream of their own, so that size, mass and joints of a seed do not depend on them. Without
    textures, the model is the object's own and there are no files.
    """
    if not made.textures:
        return made.model, {}
    articulation = made.articulation
    rng = stream(int(articulation.source["id"]), f"assets.procedural.{articulation.category}.textures")
    # in the order of the enum, whatever the order of the parts
    pictures = {kind: draw_texture(kind, rng) for kind in TextureKind if kind in made.textures.values()}
    files = {f"{kind.value}.png": texture.png for kind, texture in pictures.items()}
    materials: list[str] = []
    links = {}
    for name, link in made.model.links.items():
        groups: dict[Colour, list[Shape]] = defaultdict(list)
        for shape in link.visuals:
            if shape.rgba in made.textures:
                groups[shape.rgba].append(shape)
        meshes: dict[Colour, Shape] = {}
        for number, (rgba, shapes) in enumerate(groups.items()):
            texture = pictures[made.textures[rgba]]
            label, tinted = f"{name}_{texture.kind.value}_{number}", _tint_texture(rgba, texture)
            file = f"{label}.obj"
            files[file] = _write_obj(shapes, texture, rng, material=label).encode()
            materials += _write_material(label, tinted, texture)
            meshes[rgba] = Shape(ShapeKind.mesh, (1.0, 1.0, 1.0), Pose.identity(), label, tinted, mesh=file)
        plain = tuple(shape for shape in link.visuals if shape.rgba not in meshes)
        links[name] = replace(link, visuals=(*meshes.values(), *plain))
    files[MATERIAL_FILE] = "\n".join([*materials, ""]).encode()
    return UrdfModel(made.model.name, links, made.model.joints), files


def write_textured_urdf(made: GeneratedObject, name: str, urdf_file: str) -> Path:
    """Writes the URDF for rendering to the folder `name` of the scratch folder, and returns its path.

    Raises:
        AssetError: The temporary folder cannot be written.
    """
    model, files = textured_files(made)
    return scratch_files(f"{name}-drawn", {urdf_file: model.to_urdf().encode(), **files}) / urdf_file


def _tint_texture(rgba: Colour, texture: Texture) -> Colour:
    """Returns the colour that looks, multiplied with a texture, as bright as the given colour alone."""
    red, green, blue = (min(1.0, round(value / mean, 4)) for value, mean in zip(rgba, texture.mean, strict=False))
    return (red, green, blue, rgba[3])


def _write_obj(shapes: list[Shape], texture: Texture, rng: np.random.Generator, *, material: str) -> str:
    lines, count = [f"mtllib {MATERIAL_FILE}", f"usemtl {material}"], 1
    for shape in shapes:
        mesh = textured_mesh(shape, texture, rng)
        lines += mesh.obj_lines(count)
        count += len(mesh.vertices)
    return "\n".join([*lines, ""])


def _write_material(label: str, rgba: Colour, texture: Texture) -> list[str]:
    """Returns the lines of a material, with roughness and metalness as Blender and others write them.

    The URDF has the colour too: Bullet reads it only there, other software here.
    """
    colour = " ".join(f"{value:g}" for value in rgba[:3])
    finish = FINISHES[texture.kind.value]
    return [
        f"newmtl {label}",
        f"Kd {colour}",
        "Ks 0 0 0",
        f"d {rgba[3]:g}",
        f"Pr {finish.roughness:g}",
        f"Pm {finish.metalness:g}",
        f"map_Kd {texture.kind.value}.png",
    ]


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
