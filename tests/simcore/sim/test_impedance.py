"""Impedance control moves an arm as its stiffness, damping and limits say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pybullet as p
import pytest

from unlatch.robots.catalog import ROBOTS, load_robot
from unlatch.robots.models import model_path
from unlatch.robots.robot import Arm, Robot
from unlatch.simcore.errors import WorldError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.drives import DriveGroup, DriveMode, JointDrive
from unlatch.simcore.sim.impedance import MAX_DAMPING_RATIO, ImpedanceServo, JointTargets
from unlatch.simcore.sim.world import World

JOINTS = load_robot("franka_panda").arms[0].joints


@pytest.fixture
def arm(world: World) -> Arm:
    made = Robot(world, load_robot("franka_panda"), model_path("franka_panda"), T_world_root=Pose.identity()).arm(None)
    made.reset(made.cfg.home, gripper_m=0.08)
    return made


def follow(arm: Arm, world: World, positions: np.ndarray, *, seconds: float) -> None:
    still = np.zeros(7)
    arm.drives.follow(JointTargets(positions, still, still))
    for _ in range(round(240 * seconds)):
        world.step()


def test_an_arm_that_holds_its_position_does_not_move_under_gravity(arm: Arm, world: World) -> None:
    follow(arm, world, np.array(arm.cfg.home), seconds=1.0)
    assert np.abs(arm.q - arm.cfg.home).max() < 1e-4


@pytest.mark.parametrize("joint", [0, 3, 5])
def test_a_joint_yields_by_torque_over_stiffness(arm: Arm, world: World, joint: int) -> None:
    name, torque_n_m = arm.cfg.joints[joint], 3.0
    arm.drives.set_effort(name, torque_n_m)
    follow(arm, world, np.array(arm.cfg.home), seconds=2.0)
    assert arm.q[joint] - arm.cfg.home[joint] == pytest.approx(torque_n_m / arm.cfg.stiffness[joint], rel=0.02)


def test_a_joint_returns_to_its_target_without_swinging(arm: Arm, world: World) -> None:
    q = np.array(arm.cfg.home)
    q[1] += 0.05
    arm.reset(q, gripper_m=0.08)
    errors = []
    for _ in range(240):
        follow(arm, world, np.array(arm.cfg.home), seconds=1 / 240)
        errors.append(arm.q[1] - arm.cfg.home[1])
    assert min(errors) > -0.02 * 0.05
    assert abs(errors[-1]) < 1e-4


def test_an_arm_without_armatures_accelerates_as_the_torques_read_back_say_and_these_stay_within_the_limits(
    world: World,
) -> None:
    cfg = load_robot("franka_panda")
    cfg.arms[0].armature = [0.0] * 7  # Bullet's inverse dynamics knows none
    arm = Robot(world, cfg, model_path("franka_panda"), T_world_root=Pose.identity()).arm(None)
    arm.reset(arm.cfg.home, gripper_m=0.08)
    body, limits, saturated = arm._body, np.array(arm.cfg.max_effort), False
    for _ in range(30):
        q, dq, _ = body.joint_states()
        still = [0.0] * len(q)
        mass = np.array(p.calculateMassMatrix(body.body_id, q.tolist(), physicsClientId=world.client))
        bias = p.calculateInverseDynamics(body.body_id, q.tolist(), dq.tolist(), still, physicsClientId=world.client)
        follow(arm, world, np.array(arm.cfg.home) + 1.0, seconds=1 / 240)
        _, dq_after, efforts = body.joint_states()
        torques = mass @ (dq_after - dq) / world.dt + bias  # of all joints, since the fingers accelerate too
        assert torques[:7] == pytest.approx(efforts[:7], abs=1e-6)
        assert np.all(np.abs(torques[:7]) <= limits + 1e-6)
        saturated |= bool(abs(torques[1]) > limits[1] - 1e-6)
    assert saturated


@pytest.mark.parametrize("damping", [0.5, 1.0, MAX_DAMPING_RATIO])
def test_a_stiffness_of_a_thousand_times_does_not_make_the_simulation_unstable(
    arm: Arm, world: World, damping: float
) -> None:
    arm.drives.change("damping", arm.cfg.joints, [damping] * 7)
    arm.drives.change("stiffness", arm.cfg.joints, [1000.0 * value for value in arm.cfg.stiffness])
    follow(arm, world, np.array(arm.cfg.home) + 1e-4, seconds=1.0)  # further away, the motors would be saturated
    assert np.abs(arm.q - arm.cfg.home - 1e-4).max() < 1e-6


def test_joints_with_impedance_control_take_no_targets_of_servos(arm: Arm) -> None:
    with pytest.raises(WorldError, match=r"Joint 'panda_joint1' .* mode 'impedance' and takes no target here"):
        arm.drives.set_targets(["panda_joint1"], np.zeros(1), np.zeros(1))


def test_a_group_without_impedance_control_has_no_targets_to_follow(world: World) -> None:
    body = Robot(world, load_robot("franka_panda"), model_path("franka_panda"), T_world_root=Pose.identity()).body
    fingers = DriveGroup(body, {"panda_finger_joint1": JointDrive(DriveMode.servo, max_effort=1.0)})
    with pytest.raises(WorldError, match=r"No drive of this group of 'franka_panda' has impedance control"):
        fingers.follow(JointTargets(np.zeros(1), np.zeros(1), np.zeros(1)))


def test_a_damping_ratio_above_the_limit_is_refused(arm: Arm) -> None:
    with pytest.raises(
        WorldError, match=r"damping=3\.0 of a joint with impedance control is above 1\.5\. It is a ratio"
    ):
        arm.drives.change("damping", ["panda_joint1"], [3.0])
    with pytest.raises(WorldError, match="above 1\\.5"):
        JointDrive(DriveMode.impedance, damping=1.6)
    assert arm.drives.drives["panda_joint1"].damping == 1.0
    JointDrive(DriveMode.spring, damping=3.0)  # N m s/rad


@pytest.fixture
def panda(world: World) -> Body:
    return world.load_urdf(model_path("franka_panda"), name="panda", T_world_root=Pose.identity())


@pytest.mark.parametrize("moments", [(1e-6, 1e-6, 1.0), (-1e-3, 1e-3, 1e-3)])
def test_a_link_whose_inertia_bullet_refuses_is_named(panda: Body, moments: tuple[float, ...]) -> None:
    panda.masses.set_inertia(panda.link_index("panda_link4"), moments)
    with pytest.raises(
        WorldError, match=r"no mass matrix of 'panda'.* Correct the inertia of 'panda_link4'\."
    ) as found:
        ImpedanceServo(panda, JOINTS, dt=1 / 240)
    assert isinstance(found.value.__cause__, SystemError)


def test_a_joint_that_moves_no_inertia_is_named(world: World, tmp_path: Path) -> None:
    (tmp_path / "rod.urdf").write_text(
        """<robot name="rod"><link name="base"/><link name="rod">
        <inertial><mass value="1"/><inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="turn" type="revolute"><parent link="base"/><child link="rod"/><axis xyz="0 0 1"/>
        <limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""
    )
    body = world.load_urdf(tmp_path / "rod.urdf", name="rod", T_world_root=Pose.identity())
    with pytest.raises(
        WorldError, match=r"of 'rod' is not positive definite\. The least inertia is 0 kg m\^2, at 'turn'"
    ):
        ImpedanceServo(body, ["turn"], dt=1 / 240)


def test_two_arms_of_one_body_load_and_hold_still_with_armatures(world: World) -> None:
    cfg = load_robot("dual_panda")
    body = world.load_urdf(model_path("dual_panda"), name="two", T_world_root=Pose.identity())
    groups, home = [], {}
    for arm_cfg in cfg.arms:
        home.update(zip(arm_cfg.joints, arm_cfg.home, strict=True))
        body.set_joint_positions(arm_cfg.joints, arm_cfg.home)
        drives = {
            joint: JointDrive(DriveMode.impedance, stiffness=stiffness, damping=1.0, max_effort=effort)
            for joint, stiffness, effort in zip(arm_cfg.joints, arm_cfg.stiffness, arm_cfg.max_effort, strict=True)
        }
        drives[arm_cfg.joints[-1]] = drives[arm_cfg.joints[-1]].having("armature", 0.5)
        groups.append(DriveGroup(body, drives, world=world))
    late = world.load_urdf(model_path("dual_panda"), name="late", T_world_root=Pose.from_translation((5.0, 0.0, 0.0)))
    joint = late.joint(cfg.arms[0].joints[-1])
    late.masses.set_armature(joint.index, 0.5, axis_link=joint.axis, prismatic=False)
    with pytest.raises(WorldError, match="refuses the inertia of a link"):  # so the order matters
        ImpedanceServo(late, cfg.arms[1].joints, dt=world.dt)
    for _ in range(240):
        world.step()
    assert np.abs(body.joint_positions(list(home)) - list(home.values())).max() < 1e-4


@pytest.mark.parametrize("name", ["franka_panda", "dual_panda", "ur5", "xarm6", "baxter"])
def test_a_torque_accelerates_an_arm_by_the_mass_matrix_plus_armatures(world: World, name: str) -> None:
    cfg = ROBOTS.load(name)()
    body = world.load_urdf(model_path(cfg), name=name, T_world_root=Pose.identity())
    world.set_gravity([0.0, 0.0, 0.0])
    arm, joints = cfg.arms[-1], [joint.name for joint in body.movable_joints]
    body.set_joint_positions(arm.joints, np.array(arm.home) + 0.1)
    body.set_joint_positions(arm.gripper.joints, arm.gripper.positions(0.02))
    armatures = dict(zip(arm.joints, arm.armature, strict=True))
    mass = ImpedanceServo(body, joints, dt=world.dt, armatures=armatures)._M  # of all joints, since all accelerate
    light = ImpedanceServo(body, joints, dt=world.dt)._M
    DriveGroup(body, {joint: JointDrive(DriveMode.passive, armature=value) for joint, value in armatures.items()})
    torques = np.array([1.0 + 0.1 * index if joint in arm.joints else 0.0 for index, joint in enumerate(joints)])
    indices = [body.joint(joint).index for joint in joints]
    p.setJointMotorControlArray(
        body.body_id, indices, p.TORQUE_CONTROL, forces=torques.tolist(), physicsClientId=world.client
    )
    world.step()
    accelerations = body.joint_states(joints)[1] / world.dt
    expected = np.linalg.solve(mass, torques)
    assert accelerations == pytest.approx(expected, abs=1e-6 * np.abs(expected).max())
    wrist = joints.index(arm.joints[-1])
    assert abs(expected[wrist]) < 0.9 * abs(np.linalg.solve(light, torques)[wrist])


def test_armatures_of_upstream_joints_count_only_along_their_own_axes(world: World, tmp_path: Path) -> None:
    (tmp_path / "arm.urdf").write_text(_THREE_JOINTS)
    body = world.load_urdf(tmp_path / "arm.urdf", name="arm", T_world_root=Pose.identity())
    light = ImpedanceServo(body, ["first", "across", "parallel"], dt=world.dt)
    heavy = ImpedanceServo(
        body, ["first", "across", "parallel"], dt=world.dt, armatures={"across": 2.0, "parallel": 5.0}
    )
    added = np.array([[5.0, 0.0, 5.0], [0.0, 2.0, 0.0], [5.0, 0.0, 5.0]])  # `parallel` turns with `first` as well
    np.testing.assert_allclose(heavy._M - light._M, added, atol=1e-12)


_LINK = """<link name="{0}"><inertial><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
_JOINT = """<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/><axis xyz="{3}"/>
<origin xyz="0.1 0 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>"""
_THREE_JOINTS = "\n".join(
    [
        '<robot name="arm">',
        *(_LINK.format(name) for name in "abcd"),
        _JOINT.format("first", "a", "b", "0 0 1"),
        _JOINT.format("across", "b", "c", "0 1 0"),
        _JOINT.format("parallel", "c", "d", "0 0 1"),
        "</robot>",
    ]
)


def test_the_inertia_is_computed_anew_once_a_joint_has_moved_far_enough(arm: Arm) -> None:
    body, home = arm.drives.body, np.array(arm.cfg.home)
    servo = ImpedanceServo(body, JOINTS, dt=1 / 240)

    def inertia_of_first_joint(controller: ImpedanceServo) -> float:
        torques = []
        for acceleration in (np.eye(7)[0], np.zeros(7)):
            controller.targets = JointTargets(body.joint_positions(JOINTS), np.zeros(7), acceleration)
            torques.append(controller.torques()[0])
        return float(torques[0] - torques[1])

    at_home = inertia_of_first_joint(servo)
    for moved_rad, is_new in ((0.02, False), (0.04, True)):
        body.set_joint_positions([JOINTS[1]], [home[1] + moved_rad])
        servo.refresh_inertia(least_motion_rad=0.03)
        expected = inertia_of_first_joint(ImpedanceServo(body, JOINTS, dt=1 / 240)) if is_new else at_home
        assert inertia_of_first_joint(servo) == pytest.approx(expected, rel=1e-12)
        assert (abs(inertia_of_first_joint(servo) - at_home) > 1e-6) == is_new
