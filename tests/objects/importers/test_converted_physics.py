"""What stands in `physics.json`, by its effect in Bullet."""

from pathlib import Path

import numpy as np
import pybullet as p
import pytest

from unlatch.objects.importers.asset_converter import CollisionPropertiesCfg, MassPropertiesCfg, RigidBodyPropertiesCfg
from unlatch.objects.importers.converted_asset import read_physics
from unlatch.objects.importers.mesh_object import MeshConverter, MeshConverterCfg
from unlatch.objects.importers.urdf_converter import UrdfConverter, UrdfConverterCfg
from unlatch.simcore.errors import AssetError, WorldError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.converted_body import load_converted
from unlatch.simcore.sim.world import World, WorldCfg

SECOND = 240
HIGH = Pose.from_translation(np.array([0.0, 0.0, 50.0]))


@pytest.fixture
def world():
    with World(WorldCfg()) as opened:
        yield opened


def load(world, urdf, T=HIGH):
    return load_converted(world, Path(urdf), read_physics(Path(urdf)), name="object", T_world_root=T)


def brick_in(world, brick, **groups):
    groups = {"mass_props": MassPropertiesCfg(mass=1.0), **groups}
    made = MeshConverter(MeshConverterCfg(asset_path=str(brick), out_dir=str(brick.parents[1] / "out"), **groups))
    return load(world, made.urdf_path)[0]


def run(world, steps=SECOND):
    for _ in range(steps):
        world.step()


def velocity(body):
    linear, angular = p.getBaseVelocity(body.body_id, physicsClientId=body.client)
    return np.array(linear), np.array(angular)


def test_a_body_without_rigid_properties_falls_freely(world, brick):
    body = brick_in(world, brick)
    run(world)
    assert velocity(body)[0][2] == pytest.approx(-9.81, rel=1e-6)


def test_gravity_can_leave_a_body_alone(world, brick):
    body = brick_in(world, brick, rigid_props=RigidBodyPropertiesCfg(disable_gravity=True))
    run(world)
    np.testing.assert_allclose(body.root_pose().p, HIGH.p, atol=1e-9)


def test_linear_damping_leaves_its_exponential_after_a_second(world, brick):
    body = brick_in(world, brick, rigid_props=RigidBodyPropertiesCfg(disable_gravity=True, linear_damping=0.5))
    p.resetBaseVelocity(body.body_id, [2.0, 0, 0], [0, 0, 0], physicsClientId=world.client)
    run(world)
    assert velocity(body)[0][0] == pytest.approx(2.0 * np.exp(-0.5), rel=1e-6)


def test_angular_damping_leaves_its_exponential_after_a_second(world, brick):
    body = brick_in(world, brick, rigid_props=RigidBodyPropertiesCfg(disable_gravity=True, angular_damping=0.5))
    p.resetBaseVelocity(body.body_id, [0, 0, 0], [0, 0, 2.0], physicsClientId=world.client)
    run(world)
    assert velocity(body)[1][2] == pytest.approx(2.0 * np.exp(-0.5), rel=1e-6)


def test_velocities_are_limited(world, brick):
    limits = RigidBodyPropertiesCfg(max_linear_velocity=3.0, max_angular_velocity=1.0)
    body = brick_in(world, brick, rigid_props=limits)
    p.resetBaseVelocity(body.body_id, [0, 0, 0], [0, 0, 9.0], physicsClientId=world.client)
    run(world)
    linear, angular = velocity(body)
    assert 2.9 < np.linalg.norm(linear) <= 3.0 + 9.81 / SECOND + 1e-6
    assert np.linalg.norm(angular) == pytest.approx(1.0, abs=1e-3)


def test_a_kinematic_body_stays_where_it_is_put(world, brick):
    body = brick_in(world, brick, rigid_props=RigidBodyPropertiesCfg(kinematic=True))
    run(world)
    np.testing.assert_allclose(body.root_pose().p, HIGH.p, atol=1e-9)


@pytest.mark.parametrize(("enabled", "stays"), [(True, True), (False, False)])
def test_only_an_enabled_collider_rests_on_the_floor(enabled, stays, world, brick):
    world.add_box("floor", size_m=(4, 4, 1), T_world_box=Pose.from_translation(HIGH.p - [0, 0, 0.5]))
    body = brick_in(world, brick, collision_props=CollisionPropertiesCfg(collision_enabled=enabled))
    run(world)
    assert bool(abs(body.root_pose().p[2] - HIGH.p[2]) < 0.01) is stays


def cabinet_in(world, cabinet, **values):
    made = UrdfConverter(
        UrdfConverterCfg(
            asset_path=str(cabinet),
            out_dir=str(cabinet.parents[1] / "out"),
            fix_base=True,
            link_density=500.0,
            **values,
        )
    )
    return load(world, made.urdf_path)


def hinge(body):
    return float(body.joint_states(["hinge"])[0][0])


def test_a_position_drive_follows_its_target_and_no_drive_does_not(world, cabinet):
    values = {"default_drive_stiffness": 200.0, "default_drive_damping": 20.0, "override_joint_dynamics": True}
    body, drives = cabinet_in(world, cabinet, default_drive_type="position", **values)
    drives.set_targets(["hinge"], np.array([-0.3]), np.zeros(1))
    run(world, 3 * SECOND)
    assert hinge(body) == pytest.approx(-0.3, abs=0.2)
    world.reset()
    body, drives = cabinet_in(world, cabinet, default_drive_type="none", **values)
    with pytest.raises(WorldError, match="passive"):
        drives.set_targets(["hinge"], np.array([-0.3]), np.zeros(1))


def test_a_velocity_drive_only_damps(world, cabinet):
    fallen = {}
    for damping in (0.1, 50.0):
        world.reset()
        values = {"default_drive_damping": damping, "override_joint_dynamics": True}
        body, drives = cabinet_in(world, cabinet, default_drive_type="velocity", **values)
        drives.set_targets(["hinge"], np.zeros(1), np.zeros(1))
        run(world, SECOND // 4)
        fallen[damping] = abs(hinge(body))
    assert fallen[50.0] < 0.5 * fallen[0.1]
    assert fallen[50.0] > 1e-4


@pytest.mark.parametrize("wanted", [True, False])
def test_links_of_one_object_meet_only_with_self_collision(wanted, world, cabinet):
    text = cabinet.read_text()
    cabinet.write_text(
        text.replace('<origin xyz="0.1 0 0"/><parent link="door"/>', '<origin xyz="0 -0.4 -0.1"/><parent link="door"/>')
    )
    body, _ = cabinet_in(world, cabinet, self_collision=wanted)
    p.performCollisionDetection(physicsClientId=world.client)
    points = p.getContactPoints(body.body_id, body.body_id, physicsClientId=world.client)
    assert (len(points) > 0) is wanted


def test_a_usd_name_is_used_only_once(world, brick):
    brick_in(world, brick)
    with pytest.raises(WorldError, match="already in this world"):
        brick_in(world, brick)


def test_a_damaged_physics_file_is_named(tmp_path):
    (tmp_path / "physics.json").write_text("{")
    with pytest.raises(AssetError, match=r"physics\.json: no readable JSON"):
        read_physics(tmp_path / "a.urdf")
    assert read_physics(tmp_path / "elsewhere" / "a.urdf") == {}
