"""Arrays for a graphics card: the triangles of the shapes with few vertices, and fewer far from the camera."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pybullet
import pytest
import scipy
import trimesh
from scipy.spatial import cKDTree

from unlatch.robots.catalog import load_robot
from unlatch.robots.models import drawn_model_path
from unlatch.simcore.cameras import Pinhole
from unlatch.simcore.errors import AssetError, WorldError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.meshes.triangle_mesh import TriangleMesh, creased_normals, draw_surface_points
from unlatch.simcore.sim.renderers.link_geometry import (
    COARSEST_LEVEL,
    FINEST_PIXEL_M,
    ShapeGeometry,
    bounding_sphere,
    level_of_detail,
    link_mesh,
    nearest_distance,
    pixel_size,
    shape_geometry,
    shape_surface,
    simplify_shape,
)
from unlatch.simcore.sim.renderers.pygfx import PygfxRenderer
from unlatch.simcore.sim.renderers.renderer import RawImages, RenderRequest
from unlatch.simcore.sim.visuals.visual_shapes import FINISHES, Finish, Paint
from unlatch.simcore.sim.world import World, WorldCfg

pytestmark = pytest.mark.integration


def make_shape(vertices: np.ndarray, faces: np.ndarray) -> ShapeGeometry:
    """A shape with one vertex for each corner."""
    mesh = TriangleMesh(np.asarray(vertices, dtype=float), np.asarray(faces))
    count = 3 * len(mesh.faces)
    return ShapeGeometry(
        mesh.triangles.reshape(-1, 3).astype(np.float32),
        creased_normals(mesh, crease_rad=np.radians(30.0)).reshape(-1, 3).astype(np.float32),
        np.zeros((count, 2), dtype=np.float32),
        np.arange(count, dtype=np.uint32).reshape(-1, 3),
        None,
        False,
        Finish(),
    )


def dense_box() -> ShapeGeometry:
    """A box of 0.2 x 0.1 x 0.1 m of 12,288 triangles."""
    box = trimesh.creation.box(extents=(0.2, 0.1, 0.1))
    for _ in range(5):
        box = box.subdivide()
    return make_shape(box.vertices, box.faces)


def dense_ball() -> ShapeGeometry:
    """A ball with a radius of 0.1 m of 20,480 triangles."""
    ball = trimesh.creation.icosphere(subdivisions=5, radius=0.1)
    return make_shape(ball.vertices, ball.faces)


def half_ball() -> ShapeGeometry:
    """The upper half of the ball: its border is open."""
    ball = trimesh.creation.icosphere(subdivisions=5, radius=0.1)
    return make_shape(ball.vertices, ball.faces[ball.triangles_center[:, 2] > 0.0])


@pytest.fixture(scope="module")
def panda_shapes():
    """The shapes of the Panda's links that have many triangles."""
    with World(WorldCfg(), visuals=True) as world:
        body = world.load_urdf(drawn_model_path(load_robot("franka_panda")), name="panda", T_world_root=Pose.identity())
        shapes = [shape_geometry(body, shape) for shape in body.visual_shapes]
    return [shape for shape in shapes if len(shape.faces) > 2000]


def triangles_of(shape: ShapeGeometry) -> TriangleMesh:
    return TriangleMesh(shape.vertices.astype(float), shape.faces.astype(int))


def distances(of: ShapeGeometry, to: ShapeGeometry) -> np.ndarray:
    """The exact distances of 2,000 points, drawn on one surface, from another surface."""
    points, _ = draw_surface_points(triangles_of(of), 2000, np.random.default_rng(0))
    triangles = triangles_of(to).triangles
    centres = triangles.mean(axis=1)
    radii = np.linalg.norm(triangles - centres[:, None], axis=2).max(axis=1)
    from_centres = scipy.spatial.distance.cdist(points, centres)
    least = np.maximum(from_centres - radii, 0.0)
    # no further than the furthest corner of any triangle: others cannot be nearer
    at, near = np.nonzero(least <= (from_centres + radii).min(axis=1, keepdims=True))
    closest = trimesh.triangles.closest_point(triangles[near], points[at])
    found = np.full(len(points), np.inf)
    np.minimum.at(found, at, np.linalg.norm(closest - points[at], axis=1))
    return found


@pytest.fixture(autouse=True)
def _needs_simplification():
    pytest.importorskip("fast_simplification")


def test_a_box_keeps_its_triangles_and_gets_one_vertex_a_side_and_corner():
    with World(WorldCfg(), visuals=True) as world:
        colour = (0.72, 0.2, 0.17, 1.0)  # Bullet reports 0.72000003
        body = world.add_box("box", size_m=(0.2, 0.3, 0.4), T_world_box=Pose.identity(), rgba=colour)
        body.finish_by_colour = {colour: FINISHES["chrome"]}
        made = shape_geometry(body, body.visual_shapes[0])
        expected = link_mesh(body, body.root_link)
    assert len(made.vertices) == 24
    assert made.finish == FINISHES["chrome"]
    np.testing.assert_allclose(made.vertices[made.faces], expected.triangles, atol=1e-6)
    assert_normals_of_sides(made, atol=1e-5)


def assert_normals_of_sides(shape: ShapeGeometry, *, atol: float) -> np.ndarray:
    """Checks that each corner of a triangle has the normal of the triangle; returns these, (N, 3)."""
    across = triangles_of(shape).area_normals
    sides = across / np.linalg.norm(across, axis=1, keepdims=True)
    np.testing.assert_allclose(shape.normals[shape.faces], np.repeat(sides[:, None], 3, axis=1), atol=atol)
    return sides


def test_a_level_belongs_to_pixels_up_to_twice_as_large():
    assert level_of_detail(0.99 * FINEST_PIXEL_M) is None
    assert [level_of_detail(FINEST_PIXEL_M * size) for size in (1.0, 1.99, 2.0, 4.0, 7.9)] == [0, 0, 1, 2, 2]
    assert level_of_detail(10.0) == COARSEST_LEVEL


def test_all_triangles_are_drawn_of_a_link_around_the_camera():
    centre, radius_m = bounding_sphere([dense_ball()])
    assert radius_m == pytest.approx(0.1, abs=1e-3)
    pinhole = Pinhole.from_fov(64, 48, 1.0)
    for x_m, near in ((0.05, True), (3.1, False)):
        camera = Pose.from_translation((x_m, 0.0, 0.0))
        pixel_m = pixel_size(pinhole, nearest_distance(centre, radius_m, Pose.identity(), camera))
        assert (level_of_detail(pixel_m) is None) == near
    assert pixel_m == pytest.approx(3.0 / pinhole.fx, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("level", [0, 4])
def test_surfaces_of_the_panda_are_at_most_half_a_pixel_apart(panda_shapes, level):
    pixel_m = FINEST_PIXEL_M * 2.0**level
    for shape in sorted(panda_shapes, key=lambda shape: -len(shape.faces))[:1]:
        simplified = simplify_shape(shape, level)
        assert len(simplified.faces) < len(shape.faces) / 3
        for of, to in ((shape, simplified), (simplified, shape)):
            assert distances(of, to).max() < 0.5 * pixel_m


@pytest.mark.parametrize("level", [0, COARSEST_LEVEL])
def test_sides_of_a_box_keep_their_normals_up_to_its_edges(level):
    box = simplify_shape(dense_box(), level)
    assert len(box.faces) < 100
    sides = assert_normals_of_sides(box, atol=1e-6)
    np.testing.assert_allclose(np.abs(sides).max(axis=1), 1.0, atol=1e-6)


@pytest.mark.parametrize("level", [0, COARSEST_LEVEL])
def test_a_ball_stays_smooth(level):
    ball = simplify_shape(dense_ball(), level)
    outward = ball.vertices / np.linalg.norm(ball.vertices, axis=1, keepdims=True)
    pixel_rad = FINEST_PIXEL_M * 2.0**level / 0.1
    assert np.arccos(np.clip((ball.normals * outward).sum(axis=1), -1.0, 1.0)).max() < max(pixel_rad, 0.05)


def test_vertices_of_an_open_border_stay():
    full = half_ball()
    mesh = trimesh.Trimesh(full.vertices, full.faces)  # merges corners
    once = trimesh.grouping.group_rows(mesh.edges_sorted, require_count=1)
    border = mesh.vertices[np.unique(mesh.edges_sorted[once])]
    assert len(border) > 100
    distance_m, _ = cKDTree(simplify_shape(full, COARSEST_LEVEL).vertices).query(border)
    assert distance_m.max() < 1e-6


def test_small_and_textured_shapes_stay_as_they_are():
    box = trimesh.creation.box()
    small, textured = make_shape(box.vertices, box.faces), replace(dense_ball(), textured=True)
    assert simplify_shape(small, 2) is small
    assert simplify_shape(textured, 2) is textured


@pytest.fixture(scope="module")
def panda_world():
    """Opens worlds in which a Panda is drawn by `renderer=pygfx`."""
    pytest.importorskip("pygfx")
    opened: list[World] = []

    def open_world(renderer: PygfxRenderer) -> World:
        world = World(WorldCfg(), visuals=True, renderer=renderer)
        try:
            opened.append(world.__enter__())
        except WorldError as exc:
            if exc.values.get("renderer") != "pygfx":
                raise
            pytest.skip(exc.message)
        world.add_box("board", size_m=(2.0, 2.0, 0.1), T_world_box=Pose.from_translation((0.4, 0.0, -0.05)))
        world.load_urdf(drawn_model_path(load_robot("franka_panda")), name="panda", T_world_root=Pose.identity())
        return world

    yield open_world
    for world in opened:
        world.__exit__(None, None, None)


def request_from(distance_m: float, *, fine: bool = False) -> RenderRequest:
    along_y = Pose(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]), [0.1, -distance_m, 0.6])
    return RenderRequest(Pinhole.from_fov(160, 120, 1.0), along_y, near_m=0.02, far_m=20.0, fine=fine)


def drawn_triangles(renderer: PygfxRenderer) -> int:
    return sum(len(mesh.geometry.indices.data) for mesh in renderer.stage.poses())


@pytest.mark.slow
def test_a_picture_looks_the_same_and_its_depth_and_links_are_equal(panda_world):
    full, simplified = PygfxRenderer(all_triangles=True), PygfxRenderer()
    expected_world, world = panda_world(full), panda_world(simplified)
    for distance_m in (0.8, 1.4, 3.0):
        request = request_from(distance_m)
        expected, found = full.render(expected_world, request), simplified.render(world, request)
        np.testing.assert_array_equal(found.depth_m, expected.depth_m)
        np.testing.assert_array_equal(found.link_ids, expected.link_ids)
        assert len(np.unique(expected.link_ids)) > 8
        difference = np.abs(found.rgb.astype(int) - expected.rgb.astype(int))
        assert 0.0 < difference.mean() < 0.3, distance_m
        assert np.percentile(difference, 99.0) <= 8, distance_m


@pytest.mark.slow
def test_fewer_triangles_are_drawn_from_further_away_and_more_for_a_fine_picture(panda_world):
    renderer = PygfxRenderer()
    world = panda_world(renderer)
    counts = []
    for distance_m in (0.8, 3.0, 9.0):
        renderer.render(world, request_from(distance_m))
        counts.append(drawn_triangles(renderer))
    assert counts[0] > counts[1] > counts[2]
    renderer.render(world, request_from(3.0, fine=True))
    assert counts[0] > drawn_triangles(renderer) > counts[1]


@pytest.mark.slow
def test_an_image_does_not_depend_on_where_the_camera_was_before(panda_world):
    def pose_and_render(renderer: PygfxRenderer, world: World, distances_m: list[float]) -> RawImages:
        for distance_m in distances_m:
            world.bodies["panda"].set_root_pose(Pose.from_translation((0.0, 0.1 * distance_m, 0.0)))
            images = renderer.render(world, request_from(distance_m))
        return images

    moved, fresh = PygfxRenderer(), PygfxRenderer()
    found = pose_and_render(moved, panda_world(moved), [3.0, 0.8, 9.0, 3.0, 0.8])
    expected = pose_and_render(fresh, panda_world(fresh), [0.8])
    np.testing.assert_array_equal(found.rgb, expected.rgb)


@pytest.mark.slow
def test_transparent_shapes_are_drawn_with_all_triangles(panda_world):
    renderer = PygfxRenderer()
    world = panda_world(renderer)
    renderer.render(world, request_from(9.0))
    before = drawn_triangles(renderer)
    for shape in world.bodies["panda"].visual_shapes:
        world.paint[shape.body, shape.link, shape.index] = Paint((0.5, 0.5, 0.9, 0.5), None)
    renderer.render(world, request_from(9.0))
    full = sum(len(shape_geometry(world.bodies["panda"], shape).faces) for shape in world.bodies["panda"].visual_shapes)
    assert before < full < drawn_triangles(renderer)


def test_a_mesh_without_triangles_is_named_with_what_to_do(tmp_path):
    (tmp_path / "points.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\n")
    shape = SimpleNamespace(kind=pybullet.GEOM_MESH, path=str(tmp_path / "points.obj"))
    body = SimpleNamespace(name="arm", surface=None)
    with pytest.raises(AssetError, match=r"points\.obj: the mesh of 'arm' has no triangle.*remove its <visual>"):
        shape_surface(body, shape)
