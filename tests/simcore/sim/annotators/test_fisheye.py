"""Annotations of a cube in a fisheye image agree with its geometry, within a pixel or a millimetre."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from unlatch.simcore.cameras import Fisheye
from unlatch.simcore.catalogs import ANNOTATORS
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.annotators.annotation import AnnotationCfg, annotate, take_annotated_frame
from unlatch.simcore.sim.annotators.label_files import dope_frame
from unlatch.simcore.sim.world import World

pytestmark = pytest.mark.integration

HALF_M = 0.15
T_CAMERA_CUBE = Pose.from_rpy((0.35, -0.2, 0.55), (0.4, 0.7, 0.2))
SIZE, FOCAL, CENTRE = 160, 52.0, 79.5
LENS = Fisheye(SIZE, SIZE, FOCAL, FOCAL, CENTRE, CENTRE)


def pixels_of(points: np.ndarray) -> np.ndarray:
    """The equidistant lens, written out again, so that the test does not use the code that it checks."""
    aside = np.hypot(points[:, 0], points[:, 1])
    return FOCAL * (np.arctan2(aside, points[:, 2]) / aside)[:, None] * points[:, :2] + CENTRE


def entry_distance() -> np.ndarray:
    v, u = np.mgrid[0:SIZE, 0:SIZE]
    x, y = (u - CENTRE) / FOCAL, (v - CENTRE) / FOCAL
    angle = np.hypot(x, y)
    rays = np.stack([x / angle * np.sin(angle), y / angle * np.sin(angle), np.cos(angle)], axis=-1)
    start, along = -T_CAMERA_CUBE.R.T @ T_CAMERA_CUBE.p, rays @ T_CAMERA_CUBE.R
    bounds = np.sort(np.stack([(-HALF_M - start) / along, (HALF_M - start) / along]), axis=0)
    enters, leaves = bounds[0].max(axis=-1), bounds[1].min(axis=-1)
    return np.where((enters < leaves) & (enters > 0.0), enters, np.inf)


@pytest.mark.parametrize("world", ["tiny", "embree"], indirect=True)
def test_annotations_of_a_cube_at_the_side_of_a_fisheye_agree_with_its_geometry(world: World, T_world_camera: Pose):
    world.add_box("cube", size_m=[2 * HALF_M] * 3, T_world_box=T_world_camera @ T_CAMERA_CUBE)
    corners = np.array([T_CAMERA_CUBE @ (HALF_M * np.array(signs)) for signs in product((-1, 1), repeat=3)])
    nearest, farthest = (corners[pick(np.linalg.norm(corners, axis=1))] for pick in (np.argmin, np.argmax))
    shot = take_annotated_frame(
        world,
        LENS,
        T_world_camera,
        near_m=0.02,
        far_m=10.0,
        cfg=AnnotationCfg(),
        keypoints={"cube.a.near": T_world_camera @ nearest, "cube.a.far": T_world_camera @ farthest},
    )
    found = annotate(shot, ANNOTATORS.own_names())
    distance = entry_distance()
    hit = np.isfinite(distance)
    rows, columns = np.flatnonzero(hit.any(axis=1)), np.flatnonzero(hit.any(axis=0))
    np.testing.assert_allclose(found["boxes_2d_tight"], [[columns[0], rows[0], columns[-1], rows[-1]]], atol=1)
    np.testing.assert_allclose(
        found["boxes_2d_loose"], [[columns[0] - 0.5, rows[0] - 0.5, columns[-1] + 0.5, rows[-1] + 0.5]], atol=1
    )
    np.testing.assert_allclose(found["alone_px"], hit.sum(), rtol=0.02)
    assert found["occlusion"] == pytest.approx(0.0, abs=0.01)
    np.testing.assert_allclose(found["centers_px"], pixels_of(T_CAMERA_CUBE.p[None]), atol=1e-6)
    np.testing.assert_allclose(found["poses"][0], T_CAMERA_CUBE.matrix, atol=1e-6)
    np.testing.assert_allclose(np.sort(found["boxes_3d_corners_px"][0], axis=0), np.sort(pixels_of(corners), axis=0))
    np.testing.assert_allclose(found["keypoints_px"], pixels_of(np.stack([nearest, farthest])), atol=1e-6)
    assert found["keypoints_visibility"].tolist() == [2, 1]
    both = hit & (found["instance_segmentation"] == 1)
    assert both.sum() > 0.97 * hit.sum()
    # a renderer of pinhole images has the neighbour's length on edges of faces
    off = np.abs(found["distance_to_camera"] - distance)[both]
    assert (off < 1e-3).mean() > 0.93
    both[both] = off < 1e-3
    local = (T_world_camera @ T_CAMERA_CUBE).inverse() @ found["point_cloud"][both].astype(float)
    np.testing.assert_allclose(np.abs(local).max(axis=-1), HALF_M, atol=1e-3)
    faces = found["normals"][both] @ T_world_camera.R @ T_CAMERA_CUBE.R
    assert (np.abs(faces).max(axis=-1) > 1.0 - 1e-5).mean() > 0.97
    assert dope_frame(shot)["camera_data"]["fisheye"] == [0.0] * 4
