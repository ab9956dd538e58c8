"""The geometry of objects that policies observe, against the engine: order of joints, motion of parts, points."""

from pathlib import Path

import numpy as np
import pytest

from tests.objects.builders import every_category, most_heavy
from unlatch.objects.annotation import HandleType
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_object
from unlatch.robots.catalog import ROBOTS
from unlatch.robots.description import base_pose
from unlatch.robots.models import model_path
from unlatch.robots.robot import Robot
from unlatch.simcore.geometry import Pose, matrix_from_axis_angle
from unlatch.simcore.meshes.shape_surface import surface_distance
from unlatch.simcore.recording.modality import PointSurface
from unlatch.simcore.recording.observed_scene import SurfaceCloud
from unlatch.simcore.sim.world import World, WorldCfg
from unlatch.simcore.urdf.model import rigid_shapes
from unlatch.skills.catalog import SKILLS
from unlatch.workflows.episode.observed_scene import (
    COUNTED_AS,
    MOTIONLESS,
    SKILL_KINDS,
    object_geometry,
    observed_scene,
    part_geometry,
)
from unlatch.workflows.runs.loading import load

SEEDS = range(3)


def load_generated(category: str, seed: int, folder: Path) -> ObjectAsset:
    cfg = ObjectCfg(name="o", category=category, instance=str(seed), cache_dir=str(folder))
    return load_object(cfg, rng=np.random.default_rng(0))


@every_category
def test_links_are_where_the_engine_has_them_at_the_recorded_joint_positions(category, tmp_path):
    rng = np.random.default_rng(4)
    for seed in SEEDS:
        asset = load_generated(category, seed, tmp_path)
        item = object_geometry(asset)
        with World(WorldCfg()) as world:
            body = world.load_urdf(asset.urdf_path, name="o", T_world_root=Pose.identity())
            assert item.joints == tuple(joint.name for joint in body.movable_joints)
            positions = rng.uniform(0.0, 0.4, size=len(item.joints))
            body.set_joint_positions(list(item.joints), positions)
            for link in item.model.links:
                assert item.link_pose(link, positions).is_close(body.link_pose(link), atol_m=1e-6, atol_rad=1e-6), link


@every_category
def test_a_part_opens_by_a_positive_motion_along_or_about_its_hinge_axis(category, tmp_path):
    step = 0.1
    for seed in SEEDS:
        item = object_geometry(load_generated(category, seed, tmp_path))
        for part in item.parts.values():
            place = item.joints.index(part.joint)
            closed = np.zeros(len(item.joints))
            closed[place] = part.closed
            opened = closed.copy()
            opened[place] += part.sign * step
            T, T_opened = (item.link_pose(part.link, positions) for positions in (closed, opened))
            axis, start = T.rotate(part.hinge_axis), T @ part.hinge_point
            grip = T @ part.T_link_grip.p
            wanted = grip + step * axis
            if not part.slides:
                wanted = start + matrix_from_axis_angle(axis, step) @ (grip - start)
                assert abs(float((grip - start) @ axis)) < 1e-9  # the nearest point of the axis
            np.testing.assert_allclose(T_opened @ part.T_link_grip.p, wanted, atol=1e-9)
            assert part.limits[0] <= min(part.closed, part.open) + 1e-9
            assert part.limits[1] >= max(part.closed, part.open) - 1e-9


@every_category
def test_the_box_around_a_part_has_its_grip_and_its_grip_points_out_of_it(category, tmp_path):
    for seed in SEEDS:
        asset = load_generated(category, seed, tmp_path)
        for name, part in object_geometry(asset).parts.items():
            inside = np.abs(part.T_link_box.inverse() @ part.T_link_grip.p) - part.box_size / 2
            assert inside.max() < 5e-3, (name, inside)
            assert np.all(part.box_size > 0)
            for R in (part.T_link_box.R, part.T_link_grip.R):
                np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-6)
                assert np.linalg.det(R) > 0


def test_without_a_pose_of_the_handle_the_grip_is_the_keypoint_at_which_a_hand_acts(tmp_path):
    asset = load_generated("microwave", 0, tmp_path)
    part = asset.articulation.part("door")
    object.__setattr__(part, "handle", type(part.handle)(HandleType.none, np.zeros(3)))
    found = part_geometry(part, asset.model)
    np.testing.assert_allclose(found.T_link_grip.p, part.keypoint("articulated_object_head").xyz)
    np.testing.assert_allclose(found.T_link_grip.R[:, 0], found.T_link_box.R[:, 0])
    assert found.grip_type == "none"
    np.testing.assert_array_equal(found.grip_size, 0.0)


@pytest.mark.parametrize("surface", PointSurface)
@pytest.mark.parametrize("category", ["microwave", "drawer_cabinet", "faucet"])
def test_points_lie_on_the_surface_and_move_with_their_links(category, surface, tmp_path):
    asset = load_generated(category, 1, tmp_path)
    item, n = object_geometry(asset), 300
    cloud = SurfaceCloud(item, n, surface=surface, rng=np.random.default_rng(0))
    name = next(iter(item.parts))
    part, on_part = item.parts[name], cloud.on_part(name)
    assert 0 < on_part.sum() < n
    T_base_root = Pose.from_rpy([0.5, 0.1, 0.2], [0.0, 0.0, 0.3])
    positions = np.zeros(len(item.joints))
    closed = cloud.positions(positions, T_base_root)
    positions[item.joints.index(part.joint)] = 0.2
    opened = cloud.positions(positions, T_base_root)
    moved = np.linalg.norm(opened - closed, axis=1) > 1e-9
    assert np.array_equal(moved, on_part) or part.kind in ("knob", "lever")  # points on the axis stay
    assert not moved[~on_part].any()
    if surface is PointSurface.collision:
        shapes = rigid_shapes(asset.model, part.link)
        T_link_base = (T_base_root @ item.link_pose(part.link, positions)).inverse()
        distances = [surface_distance(shapes, T_link_base @ point) for point in opened[on_part][:50]]
        assert max(distances) < 1e-3


def test_equal_generators_draw_equal_points(tmp_path):
    item = object_geometry(load_generated("microwave", 0, tmp_path))
    clouds = [
        SurfaceCloud(item, 50, surface=PointSurface.visual, rng=np.random.default_rng(seed)) for seed in (0, 0, 1)
    ]
    first, again, other = (cloud.positions(np.zeros(len(item.joints)), Pose.identity()) for cloud in clouds)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0])
def test_a_share_of_the_points_lies_on_the_part(share, tmp_path):
    item = object_geometry(load_generated("drawer_cabinet", 0, tmp_path))
    name = next(iter(item.parts))
    rng = np.random.default_rng(0)
    cloud = SurfaceCloud(item, 400, surface=PointSurface.visual, rng=rng, part=name, part_share=share)
    assert cloud.on_part(name).sum() == 400 * share
    assert len(np.unique(cloud.positions(np.zeros(len(item.joints)), Pose.identity()), axis=0)) == 400


pytestmark = pytest.mark.integration


@pytest.mark.parametrize("name", most_heavy(ROBOTS.own_names(), ["dual_panda", "xarm6"]))
def test_the_base_of_an_arm_is_where_the_engine_has_it(name):
    cfg = load("close_drawer", f"robot={name}").robot
    scene = observed_scene(cfg, dict, seed=0)
    with World(WorldCfg()) as world:
        robot = Robot(world, cfg, model_path(cfg), T_world_root=base_pose(cfg))
        assert set(scene.bases) == set(robot.arms)
        for arm, T_world_base in scene.bases.items():
            assert T_world_base.is_close(robot.arms[arm].T_world_base, atol_m=1e-6, atol_rad=1e-6)


def test_every_skill_that_moves_an_arm_has_a_number():
    moving = {COUNTED_AS.get(name, name) for name in SKILLS.own_names() if name != MOTIONLESS}
    assert sorted(SKILL_KINDS) == sorted(moving)
