"""Every attribute of an articulation view has the effect that its page states."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pybullet as p
import pytest

from unlatch.robots.catalog import load_robot
from unlatch.robots.models import model_path
from unlatch.robots.robot import Robot
from unlatch.simcore.errors import ConfigError, WorldError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.body_views import ArticulationView, RigidPrimView
from unlatch.simcore.sim.drives import DriveMode
from unlatch.simcore.sim.joint_mechanisms import TendonCfg
from unlatch.simcore.sim.world import World

pytestmark = pytest.mark.integration
Run = Callable[[float], None]
Put = Callable[..., None]
Rig = Callable[..., ArticulationView]


def load(world: World, view: ArticulationView, force_n: float, torque_n_m: float, seconds: float) -> None:
    """Pushes the sled along its rail and turns the wheel."""
    body = view.bodies[0]
    for _ in range(round(240 * seconds)):
        p.applyExternalForce(body.body_id, 0, [force_n, 0, 0], [0, 0, 0], p.LINK_FRAME, physicsClientId=world.client)
        p.applyExternalTorque(body.body_id, 1, [0, 0, torque_n_m], p.LINK_FRAME, physicsClientId=world.client)
        world.step()


def q(view: ArticulationView) -> np.ndarray:
    return view.get("joint_positions")[0]


def dq(view: ArticulationView) -> np.ndarray:
    return view.get("joint_velocities")[0]


def test_stiffness_is_effort_a_deflection(world: World, rig: Rig, put: Put) -> None:
    view = rig(DriveMode.spring, stiffness=10.0, damping=10.0, max_effort=100.0)
    put(view, "stiffness", 50.0, 4.0)
    put(view, "damping", 20.0, 0.5)
    load(world, view, 10.0, 1.0, 6.0)
    assert q(view) == pytest.approx([10.0 / 50.0, 1.0 / 4.0], rel=0.01)


def test_a_passive_joint_gets_a_spring_from_where_it_is(world: World, rig: Rig, put: Put) -> None:
    view = rig()
    put(view, "joint_positions", 0.3, 1.0)
    put(view, "damping", 20.0, 0.5)
    put(view, "stiffness", 50.0, 4.0)
    load(world, view, 10.0, 1.0, 6.0)
    assert q(view) == pytest.approx([0.3 + 0.2, 1.0 + 0.25], rel=0.01)


@pytest.mark.parametrize("gain", [0.05, 0.5])
def test_stiffness_of_a_servo_is_the_share_of_its_error_that_a_step_removes(
    world: World, rig: Rig, put: Put, gain: float
) -> None:
    view = rig(DriveMode.servo, max_effort=1e4, max_velocity=100.0)
    put(view, "joint_positions", 0.1, 0.1)
    put(view, "stiffness", gain, gain)
    world.step()
    assert q(view) == pytest.approx([0.1 * (1.0 - gain)] * 2, rel=1e-6)


@pytest.mark.parametrize("gain", [0.2, 1.0])
def test_damping_of_a_servo_is_the_share_of_the_speed_that_a_step_removes(
    world: World, rig: Rig, put: Put, gain: float
) -> None:
    view = rig(DriveMode.servo, max_effort=1e4, max_velocity=100.0)
    put(view, "stiffness", 0.0, 0.0)
    put(view, "damping", gain, gain)
    put(view, "joint_velocities", 1.0, 1.0)
    world.step()
    assert dq(view) == pytest.approx([1.0 - gain] * 2, abs=1e-9)


def test_damping_of_a_passive_joint_limits_its_speed(world: World, rig: Rig, put: Put) -> None:
    view = rig()
    put(view, "damping", 10.0, 0.1)
    load(world, view, 5.0, 0.2, 3.0)
    assert dq(view) == pytest.approx([0.5, 2.0], rel=0.02)


@pytest.mark.parametrize("mode", [DriveMode.passive, DriveMode.spring])
def test_joint_friction_is_the_break_away_effort(world: World, rig: Rig, put: Put, mode: DriveMode) -> None:
    view = rig(mode, max_effort=1.0)
    put(view, "joint_friction", 3.0, 0.3)
    load(world, view, 2.9, 0.29, 1.0)
    assert q(view) == pytest.approx([0.0, 0.0], abs=1e-3)
    load(world, view, 5.0, 0.5, 1.0)
    assert dq(view) == pytest.approx([(5.0 - 3.0) / 2.0, (0.5 - 0.3) / 0.02], rel=0.05)


@pytest.mark.parametrize(("friction", "lifts", "holds"), [(0.0, 9.5, 9.5), (4.0, 5.5, 13.5)])
def test_friction_of_a_servo_is_lost_when_it_drives_and_gained_when_it_is_driven(
    world: World, rig: Rig, put: Put, friction: float, lifts: float, holds: float
) -> None:
    """Friction reduces the effort of a servo of 10 N that drives, and increases that of one that holds."""

    def moved(force_n: float, target: float) -> float:
        put(view, "joint_positions", 0.0, 0.0)
        put(view, "joint_velocities", 0.05 if target else 0.0, 0.0)
        for _ in range(60):
            view._groups[0]["rail"].set_targets(["rail"], np.array([target]), np.zeros(1))
            load(world, view, force_n, 0.0, 1.0 / 60.0)
        return float(q(view)[0])

    view = rig(DriveMode.servo, max_effort=10.0, max_velocity=1.0)
    put(view, "joint_friction", friction, 0.0)
    assert moved(-lifts, 0.5) > 0.02
    assert moved(-(lifts + 1.0), 0.5) < 0.02
    assert abs(moved(-holds, 0.0)) < 0.02
    assert moved(-(holds + 1.0), 0.0) < -0.1


def test_root_pose_moves_a_body_with_its_joints(rig: Rig, put: Put) -> None:
    view = rig()
    put(view, "joint_positions", 0.3, 1.0)
    put(view, "position", 1.0, 2.0, 0.5)
    put(view, "orientation", 0.0, 0.0, np.pi / 2)
    assert view.bodies[0].link_pose("sled").p == pytest.approx([1.0, 2.3, 0.5])
    assert q(view) == pytest.approx([0.3, 1.0])


def test_root_velocities_move_a_free_body(world: World, tmp_path: Path, run: Run, put: Put) -> None:
    from unlatch.simcore.sim.converted_body import load_converted

    path = tmp_path / "free.urdf"
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    path.write_text(
        f'<robot name="free"><link name="a">{inertial}</link><link name="b">{inertial}</link>'
        '<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>'
        '<limit lower="-9" upper="9" effort="1" velocity="1"/></joint></robot>'
    )
    world.set_gravity((0, 0, 0))
    body, drives = load_converted(world, path, {}, name="free", T_world_root=Pose.identity())
    view = ArticulationView(world, [body], name="free", drives=[[drives]])
    put(view, "velocity", 0.1, 0.0, 0.0, 0.0, 0.0, 1.0)
    put(view, "linear_velocity", 0.5, 0.0, 0.0)
    put(view, "angular_velocity", 0.0, 0.0, 0.4)
    run(1.0)
    assert view.get("position")[0] == pytest.approx([0.5, 0, 0], abs=1e-6)
    assert view.get("orientation")[0][2] == pytest.approx(0.4, rel=1e-3)


def test_a_fixed_root_has_no_velocity(rig: Rig) -> None:
    with pytest.raises(ConfigError, match=r"View 'rig' \(articulation view\) has no 'velocity': its root stands still"):
        rig().attribute("velocity")


def test_joint_positions_and_velocities_are_where_motion_starts(world: World, rig: Rig, run: Run, put: Put) -> None:
    view = rig()
    put(view, "joint_positions", 0.1, -0.5)
    put(view, "joint_velocities", 0.2, 1.0)
    run(1.0)
    assert q(view) == pytest.approx([0.3, 0.5], rel=1e-6)


def test_limits_stop_a_joint(world: World, rig: Rig, put: Put) -> None:
    view = rig()
    put(view, "upper_dof_limits", 0.2, 0.7)
    put(view, "lower_dof_limits", -0.1, -0.4)
    load(world, view, 1.0, 0.02, 3.0)
    assert q(view) == pytest.approx([0.2, 0.7], abs=1e-3)
    load(world, view, -1.0, -0.02, 4.0)
    assert q(view) == pytest.approx([-0.1, -0.4], abs=1e-3)


def test_a_motor_has_at_most_its_max_effort(world: World, rig: Rig, put: Put) -> None:
    view = rig(DriveMode.servo, max_effort=50.0, max_velocity=10.0)
    put(view, "max_efforts", 4.0, 0.4)
    load(world, view, 3.9, 0.39, 1.0)
    assert q(view) == pytest.approx([0.0, 0.0], abs=5e-3)
    load(world, view, 6.0, 0.6, 1.0)
    assert dq(view) == pytest.approx([(6.0 - 4.0) / 2.0, (0.6 - 0.4) / 0.02], rel=0.05)


def test_armature_is_inertia_at_the_joint_without_weight(world: World, rig: Rig, put: Put, run: Run) -> None:
    view = rig()
    put(view, "joint_armatures", 3.0, 0.08)
    load(world, view, 1.0, 0.1, 1.0)
    assert dq(view) == pytest.approx([1.0 / (2.0 + 3.0), 0.1 / (0.02 + 0.08)], rel=0.01)
    put(view, "joint_armatures", 0.0, 0.0)
    put(view, "joint_velocities", 0.0, 0.0)
    load(world, view, 1.0, 0.1, 1.0)
    assert dq(view) == pytest.approx([1.0 / 2.0, 0.1 / 0.02], rel=0.01)
    # tilted, the sled falls by its weight alone: g sin(30 deg) 2 / (2 + 3)
    put(view, "joint_armatures", 3.0, 0.0)
    put(view, "orientation", 0.0, np.pi / 6, 0.0)
    put(view, "joint_velocities", 0.0, 0.0)
    run(1.0)
    assert dq(view)[0] == pytest.approx(9.81 * 0.5 * 2.0 / 5.0, rel=0.01)


@pytest.mark.parametrize("mode", [DriveMode.servo, DriveMode.spring, DriveMode.passive])
def test_max_velocity_is_not_exceeded(world: World, rig: Rig, put: Put, mode: DriveMode) -> None:
    view = rig(mode, stiffness=1000.0 if mode is DriveMode.spring else 0.0, max_effort=20.0, max_velocity=50.0)
    put(view, "joint_max_velocities", 0.5, 1.0)
    if mode is not DriveMode.passive:
        view._groups[0]["rail"].set_targets(["rail", "shaft"], np.array([5.0, 5.0]), np.zeros(2))
    fastest = np.zeros(2)
    for _ in range(240):
        load(world, view, 0.0 if mode is DriveMode.servo else 20.0, 0.0 if mode is DriveMode.servo else 0.2, 1 / 240)
        fastest = np.maximum(fastest, np.abs(dq(view)))
    # a step adds 20 N / 2 kg / 240 Hz, and the spring of the wheel 20 N m / 0.02 kg m^2 / 240 Hz
    step = np.array([0.09 * 2, 4.5 if mode is DriveMode.spring else 0.05])
    assert np.all(fastest <= np.array([0.5, 1.0]) + step)
    assert np.all(fastest >= np.array([0.45, 0.9]))


def test_a_joint_effort_accelerates_beside_the_drive(world: World, rig: Rig, put: Put, run: Run) -> None:
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


def test_body_masses_and_inertias_decide_the_acceleration(world: World, rig: Rig, put: Put) -> None:
    view = rig()
    assert view.links == ("root", "sled", "disc")
    view.attribute("body_masses").write(0, np.array([9.0, 8.0, 2.0]))
    assert view.get("body_masses")[0][1:] == pytest.approx([8.0, 2.0])  # a root that stands still has no mass
    assert view.get("body_inertias")[0][3:] == pytest.approx([0.4, 0.4, 0.4, 0.02, 0.02, 0.04])
    load(world, view, 4.0, 0.04, 1.0)
    assert dq(view) == pytest.approx([4.0 / 8.0, 0.04 / 0.04], rel=0.01)
    view.attribute("body_inertias").write(0, np.array([0, 0, 0, 1, 1, 1, 0.01, 0.01, 0.08]))
    put(view, "joint_velocities", 0.0, 0.0)
    load(world, view, 4.0, 0.04, 1.0)
    assert dq(view) == pytest.approx([4.0 / 8.0, 0.04 / 0.08], rel=0.01)


def test_material_acts_on_sliding_contacts_of_the_links(world: World, floor: Body, rig: Rig, put: Put) -> None:
    view = rig()
    put(view, "position", 0.0, 0.0, 0.3)
    crate = world.add_box("crate", size_m=(0.1, 0.1, 0.1), T_world_box=Pose.from_translation((0, 0, 0.45)), mass_kg=1.0)
    for _ in range(24):
        world.step()
    view.attribute("material_properties").write(0, np.array([0.5, 0.5, 0.0] * 3))
    crate.set_contact_material("crate", friction=1.0)
    view.attribute("joint_velocities").write(0, np.array([1.0, 0.0]))
    before = crate.link_velocity("crate")[0][0]
    for _ in range(24):
        world.step()
    assert crate.link_velocity("crate")[0][0] - before == pytest.approx(0.5 * 9.81 * 0.1, rel=0.05)


@pytest.mark.parametrize(("links", "bounces"), [(1, 0.0), (2, 0.6)])
def test_restitution_of_a_link_is_the_bounce_on_that_link(world: World, rig: Rig, links: int, bounces: float) -> None:
    """A ball of restitution 1 on the sled: the material of the root has no effect on it."""
    view = rig(DriveMode.servo, max_effort=1e4, max_velocity=1.0)
    rows = np.array([[0.5, 0.5, 0.6] if link < links else [0.5, 0.5, 0.0] for link in range(3)])
    view.attribute("material_properties").write(0, rows.ravel())
    body = world.add_sphere("ball", radius_m=0.1, T_world_sphere=Pose.from_translation((0, 0, 0.3)), mass_kg=0.1)
    ball = RigidPrimView(world, [body], name="ball")
    ball.attribute("material_properties").write(0, np.array([0.5, 0.5, 1.0]))
    shares = []
    # how far a ball is from the surface in the step of the impact adds to its speed or takes from it: all distances
    for height in np.linspace(0.3, 0.3 + 3.2 / 240, 8, endpoint=False):
        ball.attribute("position").write(0, np.array([0.0, 0.0, height]))
        ball.attribute("velocity").write(0, np.array([0.0, 0.0, -3.0, 0.0, 0.0, 0.0]))
        speeds = []
        for _ in range(20):
            world.step()
            speeds.append(float(ball.get("linear_velocity")[0][2]))
        shares.append(max(speeds) / -min(speeds))
    assert np.mean(shares) == pytest.approx(bounces, abs=0.06)


@pytest.mark.parametrize(("speed", "coefficient"), [(0.0, 0.8), (1.0, 0.3)])
def test_a_link_has_static_and_dynamic_friction(world: World, rig: Rig, speed: float, coefficient: float) -> None:
    """A crate on the sled, which a force pulls along: it needs the static one to begin, the dynamic one slows it."""
    view = rig(DriveMode.servo, max_effort=1e4, max_velocity=1.0)
    crate = world.add_box("crate", size_m=(0.1, 0.1, 0.1), T_world_box=Pose.from_translation((0, 0, 0.15)), mass_kg=1.0)
    crate.set_contact_material("crate", friction=1.0)
    view.attribute("material_properties").write(0, np.array([0.8, 0.3, 0.0] * 3))
    pulled = RigidPrimView(world, [crate], name="crate")
    for _ in range(24):
        world.step()
    if speed:
        pulled.attribute("velocity").write(0, np.array([0.0, speed, 0.0, 0.0, 0.0, 0.0]))
        for _ in range(12):
            world.step()
        assert pulled.get("linear_velocity")[0][1] == pytest.approx(speed - coefficient * 9.81 * 0.05, rel=0.03)
        return
    for share, moves in ((0.93, False), (1.07, True)):
        pulled.attribute("force").write(0, np.array([0.0, share * coefficient * 9.81, 0.0]))
        for _ in range(24):
            world.step()
        assert (pulled.get("linear_velocity")[0][1] > 0.05) == moves


def coupled(**fields: float) -> tuple[TendonCfg, ...]:
    return (TendonCfg(joints=["rail", "shaft"], coefficients=[1.0, 0.5], **fields),)


def test_tendon_stiffness_and_rest_length_pull_the_joints(world: World, rig: Rig, put: Put, run: Run) -> None:
    view = rig(tendons=coupled(damping=1.0))
    put(view, "damping", 20.0, 0.05)
    put(view, "tendon_stiffnesses", 10.0)
    put(view, "tendon_rest_lengths", 0.4)
    run(8.0)
    length = q(view) @ [1.0, 0.5]
    assert length == pytest.approx(0.4, abs=1e-3)
    assert abs(q(view)[1]) > 0.2  # the light wheel moves too: it is a coupling


def test_tendon_stiffness_is_force_a_length(world: World, rig: Rig, put: Put) -> None:
    view = rig(tendons=coupled())
    put(view, "tendon_stiffnesses", 10.0)
    put(view, "damping", 20.0, 5.0)
    put(view, "upper_dof_limits", 5.0, 0.0)
    put(view, "lower_dof_limits", -5.0, 0.0)
    load(world, view, 3.0, 0.0, 20.0)
    assert q(view)[0] == pytest.approx(3.0 / 10.0, rel=0.01)


def test_tendon_offset_is_length_at_zero(world: World, rig: Rig, put: Put, run: Run) -> None:
    view = rig(tendons=coupled(stiffness=10.0, rest_length=0.4))
    put(view, "damping", 20.0, 0.05)
    put(view, "tendon_offsets", 0.3)
    run(8.0)
    assert q(view) @ [1.0, 0.5] == pytest.approx(0.4 - 0.3, abs=1e-3)


def test_tendon_damping_slows_its_length(world: World, rig: Rig, put: Put) -> None:
    view = rig(tendons=coupled())
    put(view, "tendon_dampings", 8.0)
    put(view, "upper_dof_limits", 50.0, 0.0)
    put(view, "lower_dof_limits", -50.0, 0.0)
    load(world, view, 4.0, 0.0, 3.0)
    assert dq(view)[0] == pytest.approx(4.0 / 8.0, rel=0.02)


@pytest.mark.slow
def test_tendon_limits_stop_its_length(world: World, rig: Rig, put: Put) -> None:
    view = rig(tendons=coupled())
    put(view, "tendon_limit_stiffnesses", 100.0)
    put(view, "tendon_lower_limits", -0.1)
    put(view, "tendon_upper_limits", 0.2)
    put(view, "damping", 30.0, 1.0)
    load(world, view, 2.0, 1.0, 20.0)  # 2 N and 1 N m are 2 N of tension at coefficients 1 and 0.5
    assert q(view) @ [1.0, 0.5] == pytest.approx(0.2 + 2.0 / 100.0, rel=0.02)
    load(world, view, -2.0, -1.0, 20.0)
    assert q(view) @ [1.0, 0.5] == pytest.approx(-0.1 - 2.0 / 100.0, rel=0.02)


def test_a_view_without_tendons_says_so(rig: Rig) -> None:
    with pytest.raises(ConfigError, match=r"has no 'tendon_offsets': it declares no tendons\. Give it `tendons`"):
        rig().attribute("tendon_offsets")


def test_a_tendon_has_one_coefficient_a_joint() -> None:
    with pytest.raises(ConfigError, match=r"tendon\.coefficients has 1 values for 2 joints"):
        TendonCfg(joints=["a", "b"], coefficients=[1.0])


def test_a_view_of_some_joints_and_links(world: World, rig: Rig) -> None:
    view = rig()
    part = ArticulationView(world, view.bodies, name="part", joints=["shaft"], links=["disc"])
    assert part.num_dof == part.num_bodies == 1
    part.attribute("body_masses").write(0, np.array([7.0]))
    assert view.get("body_masses")[0] == pytest.approx([0.0, 2.0, 7.0])


def test_an_unknown_attribute_names_close_ones(rig: Rig) -> None:
    with pytest.raises(ConfigError, match=r"has no attribute 'joint_position'\. Did you mean 'joint_positions'"):
        rig().attribute("joint_position")


def test_bodies_of_a_view_are_alike(world: World, rig: Rig) -> None:
    ball = world.add_sphere("ball", radius_m=0.1, T_world_sphere=Pose.identity(), mass_kg=1.0)
    with pytest.raises(WorldError, match="View 'x' holds bodies that differ: 'ball' has other links or joints"):
        ArticulationView(world, [rig().bodies[0], ball], name="x")


def test_damping_ratios_are_lowered_to_the_largest_one_and_gains_of_servos_are_not(world: World) -> None:
    arm = Robot(world, load_robot("franka_panda"), model_path("franka_panda"), T_world_root=Pose.identity()).arm(None)
    view = ArticulationView(world, [world.bodies["franka_panda"]], name="robot", drives=[[arm.drives]])
    damping = view.attribute("damping")
    damping.write(0, damping.bounded(np.full((1, 9), 3.0))[0])
    assert view.get("damping")[0].tolist() == [1.5] * 7 + [3.0] * 2
