"""Motors do what their fields say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pybullet as p
import pytest

from simcore.errors import WorldError
from simcore.geometry import Pose
from simcore.sim.drives import DriveGroup, DriveMode, JointDrive
from simcore.sim.rates import WorldCfg
from simcore.sim.world import World

SLIDER = """<robot name="slide">
<link name="root"/>
<link name="sled"><inertial><mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
</link>
<joint name="rail" type="prismatic"><parent link="root"/><child link="sled"/><axis xyz="1 0 0"/>
<limit lower="-5" upper="5" effort="100" velocity="10"/></joint>
</robot>
"""


def push(
    tmp_path: Path, drive: JointDrive, force_n: float, *, seconds: float, hold: bool = False
) -> tuple[float, float]:
    """Pushes the sled along its rail; returns its position [m] and speed [m/s]."""
    path = tmp_path / "slide.urdf"
    path.write_text(SLIDER)
    with World(WorldCfg(gravity_m_s2=0.0)) as world:
        body = world.load_urdf(path, name="slide", T_world_root=Pose.identity())
        group = DriveGroup(body, {"rail": drive})
        if drive.mode is not DriveMode.passive:
            group.set_targets(["rail"], np.zeros(1), np.zeros(1))
        if hold:
            group.hold("rail", enabled=True)
        for _ in range(int(240 * seconds)):
            group.before_step()
            p.applyExternalForce(
                body.body_id, 0, [force_n, 0, 0], [0, 0, 0], p.LINK_FRAME, physicsClientId=world.client
            )
            world.step()
        q, dq, _ = body.joint_states()
        return float(q[0]), float(dq[0])


def test_spring_deflects_by_force_over_stiffness(tmp_path: Path) -> None:
    drive = JointDrive(DriveMode.spring, stiffness=50.0, damping=20.0, max_effort=100.0)
    assert push(tmp_path, drive, 10.0, seconds=6.0)[0] == pytest.approx(10.0 / 50.0, rel=0.02)


def test_friction_holds_below_its_break_away_force_and_gives_way_above(tmp_path: Path) -> None:
    drive = JointDrive(DriveMode.passive, friction=3.0)
    assert abs(push(tmp_path, drive, 2.9, seconds=1.0)[0]) < 1e-3
    position, speed = push(tmp_path, drive, 5.0, seconds=1.0)
    assert speed == pytest.approx((5.0 - 3.0) / 2.0, rel=0.05)
    assert position > 0.4


def test_a_hold_is_no_stronger_than_the_friction(tmp_path: Path) -> None:
    drive = JointDrive(DriveMode.passive, friction=3.0)
    assert abs(push(tmp_path, drive, 2.9, seconds=1.0, hold=True)[0]) < 1e-3
    assert push(tmp_path, drive, 5.0, seconds=1.0, hold=True)[1] == pytest.approx(1.0, rel=0.1)


def test_damping_limits_the_speed(tmp_path: Path) -> None:
    drive = JointDrive(DriveMode.passive, damping=10.0)
    assert push(tmp_path, drive, 5.0, seconds=3.0)[1] == pytest.approx(0.5, rel=0.02)


def test_servo_stays_within_its_effort(tmp_path: Path) -> None:
    drive = JointDrive(DriveMode.servo, max_effort=4.0, max_velocity=1.0)
    assert abs(push(tmp_path, drive, 3.9, seconds=1.0)[0]) < 5e-3
    assert push(tmp_path, drive, 6.0, seconds=1.0)[1] > 0.5


def test_a_passive_joint_takes_no_target(tmp_path: Path) -> None:
    path = tmp_path / "slide.urdf"
    path.write_text(SLIDER)
    with World(WorldCfg()) as world:
        body = world.load_urdf(path, name="slide", T_world_root=Pose.identity())
        group = DriveGroup(body, {"rail": JointDrive(DriveMode.passive)})
        with pytest.raises(WorldError, match="Joint 'rail' of 'slide' is passive and takes no target"):
            group.set_targets(["rail"], np.zeros(1), np.zeros(1))


def test_negative_field() -> None:
    with pytest.raises(WorldError, match=r"JointDrive\.friction=-1\.0 is negative"):
        JointDrive(DriveMode.passive, friction=-1.0)
