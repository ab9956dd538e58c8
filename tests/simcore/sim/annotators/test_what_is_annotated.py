"""Occlusion, the choice of annotated things, and the frames of poses."""

import numpy as np
import pytest

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.annotators.annotation import AnnotationCfg, annotate

pytestmark = pytest.mark.integration

FX, FY, CX, CY = 150.0, 140.0, 77.0, 61.0


@pytest.fixture
def cube(world, T_world_camera):
    """A cube seen from the front: only its front is visible, 0.3 m wide, at z = 1."""
    T_camera_cube = Pose.from_translation((0.0, 0.0, 1.15))
    return world.add_box("cube", size_m=(0.3, 0.3, 0.3), T_world_box=T_world_camera @ T_camera_cube)


def plate(world, T_world_camera, *, x, width):
    """A thin plate at z = 0.5 from the plane x - width/2 to x + width/2, higher than the cube."""
    T = T_world_camera @ Pose.from_translation((x, 0.0, 0.505))
    return world.add_box("plate", size_m=(width, 0.4, 0.01), T_world_box=T)


@pytest.mark.parametrize("hidden", [0.25, 0.8])
def test_a_plate_hides_the_share_of_the_cube_that_lies_behind_it(world, take, T_world_camera, cube, hidden):
    # at half the depth the front reaches from -0.075 to 0.075; the plate ends at that share of it
    edge = -0.075 + 0.15 * hidden
    plate(world, T_world_camera, x=edge - 0.2, width=0.4)
    found = annotate(take(), ["occlusion", "boxes_2d_tight", "boxes_2d_loose"])
    row = found.paths.index("/cube")
    assert found["occlusion"][row] == pytest.approx(hidden, abs=1.0 / (0.3 * FX))  # a column of pixels
    assert found["occlusion"][found.paths.index("/plate")] == 0.0
    assert found["boxes_2d_tight"][row][0] == pytest.approx(CX + FX * edge / 0.5, abs=1.0)
    np.testing.assert_allclose(found["boxes_2d_loose"][row], [CX - 22.5, CY - 21.0, CX + 22.5, CY + 21.0], atol=1e-3)


def test_hidden_things_are_annotated_on_request(world, take, T_world_camera, cube):
    plate(world, T_world_camera, x=0.0, width=0.4)
    assert annotate(take(), ["poses"]).paths == ("/plate",)
    found = annotate(take(include_occluded=True), ["occlusion", "boxes_2d_tight", "boxes_2d_loose", "poses"])
    assert found.paths == ("/cube", "/plate")
    assert found["occlusion"][0] == 1.0
    assert found["boxes_2d_tight"][0].tolist() == [-1, -1, -1, -1]
    assert np.isfinite(found["boxes_2d_loose"][0]).all()
    np.testing.assert_allclose(found["poses"][0][:3, 3], [0.0, 0.0, 1.15], atol=1e-6)


@pytest.mark.parametrize("p", [(5.0, 0.0, 1.0), (0.0, 0.0, -1.0)])
def test_a_thing_outside_of_the_image_has_a_pose_and_no_occlusion(world, take, T_world_camera, cube, p):
    cube.set_root_pose(T_world_camera @ Pose.from_translation(p))
    found = annotate(take(include_occluded=True), ["occlusion", "boxes_2d_loose", "poses"])
    assert np.isnan(found["occlusion"][0])
    assert np.isnan(found["boxes_2d_loose"][0]).all()
    np.testing.assert_allclose(found["poses"][0][:3, 3], p, atol=1e-6)
    assert np.isnan(found["centers_px"][0]).all() == (p[2] < 0)


def test_boxes_end_at_the_edge_of_the_image(take, T_world_camera, cube):
    cube.set_root_pose(T_world_camera @ Pose.from_translation((-0.5, 0.0, 1.15)))
    found = annotate(take(), ["boxes_2d_tight", "boxes_2d_loose", "occlusion"])
    assert found["boxes_2d_tight"][0][0] == 0
    # its right side is seen too, at its front edge
    np.testing.assert_allclose(found["boxes_2d_loose"][0][[0, 2]], [-0.5, CX - 0.35 * FX / 1.3], atol=1e-3)
    assert found["occlusion"][0] == 0.0


def test_a_thing_that_the_camera_is_in_has_the_whole_image(take, T_world_camera, cube):
    cube.set_root_pose(T_world_camera)
    found = annotate(take(include_occluded=True), ["boxes_2d_loose", "occlusion"])
    np.testing.assert_allclose(found["boxes_2d_loose"][0], [-0.5, -0.5, 159.5, 119.5])


def test_parts_follow_their_joint_and_have_the_labels_of_their_body(take, cupboard, T_world_camera):
    cupboard.set_joint_positions(["hinge"], [-0.9])
    shot = take(semantic_types=["class", "part"])
    found = annotate(shot, ["boxes_3d", "poses", "semantic_segmentation", "boxes_2d_tight"])
    assert found.paths == ("/cupboard", "/cupboard/leaf")
    labels = [found.id_to_labels[number] for number in found.semantic_ids]
    assert labels == [{"class": "furniture"}, {"class": "furniture", "part": "door"}]
    # the hinge is at (-0.2, -0.01) of the case, the leaf 0.4 m long
    T_world_leaf = cupboard.root_pose() @ Pose.from_rpy((-0.2, -0.01, 0.0), (0.0, 0.0, -0.9))
    np.testing.assert_allclose(found["boxes_3d_extents"][1], [[0.0, -0.01, -0.15], [0.4, 0.01, 0.15]], atol=1e-6)
    np.testing.assert_allclose(found["boxes_3d_poses"][1], T_world_leaf.matrix, atol=1e-6)
    np.testing.assert_allclose(found["poses"][1], (T_world_camera.inverse() @ T_world_leaf).matrix, atol=1e-6)
    # the box of the whole, in the frame of its case, holds the opened leaf
    low = found["boxes_3d_extents"][0][0]
    assert low[1] == pytest.approx(-0.01 - 0.4 * np.sin(0.9) - 0.01 * np.cos(0.9), abs=1e-6)
    leaf = shot.images.link_ids == 2
    assert (found["semantic_segmentation"][leaf] == found.semantic_ids[1]).all()
    assert (found["semantic_segmentation"][shot.images.link_ids == 1] == found.semantic_ids[0]).all()


@pytest.mark.parametrize(
    ("types", "paths"),
    [
        (["class"], ["/cupboard", "/cube"]),
        (["part"], ["/cupboard/leaf"]),
        (["link"], ["/cupboard/case", "/cupboard/leaf", "/cube/cube"]),
    ],
)
def test_only_things_with_a_label_of_a_wanted_type_are_annotated(world, take, cupboard, T_world_camera, types, paths):
    T = T_world_camera @ Pose.from_translation((0.35, 0.0, 1.0))
    world.add_box("cube", size_m=(0.1, 0.1, 0.1), T_world_box=T)
    found = annotate(take(semantic_types=types), ["semantic_segmentation"])
    assert list(found.paths) == paths
    others = {0, 1} if types == ["part"] else {0}
    assert set(np.unique(found["semantic_segmentation"])) == others | set(found.semantic_ids)


def test_a_turned_camera_frame_turns_poses_and_leaves_pixels(take, cupboard, T_world_camera):
    kept = annotate(take(), ["poses"])
    gl = annotate(take(camera_rotation_deg=[180.0, 0.0, 0.0]), ["poses"])
    np.testing.assert_allclose(gl["poses"][0], np.diag([1, -1, -1, 1]) @ kept["poses"][0], atol=1e-9)
    np.testing.assert_array_equal(gl["centers_px"], kept["centers_px"])
    # about x first, then about the fixed y: what lies ahead is then to the left of, and level with, the turned camera
    turned = annotate(take(camera_rotation_deg=[90.0, 90.0, 0.0]), ["poses"])
    x, y, z = kept["poses"][0][:3, 3]
    np.testing.assert_allclose(turned["poses"][0][:3, 3], [-z, x, -y], atol=1e-9)


def test_keypoints_are_seen_hidden_or_outside(take, cube, T_world_camera):
    points = {
        "front": (0.1, 0.1, 1.0),
        "just_inside": (0.0, 0.0, 1.009),
        "inside": (0.0, 0.0, 1.02),
        "back": (0.0, 0.0, 1.3),
        "free": (0.4, 0.0, 1.0),
        "beside": (2.0, 0.0, 1.0),
        "behind_camera": (0.0, 0.0, -1.0),
    }
    found = annotate(take(keypoints={name: T_world_camera @ np.array(p) for name, p in points.items()}), ["keypoints"])
    assert found["keypoint_names"].tolist() == list(points)
    assert found["keypoints_visibility"].tolist() == [2, 2, 1, 1, 2, 0, 0]
    assert found["keypoints_in_image"].tolist() == [True] * 5 + [False] * 2
    np.testing.assert_allclose(found["keypoints_camera"], list(points.values()), atol=1e-6)
    np.testing.assert_allclose(found["keypoints_px"][0], [CX + 15.0, CY + 14.0], atol=1e-3)
    assert np.isnan(found["keypoints_px"][-1]).all()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"semantic_types": ["clas"]}, "Did you mean 'class'"),
        ({"semantic_types": []}, "semantic_types is empty"),
        ({"camera_rotation_deg": [1.0]}, "camera_rotation_deg has 1 numbers. Expected 3"),
        ({"keypoint_tolerance_m": -1.0}, "keypoint_tolerance_m=-1 is out of range"),
    ],
)
def test_impossible_settings_are_refused(fields, message):
    with pytest.raises(ConfigError, match=message):
        AnnotationCfg(**fields)
