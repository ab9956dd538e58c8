"""What is drawn of generated objects: families of shapes, prints, and no two colours in one plane."""

import io
import itertools
from collections import defaultdict

import numpy as np
import pytest
from PIL import Image

from tests.objects.builders import every_category
from unlatch.objects.procedural import mesh_makers
from unlatch.objects.procedural.catalog import GENERATORS
from unlatch.objects.procedural.dressing import coplanar_faces, dress
from unlatch.objects.procedural.item_looks import LOOKS, draw_look
from unlatch.objects.procedural.links import LinkBuilder
from unlatch.objects.procedural.prints import Print
from unlatch.objects.procedural.textured_files import round_surfaces
from unlatch.simcore.geometry import Pose
from unlatch.simcore.rng import stream
from unlatch.simcore.urdf.model import Shape, ShapeKind

LATHED = mesh_makers.rounded([(0.0, 0.0), (0.04, 0.0), (0.04, 0.1), (0.036, 0.1), (0.036, 0.005), (0.0, 0.005)], 0.004)
SOLIDS = {
    "lathe": (mesh_makers.lathe(LATHED), np.pi * (0.04**2 * 0.1 - 0.036**2 * 0.095)),
    "box": (mesh_makers.bevelled_box((0.0, 0.0, 0.0), (0.1, 0.2, 0.3), 0.004), 0.006),
    "tube": (mesh_makers.tube([(0.0, 0.0, 0.0), (0.1, 0.0, 0.0), (0.2, 0.0, 0.0)], [[0.01, 0.005]]), np.pi * 1e-5),
    "bent tube": (
        mesh_makers.tube(mesh_makers.rounded([(0, 0, 0), (0.1, 0, 0), (0.1, 0, 0.1)], 0.04, 6), [[0.005, 0.005]]),
        np.pi * 25e-6 * 0.185,
    ),
    "slab": (mesh_makers.slab(0.05 * mesh_makers.circle(40), 0.0, 0.02, bevel_m=0.002), np.pi * 0.05**2 * 0.02),
}


@pytest.mark.parametrize("name", list(SOLIDS))
def test_a_solid_is_closed_and_faces_outwards(name):
    surface, volume_m3 = SOLIDS[name]
    a, b, c = np.moveaxis(surface.corners, 1, 0)
    areas = np.cross(b - a, c - a)
    np.testing.assert_allclose(areas.sum(axis=0), 0.0, atol=1e-9)
    assert np.einsum("fi,fi->", a, np.cross(b, c)) / 6 == pytest.approx(volume_m3, rel=0.1)
    assert surface.uvs.min() >= 0.0
    mesh = surface.textured()
    np.testing.assert_allclose(np.linalg.norm(mesh.normals, axis=1), 1.0, atol=2e-4)
    corners = mesh.vertices[mesh.faces]
    outward = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert np.all(np.einsum("fi,fi->f", outward, mesh.normals[mesh.faces].sum(axis=1)) > 0.0)


@pytest.mark.parametrize("side", mesh_makers.SIDES)
def test_a_print_is_read_from_outside_on_every_side_of_a_box(side):
    """Right in the picture is right for who looks at the side, and up is up; on top, away from the front."""
    surface = mesh_makers.bevelled_box((0, 0, 0), (1, 1, 1), 0.0, atlas={side: (0.0, 0.0, 1.0, 1.0)})
    axis, sign = "xyz".index(side[1]), 1 if side[0] == "+" else -1
    shown = np.all(np.isclose(surface.corners[..., axis], (sign + 1) / 2), axis=1)
    points, uvs = surface.corners[shown].reshape(-1, 3), surface.uvs[shown].reshape(-1, 2)
    solved, *_ = np.linalg.lstsq(uvs - uvs.mean(axis=0), points - points.mean(axis=0), rcond=None)
    right, up = solved
    np.testing.assert_allclose(np.cross(right, up), sign * np.eye(3)[axis] * (1 if side != "-z" else -1), atol=1e-9)
    np.testing.assert_allclose(up, [0, 0, 1] if axis < 2 else [-1, 0, 0], atol=1e-9)


@every_category
def test_no_two_faces_of_different_colours_are_in_one_plane(category):
    """They would flicker, as the two surfaces of a can's lid did."""
    for seed in range(3):
        made = GENERATORS.load(category)(seed)
        if category in LOOKS:
            pieces = draw_look(category, made.parameters, stream(seed, "test"))
            assert overlaps([piece.surface.corners for piece in pieces]) == []
        else:
            assert not any(coplanar_faces(shapes) for shapes in dress(made, stream(seed, "test")).shapes.values())


def test_a_face_in_the_plane_of_another_is_found():
    red, blue = (1.0, 0.0, 0.0, 1.0), (0.0, 0.0, 1.0, 1.0)
    board = Shape(ShapeKind.box, (0.2, 0.2, 0.02), Pose.identity(), "board", red)
    lid = Shape(ShapeKind.cylinder, (0.05, 0.01), Pose.from_translation((0.0, 0.0, 0.005)), "lid", blue)
    assert coplanar_faces([board, lid]) == [(1, 0, 2, 1)]
    assert overlaps([mesh_makers.bevelled_box((0, 0, 0), (1, 1, 1), 0.0).corners] * 2)


def stacked(radii, name="slice"):
    places = (Pose.from_translation((0.0, 0.0, 0.005 + 0.01 * k)) for k in range(len(radii)))
    return [
        Shape(ShapeKind.cylinder, (radius, 0.01), place, f"{name}_{k}")
        for k, (radius, place) in enumerate(zip(radii, places, strict=True))
    ]


def staves(count, width):
    poses = (Pose.from_rpy((0, 0, 0), (0, 0, 2 * np.pi * k / count)) for k in range(count))
    size = (0.004, width, 0.1)
    return [Shape(ShapeKind.box, size, T @ Pose.from_translation((0.098, 0, 0)), f"s_{k}") for k, T in enumerate(poses)]


def test_discs_that_become_smaller_upwards_are_drawn_as_a_slope_between_them():
    ((places, slope),) = round_surfaces(stacked((0.04, 0.03, 0.02)), size_m=(0.3, 0.3), sides=32)
    assert places == [0, 1, 2]
    radii = np.hypot(*slope.vertices[:, :2].T)
    assert radii.max() == pytest.approx(0.04, abs=1e-5)
    middle = np.abs(slope.vertices[:, 2] - 0.015) < 2e-3
    assert np.all(np.abs(radii[middle] - 0.03) < 3e-3)  # a step would have 0.04 and 0.03 at one height
    upright = np.abs(slope.normals[:, 2]) < 0.1
    assert not np.any(upright & (slope.vertices[:, 2] > 0.01) & (slope.vertices[:, 2] < 0.02))


def test_staves_that_touch_are_drawn_as_a_tube_and_ridges_that_stand_apart_as_they_are():
    ((places, tube),) = round_surfaces(staves(24, 0.0262), size_m=(0.3, 0.3), sides=32)
    assert len(places) == 24
    radii = np.hypot(*tube.vertices[:, :2].T)
    assert (radii.min(), radii.max()) == pytest.approx((0.096, 0.1), abs=1e-5)
    assert round_surfaces(staves(24, 0.01), size_m=(0.3, 0.3), sides=32) == []
    assert round_surfaces(stacked((0.02, 0.03)), size_m=(0.3, 0.3), sides=32) == []


@pytest.mark.parametrize(("turn", "corners"), [(np.pi, 7), (2.0 * np.pi, 17)], ids=["bend", "ring"])
def test_rods_that_meet_are_drawn_as_one_bent_rod_without_the_balls_between_them(turn, corners):
    angles = np.linspace(0.0, turn, corners)
    points = 0.07 * np.column_stack([np.cos(angles), np.zeros(corners), np.sin(angles)])
    builder = LinkBuilder("body")
    for number, (a, b) in enumerate(itertools.pairwise(points)):
        builder.rod(f"bend_{number}", a, b, radius=0.008, rgba=(0.5, 0.5, 0.5, 1.0))
        builder.sphere(f"joint_{number}", b, radius=0.008, rgba=(0.5, 0.5, 0.5, 1.0))
    builder.sphere("knob", (0.2, 0.0, 0.0), radius=0.008, rgba=(0.5, 0.5, 0.5, 1.0))
    shapes = builder.build(mass_kg=1.0).visuals
    ((places, rod),) = round_surfaces(shapes, size_m=(0.3, 0.3), sides=32)
    assert len(places) == len(shapes) - 1  # the knob stays
    from_axis = np.hypot(np.hypot(rod.vertices[:, 0], rod.vertices[:, 2]) - 0.07, rod.vertices[:, 1])
    assert np.abs(from_axis - 0.008).max() < 0.0025
    outward = rod.vertices - 0.07 * rod.vertices * [1, 0, 1] / np.hypot(*rod.vertices[:, ::2].T)[:, None]
    assert np.all((outward * rod.normals).sum(axis=1) > 0.0)
    assert round_surfaces(shapes[:1], size_m=(0.3, 0.3), sides=32) == []


def overlaps(pieces):
    """Pairs of triangles of different pieces that look to one side, are in one plane and overlap by over 1 mm."""
    planes = defaultdict(list)
    for number, corners in enumerate(pieces):
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)
        offsets = np.einsum("fi,fi->f", normals, corners[:, 0])
        for normal, offset, triangle in zip(normals.round(3) + 0.0, (offsets / 4e-5).round(), corners, strict=True):
            planes[(*normal.tolist(), offset)].append((number, triangle))
    return [
        (first, second)
        for key, members in planes.items()
        for (first, a), (second, b) in itertools.combinations(members, 2)
        if first != second and overlap_m(a, b, np.array(key[:3])) > 1e-3
    ]


def overlap_m(a, b, normal):
    """How far two triangles of a plane overlap, by separating axes [m]; below 0: how far they are apart."""
    edges = np.concatenate([np.roll(t, -1, axis=0) - t for t in (a, b)])
    axes = np.cross(edges, normal)
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    ranges = [(t @ axes.T) for t in (a, b)]
    least = np.minimum(ranges[0].max(axis=0), ranges[1].max(axis=0))
    return float((least - np.maximum(ranges[0].min(axis=0), ranges[1].min(axis=0))).min())


@pytest.mark.parametrize("category", sorted(LOOKS))
def test_forty_things_of_a_category_are_of_several_families_and_of_many_colours(category):
    shapes, tones = set(), []
    for seed in range(40):
        made = GENERATORS.load(category)(seed)
        pieces = draw_look(category, made.parameters, stream(seed, f"assets.procedural.{category}.looks"))
        shapes.add(tuple((len(piece.surface.corners), piece.finish) for piece in pieces))
        shown = [np.asarray(piece.rgb) if piece.picture is None else mean_colour(piece.picture) for piece in pieces]
        tones.append(np.concatenate([np.mean(shown, axis=0), shown[-1]]))
    assert len(shapes) >= 2, shapes
    apart = np.linalg.norm(np.array(tones)[:, None] - np.array(tones), axis=2) + np.eye(40)
    assert np.mean(apart.min(axis=1) > 1e-3) > 0.9, "hardly any two look the same"


def mean_colour(picture: Print):
    return np.asarray(Image.open(io.BytesIO(picture.png())).convert("RGB")).mean(axis=(0, 1)) / 255.0


def test_text_that_runs_upwards_is_text_turned_to_the_left():
    flat, upright = Print(60, 20, (1.0, 1.0, 1.0)), Print(20, 60, (1.0, 1.0, 1.0))
    flat.fitted_text("SALT", 30.0, 5.0, (50.0, 10.0), (0.0, 0.0, 0.0))
    upright.upright_text("SALT", 10.0, 30.0, (50.0, 10.0), (0.0, 0.0, 0.0))
    a, b = (np.asarray(Image.open(io.BytesIO(p.png())).convert("L")).astype(int) for p in (flat, upright))
    np.testing.assert_allclose(np.rot90(a), b, atol=1)
