"""What is drawn of an object with joints beyond its primitives: bevels, varied colours, displays, plates and notes.

Faces of two colours in one plane would flicker, so the smaller one is drawn a quarter of a millimetre further out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np

from unlatch.objects.procedural.assembly import GeneratedObject
from unlatch.objects.procedural.colours import (
    BIN,
    CLEAR,
    DARK,
    FINISH_OF_COLOUR,
    GLASS,
    LID_GLASS,
    RUBBER,
    TOAST,
    TOAST_CRUST,
    TextureKind,
)
from unlatch.objects.procedural.dish_looks import draw_toast
from unlatch.objects.procedural.looks import INK, STEEL, WHITE, Piece, draw_colour, ink_on, vary
from unlatch.objects.procedural.mesh_makers import bevelled_box, circle, lathe, rounded, slab
from unlatch.objects.procedural.package_looks import BOTTLED, wrap_label
from unlatch.objects.procedural.parameters import Colour, draw_one
from unlatch.objects.procedural.prints import Print, draw_brand, draw_panel, draw_plate
from unlatch.simcore.geometry import Array, Pose
from unlatch.simcore.sim.visuals.visual_shapes import Finish
from unlatch.simcore.urdf.model import Shape, ShapeKind, UrdfModel, moved_bounds, primitive_bounds

_PLATED = (
    *("dishwasher", "microwave", "oven", "refrigerator", "safe", "toaster", "trash_can", "washing_machine"),
    *("kitchen_dishwasher", "kitchen_oven", "tall_refrigerator"),
)
"""Categories whose front has the name of a maker."""
_ON_LABELS = ("label", "stripe", "thin_stripe")
"""Shapes in whose place a printed label is drawn around a bottle."""
_NOTED = ("refrigerator", "tall_refrigerator")
"""Categories with notes and magnets on their front."""
_LEAST_M, _BEVEL_SHARE, _BEVEL_M = 0.006, 0.1, (0.0008, 0.0025)
"""Boxes at least so thick have bevels: a share of their thickness, within limits [m]."""
_APART_M = 2.5e-4
"""Distance between two drawn faces of different colours in one plane [m]."""
_FLAT_M = 1e-5
_NEAR_M = 0.004
"""Sides of two links that are closer when everything is closed leave a gap about as narrow as a pixel [m]."""
_OVERLAP_M = 1e-3
"""Faces that overlap by less along an axis are not seen to flicker [m]."""
_SETTLED_AFTER = 6
_LOAF_M, _CRUST_M, _BREAD = 0.085, 0.002, (0.86, 0.66, 0.40)
"""Height of a slice of bread, whose upper part is seen, and of its crust [m]; the colour of its crumb."""
_ACROSS = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
"""Rotation (3, 3) of a slice that is drawn with its faces to x, so that they look to y."""


@dataclass(frozen=True)
class Dressing:
    """How the links of one object are drawn."""

    shapes: dict[str, list[Shape]]
    """Primitives by link."""
    pieces: dict[str, list[Piece]]
    """Further surfaces by link, in its frame."""
    colours: dict[Colour, Colour]
    """The drawn colour of each colour."""
    finishes: dict[Colour, Finish]
    """How a colour without a texture reflects light."""
    bevels: dict[tuple[str, str], Array]
    """How far the edges at both ends of each axis of a box are bevelled, (2, 3), by link and name of the box; other
    edges are sharp [m]."""


def dress(made: GeneratedObject, rng: np.random.Generator) -> Dressing:
    """Draws how an object looks; `rng` draws colours, names and places."""
    model, category = made.model, made.articulation.category
    shapes = {name: _separate_faces(link.visuals) for name, link in model.links.items()}
    pieces: dict[str, list[Piece]] = {name: [] for name in model.links}
    for name, found in shapes.items():
        displays = [shape for shape in found if _is_display(shape)]
        pieces[name] += [_draw_display(shape, rng) for shape in displays]
        shapes[name] = [shape for shape in found if not _is_display(shape)]
        shapes[name], details = _draw_details(shapes[name], rng)
        pieces[name] += details
    front = _Front(model, shapes)
    if category in _PLATED:
        _add_plate(front, pieces, rng)
    if category in _NOTED:
        for _ in range(int(rng.integers(0, 6)) if rng.random() < 0.6 else 0):
            _add_note(front, pieces, rng)
    for name, found in shapes.items():
        bins = [primitive_bounds(shape) for shape in found if shape.name.startswith("bin_")]
        bins.sort(key=lambda bin_: bin_[1, 2])
        upper = max((float(primitive_bounds(shape)[1, 2]) for shape in found), default=0.0) - 0.05
        for bin_, above in zip(bins, [*(float(other[0, 2]) for other in bins[1:]), upper], strict=False):
            pieces[name] += _fill_bin(bin_, above, rng)
    seen = dict.fromkeys(shape.rgba for found in shapes.values() for shape in found if shape.rgba is not None)
    colours = {colour: _vary_colour(colour, made.textures.get(colour), rng) for colour in seen}
    for name, found in shapes.items():
        labels = [shape for shape in found if shape.name == "label" and shape.kind is ShapeKind.cylinder]
        pieces[name] += [_draw_wrapped(label, colours, rng) for label in labels]
        if labels:
            shapes[name] = [shape for shape in found if shape.name not in _ON_LABELS]
    return Dressing(
        shapes, pieces, colours, {c: FINISH_OF_COLOUR.get(c, Finish()) for c in seen}, _find_bevels(model, shapes)
    )


def _draw_details(shapes: list[Shape], rng: np.random.Generator) -> tuple[list[Shape], list[Piece]]:
    """Returns shapes without slices of bread, and these and the rims of glass lids as they look.

    Discs of glass lids and bins get the colours that say so.
    """
    kept, pieces = [], []
    is_glass = any(shape.rgba == LID_GLASS for shape in shapes)
    for shape in shapes:
        if shape.rgba == TOAST:
            low, high = primitive_bounds(shape)
            (wide, thick, _), (x, y, _) = high - low, 0.5 * (low + high)
            loaf = SimpleNamespace(width_m=wide, height_m=_LOAF_M, thickness_m=thick)
            at = Pose(_ACROSS, np.array([x, y, high[2] + _CRUST_M - _LOAF_M]))
            pieces += [replace(piece, surface=piece.surface.moved(at)) for piece in draw_toast(loaf, _BREAD, rng)]
        elif shape.name == "disc" and is_glass:
            kept.append(replace(shape, rgba=LID_GLASS))
            (radius, length), inner = shape.size, 0.93 * shape.size[0]
            rim = [(inner, -0.5 * length), (radius, -0.5 * length), (radius, 0.5 * length + _APART_M)]
            ring = rounded([*rim, (inner, 0.5 * length + _APART_M)], 0.3 * length, 3)
            pieces.append(Piece(lathe(ring, sides=40).moved(shape.T_link_shape), STEEL, "chrome"))
        elif shape.rgba != TOAST_CRUST:
            kept.append(replace(shape, rgba=BIN) if shape.name.startswith("bin_") else shape)
    return kept, pieces


def _draw_wrapped(shape: Shape, colours: dict[Colour, Colour], rng: np.random.Generator) -> Piece:
    """Draws the printed paper around a bottle."""
    radius, height = shape.size
    red, green, blue, _ = colours[shape.rgba] if shape.rgba else (*WHITE, 1.0)
    label = wrap_label(BOTTLED, (red, green, blue), rng, draw_one(rng, ("250 G", "350 G", "0.5 L")), height=96)
    sleeve = lathe([(radius, -height / 2), (radius, height / 2)], sides=32).moved(shape.T_link_shape)
    return Piece(sleeve, WHITE, "cardboard", label)


def _vary_colour(colour: Colour, texture: TextureKind | None, rng: np.random.Generator) -> Colour:
    plain = max(colour[:3]) - min(colour[:3]) < 0.08 and max(colour[:3]) < 0.85  # greys differ more than whites
    rgb = vary(
        (colour[0], colour[1], colour[2]),
        rng,
        hue=0.03,
        saturation=1.5 if plain else 0.25,
        value=0.3 if plain else 0.09,
    )
    if colour in (DARK, GLASS, RUBBER):
        return colour
    red, green, blue = (round(value, 4) for value in rgb)
    return (red, green, blue, CLEAR.get(colour, colour[3]))


def _find_bevels(model: UrdfModel, shapes: dict[str, list[Shape]]) -> dict[tuple[str, str], Array]:
    """Returns the bevels of boxes that stand apart from other boxes of their colour: boards that meet stay sharp.

    So does a side that another link nearly touches: a groove that is narrower than a pixel would be a dashed line.
    """
    found = {}
    links = {link: [shape for shape in own if shape.kind is ShapeKind.box] for link, own in shapes.items()}
    links = {link: boxes for link, boxes in links.items() if boxes}
    bounds = {
        link: np.array([primitive_bounds(shape) for shape in boxes]) for link, boxes in links.items()
    }  # (N, 2, 3)
    closed = {link: np.array([moved_bounds(b, model.link_pose(link)) for b in each]) for link, each in bounds.items()}
    for link, boxes in links.items():
        beside = bounds[link][:, None, 0] <= bounds[link][None, :, 1] + _FLAT_M
        meets = np.all(beside & beside.transpose(1, 0, 2), axis=2) & _same_colour(boxes)
        others = np.concatenate([np.zeros((0, 2, 3)), *(closed[other] for other in links if other != link)])
        for shape, neighbours in zip(boxes, meets.sum(axis=1).tolist(), strict=True):
            thick = min(shape.size)
            if thick >= _LEAST_M and neighbours == 1:  # itself
                bevel = float(np.clip(_BEVEL_SHARE * thick, *_BEVEL_M))
                sides = _find_free_sides(shape, model.link_pose(link) @ shape.T_link_shape, others)
                found[link, shape.name] = bevel * sides
    return found


def _find_free_sides(shape: Shape, T_root_shape: Pose, others: Array) -> Array:
    """Returns 1 for each side (2, 3) of a box before which there is room, 0 for those near other boxes (N, 2, 3)."""
    half = 0.5 * np.array(shape.size)
    free = np.ones((2, 3))
    for end, axis in np.ndindex(2, 3):
        before = np.array([-half, half])
        before[1 - end, axis] = before[end, axis]
        before[end, axis] += _NEAR_M if end else -_NEAR_M
        low, high = moved_bounds(before, T_root_shape)
        overlap = np.minimum(others[:, 1], high) - np.maximum(others[:, 0], low)
        free[end, axis] = not np.any(np.all(overlap > 0.0, axis=1))
    return free


def _same_colour(shapes: list[Shape]) -> Array:
    """Returns (N, N) whether two shapes have one colour."""
    numbers: dict[Colour | None, int] = {}
    colours = np.array([numbers.setdefault(shape.rgba, len(numbers)) for shape in shapes])
    same: Array = colours[:, None] == colours
    return same


def _separate_faces(shapes: Sequence[Shape]) -> list[Shape]:
    """Returns shapes of a link of which no two faces of different colours overlap in one plane."""
    found = list(shapes)
    for _ in range(_SETTLED_AFTER):
        conflicts = coplanar_faces(found)
        for first, second, axis, sign in conflicts:
            areas = [float(np.delete(np.ptp(primitive_bounds(found[n]), axis=0), axis).prod()) for n in (first, second)]
            raised = second if areas[1] <= areas[0] else first
            found[raised] = _grow(found[raised], axis, sign)
        if not conflicts:
            break
    return found


def coplanar_faces(shapes: list[Shape]) -> list[tuple[int, int, int, int]]:
    """Returns pairs of shapes whose faces are of different colours, in one plane, look to one side and overlap.

    Each is the places of both shapes, and the axis and the end of it (0 or 1) to which the faces look. Flat faces are
    those of boxes along the axes of the link, and the ends of cylinders.
    """
    if not shapes:
        return []
    bounds = np.array([primitive_bounds(shape) for shape in shapes])  # (N, 2, 3)
    flat = np.array([_flat_axes(shape) for shape in shapes])  # (N, 3)
    low, high = bounds[:, 0], bounds[:, 1]
    overlap = np.minimum(high[:, None], high) - np.maximum(low[:, None], low) > _OVERLAP_M  # (N, N, 3)
    pairs = np.tril(~_same_colour(shapes), -1)
    found = []
    for axis in range(3):
        across = (
            overlap[..., (axis + 1) % 3] & overlap[..., (axis + 2) % 3] & pairs & flat[:, None, axis] & flat[:, axis]
        )
        for sign in (0, 1):
            level = bounds[:, sign, axis]
            first, second = np.nonzero(across & (np.abs(level[:, None] - level) < _FLAT_M))
            found += [(a, b, axis, sign) for a, b in zip(first.tolist(), second.tolist(), strict=True)]
    return found


def _flat_axes(shape: Shape) -> tuple[bool, bool, bool]:
    """Returns along which axes of the link a shape has flat faces."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = np.abs(shape.T_link_shape.R).tolist()
    if shape.kind is ShapeKind.box:
        is_straight = all(value < 1e-6 or value > 1.0 - 1e-6 for value in (xx, xy, xz, yx, yy, yz, zx, zy, zz))
        return (is_straight, is_straight, is_straight)
    is_round = shape.kind is ShapeKind.cylinder
    return (is_round and xz > 1.0 - 1e-6, is_round and yz > 1.0 - 1e-6, is_round and zz > 1.0 - 1e-6)


def _grow(shape: Shape, axis: int, sign: int) -> Shape:
    """Returns a shape whose face is further out."""
    R = shape.T_link_shape.R
    own = int(np.argmax(np.abs(R[axis])))
    size = list(shape.size)
    size[own if shape.kind is ShapeKind.box else 1] += _APART_M
    shift = np.zeros(3)
    shift[axis] = (0.5 if sign else -0.5) * _APART_M
    return replace(shape, size=tuple(size), T_link_shape=Pose(R, shape.T_link_shape.p + shift))


def _is_display(shape: Shape) -> bool:
    return shape.kind is ShapeKind.box and shape.name.split("_body")[0] == "display"


def _draw_display(shape: Shape, rng: np.random.Generator) -> Piece:
    """Draws digits on the two sides across the thinnest extent."""
    low, high = primitive_bounds(shape)
    axis = int(np.argmin(high - low))
    lit = draw_one(rng, ((0.35, 0.95, 0.85), (0.95, 0.35, 0.25), (0.55, 0.85, 1.0), (0.95, 0.80, 0.35)))
    span = (0.0, 0.0, 1.0, 1.0)
    sides = ("-x", "+x", "-y", "+y", "-z", "+z")[2 * axis : 2 * axis + 2]
    return Piece(
        bevelled_box(low, high, 0.0, atlas=dict.fromkeys(sides, span)), WHITE, "glass", draw_panel(rng, lit=lit)
    )


class _Front:
    """The front of a closed object: places on faces that look to +x and are covered by nothing."""

    def __init__(self, model: UrdfModel, shapes: dict[str, list[Shape]]) -> None:
        self._poses = {name: model.link_pose(name) for name in model.links}
        self._faces: list[tuple[str, Array, Colour | None]] = []
        everything = [np.zeros((0, 2, 3))]
        for name, found in shapes.items():
            bounds = [moved_bounds(primitive_bounds(shape), self._poses[name]) for shape in found]
            everything += [np.array(bounds)] if bounds else []
            flat = (shape.kind is ShapeKind.box and _flat_axes(shape)[0] for shape in found)
            self._faces += [
                (name, box, shape.rgba) for shape, box, is_flat in zip(found, bounds, flat, strict=True) if is_flat
            ]
        self._bounds = np.concatenate(everything)  # (N, 2, 3)

    def faces(self) -> list[tuple[str, Array, Colour | None]]:
        """Returns link, bounds (2, 3) and colour of the boxes in front, the largest first."""
        return sorted(self._faces, key=lambda face: -float(np.prod(np.ptp(face[1], axis=0)[1:])))[:5]

    def is_free(self, x: float, low: Array, high: Array) -> bool:
        """Returns whether nothing lies before a rectangle at `x` with corners (2,) in y and z [m]."""
        beside = (self._bounds[:, 0, 1:] >= high) | (self._bounds[:, 1, 1:] <= low)
        return bool(np.all(beside.any(axis=1) | (self._bounds[:, 1, 0] <= x + _FLAT_M)))

    def block(self, x: float, low: Array, high: Array) -> None:
        """Notes that a rectangle is taken."""
        self._bounds = np.concatenate([self._bounds, [[[x, *low], [x + 0.002, *high]]]])

    def place(self, piece: Piece, link: str) -> Piece:
        """Returns a piece of the root frame in the frame of a link."""
        return replace(piece, surface=piece.surface.moved(self._poses[link].inverse()))


_PLATE_PLACES = (
    (0.5, 0.93),
    (0.5, 0.07),
    (0.14, 0.93),
    (0.86, 0.93),
    (0.14, 0.07),
    (0.86, 0.07),
    (0.5, 0.8),
    (0.5, 0.2),
)
"""Where a plate may be, as shares of a face: to the right and up."""


def _add_plate(front: _Front, pieces: dict[str, list[Piece]], rng: np.random.Generator) -> None:
    """Adds the plate of a maker at the first free place."""
    brand, dark = draw_brand(rng), rng.random() < 0.3
    start, style = int(rng.integers(3)), draw_one(rng, ("plate", "print"))
    for link, bounds, rgba in front.faces():
        (low, high), x = bounds[:, 1:], float(bounds[1, 0])
        width = float(np.clip(0.26 * (high[0] - low[0]), 0.024, 0.11))
        half = np.array([width / 2, width * 24 / 128 / 2])
        for share in (*_PLATE_PLACES[start:], *_PLATE_PLACES[:start]):
            middle = np.clip(low + share * (high - low), low + half + 0.006, high - half - 0.006)
            if np.any(middle - half < low) or not front.is_free(x, middle - half - 0.004, middle + half + 0.004):
                continue
            ground = vary((rgba or (0.5, 0.5, 0.5, 1.0))[:3], rng, hue=0.0, saturation=0.0, value=0.02)
            ground = (INK if dark else STEEL) if style == "plate" else ground
            plate = draw_plate(brand, ground, ink_on(ground))
            a, b = middle - half, middle + half
            out = 0.0012 if style == "plate" else 0.0004
            surface = bevelled_box((x, *a), (x + out, *b), out / 3, atlas={"+x": (0.0, 0.0, 1.0, 1.0)})
            finish = "lacquer" if dark or style == "print" else "brushed_metal"
            pieces[link].append(front.place(Piece(surface, WHITE, finish, plate), link))
            front.block(x, a, b)
            return


def _add_note(front: _Front, pieces: dict[str, list[Piece]], rng: np.random.Generator) -> None:
    """Adds a note under a magnet, or a magnet alone, at a free place of the front."""
    link, bounds, _ = front.faces()[int(rng.integers(2))]
    (low, high), x = bounds[:, 1:], float(bounds[1, 0])
    size = rng.uniform([0.03, 0.03], [0.07, 0.08])
    alone = rng.random() < 0.35
    size = np.array([0.022, 0.022]) if alone else size
    room = high - low - size - 0.03
    spot = low + 0.015 + rng.random(2) * np.maximum(room, 0.0)
    tone = draw_colour(rng, (0.4, 0.9), (0.4, 0.95))
    if np.any(room <= 0.0) or not front.is_free(x, spot - 0.003, spot + size + 0.003):
        return
    if not alone:
        paper = bevelled_box((x, *spot), (x + 0.0006, *(spot + size)), 0.0, atlas={"+x": (0.0, 0.0, 1.0, 1.0)})
        pieces[link].append(front.place(Piece(paper, WHITE, "cardboard", _draw_note(rng)), link))
    place = spot + size * np.array([0.5, 0.5 if alone else 0.86])
    face = Pose(np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), np.array([x, *place]))
    magnet = slab(circle(12) * np.full(2, 0.011 if alone else 0.006), 0.0, 0.004, bevel_m=0.001, steps=1).moved(face)
    pieces[link].append(front.place(Piece(magnet, tone, "plastic"), link))
    front.block(x, spot, spot + size)


def _draw_note(rng: np.random.Generator) -> Print:
    """Draws a list, or what a child has drawn."""
    note = Print(48, 48, draw_one(rng, (WHITE, (0.95, 0.90, 0.55), (0.75, 0.88, 0.95), (0.96, 0.80, 0.82))))
    if rng.random() < 0.6:
        note.small_print(5, 6, 42, 38, INK, rng, row=7.0)
        return note
    for _ in range(5):
        a, b, c, d = (float(v) for v in rng.uniform(6, 42, size=4))
        note.stroke(a, b, c, d, 2.0, draw_colour(rng, (0.6, 1.0), (0.5, 0.9)))
    return note


def _fill_bin(bounds: Array, above_m: float, rng: np.random.Generator) -> list[Piece]:
    """Draws bottles, jars and cartons that stand in the bin of a door, and stay inside it as seen from above.

    Args:
        bounds: (2, 3) bounds of the bin [m].
        above_m: Height up to which there is room, in the frame of the bin [m].
        rng: Source of randomness.
    """
    (x0, y0, _), (x1, y1, top) = bounds
    room, radius = above_m - top - 0.01, 0.42 * (x1 - x0)
    pieces: list[Piece] = []
    y = y0 + 0.01 + float(rng.uniform(0.0, 0.05))
    while room > 0.03 and y + 2.0 * radius < y1 - 0.01:
        height, wide = float(rng.uniform(0.03, min(room, 0.14))), radius * float(rng.uniform(0.75, 1.0))
        at = Pose.from_translation((0.5 * (x0 + x1), y + wide, top - 0.005))
        tone = draw_colour(rng, (0.2, 0.85), (0.3, 0.95))
        if rng.random() < 0.4:
            label = draw_plate(draw_brand(rng), tone, ink_on(tone))
            sides = dict.fromkeys(("-x", "+x"), (0.0, 0.0, 1.0, 1.0))
            carton = bevelled_box((-wide, -wide, 0.0), (wide, wide, height), 0.001, atlas=sides)
            pieces.append(Piece(carton.moved(at), WHITE, "cardboard", label))
        else:
            neck = draw_one(rng, (0.4, 0.8))
            outline = [
                (0.0, 0.0),
                (wide, 0.0),
                (wide, 0.62 * height),
                (neck * wide, 0.8 * height),
                (neck * wide, height),
            ]
            pieces.append(Piece(lathe([*outline, (0.0, height)], sides=14).moved(at), tone, "glass"))
        y += 2.0 * wide + float(rng.uniform(0.006, 0.06))
    return pieces
