"""What stands in `physics.json`, by its effect in Bullet, and the masses of bodies without any."""

import json
from pathlib import Path

import numpy as np
import pybullet as p
import pytest

from tests.objects.builders import box_mesh, edit
from unlatch.objects.importers.asset_converter import CollisionPropertiesCfg, MassPropertiesCfg, RigidBodyPropertiesCfg
from unlatch.objects.importers.converted_asset import face_m2, solid_inertial
from unlatch.objects.importers.mesh_object import MeshConverter, MeshConverterCfg
from unlatch.objects.importers.urdf_converter import UrdfConverter, UrdfConverterCfg
from unlatch.simcore.errors import WorldError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.converted_body import load_converted
from unlatch.simcore.sim.world import World, WorldCfg

SECOND = 240
HIGH = Pose.from_translation(np.array([0.0, 0.0, 50.0]))


@pytest.fixture
def world():
    with World(WorldCfg()) as opened:
        yield opened


def load(world, urdf):
    physics = json.loads((Path(urdf).parent / "physics.json").read_text())
    return load_converted(world, Path(urdf), physics, name="object", T_world_root=HIGH)


def brick_in(world, brick, *, turns=(0.0, 0.0, 0.0), moves=(0.0, 0.0, 0.0), steps=SECOND, **groups):
    """The brick, with its velocities, after some steps in a world."""
    groups = {"mass_props": MassPropertiesCfg(mass=1.0), **groups}
    made = MeshConverter(MeshConverterCfg(asset_path=str(brick), out_dir=str(brick.parents[1] / "out"), **groups))
    body = load(world, made.urdf_path)[0]
    p.resetBaseVelocity(body.body_id, moves, turns, physicsClientId=world.client)
    for _ in range(steps):
        world.step()
    return body, *map(np.array, p.getBaseVelocity(body.body_id, physicsClientId=world.client))


def test_a_body_without_rigid_properties_falls_freely(world, brick):
    _, linear, _ = brick_in(world, brick)
    assert linear[2] == pytest.approx(-9.81, rel=1e-6)
    with pytest.raises(WorldError, match="already in this world"):
        brick_in(world, brick)


@pytest.mark.parametrize("name", ["disable_gravity", "kinematic"])
def test_a_body_without_gravity_or_a_kinematic_one_stays_where_it_is_put(name, world, brick):
    body, *_ = brick_in(world, brick, rigid_props=RigidBodyPropertiesCfg(**{name: True}))
    np.testing.assert_allclose(body.root_pose().p, HIGH.p, atol=1e-9)


def test_damping_leaves_its_exponential_after_a_second(world, brick):
    props = RigidBodyPropertiesCfg(disable_gravity=True, linear_damping=0.5, angular_damping=0.3)
    _, linear, angular = brick_in(world, brick, moves=[2.0, 0, 0], turns=[0, 0, 2.0], rigid_props=props)
    assert (linear[0], angular[2]) == pytest.approx((2.0 * np.exp(-0.5), 2.0 * np.exp(-0.3)), rel=1e-6)


def test_velocities_are_limited(world, brick):
    limits = RigidBodyPropertiesCfg(max_linear_velocity=3.0, max_angular_velocity=1.0)
    _, linear, angular = brick_in(world, brick, turns=[0, 0, 9.0], rigid_props=limits)
    assert 2.9 < np.linalg.norm(linear) <= 3.0 + 9.81 / SECOND + 1e-6
    assert np.linalg.norm(angular) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("enabled", [True, False])
def test_only_an_enabled_collider_rests_on_the_floor(enabled, world, brick):
    world.add_box("floor", size_m=(4, 4, 1), T_world_box=Pose.from_translation(HIGH.p - [0, 0, 0.5]))
    body, *_ = brick_in(world, brick, collision_props=CollisionPropertiesCfg(collision_enabled=enabled))
    assert bool(abs(body.root_pose().p[2] - HIGH.p[2]) < 0.01) is enabled


def cabinet_in(world, cabinet, **values):
    where = {"asset_path": str(cabinet), "out_dir": str(cabinet.parents[1] / "out")}
    made = UrdfConverter(UrdfConverterCfg(**where, fix_base=True, link_density=500.0, **values))
    return load(world, made.urdf_path)


def driven(world, cabinet, target, steps, **values):
    """Where the hinge is after some steps with a target [rad]."""
    world.reset()
    body, drives = cabinet_in(world, cabinet, override_joint_dynamics=True, **values)
    drives.set_targets(["hinge"], np.array([target]), np.zeros(1))
    for _ in range(steps):
        world.step()
    return float(body.joint_states(["hinge"])[0][0])


def test_a_position_drive_follows_its_target_and_no_drive_does_not(world, cabinet):
    values = {"default_drive_stiffness": 200.0, "default_drive_damping": 20.0}
    reached = driven(world, cabinet, -0.3, 3 * SECOND, default_drive_type="position", **values)
    assert reached == pytest.approx(-0.3, abs=0.2)
    with pytest.raises(WorldError, match="passive"):
        driven(world, cabinet, -0.3, 0, default_drive_type="none", **values)


def test_a_velocity_drive_only_damps(world, cabinet):
    loose, stiff = (
        abs(driven(world, cabinet, 0.0, SECOND // 4, default_drive_type="velocity", default_drive_damping=damping))
        for damping in (0.1, 50.0)
    )
    assert 1e-4 < stiff < 0.5 * loose


@pytest.mark.parametrize("wanted", [True, False])
def test_links_of_one_object_meet_only_with_self_collision(wanted, world, cabinet):
    below = '<parent link="door"/>'
    edit(cabinet, (f'<origin xyz="0.1 0 0"/>{below}', f'<origin xyz="0 -0.4 -0.1"/>{below}'))
    body, _ = cabinet_in(world, cabinet, self_collision=wanted)
    p.performCollisionDetection(physicsClientId=world.client)
    points = p.getContactPoints(body.body_id, body.body_id, physicsClientId=world.client)
    assert (len(points) > 0) is wanted


def solid(x, y, z, *, at=0.0):
    return box_mesh((0, 0, at), (x, y, z + at))


def test_the_face_of_a_sheet_is_one_of_its_sides_and_inner_surfaces_do_not_count_twice():
    sheet = solid(0.5, 0.4, 1e-4)
    assert face_m2([sheet]) == pytest.approx(0.2, rel=1e-3)
    assert face_m2([sheet, solid(0.5, 0.4, 1e-4, at=0.001)]) == pytest.approx(0.2, rel=1e-3)
    # a frame of rods has no face between them
    assert face_m2([solid(0.5, 0.01, 0.01), solid(0.01, 0.5, 0.01)]) == pytest.approx(2 * 0.0101)


def test_the_least_mass_is_for_thin_bodies_and_not_for_stated_masses():
    sheet, block = [solid(0.5, 0.4, 0.001)], [solid(0.5, 0.4, 0.1)]
    assert solid_inertial((), sheet, density=400.0, least_kg_m2=10.0).mass_kg == pytest.approx(2.0, rel=1e-3)
    assert solid_inertial((), block, density=400.0, least_kg_m2=10.0).mass_kg == pytest.approx(8.0)
    assert solid_inertial((), sheet, mass_kg=0.3, least_kg_m2=10.0).mass_kg == 0.3
