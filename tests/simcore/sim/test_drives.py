"""Motors do what their fields say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pybullet as p
import pytest

from unlatch.simcore.errors import WorldError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.drives import DriveGroup, DriveMode, JointDrive
from unlatch.simcore.sim.world import World, WorldCfg


def push(sled: Path, drive: JointDrive, force_n: float, *, seconds: float, hold: bool = False) -> tuple[float, float]:
    """Pushes the sled along its rail; returns its position [m] and speed [m/s]."""
    with World(WorldCfg(gravity_m_s2=0.0)) as world:
        body = world.load_urdf(sled, name="slide", T_world_root=Pose.identity())
        group = DriveGroup(body, {"rail": drive}, world=world)
        if drive.mode is not DriveMode.passive:
            group.set_targets(["rail"], np.zeros(1), np.zeros(1))
        if hold:
            group.hold("rail", enabled=True)
        for _ in range(int(240 * seconds)):
            p.applyExternalForce(
                body.body_id, 0, [force_n, 0, 0], [0, 0, 0], p.LINK_FRAME, physicsClientId=world.client
            )
            world.step()
        q, dq, _ = body.joint_states()
        return float(q[0]), float(dq[0])


def test_spring_deflects_by_force_over_stiffness(sled_and_wheel: Path) -> None:
    drive = JointDrive(DriveMode.spring, stiffness=50.0, damping=20.0, max_effort=100.0)
    assert push(sled_and_wheel, drive, 10.0, seconds=6.0)[0] == pytest.approx(10.0 / 50.0, rel=0.02)


def test_a_spring_swings_as_its_stiffness_and_damping_say(sled_and_wheel: Path) -> None:
    # 2 kg at 50 N/m and 4 N s/m from rest under 10 N: x = F/k (1 - e^(-a t) (cos w t + a/w sin w t))
    drive = JointDrive(DriveMode.spring, stiffness=50.0, damping=4.0, max_effort=100.0)
    t, a = 0.6, 4.0 / (2.0 * 2.0)
    w = np.sqrt(50.0 / 2.0 - a * a)
    expected = 10.0 / 50.0 * (1.0 - np.exp(-a * t) * (np.cos(w * t) + a / w * np.sin(w * t)))
    assert push(sled_and_wheel, drive, 10.0, seconds=t)[0] == pytest.approx(expected, rel=0.02)


def test_a_spring_without_a_world_is_refused(world: World, sled_and_wheel: Path) -> None:
    body = world.load_urdf(sled_and_wheel, name="slide", T_world_root=Pose.identity())
    with pytest.raises(WorldError, match=r"Joint 'rail' of 'slide' has a spring, .* Give DriveGroup the world"):
        DriveGroup(body, {"rail": JointDrive(DriveMode.spring, stiffness=50.0)})


def test_springs_of_a_scene_that_is_gone_are_not_stepped(world: World, sled_and_wheel: Path) -> None:
    body = world.load_urdf(sled_and_wheel, name="slide", T_world_root=Pose.identity())
    spring = JointDrive(DriveMode.spring, stiffness=50.0, max_effort=10.0)
    DriveGroup(body, {"rail": spring}, world=world).set_targets(["rail"], np.ones(1), np.zeros(1))
    world.step()
    world.reset()
    world.step()  # Bullet would refuse a joint of a body that is gone
    assert world.steps == 1


def test_friction_holds_below_its_break_away_force_and_gives_way_above(sled_and_wheel: Path) -> None:
    drive = JointDrive(DriveMode.passive, friction=3.0)
    assert abs(push(sled_and_wheel, drive, 2.9, seconds=1.0)[0]) < 1e-3
    position, speed = push(sled_and_wheel, drive, 5.0, seconds=1.0)
    assert speed == pytest.approx((5.0 - 3.0) / 2.0, rel=0.05)
    assert position > 0.4


def test_a_hold_is_no_stronger_than_the_friction(sled_and_wheel: Path) -> None:
    drive = JointDrive(DriveMode.passive, friction=3.0)
    assert abs(push(sled_and_wheel, drive, 2.9, seconds=1.0, hold=True)[0]) < 1e-3
    assert push(sled_and_wheel, drive, 5.0, seconds=1.0, hold=True)[1] == pytest.approx(1.0, rel=0.1)


def test_damping_limits_the_speed(sled_and_wheel: Path) -> None:
    drive = JointDrive(DriveMode.passive, damping=10.0)
    assert push(sled_and_wheel, drive, 5.0, seconds=3.0)[1] == pytest.approx(0.5, rel=0.02)


def test_servo_stays_within_its_effort(sled_and_wheel: Path) -> None:
    drive = JointDrive(DriveMode.servo, max_effort=4.0, max_velocity=1.0)
    assert abs(push(sled_and_wheel, drive, 3.9, seconds=1.0)[0]) < 5e-3
    assert push(sled_and_wheel, drive, 6.0, seconds=1.0)[1] > 0.5


def test_a_passive_joint_takes_no_target(world: World, sled_and_wheel: Path) -> None:
    body = world.load_urdf(sled_and_wheel, name="slide", T_world_root=Pose.identity())
    group = DriveGroup(body, {"rail": JointDrive(DriveMode.passive)})
    with pytest.raises(WorldError, match="Joint 'rail' of 'slide' has the drive mode 'passive' and takes no target"):
        group.set_targets(["rail"], np.zeros(1), np.zeros(1))


def test_negative_values_are_refused() -> None:
    with pytest.raises(WorldError, match=r"JointDrive\.friction=-1\.0 is negative"):
        JointDrive(DriveMode.passive, friction=-1.0)


@pytest.mark.parametrize("armature", [0.0, 6e-2])
def test_armature_is_inertia_about_the_joint(sled_and_wheel: Path, armature: float) -> None:
    with World(WorldCfg(gravity_m_s2=0.0)) as world:
        body = world.load_urdf(sled_and_wheel, name="wheel", T_world_root=Pose.identity())
        DriveGroup(body, {"shaft": JointDrive(DriveMode.passive, armature=armature)})
        for _ in range(240):
            p.applyExternalTorque(body.body_id, 1, [0, 0, 0.01], p.LINK_FRAME, physicsClientId=world.client)
            world.step()
        assert body.joint_states(["shaft"])[1][0] == pytest.approx(0.01 / (2e-2 + armature), rel=0.02)
