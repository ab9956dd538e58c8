"""Every attribute of an articulation view has the effect that its page states."""

import numpy as np
import pybullet as p
import pytest

from unlatch.robots.catalog import load_robot
from unlatch.robots.models import model_path
from unlatch.robots.robot import Robot
from unlatch.simcore.errors import ConfigError, WorldError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.body_views import ArticulationView, RigidPrimView
from unlatch.simcore.sim.converted_body import load_converted
from unlatch.simcore.sim.drives import DriveMode
from unlatch.simcore.sim.joint_mechanisms import TendonCfg

pytestmark = pytest.mark.integration
SERVO = {"max_effort": 1e4, "max_velocity": 100.0}


@pytest.fixture
def load(world):
    """Pushes the sled of 2 kg along its rail and turns the wheel of 0.02 kg m^2."""

    def push(view, force_n, torque_n_m, seconds):
        body, client = view.bodies[0].body_id, world.client
        for _ in range(round(240 * seconds)):
            p.applyExternalForce(body, 0, [force_n, 0, 0], [0, 0, 0], p.LINK_FRAME, physicsClientId=client)
            p.applyExternalTorque(body, 1, [0, 0, torque_n_m], p.LINK_FRAME, physicsClientId=client)
            world.step()

    return push


def q(view):
    return view.get("joint_positions")[0]


def dq(view):
    return view.get("joint_velocities")[0]


class TestDrives:
    @pytest.mark.parametrize(("mode", "start"), [(DriveMode.spring, (0.0, 0.0)), (DriveMode.passive, (0.3, 1.0))])
    def test_stiffness_is_effort_a_deflection_of_a_passive_joint_from_where_it_is(self, rig, put, load, mode, start):
        view = rig(mode, **({"stiffness": 10.0, "damping": 10.0, "max_effort": 100.0} if start == (0.0, 0.0) else {}))
        put(view, "joint_positions", *start)
        put(view, "damping", 20.0, 0.5)
        put(view, "stiffness", 50.0, 4.0)
        load(view, 10.0, 1.0, 6.0)
        assert q(view) == pytest.approx([start[0] + 10.0 / 50.0, start[1] + 1.0 / 4.0], rel=0.01)

    @pytest.mark.parametrize("gain", [0.05, 0.5])
    def test_gains_of_a_servo_are_the_shares_of_error_and_speed_that_a_step_removes(self, world, rig, put, gain):
        view = rig(DriveMode.servo, **SERVO)
        put(view, "joint_positions", 0.1, 0.1)
        put(view, "stiffness", gain, gain)
        world.step()
        assert q(view) == pytest.approx([0.1 * (1.0 - gain)] * 2, rel=1e-6, abs=1e-9)
        put(view, "stiffness", 0.0, 0.0)
        put(view, "damping", gain, gain)
        put(view, "joint_velocities", 1.0, 1.0)
        world.step()
        assert dq(view) == pytest.approx([1.0 - gain] * 2, abs=1e-9)

    def test_damping_of_a_passive_joint_limits_its_speed(self, rig, put, load):
        view = rig()
        put(view, "damping", 10.0, 0.1)
        load(view, 5.0, 0.2, 3.0)
        assert dq(view) == pytest.approx([0.5, 2.0], rel=0.02)

    @pytest.mark.parametrize("mode", [DriveMode.passive, DriveMode.spring])
    def test_joint_friction_is_the_break_away_effort(self, rig, put, load, mode):
        view = rig(mode, max_effort=1.0)
        put(view, "joint_friction", 3.0, 0.3)
        load(view, 2.9, 0.29, 1.0)
        assert q(view) == pytest.approx([0.0, 0.0], abs=1e-3)
        load(view, 5.0, 0.5, 1.0)
        assert dq(view) == pytest.approx([(5.0 - 3.0) / 2.0, (0.5 - 0.3) / 0.02], rel=0.05)

    @pytest.mark.parametrize(("friction", "lifts", "holds"), [(0.0, 9.5, 9.5), (4.0, 5.5, 13.5)])
    def test_friction_of_a_servo_is_lost_when_it_drives_and_gained_when_it_is_driven(
        self, rig, put, load, friction, lifts, holds
    ):
        """Friction reduces the effort of a servo of 10 N that drives, and increases that of one that holds."""
        view = rig(DriveMode.servo, max_effort=10.0, max_velocity=1.0)

        def moved(force_n, target):
            put(view, "joint_positions", 0.0, 0.0)
            put(view, "joint_velocities", 0.05 if target else 0.0, 0.0)
            for _ in range(60):
                view._groups[0]["rail"].set_targets(["rail"], np.array([target]), np.zeros(1))
                load(view, force_n, 0.0, 1.0 / 60.0)
            return float(q(view)[0])

        put(view, "joint_friction", friction, 0.0)
        assert moved(-lifts, 0.5) > 0.02
        assert moved(-(lifts + 1.0), 0.5) < 0.02
        assert abs(moved(-holds, 0.0)) < 0.02
        assert moved(-(holds + 1.0), 0.0) < -0.1

    def test_a_motor_has_at_most_its_max_effort(self, rig, put, load):
        view = rig(DriveMode.servo, max_effort=50.0, max_velocity=10.0)
        put(view, "max_efforts", 4.0, 0.4)
        load(view, 3.9, 0.39, 1.0)
        assert q(view) == pytest.approx([0.0, 0.0], abs=5e-3)
        load(view, 6.0, 0.6, 1.0)
        assert dq(view) == pytest.approx([(6.0 - 4.0) / 2.0, (0.6 - 0.4) / 0.02], rel=0.05)

    @pytest.mark.parametrize("mode", [DriveMode.servo, DriveMode.spring, DriveMode.passive])
    def test_max_velocity_is_not_exceeded(self, rig, put, load, mode):
        view = rig(mode, stiffness=1000.0 if mode is DriveMode.spring else 0.0, max_effort=20.0, max_velocity=50.0)
        put(view, "joint_max_velocities", 0.5, 1.0)
        if mode is not DriveMode.passive:
            view._groups[0]["rail"].set_targets(["rail", "shaft"], np.array([5.0, 5.0]), np.zeros(2))
        forces, fastest = (0.0, 0.0) if mode is DriveMode.servo else (20.0, 0.2), np.zeros(2)
        for _ in range(240):
            load(view, *forces, 1 / 240)
            fastest = np.maximum(fastest, np.abs(dq(view)))
        # a step adds 20 N / 2 kg / 240 Hz, and the spring of the wheel 20 N m / 0.02 kg m^2 / 240 Hz
        step = np.array([0.09 * 2, 4.5 if mode is DriveMode.spring else 0.05])
        assert np.all(fastest <= np.array([0.5, 1.0]) + step)
        assert np.all(fastest >= np.array([0.45, 0.9]))

    def test_a_joint_effort_accelerates_beside_the_drive(self, rig, put, run):
        view = rig()
        put(view, "joint_friction", 1.0, 0.0)
        put(view, "joint_efforts", 3.0, 0.04)
        run(1.0)
        assert dq(view) == pytest.approx([(3.0 - 1.0) / 2.0, 0.04 / 0.02], rel=0.01)
        put(view, "joint_efforts", 0.0, 0.0)
        put(view, "joint_friction", 0.0, 0.0)
        before = dq(view)
        run(0.5)
        assert dq(view) == pytest.approx(before, rel=1e-6)

    def test_damping_ratios_are_lowered_to_the_largest_one_and_gains_of_servos_are_not(self, world):
        cfg = load_robot("franka_panda")
        arm = Robot(world, cfg, model_path(cfg), T_world_root=Pose.identity()).arm(None)
        view = ArticulationView(world, [world.bodies["franka_panda"]], name="robot", drives=[[arm.drives]])
        damping = view.attribute("damping")
        damping.write(0, damping.bounded(np.full((1, 9), 3.0))[0])
        assert view.get("damping")[0].tolist() == [1.5] * 7 + [3.0] * 2


FREE = """<robot name="free"><link name="a">{0}</link><link name="b">{0}</link>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
<limit lower="-9" upper="9" effort="1" velocity="1"/></joint></robot>""".format(
    '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
)


class TestMotion:
    def test_root_pose_moves_a_body_with_its_joints(self, rig, put):
        view = rig()
        put(view, "joint_positions", 0.3, 1.0)
        put(view, "position", 1.0, 2.0, 0.5)
        put(view, "orientation", 0.0, 0.0, np.pi / 2)
        assert view.bodies[0].link_pose("sled").p == pytest.approx([1.0, 2.3, 0.5])
        assert q(view) == pytest.approx([0.3, 1.0])

    def test_root_velocities_move_a_free_body(self, world, tmp_path, run, put):
        (tmp_path / "free.urdf").write_text(FREE)
        world.set_gravity((0, 0, 0))
        body, drives = load_converted(world, tmp_path / "free.urdf", {}, name="free", T_world_root=Pose.identity())
        view = ArticulationView(world, [body], name="free", drives=[[drives]])
        put(view, "velocity", 0.1, 0.0, 0.0, 0.0, 0.0, 1.0)
        put(view, "linear_velocity", 0.5, 0.0, 0.0)
        put(view, "angular_velocity", 0.0, 0.0, 0.4)
        run(1.0)
        assert view.get("position")[0] == pytest.approx([0.5, 0, 0], abs=1e-6)
        assert view.get("orientation")[0][2] == pytest.approx(0.4, rel=1e-3)

    def test_joint_positions_and_velocities_are_where_motion_starts(self, rig, run, put):
        view = rig()
        put(view, "joint_positions", 0.1, -0.5)
        put(view, "joint_velocities", 0.2, 1.0)
        run(1.0)
        assert q(view) == pytest.approx([0.3, 0.5], rel=1e-6)

    def test_limits_stop_a_joint(self, rig, put, load):
        view = rig()
        put(view, "upper_dof_limits", 0.2, 0.7)
        put(view, "lower_dof_limits", -0.1, -0.4)
        load(view, 1.0, 0.02, 3.0)
        assert q(view) == pytest.approx([0.2, 0.7], abs=1e-3)
        load(view, -1.0, -0.02, 4.0)
        assert q(view) == pytest.approx([-0.1, -0.4], abs=1e-3)

    def test_armature_is_inertia_at_the_joint_without_weight(self, rig, put, load, run):
        view = rig()
        for sled_kg, wheel_kg_m2 in ((3.0, 0.08), (0.0, 0.0)):
            put(view, "joint_armatures", sled_kg, wheel_kg_m2)
            put(view, "joint_velocities", 0.0, 0.0)
            load(view, 1.0, 0.1, 1.0)
            assert dq(view) == pytest.approx([1.0 / (2.0 + sled_kg), 0.1 / (0.02 + wheel_kg_m2)], rel=0.01)
        # tilted, the sled falls by its weight alone: g sin(30 deg) 2 / (2 + 3)
        put(view, "joint_armatures", 3.0, 0.0)
        put(view, "orientation", 0.0, np.pi / 6, 0.0)
        put(view, "joint_velocities", 0.0, 0.0)
        run(1.0)
        assert dq(view)[0] == pytest.approx(9.81 * 0.5 * 2.0 / 5.0, rel=0.01)

    def test_body_masses_and_inertias_decide_the_acceleration(self, rig, put, load):
        view = rig()
        assert view.links == ("root", "sled", "disc")
        view.attribute("body_masses").write(0, np.array([9.0, 8.0, 2.0]))
        assert view.get("body_masses")[0][1:] == pytest.approx([8.0, 2.0])  # a root that stands still has no mass
        assert view.get("body_inertias")[0][3:] == pytest.approx([0.4, 0.4, 0.4, 0.02, 0.02, 0.04])
        load(view, 4.0, 0.04, 1.0)
        assert dq(view) == pytest.approx([4.0 / 8.0, 0.04 / 0.04], rel=0.01)
        view.attribute("body_inertias").write(0, np.array([0, 0, 0, 1, 1, 1, 0.01, 0.01, 0.08]))
        put(view, "joint_velocities", 0.0, 0.0)
        load(view, 4.0, 0.04, 1.0)
        assert dq(view) == pytest.approx([4.0 / 8.0, 0.04 / 0.08], rel=0.01)


def add_crate(world, z):
    return world.add_box("crate", size_m=(0.1, 0.1, 0.1), T_world_box=Pose.from_translation((0, 0, z)), mass_kg=1.0)


class TestMaterial:
    def test_it_acts_on_sliding_contacts_of_the_links(self, world, floor, rig, put, run):
        view = rig()
        put(view, "position", 0.0, 0.0, 0.3)
        crate = add_crate(world, 0.45)
        run(0.1)
        view.attribute("material_properties").write(0, np.array([0.5, 0.5, 0.0] * 3))
        crate.set_contact_material("crate", friction=1.0)
        view.attribute("joint_velocities").write(0, np.array([1.0, 0.0]))
        before = crate.link_velocity("crate")[0][0]
        run(0.1)
        assert crate.link_velocity("crate")[0][0] - before == pytest.approx(0.5 * 9.81 * 0.1, rel=0.05)

    @pytest.mark.parametrize(("links", "bounces"), [(1, 0.0), (2, 0.6)])
    def test_restitution_of_a_link_is_the_bounce_on_that_link(self, world, rig, links, bounces):
        """A ball of restitution 1 on the sled: the material of the root has no effect on it."""
        view = rig(DriveMode.servo, max_effort=1e4, max_velocity=1.0)
        rows = np.array([[0.5, 0.5, 0.6 if link < links else 0.0] for link in range(3)])
        view.attribute("material_properties").write(0, rows.ravel())
        body = world.add_sphere("ball", radius_m=0.1, T_world_sphere=Pose.from_translation((0, 0, 0.3)), mass_kg=0.1)
        ball = RigidPrimView(world, [body], name="ball")
        ball.attribute("material_properties").write(0, np.array([0.5, 0.5, 1.0]))
        shares = []
        # how far a ball is from the surface in the step of the impact changes its speed: all distances
        for height in np.linspace(0.3, 0.3 + 3.2 / 240, 8, endpoint=False):
            ball.attribute("position").write(0, np.array([0.0, 0.0, height]))
            ball.attribute("velocity").write(0, np.array([0.0, 0.0, -3.0, 0.0, 0.0, 0.0]))
            speeds = []
            for _ in range(20):
                world.step()
                speeds.append(float(ball.get("linear_velocity")[0][2]))
            shares.append(max(speeds) / -min(speeds))
        assert np.mean(shares) == pytest.approx(bounces, abs=0.06)

    def test_a_link_has_static_and_dynamic_friction(self, world, rig, run):
        """A force pulls a crate along the sled: the static one holds it until it begins, the dynamic one slows it."""
        view = rig(DriveMode.servo, max_effort=1e4, max_velocity=1.0)
        crate = add_crate(world, 0.15)
        crate.set_contact_material("crate", friction=1.0)
        view.attribute("material_properties").write(0, np.array([0.8, 0.3, 0.0] * 3))
        pulled = RigidPrimView(world, [crate], name="crate")

        def speed():
            return pulled.get("linear_velocity")[0][1]

        run(0.1)
        for share, moves in ((0.93, False), (1.07, True)):
            pulled.attribute("force").write(0, np.array([0.0, share * 0.8 * 9.81, 0.0]))
            run(0.1)
            assert (speed() > 0.05) == moves
        pulled.attribute("force").write(0, np.zeros(3))
        pulled.attribute("velocity").write(0, np.array([0.0, 1.0, 0.0, 0.0, 0.0, 0.0]))
        run(0.05)
        assert speed() == pytest.approx(1.0 - 0.3 * 9.81 * 0.05, rel=0.03)


class TestTendons:
    """One tendon whose length is the position of the sled and half the angle of the wheel."""

    @pytest.fixture
    def tied(self, rig):
        return lambda **fields: rig(tendons=(TendonCfg(joints=["rail", "shaft"], coefficients=[1.0, 0.5], **fields),))

    @pytest.mark.parametrize(
        ("fields", "attributes", "length"),
        [
            ({"damping": 1.0}, {"tendon_stiffnesses": 10.0, "tendon_rest_lengths": 0.4}, 0.4),
            ({"stiffness": 10.0, "rest_length": 0.4}, {"tendon_offsets": 0.3}, 0.4 - 0.3),
        ],
    )
    def test_stiffness_rest_length_and_offset_pull_the_joints(self, tied, put, run, fields, attributes, length):
        view = tied(**fields)
        put(view, "damping", 20.0, 0.05)
        for name, value in attributes.items():
            put(view, name, value)
        run(8.0)
        assert q(view) @ [1.0, 0.5] == pytest.approx(length, abs=1e-3)
        assert abs(q(view)[1]) > 0.5 * length  # the light wheel moves too: it is a coupling

    def test_stiffness_is_force_a_length_and_damping_slows_it(self, tied, put, load):
        view = tied()
        put(view, "upper_dof_limits", 50.0, 0.0)
        put(view, "lower_dof_limits", -50.0, 0.0)
        put(view, "tendon_dampings", 8.0)
        load(view, 4.0, 0.0, 3.0)
        assert dq(view)[0] == pytest.approx(4.0 / 8.0, rel=0.02)
        put(view, "tendon_stiffnesses", 10.0)
        put(view, "damping", 20.0, 5.0)
        load(view, 3.0, 0.0, 20.0)
        assert q(view)[0] == pytest.approx(3.0 / 10.0, rel=0.01)

    @pytest.mark.slow
    def test_limits_stop_its_length(self, tied, put, load):
        view = tied()
        put(view, "tendon_limit_stiffnesses", 100.0)
        put(view, "tendon_lower_limits", -0.1)
        put(view, "tendon_upper_limits", 0.2)
        put(view, "damping", 30.0, 1.0)
        for sign, limit in ((1.0, 0.2), (-1.0, -0.1)):
            load(view, 2.0 * sign, sign, 20.0)  # 2 N and 1 N m are 2 N of tension at coefficients 1 and 0.5
            assert q(view) @ [1.0, 0.5] == pytest.approx(limit + sign * 2.0 / 100.0, rel=0.02)

    def test_it_has_one_coefficient_a_joint(self):
        with pytest.raises(ConfigError, match=r"tendon\.coefficients has 1 values for 2 joints"):
            TendonCfg(joints=["a", "b"], coefficients=[1.0])


class TestMembers:
    def test_a_view_of_some_joints_and_links(self, world, rig):
        view = rig()
        part = ArticulationView(world, view.bodies, name="part", joints=["shaft"], links=["disc"])
        assert part.num_dof == part.num_bodies == 1
        part.attribute("body_masses").write(0, np.array([7.0]))
        assert view.get("body_masses")[0] == pytest.approx([0.0, 2.0, 7.0])

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("velocity", r"View 'rig' \(articulation view\) has no 'velocity': its root stands still"),
            ("tendon_offsets", r"has no 'tendon_offsets': it declares no tendons\. Give it `tendons`"),
            ("joint_position", r"has no attribute 'joint_position'\. Did you mean 'joint_positions'"),
        ],
    )
    def test_an_attribute_that_it_has_not_is_named(self, rig, name, message):
        with pytest.raises(ConfigError, match=message):
            rig().attribute(name)

    def test_bodies_of_a_view_are_alike(self, world, rig):
        ball = world.add_sphere("ball", radius_m=0.1, T_world_sphere=Pose.identity(), mass_kg=1.0)
        with pytest.raises(WorldError, match="View 'x' holds bodies that differ: 'ball' has other links or joints"):
            ArticulationView(world, [rig().bodies[0], ball], name="x")
