"""Bodies, links and joints by name."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pybullet as p
import pytest

from unlatch.simcore.errors import FrameNotFoundError, WorldError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.world import World, WorldCfg

TWO_LINKS = """<robot name="two">
<link name="root"><inertial><origin xyz="0.1 0.2 0.3" rpy="0.3 0 0.5"/><mass value="1"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="arm"><inertial><origin xyz="0 0 0.15" rpy="0 0.7 0"/><mass value="1"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link>
<joint name="hinge" type="revolute"><parent link="root"/><child link="arm"/><origin xyz="0 0 1" rpy="0 0 0.4"/>
<axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="10" velocity="3"/></joint>
</robot>
"""


@pytest.fixture
def two_links(tmp_path: Path) -> Path:
    path = tmp_path / "two.urdf"
    path.write_text(TWO_LINKS)
    return path


def test_root_pose_is_the_link_frame_not_the_centre_of_mass(world: World, two_links: Path) -> None:
    T = Pose.from_rpy((0.3, -0.2, 0.5), (0.1, 0.2, 0.3))
    body = world.load_urdf(two_links, name="two", T_world_root=T)
    assert body.root_pose().is_close(T, atol_m=1e-7, atol_rad=1e-6)
    assert body.link_pose("root").is_close(T, atol_m=1e-7, atol_rad=1e-6)


def test_link_pose_is_the_urdf_frame(world: World, two_links: Path) -> None:
    T = Pose.from_rpy((0.3, -0.2, 0.5), (0.1, 0.2, 0.3))
    body = world.load_urdf(two_links, name="two", T_world_root=T)
    body.set_joint_positions(["hinge"], [0.6])
    expected = T @ Pose.from_rpy((0, 0, 1), (0, 0, 0.4)) @ Pose.from_rpy((0, 0, 0), (0, 0.6, 0))
    assert body.link_pose("arm").is_close(expected, atol_m=1e-6, atol_rad=1e-6)


def test_joint_axis_is_in_the_link_frame_whatever_the_inertial_frame(world: World, two_links: Path) -> None:
    body = world.load_urdf(two_links, name="two", T_world_root=Pose.identity())
    assert np.allclose(body.joint("hinge").axis, (0, 1, 0), atol=1e-6)


def test_unknown_link_names_the_close_and_the_known_ones(world: World, two_links: Path) -> None:
    body = world.load_urdf(two_links, name="two", T_world_root=Pose.identity())
    with pytest.raises(
        FrameNotFoundError,
        match=r"Link 'arn' is not on body 'two'\. Did you mean 'arm'\? Links: \['arm', 'root'\]\.",
    ):
        body.link_pose("arn")
    with pytest.raises(FrameNotFoundError, match=r"Joint 'x' is not on body 'two'\. Joints: \['hinge'\]\."):
        body.joint("x")


def test_a_free_joint_is_not_braked(two_links: Path) -> None:
    with World(WorldCfg(gravity_m_s2=0.0)) as world:
        body = world.load_urdf(two_links, name="two", T_world_root=Pose.identity())
        body.set_joint_positions(["hinge"], [0.0], [1.0])
        for _ in range(240):
            world.step()
        assert body.joint_states()[1][0] == pytest.approx(1.0, abs=1e-3)


def test_every_link_has_the_given_friction(world: World, two_links: Path) -> None:
    body = world.load_urdf(two_links, name="thing", T_world_root=Pose.identity(), friction=0.83)
    found = {
        link: p.getDynamicsInfo(body.body_id, index, physicsClientId=world.client)[1]
        for link, index in body.links.items()
    }
    assert len(found) > 1
    assert found == dict.fromkeys(body.links, pytest.approx(0.83))


def test_a_taken_name_is_refused(world: World, two_links: Path) -> None:
    world.add_box("table", size_m=(1, 1, 1), T_world_box=Pose.identity())
    with pytest.raises(WorldError, match="A body named 'table' is already in this world"):
        world.add_box("table", size_m=(1, 1, 1), T_world_box=Pose.identity())


def test_an_unreadable_file_is_refused(tmp_path: Path) -> None:
    with World(WorldCfg()) as world, pytest.raises(WorldError, match=r"Bullet cannot load .*nothing\.urdf"):
        world.load_urdf(tmp_path / "nothing.urdf", name="x", T_world_root=Pose.identity())


def test_reset_and_the_same_steps_give_the_same_bits(two_links: Path) -> None:
    def run(world: World) -> bytes:
        world.reset()
        body = world.load_urdf(two_links, name="two", T_world_root=Pose.identity())
        body.set_joint_positions(["hinge"], [0.3], [0.1])
        for _ in range(100):
            world.step()
        return b"".join(part.tobytes() for part in body.joint_states())

    with World(WorldCfg()) as world:
        first = run(world)
        world.add_box("other", size_m=(1, 1, 1), T_world_box=Pose.identity())
        assert run(world) == first


def test_closed_world_says_so() -> None:
    world = World(WorldCfg())
    with pytest.raises(WorldError, match="This World is closed"):
        world.step()


def test_aabb_covers_the_box(world: World) -> None:
    box = world.add_box("b", size_m=(0.2, 0.4, 0.6), T_world_box=Pose.from_rpy((1, 2, 3), (0, 0, math.pi / 2)))
    assert np.allclose(box.aabb(), [[0.8, 1.9, 2.7], [1.2, 2.1, 3.3]], atol=2e-2)


def test_link_velocity_is_that_of_the_urdf_frame(world: World, two_links: Path) -> None:
    T = Pose.from_rpy((0.3, -0.2, 0.5), (0.1, 0.2, 0.3))
    body = world.load_urdf(two_links, name="two", T_world_root=T)
    body.set_joint_positions(["hinge"], [0.6], [0.8])
    linear, angular = body.link_velocity("arm")
    # the hinge goes through the link's origin, which stands still while its centre of mass moves
    np.testing.assert_allclose(linear, 0.0, atol=1e-6)
    np.testing.assert_allclose(angular, body.link_pose("arm").rotate([0.0, 0.8, 0.0]), atol=1e-6)
    np.testing.assert_allclose(body.link_velocity("root"), 0.0)


def test_kept_joint_states_hold_until_the_body_is_moved_or_a_step_is_made(world: World, two_links: Path) -> None:
    body = world.load_urdf(two_links, name="two", T_world_root=Pose.identity())
    before = body.read_states()
    assert body.last_states() is before
    body.set_joint_positions(["hinge"], [0.6], [0.5])
    assert body.last_states()[0][0] == 0.6
    world.step()
    assert body.last_states()[0][0] == body.joint_positions(["hinge"])[0] != 0.6


def test_a_function_before_a_step_sees_a_joint_that_was_moved_past_the_body(world: World, two_links: Path) -> None:
    body, seen = world.load_urdf(two_links, name="two", T_world_root=Pose.identity()), list[float]()
    world.call_before_step(lambda: seen.append(body.last_states()[0][0]))
    body.read_states()
    p.resetJointState(body.body_id, body.joint("hinge").index, 0.25, physicsClientId=world.client)
    world.step()
    assert seen == [0.25]
