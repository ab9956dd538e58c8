"""Every attribute of a rigid prim view has the effect that its page states."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from unlatch.simcore.errors import ConfigError, WorldError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.attribute_views import gravity_attribute
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.body_views import ArticulationView, RigidPrimView
from unlatch.simcore.sim.world import World

pytestmark = pytest.mark.integration
Run = Callable[[float], None]
Put = Callable[..., None]


def height(view: RigidPrimView) -> float:
    return float(view.get("position")[0][2])


def test_gravity_accelerates_falling_bodies(world: World, ball: RigidPrimView, run: Run) -> None:
    gravity_attribute(world).write(0, np.array([1.0, 0.0, -2.0]))
    run(1.0)
    assert ball.get("linear_velocity")[0] == pytest.approx([1.0, 0.0, -2.0], rel=1e-9)
    world.reset()
    assert world.gravity_m_s2 == pytest.approx([0.0, 0.0, -9.81])


def test_position_moves_a_body_and_leaves_its_velocity(world: World, ball: RigidPrimView, run: Run, put: Put) -> None:
    put(ball, "velocity", 1.0, 0.0, 0.0, 0.0, 0.0, 3.0)
    put(ball, "position", 0.5, -0.25, 2.0)
    run(0.5)
    assert ball.get("position")[0][0] == pytest.approx(1.0, abs=1e-6)
    assert ball.get("velocity")[0] == pytest.approx([1.0, 0.0, -9.81 * 0.5, 0.0, 0.0, 3.0])


def test_orientation_is_roll_pitch_yaw(crate: RigidPrimView, put: Put) -> None:
    put(crate, "orientation", 0.3, -0.2, 1.1)
    assert np.allclose(crate.bodies[0].root_pose().R, Pose.from_rpy((0, 0, 0), (0.3, -0.2, 1.1)).R)
    assert crate.get("position")[0] == pytest.approx([0.0, 0.0, 0.1])


def test_velocities_move_a_body(world: World, ball: RigidPrimView, run: Run, put: Put) -> None:
    world.set_gravity((0, 0, 0))
    put(ball, "linear_velocity", 0.5, 0.0, 0.0)
    put(ball, "angular_velocity", 0.0, 0.0, 1.0)
    assert ball.get("velocity")[0] == pytest.approx([0.5, 0, 0, 0, 0, 1.0])
    run(1.0)
    assert ball.get("position")[0] == pytest.approx([0.5, 0, 1.0], abs=1e-9)
    assert ball.get("orientation")[0] == pytest.approx([0, 0, 1.0], abs=1e-3)


def test_a_force_accelerates_by_force_over_mass(world: World, ball: RigidPrimView, run: Run, put: Put) -> None:
    world.set_gravity((0, 0, 0))
    put(ball, "mass", 4.0)
    put(ball, "force", 2.0, 0.0, 0.0)
    run(1.0)
    put(ball, "force", 0.0, 0.0, 0.0)
    run(1.0)
    assert ball.get("velocity")[0] == pytest.approx([0.5, 0, 0, 0, 0, 0], abs=1e-9)


def test_mass_keeps_inertia_in_proportion_until_that_is_written_itself(ball: RigidPrimView, put: Put) -> None:
    before = ball.get("inertia")[0]
    assert before == pytest.approx([0.4 * 0.1**2] * 3)  # a ball: 2/5 m r^2
    for mass in (2.5, 0.5):
        put(ball, "mass", mass)
        assert ball.get("inertia")[0] == pytest.approx(mass * before)
    put(ball, "inertia", 0.01, 0.02, 0.03)
    put(ball, "mass", 5.0)
    assert ball.get("inertia")[0] == pytest.approx([0.01, 0.02, 0.03])


def test_mass_and_inertia_decide_what_an_impulse_does(world: World, put: Put, run: Run) -> None:
    import pybullet as p

    world.set_gravity((0, 0, 0))
    body = world.add_box("box", size_m=(0.2, 0.2, 0.2), T_world_box=Pose.identity(), mass_kg=1.0)
    view = RigidPrimView(world, [body], name="box")
    put(view, "mass", 2.0)
    put(view, "inertia", 0.1, 0.2, 0.5)
    for _ in range(24):  # 1 N at 0.1 m from the middle, for 0.1 s: the body has hardly turned by then
        p.applyExternalForce(body.body_id, -1, [0, 1, 0], [0.1, 0, 0], p.LINK_FRAME, physicsClientId=world.client)
        world.step()
    velocity = view.get("velocity")[0]
    assert velocity[1] == pytest.approx(0.1 / 2.0, rel=1e-3)
    assert velocity[5] == pytest.approx(0.1 * 0.1 / 0.5, rel=1e-3)


def slide(view: RigidPrimView, put: Put, run: Run, force_n: float, seconds: float) -> float:
    """Speed that a horizontal force gives a crate at rest [m/s]."""
    put(view, "force", force_n, 0.0, 0.0)
    run(seconds)
    return float(view.get("linear_velocity")[0][0])


@pytest.mark.parametrize(("force", "moves"), [(7.0, False), (9.0, True)])
def test_static_friction_is_the_break_away_force(
    crate: RigidPrimView, put: Put, run: Run, force: float, moves: bool
) -> None:
    put(crate, "material_properties", 0.8, 0.4, 0.0)  # 7.85 N to break away from a floor of friction 1
    run(0.1)
    assert (slide(crate, put, run, force, 0.5) > 0.1) == moves


def test_dynamic_friction_slows_sliding_bodies(crate: RigidPrimView, put: Put, run: Run) -> None:
    put(crate, "material_properties", 0.8, 0.4, 0.0)
    run(0.1)
    put(crate, "velocity", 2.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    run(0.25)
    assert crate.get("linear_velocity")[0][0] == pytest.approx(2.0 - 0.4 * 9.81 * 0.25, rel=0.03)


def bounce(world: World, view: RigidPrimView) -> float:
    """Share of its speed that a ball keeps when it first falls on the floor."""
    speeds = []
    for _ in range(240):
        world.step()
        speeds.append(float(view.get("linear_velocity")[0][2]))
    up = int(np.argmax(speeds))
    return speeds[up] / -min(speeds[:up])


@pytest.mark.parametrize("restitution", [0.3, 0.6, 0.9])
def test_restitution_is_the_bounce(
    world: World, floor: Body, ball: RigidPrimView, put: Put, restitution: float
) -> None:
    put(ball, "material_properties", 0.5, 0.5, restitution)
    # the world pushes out what has sunk in, which adds a little speed
    assert bounce(world, ball) == pytest.approx(restitution, abs=0.08)


def test_without_restitution_nothing_bounces(world: World, floor: Body, ball: RigidPrimView) -> None:
    heights = []
    for _ in range(300):
        world.step()
        heights.append(height(ball) - 0.1)
    assert max(heights[150:]) < 1e-3


@pytest.mark.parametrize("offset", [0.0, 0.03])
def test_contact_offset_brakes_before_the_surface(
    world: World, floor: Body, ball: RigidPrimView, put: Put, offset: float
) -> None:
    put(ball, "contact_offset", offset)
    depths = []
    for start in np.linspace(0.5, 0.6, 6):  # it falls by 14 to 17 mm a step
        put(ball, "position", 0.0, 0.0, start)
        put(ball, "velocity", 0.0, 0.0, -3.0, 0.0, 0.0, 0.0)
        heights = []
        for _ in range(60):
            world.step()
            heights.append(height(ball) - 0.1)
        depths.append(-min(heights))
    assert (max(depths) > 5e-3) if offset == 0.0 else (max(depths) < 1e-4)


def test_contact_offset_leaves_the_bounce(world: World, floor: Body, ball: RigidPrimView, put: Put) -> None:
    put(ball, "material_properties", 0.5, 0.5, 0.6)
    put(ball, "contact_offset", 0.03)
    assert bounce(world, ball) == pytest.approx(0.6, abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("rest", [0.0, 0.002, 0.02])
def test_rest_offset_is_the_distance_of_rest(
    floor: Body, ball: RigidPrimView, crate: RigidPrimView, put: Put, run: Run, rest: float
) -> None:
    put(ball, "position", 1.0, 0.0, 0.2)
    for view in (ball, crate):
        put(view, "rest_offset", rest)
    run(2.0)
    assert height(ball) - 0.1 == pytest.approx(rest, abs=2e-4)
    assert height(crate) - 0.1 == pytest.approx(rest, abs=2e-4)
    assert crate.get("orientation")[0] == pytest.approx([0, 0, 0], abs=1e-2)


def test_a_body_at_its_rest_offset_has_friction(crate: RigidPrimView, put: Put, run: Run) -> None:
    put(crate, "material_properties", 0.5, 0.5, 0.0)
    put(crate, "rest_offset", 0.005)
    run(0.5)
    put(crate, "velocity", 1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    run(0.1)
    assert crate.get("linear_velocity")[0][0] == pytest.approx(1.0 - 0.5 * 9.81 * 0.1, rel=0.1)


def test_a_fixed_body_has_a_pose_and_a_material(world: World, floor: Body) -> None:
    view = RigidPrimView(world, [floor], name="floor")
    assert list(view.attributes) == ["position", "orientation", "material_properties"]
    with pytest.raises(ConfigError, match=r"View 'floor' \(rigid prim view\) has no 'mass': it stands still\."):
        view.attribute("mass")


def test_an_articulated_body_is_no_rigid_prim(world: World, rig: Callable[..., ArticulationView]) -> None:
    body = rig().bodies[0]
    with pytest.raises(WorldError, match=r"Body 'rig' of view 'x' has joints that move\. Make an ArticulationView"):
        RigidPrimView(world, [body], name="x")


def test_values_mean_the_same_in_every_environment(world: World) -> None:
    origins = [Pose.identity(), Pose.from_rpy((3.0, 0.0, 0.0), (0.0, 0.0, np.pi / 2))]
    bodies = [world.add_sphere(f"ball_{i}", radius_m=0.1, T_world_sphere=T, mass_kg=1.0) for i, T in enumerate(origins)]
    view = RigidPrimView(world, bodies, name="balls", origins=origins)
    for env in range(2):
        view.attribute("position").write(env, np.array([0.5, 0.0, 1.0]))
        view.attribute("velocity").write(env, np.array([1.0, 0, 0, 0, 0, 2.0]))
        view.attribute("force").write(env, np.array([0.0, 1.0, 0.0]))
    assert np.allclose(view.get("position"), [[0.5, 0, 1.0]] * 2)
    assert bodies[1].root_pose().p == pytest.approx([3.0, 0.5, 1.0])
    world.set_gravity((0, 0, 0))
    for _ in range(240):
        world.step()
    assert np.allclose(view.get("position"), [[1.5, 0.502, 1.0]] * 2, atol=1e-3)
    assert np.allclose(view.get("force"), [[0.0, 1.0, 0.0]] * 2)
