"""Every annotation of a cube in a known place is that of its geometry, within a pixel or a millimetre."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from unlatch.simcore.catalogs import ANNOTATORS, RENDERERS
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.annotators.annotation import CORNER_SIGNS, AnnotatedFrame, Annotations, annotate, box_edges
from unlatch.simcore.sim.world import World

pytestmark = pytest.mark.integration
Take = Callable[..., AnnotatedFrame]

HALF_M = 0.15
T_CAMERA_CUBE = Pose.from_rpy((0.1, -0.05, 1.0), (0.4, 0.7, 0.2))
# the camera of the fixture, written out again, so that the test does not use the code that it checks
FX, FY, CX, CY, WIDTH, HEIGHT = 150.0, 140.0, 77.0, 61.0, 160, 120
V, U = np.mgrid[0:HEIGHT, 0:WIDTH]
RAYS = np.stack([(U - CX) / FX, (V - CY) / FY, np.ones(U.shape)], axis=-1)


def pixel_of(point: np.ndarray) -> np.ndarray:
    return np.array([FX * point[0] / point[2] + CX, FY * point[1] / point[2] + CY])


def entry_depth() -> np.ndarray:
    """Depth at which each pixel's ray enters the cube, by the slab test; infinite for rays that miss it."""
    start, along = -T_CAMERA_CUBE.R.T @ T_CAMERA_CUBE.p, RAYS @ T_CAMERA_CUBE.R
    bounds = np.sort(np.stack([(-HALF_M - start) / along, (HALF_M - start) / along]), axis=0)
    enters, leaves = bounds[0].max(axis=-1), bounds[1].min(axis=-1)
    return np.where(enters < leaves, enters, np.inf)


CORNERS_CAMERA = np.array([T_CAMERA_CUBE @ (HALF_M * np.array(signs)) for signs in product((-1, 1), repeat=3)])
CORNERS_PX = np.array([pixel_of(corner) for corner in CORNERS_CAMERA])


@pytest.fixture
def shot(world: World, take: Take, T_world_camera: Pose) -> AnnotatedFrame:
    world.add_box("cube", size_m=[2 * HALF_M] * 3, T_world_box=T_world_camera @ T_CAMERA_CUBE)
    return take(keypoints={"cube.front.corner": T_world_camera @ CORNERS_CAMERA[np.argmin(CORNERS_CAMERA[:, 2])]})


@pytest.fixture
def found(shot: AnnotatedFrame) -> Annotations:
    return annotate(shot, ANNOTATORS.own_names())


@pytest.mark.parametrize("world", RENDERERS.own_names(), indirect=True)
def test_annotations_of_a_cube_agree_with_its_geometry(found: Annotations, T_world_camera: Pose):
    depth = entry_depth()
    hit = np.isfinite(depth)
    assert found.paths == ("/cube",)

    shown = found["instance_segmentation"] == 1
    assert (shown != hit).sum() <= 0.01 * hit.sum()  # the renderer rounds on edges
    both = shown & hit
    np.testing.assert_allclose(found["distance_to_image_plane"][both], depth[both], atol=1e-3)
    distance = np.linalg.norm(RAYS[both] * depth[both][:, None], axis=-1)
    np.testing.assert_allclose(found["distance_to_camera"][both], distance, atol=1e-3)
    points = T_world_camera @ (RAYS[both] * depth[both][:, None])
    np.testing.assert_allclose(found["point_cloud"][both], points, atol=1e-3)

    faces = found["normals"][both] @ T_world_camera.R @ T_CAMERA_CUBE.R  # in the cube's frame
    assert (np.abs(faces).max(axis=-1) > 1.0 - 1e-6).mean() > 0.999
    assert (np.einsum("ij,ij->i", faces, (RAYS @ T_CAMERA_CUBE.R)[both]) < 1e-9).all()  # 0 on specks

    rows, columns = np.flatnonzero(hit.any(axis=1)), np.flatnonzero(hit.any(axis=0))
    tight = [columns[0], rows[0], columns[-1], rows[-1]]
    np.testing.assert_allclose(found["boxes_2d_tight"], [tight], atol=1)
    assert found["visible_px"][0] == pytest.approx(hit.sum(), rel=0.01)
    loose = [*CORNERS_PX.min(axis=0), *CORNERS_PX.max(axis=0)]
    np.testing.assert_allclose(found["boxes_2d_loose"], [loose], atol=1e-3)

    order = (CORNER_SIGNS + 1) // 2 @ [4, 2, 1]  # place of each corner in `product`
    np.testing.assert_allclose(found["boxes_3d_corners_px"][0], CORNERS_PX[order], atol=1e-3)
    in_world = T_world_camera @ CORNERS_CAMERA[order]
    np.testing.assert_allclose(found["boxes_3d_corners"][0], in_world, atol=1e-6)
    np.testing.assert_allclose(found["boxes_3d_extents"][0], [[-HALF_M] * 3, [HALF_M] * 3], atol=1e-9)
    np.testing.assert_allclose(found["poses"][0], T_CAMERA_CUBE.matrix, atol=1e-6)
    np.testing.assert_allclose(found["centers_px"][0], pixel_of(T_CAMERA_CUBE.p), atol=1e-3)

    assert found["occlusion"][0] == 0.0
    assert found["alone_px"][0] == hit.sum()
    assert found["keypoints_visibility"].tolist() == [2]
    np.testing.assert_allclose(found["keypoints_px"][0], CORNERS_PX[np.argmin(CORNERS_CAMERA[:, 2])], atol=1e-3)


def test_every_output_is_what_its_annotator_declares(shot: AnnotatedFrame):
    named: list[str] = []
    for name in ANNOTATORS.own_names():
        annotator = ANNOTATORS.load(name)()
        values = annotator.annotate(shot)
        assert list(values) == [output.name for output in annotator.outputs]
        named += values
        for output in annotator.outputs:
            value = values[output.name]
            kind = "text" if value.dtype.kind == "U" else value.dtype.name
            assert kind == output.dtype, output.name
            sizes = {"H": HEIGHT, "W": WIDTH, "N": 1, "K": 1, "L": 2}
            assert value.shape == tuple(sizes.get(size, size) for size in output.shape), output.name
    assert len(named) == len(set(named))


def test_corners_are_joined_along_the_edges_of_a_box():
    edges = box_edges()
    assert len(edges) == 12
    assert {np.abs(CORNER_SIGNS[i] - CORNER_SIGNS[j]).sum() for i, j in edges} == {2}
