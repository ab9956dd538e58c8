"""Contacts of a hand that turns with what it holds push along the surfaces as they are now."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pybullet as p
import pytest

from unlatch.simcore.geometry import Pose, matrix_from_axis_angle
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.contacts import TURNED_RAD, TurnedContacts
from unlatch.simcore.sim.drives import DriveGroup, DriveMode, JointDrive
from unlatch.simcore.sim.world import World, WorldCfg

_LINK = """
  <link name="{name}">
    <inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    {collision}
  </link>
"""
_JOINT = """
  <joint name="{name}" type="{kind}">
    <parent link="{parent}"/><child link="{child}"/><axis xyz="{axis}"/><origin xyz="{origin}"/>
    <limit lower="-3" upper="3" effort="1000" velocity="10"/>
  </joint>
"""
_PAD = '<collision><geometry><box size="0.02 0.02 0.06"/></geometry></collision>'


_BULLETS_OWN = 0.0003
"""Tolerance of the solver with which Bullet keeps the contact points of this hand until its end."""


@pytest.fixture
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    with World(WorldCfg(solver_tolerance=getattr(request, "param", _BULLETS_OWN))) as made:
        yield made


@pytest.fixture
def hand(world: World, tmp_path: Path) -> Body:
    """A hand that turns about the vertical, with two fingers that close along its y axis."""
    links = [("base", ""), ("palm", ""), ("first", _PAD), ("second", _PAD)]
    joints = [
        ("turn", "revolute", "base", "palm", "0 0 1", "0 0 0"),
        ("close_first", "prismatic", "palm", "first", "0 -1 0", "0 0.05 0.1"),
        ("close_second", "prismatic", "palm", "second", "0 1 0", "0 -0.05 0.1"),
    ]
    path = tmp_path / "hand.urdf"
    path.write_text(
        '<robot name="hand">\n'
        + "".join(_LINK.format(name=name, collision=shape) for name, shape in links)
        + "".join(
            _JOINT.format(name=name, kind=kind, parent=parent, child=child, axis=axis, origin=origin)
            for name, kind, parent, child, axis, origin in joints
        )
        + "</robot>\n"
    )
    return world.load_urdf(path, name="hand", T_world_root=Pose.identity(), friction=1.0)


def _largest_error_rad(world: World, hand: Body, *, renews: bool) -> float:
    """Grips a can, turns it by 90 degrees, and returns how far the normals then are from the closing axis [rad]."""
    world.set_gravity((0.0, 0.0, 0.0))
    shape = p.createCollisionShape(p.GEOM_MESH, vertices=_can_vertices(), physicsClientId=world.client)
    can = p.createMultiBody(0.3, shape, basePosition=[0, 0, 0.1], physicsClientId=world.client)
    p.changeDynamics(can, -1, lateralFriction=1.0, physicsClientId=world.client)
    for finger in ("first", "second"):
        hand.set_contact_material(finger, friction=1.0, stiffness_n_m=5e4, damping_n_s_m=200.0)
    drives = {"turn": JointDrive(DriveMode.servo, max_effort=1000.0, max_velocity=5.0)}
    drives |= {
        name: JointDrive(DriveMode.servo, max_effort=50.0, max_velocity=0.1) for name in ("close_first", "close_second")
    }
    group = DriveGroup(hand, drives)
    contacts = TurnedContacts(hand)
    for step in range(720):
        angle = np.clip((step - 240) / 240, 0.0, 1.0) * np.pi / 2
        group.set_targets(list(drives), np.array([angle, 0.05, 0.05]), np.zeros(3))
        if renews and step % 8 == 0:
            contacts.update([hand.link_pose("palm").quat_xyzw])
        world.step()
    palm = hand.link_pose("palm").R
    assert abs(float(np.arctan2(palm[1, 0], palm[0, 0])) - np.pi / 2) < 0.02
    points = [point for point in p.getContactPoints(can, hand.body_id, physicsClientId=world.client) if point[9] > 0.1]
    assert {point[4] for point in points} == {hand.link_index("first"), hand.link_index("second")}
    return max(float(np.arccos(min(1.0, abs(np.dot(point[7], palm[:, 1]))))) for point in points)


def _can_vertices() -> list[list[float]]:
    ring = [matrix_from_axis_angle(np.array([0.0, 0.0, 1.0]), a) @ [0.03, 0.0, 0.0] for a in np.arange(24) * np.pi / 12]
    return [[float(x), float(y), z] for x, y, _ in ring for z in (-0.05, 0.05)]


@pytest.mark.parametrize("world", [_BULLETS_OWN, WorldCfg().solver_tolerance], indirect=True)
def test_forces_in_a_hand_that_turns_stay_along_the_closing_axis(world: World, hand: Body) -> None:
    # a facet of the can is 15 degrees wide
    assert _largest_error_rad(world, hand, renews=True) < TURNED_RAD + np.radians(15.0)


def test_without_it_bullet_keeps_their_directions_in_the_world(world: World, hand: Body) -> None:
    assert _largest_error_rad(world, hand, renews=False) > np.radians(60.0)
