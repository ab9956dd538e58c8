"""The files of a generated object that is drawn: surfaces, materials and prints in place of its primitives, and smooth
surfaces in place of what colliders need of round things.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from unlatch.objects.procedural.assembly import GeneratedObject
from unlatch.objects.procedural.colours import TextureKind
from unlatch.objects.procedural.dressing import Dressing, dress
from unlatch.objects.procedural.item_looks import LOOKS, draw_look
from unlatch.objects.procedural.looks import Piece
from unlatch.objects.procedural.mesh_makers import (
    Surface,
    TexturedMesh,
    bevelled_mesh,
    box_faces,
    circle,
    join_textured,
    lathe,
    loft,
    rounded,
)
from unlatch.objects.procedural.parameters import Colour
from unlatch.objects.procedural.textures import Texture, draw_texture
from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.rng import stream
from unlatch.simcore.sim.visuals.visual_shapes import FINISHES, Finish
from unlatch.simcore.urdf.model import Link, Shape, ShapeKind, UrdfModel

_NUMBERED = re.compile(r"(.+)_\d+")
_CLOSE_M = 1e-5
_OFF_M = 0.002
"""What is seen is at most so far from the colliders where rods meet [m]."""
_LEAST_STAVES = 8
"""A ring of fewer boxes may be meant to have corners."""


def round_surfaces(
    shapes: Sequence[Shape], *, size_m: tuple[float, float], sides: int
) -> list[tuple[list[int], TexturedMesh]]:
    """Returns the places of numbered shapes of one name that are parts of something round, and what is seen of them.

    Discs that lie on each other, each smaller than the one below, become a slope through the middles of their sides.
    Staves about an axis become a tube, and rods from one point to the next in a plane a bent rod, without the balls at
    its joints.

    Args:
        shapes: Shapes of one colour.
        size_m: Size of their picture, around and along the profile [m].
        sides: Number of sides of a circle.
    """
    groups: dict[str, list[int]] = defaultdict(list)
    for place, shape in enumerate(shapes):
        if match := _NUMBERED.fullmatch(shape.name):
            groups[match[1]].append(place)
    found = []
    for places in groups.values():
        group = [shapes[place] for place in places]
        profile, joints = _stack_profile(group) or _ring_profile(group), _joints_of_rods(group)
        if profile is not None:
            pose, outline = profile
            surface, radius, line = lathe(outline, sides=sides).moved(pose), max(outline)[0], np.array(outline)
        elif joints is not None:
            radius = group[0].size[0]
            line, surface = joints, _bend_rod(joints, radius, sides=sides // 2)
            places += [place for place, shape in enumerate(shapes) if _is_ball_at(shape, joints, radius)]
        else:
            continue
        length = float(np.linalg.norm(np.diff(line, axis=0), axis=1).sum())
        repeats = np.array([max(1, round(2.0 * np.pi * radius / size_m[0])), length / size_m[1]])  # whole ones around
        mesh = surface.textured()
        found.append((places, replace(mesh, uvs=mesh.uvs * repeats)))
    return found


def _joints_of_rods(group: list[Shape]) -> Array | None:
    """Returns the points (K, 3) at which rods of one radius in a plane meet, with both ends; None if they do not."""
    if len(group) < 3 or len({shape.size[0] for shape in group}) > 1:
        return None
    if any(shape.kind is not ShapeKind.cylinder for shape in group):
        return None
    half = np.array([0.5 * shape.size[1] * shape.T_link_shape.R[:, 2] for shape in group])
    middles = np.array([shape.T_link_shape.p for shape in group])
    starts, ends = middles - half, middles + half
    if np.abs(starts[1:] - ends[:-1]).max() > _CLOSE_M:
        return None
    joints: Array = np.concatenate([starts, ends[-1:]])
    normal = _plane_normal(joints)
    return None if normal is None or np.abs((joints - joints[0]) @ normal).max() > _CLOSE_M else joints


def _plane_normal(joints: Array) -> Array | None:
    """Returns the unit normal (3,) of the plane in which rods bend; None if they are straight."""
    along = np.diff(joints, axis=0)
    across = np.cross(along[:-1], along[1:])
    lengths = np.linalg.norm(across, axis=1)
    sharpest = int(lengths.argmax())
    return across[sharpest] / lengths[sharpest] if lengths[sharpest] > _CLOSE_M**2 else None


def _is_ball_at(shape: Shape, points: Array, radius: float) -> bool:
    apart = np.linalg.norm(points - shape.T_link_shape.p, axis=1).min()
    return shape.kind is ShapeKind.sphere and shape.size[0] == radius and bool(apart < _CLOSE_M)


def _bend_rod(joints: Array, radius: float, *, sides: int) -> Surface:
    """Returns the surface of a rod along points (K, 3) in a plane, rounded between them; it may be closed to a ring."""
    if np.linalg.norm(joints[0] - joints[-1]) < _CLOSE_M:  # it starts in the middle of a rod, so that no corner is left
        middle = 0.5 * (joints[:1] + joints[1:2])
        joints = np.concatenate([middle, joints[1:], middle])
    along = np.diff(joints, axis=0)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    sharpest = float(np.sqrt(0.5 * (1.0 - (along[1:] * along[:-1]).sum(axis=1).min())))  # sine of half of its turn
    path = np.array(rounded(joints.tolist(), 2.0 * _OFF_M / max(sharpest, 1e-3), 3))
    path = path[np.concatenate([[True], np.linalg.norm(np.diff(path, axis=0), axis=1) > 1e-6])]
    tangent = np.gradient(path, axis=0)
    tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
    aside = _plane_normal(joints)
    ring = radius * circle(sides)
    return loft(path[:, None] + ring[None, :, :1] * np.cross(aside, tangent)[:, None] + ring[None, :, 1:] * aside)


_Profile = tuple[Pose, list[tuple[float, float]]]
"""The frame of a solid of revolution, and its radii and heights there [m]."""


def _stack_profile(group: list[Shape]) -> _Profile | None:
    """Returns the slope over discs of one axis; None if these are something else."""
    if len(group) < 2 or any(shape.kind is not ShapeKind.cylinder for shape in group):
        return None
    base = group[0].T_link_shape
    places = [base.inverse() @ shape.T_link_shape for shape in group]
    radii, heights = (np.array([shape.size[k] for shape in group]) for k in (0, 1))
    middles = np.array([place.p[2] for place in places])
    turned = any(np.hypot(*place.p[:2]) > _CLOSE_M or place.R[2, 2] < 1.0 - _CLOSE_M for place in places)
    apart = np.abs(np.diff(middles) - 0.5 * (heights[1:] + heights[:-1])).max() > _CLOSE_M
    if turned or apart or np.any(np.diff(radii) >= 0.0):
        return None
    low, high = middles[0] - 0.5 * heights[0], middles[-1] + 0.5 * heights[-1]
    slope = [(radii[0], low), *zip(radii, middles, strict=True), (radii[-1], high), (0.0, high)]
    line = rounded(slope, 0.5 * float(heights.min()), 2)
    return base, [(float(radius), float(height)) for radius, height in line]


def _ring_profile(group: list[Shape]) -> _Profile | None:
    """Returns the profile of a tube of boxes whose x axes point away from its axis; None if they are something else."""
    if len(group) < _LEAST_STAVES or any(shape.kind is not ShapeKind.box for shape in group):
        return None
    if len({shape.size for shape in group}) > 1:
        return None
    wall, width, height = group[0].size
    places = np.array([shape.T_link_shape.p for shape in group])
    axes = np.array([shape.T_link_shape.R for shape in group])  # (N, 3, 3)
    middle = places.mean(axis=0)
    away = places - middle
    radius = float(np.linalg.norm(away, axis=1).mean())
    if np.abs(away - radius * axes[:, :, 0]).max() > _CLOSE_M or np.abs(np.ptp(axes[:, :, 2], axis=0)).max() > _CLOSE_M:
        return None
    inner, outer, low, high = radius - wall / 2, radius + wall / 2, -height / 2, height / 2
    if len(group) * width < 2.0 * np.pi * inner:  # they stand apart
        return None
    # it starts in the middle of the inside, so that its edges are rounded alike
    corners = [(inner, 0.0), (inner, low), (outer, low), (outer, high), (inner, high), (inner, 0.0)]
    return Pose(axes[0], middle), rounded(corners, 0.4 * wall, 2)


def textured_files(made: GeneratedObject) -> tuple[UrdfModel, dict[str, bytes]]:
    """Returns the model as it is drawn, and its files: OBJ, MTL and PNG, all beside the URDF.

    What is drawn comes from a stream of its own, so that size, mass and joints of a seed do not depend on it.
    """
    articulation = made.articulation
    seed, files = int(articulation.source["id"]), _DrawnFiles()
    looks = stream(seed, f"assets.procedural.{articulation.category}.looks")
    if articulation.category in LOOKS:
        (link,) = made.model.links.values()
        pieces = draw_look(articulation.category, made.parameters, looks)
        shapes = [files.add_piece(f"{link.name}_{number}", piece) for number, piece in enumerate(pieces)]
        links = {link.name: replace(link, visuals=tuple(shapes))}
        return UrdfModel(made.model.name, links, made.model.joints), files.content
    rng = stream(seed, f"assets.procedural.{articulation.category}.textures")
    # in the order of the enum, whatever the order of the parts
    textures = {kind: draw_texture(kind, rng) for kind in TextureKind if kind in made.textures.values()}
    for kind, texture in textures.items():
        files.content[f"{kind.value}.png"] = texture.png
    dressing = dress(made, looks)
    by_colour = {colour: textures[kind] for colour, kind in made.textures.items()}
    links = {name: _draw_shapes(link, dressing, by_colour, files, rng) for name, link in made.model.links.items()}
    return UrdfModel(made.model.name, links, made.model.joints), files.content


@dataclass
class _DrawnFiles:
    """The files so far."""

    content: dict[str, bytes] = field(default_factory=dict)
    prints: int = 0

    def add(self, label: str, meshes: list[TexturedMesh], rgba: Colour, finish: Finish, picture: str | None) -> Shape:
        """Writes meshes of one material, and returns their shape, which is in the frame of the link."""
        lines = [f"mtllib {label}.mtl", f"usemtl {label}", *join_textured(meshes).obj_lines()]
        self.content[f"{label}.obj"] = "\n".join([*lines, ""]).encode()
        # a library for each file: renderers take its first material. The URDF has the colour, too, for Bullet
        material = [
            f"newmtl {label}",
            f"Kd {' '.join(f'{value:g}' for value in rgba[:3])}",
            "Ks 0 0 0",
            f"d {rgba[3]:g}",
            f"Pr {finish.roughness:g}",
            f"Pm {finish.metalness:g}",
            *([] if picture is None else [f"map_Kd {picture}"]),
        ]
        self.content[f"{label}.mtl"] = "\n".join([*material, ""]).encode()
        return Shape(ShapeKind.mesh, (1.0, 1.0, 1.0), Pose.identity(), label, rgba, mesh=f"{label}.obj")

    def add_piece(self, label: str, piece: Piece) -> Shape:
        """Writes a surface with what is printed on it."""
        picture = None
        if piece.picture is not None:
            picture = f"print_{self.prints}.png"
            self.prints += 1
            self.content[picture] = piece.picture.png()
        red, green, blue = (round(value, 4) for value in piece.rgb)
        rgba = (1.0, 1.0, 1.0, 1.0) if picture else (red, green, blue, 1.0)
        return self.add(label, [piece.surface.textured()], rgba, FINISHES[piece.finish], picture)


def _draw_shapes(
    link: Link, dressing: Dressing, textures: dict[Colour, Texture], files: _DrawnFiles, rng: np.random.Generator
) -> Link:
    """Returns a link whose primitives are surfaces, one for each colour, with its plates and displays."""
    groups: dict[Colour, list[Shape]] = defaultdict(list)
    drawn = []
    for shape in dressing.shapes[link.name]:
        groups[shape.rgba or _GREY].append(shape)
    for number, (rgba, shapes) in enumerate(sorted(groups.items(), key=lambda group: group[0] not in textures)):
        texture, colour = textures.get(rgba), dressing.colours[rgba]
        kind = "plain" if texture is None else texture.kind.value
        bevels = [dressing.bevels.get((link.name, shape.name)) for shape in shapes]
        meshes = [textured_mesh(shape, texture, rng, bevel_m=b) for shape, b in zip(shapes, bevels, strict=True)]
        smooth = round_surfaces(shapes, size_m=(texture or _BLANK).size_m, sides=_SEGMENTS)
        replaced = {place for places, _ in smooth for place in places}
        meshes = [mesh for place, mesh in enumerate(meshes) if place not in replaced]
        meshes += [surface for _, surface in smooth]
        drawn.append(
            files.add(
                f"{link.name}_{kind}_{number}",
                meshes,
                colour if texture is None else _tint_texture(colour, texture),
                dressing.finishes[rgba] if texture is None else FINISHES[kind],
                None if texture is None else f"{kind}.png",
            )
        )
    pieces = dressing.pieces[link.name]
    drawn += [files.add_piece(f"{link.name}_print_{number}", piece) for number, piece in enumerate(pieces)]
    return replace(link, visuals=tuple(drawn))


_GREY: Colour = (0.7, 0.7, 0.7, 1.0)


def _tint_texture(rgba: Colour, texture: Texture) -> Colour:
    """Returns the colour that looks, multiplied with a texture, as bright as the given colour alone."""
    red, green, blue = (min(1.0, round(value / mean, 4)) for value, mean in zip(rgba, texture.mean, strict=False))
    return (red, green, blue, rgba[3])


_SEGMENTS = 32
"""Number of sides of a round shape with a radius of 3 cm and more; smaller ones have fewer."""
_BLANK = Texture(TextureKind.stone, b"", (0.3, 0.3), (1.0, 1.0, 1.0), loose=False)
"""What a plain shape has places for, so that a rule can give it a texture."""


def textured_mesh(
    shape: Shape, texture: Texture | None, rng: np.random.Generator, *, bevel_m: Array | None = None
) -> TexturedMesh:
    """Returns the triangles of a box, cylinder or sphere. `rng` draws where in the picture a loose piece starts; it
    always draws two numbers. `bevel_m` (2, 3) are those of the edges at both ends of each axis of a box [m].
    """
    start = rng.random(2)
    texture = texture or _BLANK
    if bevel_m is not None:
        return _bevelled_mesh(shape, texture, start, bevel_m)
    surface = {ShapeKind.box: _map_box, ShapeKind.cylinder: _map_cylinder, ShapeKind.sphere: _map_ball}[shape.kind]
    vertices, normals, places, faces = surface(shape, texture)
    uvs = places / np.asarray(texture.size_m)
    # pieces that continue each other keep their places; whole repeats are subtracted to stay above 0
    uvs = uvs - uvs.min(axis=0) + start if texture.loose else uvs - np.floor(uvs.min(axis=0))
    return TexturedMesh(shape.T_link_shape @ vertices, normals @ shape.T_link_shape.R.T, uvs, faces)


def _bevelled_mesh(shape: Shape, texture: Texture, start: Array, bevel_m: Array) -> TexturedMesh:
    """Returns a box whose bevels show what the side before them shows."""
    half, pose = np.asarray(shape.size) / 2, shape.T_link_shape
    mesh = bevelled_mesh(-half, half, bevel_m)
    corners, axes, _ = box_faces(-half, half, bevel_m)
    measured, uvs = corners + pose.R.T @ pose.p, np.zeros((len(corners), 3, 2))
    for axis in range(3):
        along = _map_along_grain(((axis + 1) % 3, (axis + 2) % 3), shape, texture.kind)
        uvs[axes == axis] = measured[axes == axis][..., along] / np.asarray(texture.size_m)
    low = uvs.min(axis=(0, 1))
    uvs = uvs - low + start if texture.loose else uvs - np.floor(low)
    every: Array = np.arange(3 * len(corners)).reshape(-1, 3)
    chosen = mesh.faces.ravel()
    return TexturedMesh(pose @ mesh.vertices[chosen], mesh.normals[chosen] @ pose.R.T, uvs.reshape(-1, 2), every)


_Mapped = tuple[Array, Array, Array, Array]
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


def _map_box(shape: Shape, texture: Texture) -> _Mapped:
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


def _count_sides(radius_m: float) -> int:
    """Returns the number of sides of a round shape: its edges are at most a quarter of a millimetre off the circle."""
    return next(sides for least, sides in ((0.03, _SEGMENTS), (0.015, 24), (0.006, 16), (0.0, 10)) if radius_m >= least)


def _map_cylinder(shape: Shape, texture: Texture) -> _Mapped:
    radius, length = shape.size
    sides = _count_sides(radius)
    angles = np.linspace(0.0, 2 * np.pi, sides + 1)
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
    low = np.arange(sides)
    high: Array = low + sides + 1
    faces = [np.stack([low, low + 1, high + 1], axis=1), np.stack([low, high + 1, high], axis=1)]
    for z, sign in zip(ends, (-1.0, 1.0), strict=True):
        first = sum(len(v) for v in vertices)
        vertices.append(np.column_stack([radius * ring[:-1], np.full(sides, z)]))
        normals.append(np.tile([0.0, 0.0, sign], (sides, 1)))
        places.append(radius * ring[:-1] + radius)
        fan = np.arange(1, sides - 1)
        corners = [np.zeros_like(fan), fan, fan + 1] if sign > 0 else [np.zeros_like(fan), fan + 1, fan]
        faces.append(np.stack(corners, axis=1) + first)
    return np.concatenate(vertices), np.concatenate(normals), np.concatenate(places), np.concatenate(faces)


def _map_ball(shape: Shape, texture: Texture) -> _Mapped:
    (radius,) = shape.size
    columns = _count_sides(radius)
    rows = columns // 2
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
