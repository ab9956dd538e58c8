"""Every annotation of a cube in a known place is that of its geometry, within a pixel or a millimetre; the page."""

from itertools import product

import numpy as np
import pytest

from unlatch.simcore.cameras import Fisheye
from unlatch.simcore.catalogs import ANNOTATORS
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.annotators.annotation import CORNER_SIGNS, annotate, box_edges
from unlatch.simcore.sim.annotators.label_files import dope_frame

pytestmark = pytest.mark.integration
HALF_M = 0.15


class PinholeByHand:
    """The camera of the fixture, written out again, so that the test does not use the code that it checks."""

    T_camera_cube = Pose.from_rpy((0.1, -0.05, 1.0), (0.4, 0.7, 0.2))

    def rays(self):
        v, u = np.mgrid[0:120, 0:160]
        return np.stack([(u - 77.0) / 150.0, (v - 61.0) / 140.0, np.ones(u.shape)], axis=-1)

    def pixels_of(self, points):
        return np.array([150.0, 140.0]) * points[:, :2] / points[:, 2:] + [77.0, 61.0]


class FisheyeByHand:
    """The equidistant lens, written out again, and a cube at its side."""

    T_camera_cube = Pose.from_rpy((0.35, -0.2, 0.55), (0.4, 0.7, 0.2))
    optics = Fisheye(160, 160, 52.0, 52.0, 79.5, 79.5)

    def rays(self):
        v, u = np.mgrid[0:160, 0:160]
        x, y = (u - 79.5) / 52.0, (v - 79.5) / 52.0
        angle = np.hypot(x, y)
        return np.stack([x / angle * np.sin(angle), y / angle * np.sin(angle), np.cos(angle)], axis=-1)

    def pixels_of(self, points):
        aside = np.hypot(points[:, 0], points[:, 1])
        return 52.0 * (np.arctan2(aside, points[:, 2]) / aside)[:, None] * points[:, :2] + 79.5


def entry_length(lens):
    """Length along each pixel's ray at which it enters the cube, by the slab test; infinite for rays that miss it."""
    T = lens.T_camera_cube
    start, along = -T.R.T @ T.p, lens.rays() @ T.R
    bounds = np.sort(np.stack([(-HALF_M - start) / along, (HALF_M - start) / along]), axis=0)
    enters, leaves = bounds[0].max(axis=-1), bounds[1].min(axis=-1)
    return np.where((enters < leaves) & (enters > 0.0), enters, np.inf)


def corners_of(lens):
    return np.array([lens.T_camera_cube @ (HALF_M * np.array(signs)) for signs in product((-1, 1), repeat=3)])


def add_cube(world, T_world_camera, lens):
    world.add_box("cube", size_m=[2 * HALF_M] * 3, T_world_box=T_world_camera @ lens.T_camera_cube)


def tight_box(hit):
    rows, columns = np.flatnonzero(hit.any(axis=1)), np.flatnonzero(hit.any(axis=0))
    return np.array([columns[0], rows[0], columns[-1], rows[-1]])


def test_annotations_of_a_cube_agree_with_its_geometry(world, take, T_world_camera):
    lens = PinholeByHand()
    add_cube(world, T_world_camera, lens)
    corners, T_camera_cube, rays = corners_of(lens), lens.T_camera_cube, lens.rays()
    nearest = corners[np.argmin(corners[:, 2])]
    found = annotate(take(keypoints={"cube.front.corner": T_world_camera @ nearest}), ANNOTATORS.own_names())
    depth = entry_length(lens)
    hit = np.isfinite(depth)
    assert found.paths == ("/cube",)

    shown = found["instance_segmentation"] == 1
    assert (shown != hit).sum() <= 0.01 * hit.sum()  # the renderer rounds on edges
    both = shown & hit
    seen = rays[both] * depth[both][:, None]
    np.testing.assert_allclose(found["distance_to_image_plane"][both], depth[both], atol=1e-3)
    np.testing.assert_allclose(found["distance_to_camera"][both], np.linalg.norm(seen, axis=-1), atol=1e-3)
    np.testing.assert_allclose(found["point_cloud"][both], T_world_camera @ seen, atol=1e-3)

    faces = found["normals"][both] @ T_world_camera.R @ T_camera_cube.R  # in the cube's frame
    assert (np.abs(faces).max(axis=-1) > 1.0 - 1e-6).mean() > 0.999
    assert (np.einsum("ij,ij->i", faces, (rays @ T_camera_cube.R)[both]) < 1e-9).all()  # 0 on specks

    corners_px = lens.pixels_of(corners)
    np.testing.assert_allclose(found["boxes_2d_tight"], [tight_box(hit)], atol=1)
    assert found["visible_px"][0] == pytest.approx(hit.sum(), rel=0.01)
    loose = [*corners_px.min(axis=0), *corners_px.max(axis=0)]
    np.testing.assert_allclose(found["boxes_2d_loose"], [loose], atol=1e-3)

    order = (CORNER_SIGNS + 1) // 2 @ [4, 2, 1]  # place of each corner in `product`
    np.testing.assert_allclose(found["boxes_3d_corners_px"][0], corners_px[order], atol=1e-3)
    np.testing.assert_allclose(found["boxes_3d_corners"][0], T_world_camera @ corners[order], atol=1e-6)
    np.testing.assert_allclose(found["boxes_3d_extents"][0], [[-HALF_M] * 3, [HALF_M] * 3], atol=1e-9)
    np.testing.assert_allclose(found["poses"][0], T_camera_cube.matrix, atol=1e-6)
    np.testing.assert_allclose(found["centers_px"], lens.pixels_of(T_camera_cube.p[None]), atol=1e-3)

    assert found["occlusion"][0] == 0.0
    assert found["alone_px"][0] == hit.sum()
    assert found["keypoints_visibility"].tolist() == [2]
    np.testing.assert_allclose(found["keypoints_px"], lens.pixels_of(nearest[None]), atol=1e-3)


def test_annotations_of_a_cube_at_the_side_of_a_fisheye_agree_with_its_geometry(world, take, T_world_camera):
    lens = FisheyeByHand()
    add_cube(world, T_world_camera, lens)
    corners = corners_of(lens)
    ends = np.stack([corners[pick(np.linalg.norm(corners, axis=1))] for pick in (np.argmin, np.argmax)])
    keypoints = {f"cube.a.{name}": T_world_camera @ p for name, p in zip(("near", "far"), ends, strict=True)}
    shot = take(optics=lens.optics, keypoints=keypoints)
    found = annotate(shot, ANNOTATORS.own_names())
    distance = entry_length(lens)
    hit = np.isfinite(distance)
    np.testing.assert_allclose(found["boxes_2d_tight"], [tight_box(hit)], atol=1)
    np.testing.assert_allclose(found["boxes_2d_loose"], [np.add(tight_box(hit), [-0.5, -0.5, 0.5, 0.5])], atol=1)
    np.testing.assert_allclose(found["alone_px"], hit.sum(), rtol=0.02)
    assert found["occlusion"] == pytest.approx(0.0, abs=0.01)
    np.testing.assert_allclose(found["centers_px"], lens.pixels_of(lens.T_camera_cube.p[None]), atol=1e-6)
    np.testing.assert_allclose(found["poses"][0], lens.T_camera_cube.matrix, atol=1e-6)
    box_px = np.sort(found["boxes_3d_corners_px"][0], axis=0)
    np.testing.assert_allclose(box_px, np.sort(lens.pixels_of(corners), axis=0))
    np.testing.assert_allclose(found["keypoints_px"], lens.pixels_of(ends), atol=1e-6)
    assert found["keypoints_visibility"].tolist() == [2, 1]
    both = hit & (found["instance_segmentation"] == 1)
    assert both.sum() > 0.97 * hit.sum()
    # a renderer of pinhole images has the neighbour's length on edges of faces
    off = np.abs(found["distance_to_camera"][both] - distance[both])
    assert (off < 1e-3).mean() > 0.93
    both[both] = off < 1e-3
    local = (T_world_camera @ lens.T_camera_cube).inverse() @ found["point_cloud"][both].astype(float)
    np.testing.assert_allclose(np.abs(local).max(axis=-1), HALF_M, atol=1e-3)
    faces = found["normals"][both] @ T_world_camera.R @ lens.T_camera_cube.R
    assert (np.abs(faces).max(axis=-1) > 1.0 - 1e-5).mean() > 0.97
    assert dope_frame(shot)["camera_data"]["fisheye"] == [0.0] * 4


def test_every_output_is_what_its_annotator_declares_and_the_page_says(world, take, T_world_camera):
    add_cube(world, T_world_camera, PinholeByHand())
    shot, named = take(keypoints={"cube.a.b": T_world_camera.p}), []
    for name in ANNOTATORS.own_names():
        annotator = ANNOTATORS.load(name)()
        values = annotator.annotate(shot)
        assert list(values) == [output.name for output in annotator.outputs]
        named += values
        for output in annotator.outputs:
            value = values[output.name]
            assert output.dtype == ("text" if value.dtype.kind == "U" else value.dtype.name), output.name
            sizes = {"H": 120, "W": 160, "N": 1, "K": 1, "L": 2}
            assert value.shape == tuple(sizes.get(size, size) for size in output.shape), output.name
    assert len(named) == len(set(named))


def test_corners_are_joined_along_the_edges_of_a_box():
    edges = box_edges()
    assert len(edges) == 12
    assert {np.abs(CORNER_SIGNS[i] - CORNER_SIGNS[j]).sum() for i, j in edges} == {2}
