"""Regions are found where things can be put, and the outline of an object, from the colliders alone."""

import numpy as np
import pytest
import trimesh

from tests.objects.builders import generated
from unlatch.objects.annotation_entries import RegionKind, RegionOpening
from unlatch.objects.annotation_reader import articulation_from_dict
from unlatch.objects.find_regions import MOST_ROWS, find_outline
from unlatch.simcore.errors import AssetError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.shape_surface import shape_mesh
from unlatch.simcore.meshes.solids import Solids
from unlatch.simcore.urdf.model import Joint, Link, Shape, ShapeKind, UrdfModel


@pytest.mark.parametrize(
    ("category", "region", "opening", "part"),
    [
        ("drawer", "drawer", RegionOpening.above, "drawer"),
        ("microwave", "inside", RegionOpening.front, "door"),
        ("refrigerator", "inside", RegionOpening.front, "door"),
        ("box", "inside", RegionOpening.above, "lid"),
        ("trash_can", "inside", RegionOpening.above, "lid"),
    ],
)
def test_the_space_of_a_container_is_free_and_names_its_part(category, region, opening, part):
    for seed in range(2):
        asset = generated(category, seed)
        found = asset.region(region)
        assert (found.kind, found.opening) == (RegionKind.inside, opening), seed
        assert found.part.startswith(part)
        half, height = 0.5 * found.size - 0.006, float(found.size[2])
        box = np.array([[[-half[0], -half[1], 0.006], [half[0], half[1], height - 0.006]]])
        closed, own = asset.articulation.closed_positions(), asset.articulation.parts[found.part]
        T_root_region = asset.model.link_pose(found.link, closed) @ found.T_link_region
        opened = {own.joint: own.openness.open} if found.link != own.link else {}
        solids = Solids(asset.model)
        assert not solids.meets(box, T_root_region, {**closed, **opened}, only=found.link), seed
        box[0, :, 2] = (-0.004, 0.004)
        assert solids.meets(box, T_root_region, closed, only=found.link), "nothing carries what stands there"


def test_a_wide_drawer_with_thin_walls_has_a_space():
    for instance in range(4):
        asset = generated("wardrobe", instance)
        assert set(asset.articulation.parts) <= set(asset.regions), instance


def test_a_stated_region_is_read_back_and_takes_the_place_of_found_ones():
    asset = generated("drawer")
    region, stated = asset.region("drawer").to_dict(), asset.articulation.to_dict()
    again = articulation_from_dict(stated | {"regions": {"tray": region}}, where="a.yaml")
    assert again.to_dict()["regions"] == {"tray": region}
    np.testing.assert_allclose(again.regions["tray"].size, asset.region("drawer").size, atol=1e-9)
    flat = {"tray": region | {"size": [0.1, 0.1, 0.0]}}
    with pytest.raises(AssetError, match=r"tray\.size is \[0\.1, 0\.1, 0\.0\], expected three extents above 0"):
        articulation_from_dict(stated | {"regions": flat}, where="a.yaml")


FREE = ("apple", "bowl", "can", "mug", "spoon")
CORNERS = [[x, y, z, 0.0] for x in (-0.05, 0.05) for y in (-0.02, 0.02) for z in (-0.01, 0.01)]
BOX = Shape(ShapeKind.box, (0.1, 0.04, 0.02), Pose.identity())
BALL = Shape(ShapeKind.sphere, (0.03,), Pose.from_translation([0.0, 0.0, 0.03]))
INNER = Shape(ShapeKind.box, (0.04, 0.02, 0.006), Pose.from_rpy([0.01, 0.0, 0.0], [0.1, 0.1, 0.1]))
ROD = Shape(ShapeKind.cylinder, (0.02, 0.1), Pose.from_rpy([0.03, 0.0, 0.02], [0.4, 0.1, 0.2]))


def outline_of(*shapes):
    return find_outline(UrdfModel("thing", {"item": Link("item", collisions=shapes)}, {}), {})


def support(rows, directions):
    """(D,) how far balls, rows of centre and radius, reach in each direction [m]."""
    return (rows[:, :3] @ directions.T + rows[:, 3:]).max(axis=0)


@pytest.fixture(scope="module")
def directions():
    """(60000, 3) unit directions: of all sides, nearly horizontal ones, and nearly vertical ones."""
    drawn = np.random.default_rng(0).normal(size=(60000, 3))
    drawn[20000:40000, 2] *= 0.05
    drawn[40000:, :2] *= 0.1
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def collider_balls(asset):
    """Balls of a free object of one link: its spheres, and the corners of all else."""
    rows = []
    for shape in next(iter(asset.model.links.values())).collisions:
        if shape.kind is ShapeKind.sphere:
            rows.append([[*shape.T_link_shape.p, *shape.size]])
        else:
            corners = shape.T_link_shape @ shape_mesh(shape).vertices
            rows.append(np.column_stack([corners, np.zeros(len(corners))]))
    return np.concatenate(rows)


@pytest.mark.parametrize(
    ("shapes", "rows"),
    [((BOX,), CORNERS), ((BALL,), [[0.0, 0.0, 0.03, 0.03]]), ((INNER, BOX), CORNERS)],
    ids=["a box has its corners", "a ball is one row", "what lies inside is left out"],
)
def test_an_outline_is_balls_and_corners(shapes, rows):
    np.testing.assert_allclose(outline_of(*shapes), rows)


def test_the_order_of_colliders_does_not_matter_and_without_any_there_is_no_outline():
    np.testing.assert_array_equal(outline_of(BOX, BALL, ROD), outline_of(ROD, BALL, BOX))
    seen = UrdfModel("thing", {"item": Link("item", visuals=(BOX,))}, {})
    assert find_outline(seen, {}).shape == (0, 4)


def test_links_are_where_their_joints_are():
    place, axis = Pose.from_translation([0.1, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
    links = {"item": Link("item"), "lid": Link("lid", collisions=(BALL,))}
    model = UrdfModel("thing", links, {"slide": Joint("slide", "prismatic", "item", "lid", place, axis)})
    np.testing.assert_allclose(find_outline(model, {"slide": 0.05}), [[0.1, 0.05, 0.03, 0.03]])
    np.testing.assert_allclose(find_outline(model, {}), [[0.1, 0.0, 0.03, 0.03]])


@pytest.mark.parametrize("category", FREE)
def test_an_outline_is_that_of_the_colliders_up_to_a_millimetre(category, directions):
    asset = generated(category, 1)
    outline = asset.outline_obj
    short = support(collider_balls(asset), directions) - support(outline, directions)
    assert len(outline) <= MOST_ROWS
    assert short.min() > -1.4e-4, "larger than the object by more than rounding: 0.05 mm in each of four numbers"
    assert short.max() < (1.3e-3 if category == "bowl" else 7e-4)
    np.testing.assert_array_equal(outline, outline.round(4))


def test_a_round_mesh_has_the_most_rows_and_loses_seven_percent_of_its_radius(tmp_path, directions):
    trimesh.creation.icosphere(radius=0.03, subdivisions=4).export(tmp_path / "ball.obj")
    mesh = Shape(ShapeKind.mesh, (1.0, 1.0, 1.0), Pose.identity(), mesh="ball.obj", path=tmp_path / "ball.obj")
    outline = outline_of(mesh)
    assert len(outline) == MOST_ROWS
    reach = support(outline, directions)
    assert 0.93 * 0.03 < reach.min() < reach.max() < 0.0301
