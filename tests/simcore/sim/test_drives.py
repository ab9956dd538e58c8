"""Motors do what their fields say, and impedance control moves an arm as its stiffness, damping and limits say."""

from dataclasses import replace

import numpy as np
import pybullet as p
import pytest

from unlatch.robots.catalog import ROBOTS
from unlatch.robots.models import model_path
from unlatch.robots.robot import Robot
from unlatch.simcore.errors import WorldError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.drives import DriveGroup, DriveMode, JointDrive
from unlatch.simcore.sim.impedance import MAX_DAMPING_RATIO, ImpedanceServo
from unlatch.simcore.sim.world import World, WorldCfg

JOINTS = ROBOTS.load("franka_panda")().arms[0].joints
DT = 1 / 240
FRICTION = JointDrive(DriveMode.passive, friction=3.0)
SERVO = JointDrive(DriveMode.servo, max_effort=4.0, max_velocity=1.0)


@pytest.fixture
def rig(world, sled_and_wheel):
    return world.load_urdf(sled_and_wheel, name="rig", T_world_root=Pose.identity())


def push(body, world, force_n, torque_n_m, seconds):
    for _ in range(round(240 * seconds)):
        p.applyExternalForce(body.body_id, 0, [force_n, 0, 0], [0, 0, 0], p.LINK_FRAME, physicsClientId=world.client)
        p.applyExternalTorque(body.body_id, 1, [0, 0, torque_n_m], p.LINK_FRAME, physicsClientId=world.client)
        world.step()


class TestJointDrive:
    """Given as a drive is attached; `views/test_articulation_view.py` changes each field of a drive later."""

    @pytest.mark.parametrize(
        ("drive", "hold", "force_n", "seconds", "position", "speed"),
        [
            # 2 kg at 50 N/m and 4 N s/m from rest under 10 N: x = F/k (1 - e^(-a t) (cos w t + a/w sin w t))
            pytest.param(
                JointDrive(DriveMode.spring, stiffness=50.0, damping=4.0, max_effort=100.0),
                False,
                10.0,
                0.6,
                0.2
                * (1.0 - np.exp(-0.6) * (np.cos(np.sqrt(24.0) * 0.6) + np.sin(np.sqrt(24.0) * 0.6) / np.sqrt(24.0))),
                None,
                id="a spring swings",
            ),
            pytest.param(FRICTION, False, 2.9, 1.0, 0.0, None, id="friction holds below its break-away force"),
            pytest.param(FRICTION, False, 5.0, 1.0, None, (5.0 - 3.0) / 2.0, id="friction gives way above"),
            pytest.param(FRICTION, True, 2.9, 1.0, 0.0, None, id="a hold"),
            pytest.param(FRICTION, True, 5.0, 1.0, None, 1.0, id="a hold is no stronger than the friction"),
            pytest.param(JointDrive(DriveMode.passive, damping=10.0), False, 5.0, 3.0, None, 0.5, id="damping"),
            pytest.param(SERVO, False, 3.9, 1.0, 0.0, None, id="a servo within its effort"),
            pytest.param(SERVO, False, 6.0, 1.0, None, 1.0, id="a servo beyond its effort"),
        ],
    )
    def test_a_sled_of_2_kg_that_is_pushed(self, sled_and_wheel, drive, hold, force_n, seconds, position, speed):
        with World(WorldCfg(gravity_m_s2=0.0)) as world:
            body = world.load_urdf(sled_and_wheel, name="slide", T_world_root=Pose.identity())
            group = DriveGroup(body, {"rail": drive}, world=world)
            if drive.mode is not DriveMode.passive:
                group.set_targets(["rail"], np.zeros(1), np.zeros(1))
            if hold:
                group.hold("rail", enabled=True)
            push(body, world, force_n, 0.0, seconds)
            q, dq, _ = body.joint_states()
        assert position is None or q[0] == pytest.approx(position, rel=0.02, abs=5e-3 if drive is SERVO else 1e-3)
        assert speed is None or dq[0] == pytest.approx(speed, rel=0.05)

    @pytest.mark.parametrize("armature", [0.0, 6e-2])
    def test_armature_is_inertia_about_the_joint(self, rig, world, armature):
        DriveGroup(rig, {"shaft": JointDrive(DriveMode.passive, armature=armature)})
        push(rig, world, 0.0, 0.01, 1.0)
        assert rig.joint_states(["shaft"])[1][0] == pytest.approx(0.01 / (2e-2 + armature), rel=0.02)

    def test_springs_of_a_scene_that_is_gone_are_not_stepped(self, rig, world):
        spring = JointDrive(DriveMode.spring, stiffness=50.0, max_effort=10.0)
        DriveGroup(rig, {"rail": spring}, world=world).set_targets(["rail"], np.ones(1), np.zeros(1))
        world.step()
        world.reset()
        world.step()  # Bullet would refuse a joint of a body that is gone
        assert world.steps == 1

    def test_what_a_drive_cannot_do_is_refused(self, rig):
        with pytest.raises(WorldError, match=r"Joint 'rail' of 'rig' has a spring, .* Give DriveGroup the world"):
            DriveGroup(rig, {"rail": JointDrive(DriveMode.spring, stiffness=50.0)})
        group = DriveGroup(rig, {"rail": JointDrive(DriveMode.passive)})
        with pytest.raises(WorldError, match="Joint 'rail' of 'rig' has the drive mode 'passive' and takes no target"):
            group.set_targets(["rail"], np.zeros(1), np.zeros(1))
        with pytest.raises(WorldError, match=r"JointDrive\.friction=-1\.0 is negative"):
            JointDrive(DriveMode.passive, friction=-1.0)


def make_arm(world, **changes):
    cfg = ROBOTS.load("franka_panda")()
    for field, value in changes.items():
        setattr(cfg.arms[0], field, value)
    made = Robot(world, cfg, model_path(cfg), T_world_root=Pose.identity()).arm(None)
    made.reset(made.cfg.home, gripper_m=0.08)
    return made


@pytest.fixture
def arm(world):
    return make_arm(world)


def follow(arm, world, offset, *, seconds):
    """Follows a target so far from home for some time; returns how far the arm is from home [rad]."""
    arm.drives.servo.rest_at(np.array(arm.cfg.home) + offset, arm.gripper_target_m)
    for _ in range(round(240 * seconds)):
        world.step()
    return arm.q - arm.cfg.home


LINK = """<link name="{0}"><inertial><mass value="1"/>
<inertia ixx="{1}" iyy="{1}" izz="{1}" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/><axis xyz="{3}"/>
<origin xyz="{4}"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>"""


def load_chain(world, folder, links, *joints):
    text = "\n".join([*(LINK.format(name, inertia) for name, inertia in links), *(JOINT.format(*j) for j in joints)])
    (folder / "arm.urdf").write_text(f'<robot name="arm">\n{text}\n</robot>')
    return world.load_urdf(folder / "arm.urdf", name="arm", T_world_root=Pose.identity())


class TestImpedance:
    def test_an_arm_that_holds_its_position_does_not_move_under_gravity(self, arm, world):
        assert np.abs(follow(arm, world, 0.0, seconds=1.0)).max() < 1e-4

    @pytest.mark.parametrize("joint", [0, 3, 5])
    def test_a_joint_yields_by_torque_over_stiffness(self, arm, world, joint):
        arm.drives.set_effort(arm.cfg.joints[joint], 3.0)
        moved = follow(arm, world, 0.0, seconds=2.0)
        assert moved[joint] == pytest.approx(3.0 / arm.cfg.stiffness[joint], rel=0.02)

    def test_a_joint_returns_to_its_target_without_swinging(self, arm, world):
        arm.reset(np.array(arm.cfg.home) + 0.05 * np.eye(7)[1], gripper_m=0.08)
        errors = [follow(arm, world, 0.0, seconds=DT)[1] for _ in range(240)]
        assert min(errors) > -0.02 * 0.05
        assert abs(errors[-1]) < 1e-4

    def test_without_armatures_it_accelerates_as_the_torques_read_back_say_which_stay_within_the_limits(self, world):
        arm = make_arm(world, armature=[0.0] * 7)  # Bullet's inverse dynamics knows none
        body, limits, saturated = arm._body, np.array(arm.cfg.max_effort), False
        for _ in range(30):
            q, dq, _ = (part.tolist() for part in body.joint_states())
            mass = np.array(p.calculateMassMatrix(body.body_id, q, physicsClientId=world.client))
            bias = p.calculateInverseDynamics(body.body_id, q, dq, [0.0] * len(q), physicsClientId=world.client)
            follow(arm, world, 1.0, seconds=DT)
            _, dq_after, efforts = body.joint_states()
            torques = mass @ (dq_after - dq) / world.dt + bias  # of all joints, since the fingers accelerate too
            assert torques[:7] == pytest.approx(efforts[:7], abs=1e-6)
            assert np.all(np.abs(torques[:7]) <= limits + 1e-6)
            saturated |= bool(abs(torques[1]) > limits[1] - 1e-6)
        assert saturated

    @pytest.mark.parametrize("damping", [0.5, 1.0, MAX_DAMPING_RATIO])
    def test_a_stiffness_of_a_thousand_times_does_not_make_the_simulation_unstable(self, arm, world, damping):
        arm.drives.change("damping", arm.cfg.joints, [damping] * 7)
        arm.drives.change("stiffness", arm.cfg.joints, [1000.0 * value for value in arm.cfg.stiffness])
        # further away, the motors would be saturated
        assert np.abs(follow(arm, world, 1e-4, seconds=1.0) - 1e-4).max() < 1e-6

    def test_what_impedance_control_cannot_do_is_refused(self, arm):
        fingers = DriveGroup(arm._body, {"panda_finger_joint1": JointDrive(DriveMode.servo, max_effort=1.0)})
        calls = {
            r"Joint 'panda_joint1' .* mode 'impedance' and takes no target here": lambda: arm.drives.set_targets(
                ["panda_joint1"], np.zeros(1), np.zeros(1)
            ),
            r"No drive of this group of 'franka_panda' has impedance control": lambda: fingers.servo,
            r"damping=3\.0 of a joint with impedance control is above 1\.5\. It is a ratio": lambda: arm.drives.change(
                "damping", ["panda_joint1"], [3.0]
            ),
            r"above 1\.5": lambda: JointDrive(DriveMode.impedance, damping=1.6),
        }
        for message, call in calls.items():
            with pytest.raises(WorldError, match=message):
                call()
        assert arm.drives.drives["panda_joint1"].damping == 1.0
        JointDrive(DriveMode.spring, damping=3.0)  # N m s/rad

    @pytest.mark.parametrize("moments", [(1e-6, 1e-6, 1.0), (-1e-3, 1e-3, 1e-3)])
    def test_a_link_whose_inertia_bullet_refuses_is_named(self, world, moments):
        panda = world.load_urdf(model_path("franka_panda"), name="panda", T_world_root=Pose.identity())
        panda.masses.set_inertia(panda.link_index("panda_link4"), moments)
        message = r"no mass matrix of 'panda'.* Correct the inertia of 'panda_link4'\."
        with pytest.raises(WorldError, match=message):
            ImpedanceServo(panda, JOINTS)

    def test_a_joint_that_moves_no_inertia_is_named(self, world, tmp_path):
        joint = ("turn", "base", "rod", "0 0 1", "0 0 0")
        body = load_chain(world, tmp_path, [("base", 1), ("rod", 0)], joint)
        message = r"of 'arm' is not positive definite\. The least inertia is 0 kg m\^2, at 'turn'"
        with pytest.raises(WorldError, match=message):
            ImpedanceServo(body, ["turn"])

    def test_two_arms_of_one_body_load_and_hold_still_with_armatures(self, world):
        cfg, home = ROBOTS.load("dual_panda")(), {}
        body = world.load_urdf(model_path(cfg), name="two", T_world_root=Pose.identity())
        for arm in cfg.arms:
            home.update(zip(arm.joints, arm.home, strict=True))
            body.set_joint_positions(arm.joints, arm.home)
            drives = {
                joint: JointDrive(DriveMode.impedance, stiffness=stiffness, damping=1.0, max_effort=effort)
                for joint, stiffness, effort in zip(arm.joints, arm.stiffness, arm.max_effort, strict=True)
            }
            drives[arm.joints[-1]] = replace(drives[arm.joints[-1]], armature=0.5)
            DriveGroup(body, drives, world=world)
        late = world.load_urdf(model_path(cfg), name="late", T_world_root=Pose.from_translation((5.0, 0.0, 0.0)))
        joint = late.joint(cfg.arms[0].joints[-1])
        late.masses.set_armature(joint.index, 0.5, axis_link=joint.axis, prismatic=False)
        with pytest.raises(WorldError, match="refuses the inertia of a link"):  # so the order matters
            ImpedanceServo(late, cfg.arms[1].joints)
        for _ in range(240):
            world.step()
        assert np.abs(body.joint_positions(list(home)) - list(home.values())).max() < 1e-4

    @pytest.mark.parametrize("name", ["franka_panda", "dual_panda", "ur5", "xarm6", "baxter"])
    def test_a_torque_accelerates_an_arm_by_the_mass_matrix_plus_armatures(self, world, name):
        cfg = ROBOTS.load(name)()
        body = world.load_urdf(model_path(cfg), name=name, T_world_root=Pose.identity())
        world.set_gravity([0.0, 0.0, 0.0])
        arm, joints = cfg.arms[-1], [joint.name for joint in body.movable_joints]
        body.set_joint_positions(arm.joints, np.array(arm.home) + 0.1)
        body.set_joint_positions(arm.gripper.joints, arm.gripper.positions(0.02))
        armatures = dict(zip(arm.joints, arm.armature, strict=True))
        mass = ImpedanceServo(body, joints, armatures=armatures).state.M  # of all joints, since all accelerate
        light = ImpedanceServo(body, joints).state.M
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

    def test_armatures_of_upstream_joints_count_only_along_their_own_axes(self, world, tmp_path):
        axes = {"first": "0 0 1", "across": "0 1 0", "parallel": "0 0 1"}
        joints = [(name, *pair, axes[name], "0.1 0 0") for name, pair in zip(axes, ("ab", "bc", "cd"), strict=True)]
        body = load_chain(world, tmp_path, [(name, 0.1) for name in "abcd"], *joints)
        light = ImpedanceServo(body, list(axes))
        heavy = ImpedanceServo(body, list(axes), armatures={"across": 2.0, "parallel": 5.0})
        added = np.array([[5.0, 0.0, 5.0], [0.0, 2.0, 0.0], [5.0, 0.0, 5.0]])  # `parallel` turns with `first` as well
        np.testing.assert_allclose(heavy.state.M - light.state.M, added, atol=1e-12)

    def test_the_inertia_is_computed_anew_once_a_joint_has_moved_far_enough(self, arm):
        body, home = arm.drives.body, np.array(arm.cfg.home)
        servo = ImpedanceServo(body, JOINTS)
        at_home = servo.state.M[0, 0]
        for moved_rad, is_new in ((0.02, False), (0.04, True)):
            body.set_joint_positions([JOINTS[1]], [home[1] + moved_rad])
            servo.refresh_inertia(least_motion_rad=0.03)
            assert servo.state.M[0, 0] == (ImpedanceServo(body, JOINTS).state.M[0, 0] if is_new else at_home)
            assert (abs(servo.state.M[0, 0] - at_home) > 1e-6) == is_new
