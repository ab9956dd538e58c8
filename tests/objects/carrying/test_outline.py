"""The outline of an object: a few balls and corners whose hull is nearly that of its colliders."""

import numpy as np
import pytest
import trimesh

from unlatch.objects.config import ObjectCfg
from unlatch.objects.find_regions import MOST_ROWS, find_outline
from unlatch.objects.library import load_instance
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.shape_surface import shape_mesh
from unlatch.simcore.urdf.model import Joint, Link, Shape, ShapeKind, UrdfModel

FREE = ("apple", "book", "bowl", "can", "cereal_box", "cup", "mug", "parcel", "plate", "spoon", "toast", "water_bottle")
CORNERS = [[x, y, z, 0.0] for x in (-0.05, 0.05) for y in (-0.02, 0.02) for z in (-0.01, 0.01)]
BOX = Shape(ShapeKind.box, (0.1, 0.04, 0.02), Pose.identity())
BALL = Shape(ShapeKind.sphere, (0.03,), Pose.from_translation([0.0, 0.0, 0.03]))


def outline_of(*shapes):
    return find_outline(UrdfModel("thing", {"item": Link("item", collisions=shapes)}, {}), {})


def support(rows, directions):
    """(D,) how far balls, rows of centre and radius, reach in each direction [m]."""
    found = (rows[:, :3] @ directions.T + rows[:, 3:]).max(axis=0)
    return found


def any_directions():
    """(60000, 3) unit directions: of all sides, nearly horizontal ones, and nearly vertical ones."""
    drawn = np.random.default_rng(0).normal(size=(60000, 3))
    drawn[20000:40000, 2] *= 0.05
    drawn[40000:, :2] *= 0.1
    unit = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return unit


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


def test_a_box_has_its_corners():
    np.testing.assert_allclose(outline_of(BOX), CORNERS)


def test_a_ball_is_one_row():
    np.testing.assert_allclose(outline_of(BALL), [[0.0, 0.0, 0.03, 0.03]])


def test_what_lies_inside_is_left_out():
    inner = Shape(ShapeKind.box, (0.04, 0.02, 0.006), Pose.from_rpy([0.01, 0.0, 0.0], [0.1, 0.1, 0.1]))
    np.testing.assert_allclose(outline_of(inner, BOX), CORNERS)


def test_the_order_of_colliders_does_not_matter():
    rod = Shape(ShapeKind.cylinder, (0.02, 0.1), Pose.from_rpy([0.03, 0.0, 0.02], [0.4, 0.1, 0.2]))
    np.testing.assert_array_equal(outline_of(BOX, BALL, rod), outline_of(rod, BALL, BOX))


def test_links_are_where_their_joints_are():
    links = {"item": Link("item"), "lid": Link("lid", collisions=(BALL,))}
    joint = Joint(
        "slide", "prismatic", "item", "lid", Pose.from_translation([0.1, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
    )
    model = UrdfModel("thing", links, {"slide": joint})
    np.testing.assert_allclose(find_outline(model, {"slide": 0.05}), [[0.1, 0.05, 0.03, 0.03]])
    np.testing.assert_allclose(find_outline(model, {}), [[0.1, 0.0, 0.03, 0.03]])


def test_an_object_without_colliders_has_no_outline():
    model = UrdfModel("thing", {"item": Link("item", visuals=(BOX,))}, {})
    assert find_outline(model, {}).shape == (0, 4)


@pytest.mark.parametrize("category", FREE)
def test_an_outline_is_that_of_the_colliders_up_to_a_millimetre(category):
    asset, directions = load_instance(ObjectCfg(name="item", category=category, instance="1")), any_directions()
    outline, full = asset.outline_obj, support(collider_balls(asset), directions)
    short = full - support(outline, directions)
    assert len(outline) <= MOST_ROWS
    assert short.min() > -1.4e-4, "larger than the object by more than rounding: 0.05 mm in each of four numbers"
    assert short.max() < (1.3e-3 if category == "bowl" else 7e-4)
    np.testing.assert_array_equal(outline, outline.round(4))


def test_a_round_mesh_has_the_most_rows_and_loses_seven_percent_of_its_radius(tmp_path):
    trimesh.creation.icosphere(radius=0.03, subdivisions=4).export(tmp_path / "ball.obj")
    mesh = Shape(ShapeKind.mesh, (1.0, 1.0, 1.0), Pose.identity(), mesh="ball.obj", path=tmp_path / "ball.obj")
    outline, directions = outline_of(mesh), any_directions()
    assert len(outline) == MOST_ROWS
    reach = support(outline, directions)
    assert reach.max() < 0.0301
    assert reach.min() > 0.93 * 0.03
