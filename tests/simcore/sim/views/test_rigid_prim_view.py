"""Every attribute of a rigid prim view has the effect that its page states; so has gravity."""

import numpy as np
import pybullet as p
import pytest

from unlatch.simcore.errors import ConfigError, WorldError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.attribute_views import gravity_attribute
from unlatch.simcore.sim.body_views import RigidPrimView

pytestmark = pytest.mark.integration


def height(view):
    return float(view.get("position")[0][2])


class TestMotion:
    def test_gravity_accelerates_falling_bodies(self, world, ball, run):
        gravity_attribute(world).write(0, np.array([1.0, 0.0, -2.0]))
        run(1.0)
        assert ball.get("linear_velocity")[0] == pytest.approx([1.0, 0.0, -2.0], rel=1e-9)
        world.reset()
        assert world.gravity_m_s2 == pytest.approx([0.0, 0.0, -9.81])

    def test_position_moves_a_body_and_leaves_its_velocity(self, ball, run, put):
        put(ball, "velocity", 1.0, 0.0, 0.0, 0.0, 0.0, 3.0)
        put(ball, "position", 0.5, -0.25, 2.0)
        run(0.5)
        assert ball.get("position")[0][0] == pytest.approx(1.0, abs=1e-6)
        assert ball.get("velocity")[0] == pytest.approx([1.0, 0.0, -9.81 * 0.5, 0.0, 0.0, 3.0])

    def test_a_force_accelerates_by_force_over_mass_and_velocities_move_a_body(self, world, ball, run, put):
        world.set_gravity((0, 0, 0))
        put(ball, "mass", 4.0)
        put(ball, "force", 2.0, 0.0, 0.0)
        run(1.0)
        put(ball, "force", 0.0, 0.0, 0.0)
        run(1.0)
        assert ball.get("velocity")[0] == pytest.approx([0.5, 0, 0, 0, 0, 0], abs=1e-9)
        put(ball, "position", 0.0, 0.0, 1.0)
        put(ball, "linear_velocity", 0.0, 0.5, 0.0)
        put(ball, "angular_velocity", 0.0, 0.0, 1.0)
        assert ball.get("velocity")[0] == pytest.approx([0, 0.5, 0, 0, 0, 1.0])
        run(1.0)
        assert ball.get("position")[0] == pytest.approx([0, 0.5, 1.0], abs=1e-9)
        assert ball.get("orientation")[0] == pytest.approx([0, 0, 1.0], abs=1e-3)

    def test_mass_keeps_inertia_in_proportion_until_that_is_written_itself(self, ball, put):
        before = ball.get("inertia")[0]
        assert before == pytest.approx([0.4 * 0.1**2] * 3)  # a ball: 2/5 m r^2
        for mass in (2.5, 0.5):
            put(ball, "mass", mass)
            assert ball.get("inertia")[0] == pytest.approx(mass * before)
        put(ball, "inertia", 0.01, 0.02, 0.03)
        put(ball, "mass", 5.0)
        assert ball.get("inertia")[0] == pytest.approx([0.01, 0.02, 0.03])

    def test_mass_and_inertia_decide_what_an_impulse_does(self, world, put):
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

    def test_values_mean_the_same_in_every_environment(self, world, run):
        origins = [Pose.identity(), Pose.from_rpy((3.0, 0.0, 0.0), (0.0, 0.0, np.pi / 2))]
        bodies = [
            world.add_sphere(f"ball_{i}", radius_m=0.1, T_world_sphere=T, mass_kg=1.0) for i, T in enumerate(origins)
        ]
        view = RigidPrimView(world, bodies, name="balls", origins=origins)
        for env in range(2):
            view.attribute("position").write(env, np.array([0.5, 0.0, 1.0]))
            view.attribute("velocity").write(env, np.array([1.0, 0, 0, 0, 0, 2.0]))
            view.attribute("force").write(env, np.array([0.0, 1.0, 0.0]))
        assert np.allclose(view.get("position"), [[0.5, 0, 1.0]] * 2)
        assert bodies[1].root_pose().p == pytest.approx([3.0, 0.5, 1.0])
        world.set_gravity((0, 0, 0))
        run(1.0)
        assert np.allclose(view.get("position"), [[1.5, 0.502, 1.0]] * 2, atol=1e-3)
        assert np.allclose(view.get("force"), [[0.0, 1.0, 0.0]] * 2)


def bounce(world, view):
    """Share of its speed that a ball keeps when it first falls on the floor."""
    speeds = []
    for _ in range(240):
        world.step()
        speeds.append(float(view.get("linear_velocity")[0][2]))
    up = int(np.argmax(speeds))
    return speeds[up] / -min(speeds[:up])


class TestMaterial:
    def test_friction_is_static_to_break_away_and_dynamic_to_slide(self, crate, put, run):
        def speed():
            return crate.get("linear_velocity")[0][0]

        put(crate, "material_properties", 0.8, 0.4, 0.0)  # 7.85 N to break away from a floor of friction 1
        run(0.1)
        for force_n, moves in ((7.0, False), (9.0, True)):
            put(crate, "force", force_n, 0.0, 0.0)
            run(0.5)
            assert (speed() > 0.1) == moves
        put(crate, "force", 0.0, 0.0, 0.0)
        put(crate, "velocity", 2.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        run(0.25)
        assert speed() == pytest.approx(2.0 - 0.4 * 9.81 * 0.25, rel=0.03)

    @pytest.mark.parametrize("restitution", [0.3, 0.9])
    def test_restitution_is_the_bounce(self, world, floor, ball, put, restitution):
        put(ball, "material_properties", 0.5, 0.5, restitution)
        # the world pushes out what has sunk in, which adds a little speed
        assert bounce(world, ball) == pytest.approx(restitution, abs=0.08)

    def test_without_restitution_nothing_bounces(self, world, floor, ball):
        heights = []
        for _ in range(300):
            world.step()
            heights.append(height(ball) - 0.1)
        assert max(heights[150:]) < 1e-3


class TestOffsets:
    @pytest.mark.parametrize("offset", [0.0, 0.03])
    def test_a_contact_offset_brakes_before_the_surface(self, world, floor, ball, put, offset):
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

    def test_a_contact_offset_leaves_the_bounce(self, world, floor, ball, put):
        put(ball, "material_properties", 0.5, 0.5, 0.6)
        put(ball, "contact_offset", 0.03)
        assert bounce(world, ball) == pytest.approx(0.6, abs=0.02)

    @pytest.mark.slow
    @pytest.mark.parametrize("rest", [0.0, 0.02])
    def test_the_rest_offset_is_the_distance_of_rest(self, floor, ball, crate, put, run, rest):
        put(ball, "position", 1.0, 0.0, 0.2)
        for view in (ball, crate):
            put(view, "rest_offset", rest)
        run(2.0)
        assert height(ball) - 0.1 == pytest.approx(rest, abs=2e-4)
        assert height(crate) - 0.1 == pytest.approx(rest, abs=2e-4)
        assert crate.get("orientation")[0] == pytest.approx([0, 0, 0], abs=1e-2)

    def test_a_body_stays_at_its_rest_offset_and_has_friction_there(self, crate, put, run):
        put(crate, "material_properties", 0.5, 0.5, 0.0)
        put(crate, "rest_offset", 0.005)
        run(0.5)
        assert height(crate) - 0.1 == pytest.approx(0.005, abs=2e-4)
        put(crate, "velocity", 1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        run(0.1)
        assert crate.get("linear_velocity")[0][0] == pytest.approx(1.0 - 0.5 * 9.81 * 0.1, rel=0.1)


def test_a_fixed_body_has_a_pose_and_a_material(world, floor):
    view = RigidPrimView(world, [floor], name="floor")
    assert list(view.attributes) == ["position", "orientation", "material_properties"]
    with pytest.raises(ConfigError, match=r"View 'floor' \(rigid prim view\) has no 'mass': it stands still\."):
        view.attribute("mass")


def test_an_articulated_body_is_no_rigid_prim(world, rig):
    with pytest.raises(WorldError, match=r"Body 'rig' of view 'x' has joints that move\. Make an ArticulationView"):
        RigidPrimView(world, [rig().bodies[0]], name="x")
