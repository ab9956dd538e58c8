"""Worlds, and bodies, links and joints by name."""

import math
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import psutil
import pybullet as p
import pytest

from unlatch.simcore.errors import ConfigError, FrameNotFoundError, WorldError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.converted_body import measure_motion
from unlatch.simcore.sim.world import World, WorldCfg

INERTIA = '<mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>'
TWO_LINKS = f"""<robot name="two">
<link name="root"><inertial><origin xyz="0.1 0.2 0.3" rpy="0.3 0 0.5"/>{INERTIA}</inertial></link>
<link name="arm"><inertial><origin xyz="0 0 0.15" rpy="0 0.7 0"/>{INERTIA}</inertial>
<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link>
<joint name="hinge" type="revolute"><parent link="root"/><child link="arm"/><origin xyz="0 0 1" rpy="0 0 0.4"/>
<axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="10" velocity="3"/></joint>
</robot>
"""
T_WORLD_ROOT = Pose.from_rpy((0.3, -0.2, 0.5), (0.1, 0.2, 0.3))


@pytest.fixture
def two_links(tmp_path):
    path = tmp_path / "two.urdf"
    path.write_text(TWO_LINKS)
    return path


@pytest.fixture
def body(world, two_links):
    return world.load_urdf(two_links, name="two", T_world_root=T_WORLD_ROOT)


class TestBody:
    def test_poses_are_those_of_link_frames_not_of_centres_of_mass(self, body):
        body.set_joint_positions(["hinge"], [0.6])
        arm = T_WORLD_ROOT @ Pose.from_rpy((0, 0, 1), (0, 0, 0.4)) @ Pose.from_rpy((0, 0, 0), (0, 0.6, 0))
        for found, expected in ((body.root_pose(), T_WORLD_ROOT), (body.link_pose("root"), T_WORLD_ROOT)):
            assert found.is_close(expected, atol_m=1e-7, atol_rad=1e-6)
        assert body.link_pose("arm").is_close(arm, atol_m=1e-6, atol_rad=1e-6)
        assert np.allclose(body.joint("hinge").axis, (0, 1, 0), atol=1e-6)  # whatever the inertial frame

    def test_link_velocity_is_that_of_the_urdf_frame(self, body):
        body.set_joint_positions(["hinge"], [0.6], [0.8])
        linear, angular = body.link_velocity("arm")
        # the hinge goes through the link's origin, which stands still while its centre of mass moves
        np.testing.assert_allclose(linear, 0.0, atol=1e-6)
        np.testing.assert_allclose(angular, body.link_pose("arm").rotate([0.0, 0.8, 0.0]), atol=1e-6)
        np.testing.assert_allclose(body.link_velocity("root"), 0.0)

    def test_unknown_link_names_the_close_and_the_known_ones(self, body):
        message = r"Link 'arn' is not on body 'two'\. Did you mean 'arm'\? Links: \['arm', 'root'\]\."
        with pytest.raises(FrameNotFoundError, match=message):
            body.link_pose("arn")
        with pytest.raises(FrameNotFoundError, match=r"Joint 'x' is not on body 'two'\. Joints: \['hinge'\]\."):
            body.joint("x")

    def test_a_free_joint_is_not_braked(self, two_links):
        with World(WorldCfg(gravity_m_s2=0.0)) as world:
            body = world.load_urdf(two_links, name="two", T_world_root=Pose.identity())
            body.set_joint_positions(["hinge"], [0.0], [1.0])
            for _ in range(240):
                world.step()
            assert body.joint_states()[1][0] == pytest.approx(1.0, abs=1e-3)

    def test_every_link_has_the_given_friction(self, world, two_links):
        body = world.load_urdf(two_links, name="thing", T_world_root=Pose.identity(), friction=0.83)
        assert len(body.links) > 1
        for index in body.links.values():
            dynamics = p.getDynamicsInfo(body.body_id, index, physicsClientId=world.client)
            assert dynamics[1] == pytest.approx(0.83)

    def test_aabb_covers_the_box(self, world):
        box = world.add_box("b", size_m=(0.2, 0.4, 0.6), T_world_box=Pose.from_rpy((1, 2, 3), (0, 0, math.pi / 2)))
        assert np.allclose(box.aabb(), [[0.8, 1.9, 2.7], [1.2, 2.1, 3.3]], atol=2e-2)

    def test_kept_joint_states_hold_until_the_body_is_moved_or_a_step_is_made(self, body, world):
        before = body.read_state().q.copy()
        p.resetJointState(body.body_id, body.joint("hinge").index, 0.3, physicsClientId=world.client)
        assert np.array_equal(body.read_state().q, before), "a motion past the body is not seen"
        body.set_joint_positions(["hinge"], [0.6], [0.5])
        assert body.read_state().q[0] == 0.6
        world.step()
        assert body.read_state().q[0] == body.joint_positions(["hinge"])[0] != 0.6

    def test_a_function_before_a_step_sees_a_joint_that_was_moved_past_the_body(self, body, world):
        seen = []
        world.call_before_step(lambda: seen.append(body.read_state().q[0]))
        body.read_state()
        p.resetJointState(body.body_id, body.joint("hinge").index, 0.25, physicsClientId=world.client)
        world.step()
        assert seen == [0.25]


def load_new_files(folder, reset_every, padding_bytes):
    """Loads another file in every round; returns the memory that belongs to this process alone after each [MB]."""
    box = '<robot name="box"><link name="box"><collision><geometry><box size="1 1 1"/></geometry></collision></link>'
    process, used_mb = psutil.Process(), []
    with World(WorldCfg()) as world:
        for number in range(250):
            path = folder / f"box{number}.urdf"
            path.write_text(f"{box}</robot><!--{'x' * padding_bytes}-->")
            if number % reset_every == 0:
                world.reset()
            else:
                world.remove("box")
            world.load_urdf(path, name="box", T_world_root=Pose.identity())
            path.unlink()
            used_mb.append(process.memory_full_info().uss / 1e6)
    return used_mb


class TestWorld:
    def test_a_taken_name_an_unreadable_file_and_a_closed_world_are_refused(self, tmp_path):
        world, box = World(WorldCfg()), {"size_m": (1, 1, 1), "T_world_box": Pose.identity()}
        with world:
            world.add_box("table", **box)
            with pytest.raises(WorldError, match="A body named 'table' is already in this world"):
                world.add_box("table", **box)
            with pytest.raises(WorldError, match=r"Bullet cannot load .*nothing\.urdf"):
                world.load_urdf(tmp_path / "nothing.urdf", name="x", T_world_root=Pose.identity())
        with pytest.raises(WorldError, match="This World is closed"):
            world.step()

    def test_reset_and_the_same_steps_give_the_same_bits(self, two_links):
        def run(world):
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

    @pytest.mark.slow
    @pytest.mark.parametrize("reset_every", [1, 100], ids=["as an episode", "as the collision checker"])
    def test_it_does_not_grow_whatever_files_it_reads(self, tmp_path, reset_every):
        padding = 200_000
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:  # memory of other tests comes and goes
            used_mb = pool.submit(load_new_files, tmp_path, reset_every, padding).result()
        assert used_mb[-1] < used_mb[0] + 150 * padding / 1e6, f"{used_mb[0]:.0f} MB grew to {used_mb[-1]:.0f} MB"


class TestWorldCfg:
    def test_steps_per_frame(self):
        assert (WorldCfg().control_steps, WorldCfg().physics_steps) == (2, 4)

    @pytest.mark.parametrize(
        ("seconds", "record_hz", "frames"),
        [(0.0, 30, 0), (0.1, 30, 3), (0.4, 30, 12), (0.85, 30, 26), (0.85, 60, 51), (0.85, 20, 17), (1e-3, 30, 1)],
    )
    def test_a_duration_is_as_many_frames_as_last_so_long(self, seconds, record_hz, frames):
        assert WorldCfg(record_hz=record_hz).frames(seconds) == frames

    @pytest.mark.parametrize(
        ("keys", "message"),
        [
            ({"control_hz": 70}, r"world\.control_hz=70 does not divide world\.physics_hz=240"),
            ({"record_hz": 25}, r"world\.record_hz=25 does not divide world\.control_hz=60"),
            ({"record_hz": 0}, r"world\.record_hz=0 is out of range\. Expected 1 to 100000"),
            ({"physics_hz": 0}, r"world\.physics_hz=0 is out of range\. Expected 1 to 100000"),
            ({"physics_hz": -240, "control_hz": -60}, r"world\.physics_hz=-240 is out of range"),
            ({"solver_iterations": 0}, r"world\.solver_iterations=0 is out of range\. Expected 1 to 10000"),
        ],
    )
    def test_rates_that_do_not_divide_are_refused_with_both_values(self, keys, message):
        with pytest.raises(ConfigError, match=message):
            WorldCfg(**keys)


LINK = """<link name="{0}"><inertial><mass value="{1}"/><inertia ixx="{2}" iyy="{2}" izz="{2}" ixy="0" ixz="0" iyz="0"/>
</inertial><collision><geometry><box size="{3} {3} {3}"/></geometry></collision></link>"""
JOINT = """<joint name="slide" type="{kind}">
<origin xyz="0.57 0 0"/><parent link="body"/><child link="part"/><axis xyz="1 0 0"/>
<limit lower="{lower}" upper="0.4" effort="100" velocity="10"/><dynamics damping="50" friction="50"/></joint>
<joint name="fixed" type="fixed"><origin xyz="0 0 0.3"/><parent link="part"/><child link="tip"/></joint>"""


class TestMeasureMotion:
    """A part of 20 cm before a body of 1 m, 3 cm of it inside, whatever damping the file states."""

    @staticmethod
    def measure(folder, *, mass=1, kind="prismatic", lower=0.0, **keys):
        links = (("body", 1, 1, 1), ("part", mass, 0.01, 0.2), ("tip", 0.1, 0.01, 0.2))
        text = "\n".join([*(LINK.format(*link) for link in links), JOINT.format(kind=kind, lower=lower)])
        (folder / "r.urdf").write_text(f'<robot name="r">{text}</robot>')
        return measure_motion(folder / "r.urdf", **keys)

    def test_overlap_is_measured_at_both_ends_and_between_and_a_free_part_covers_its_range(self, tmp_path):
        (motion,) = self.measure(tmp_path)
        # the part's inner face starts 3 cm inside the body, and is 17 cm away from it half way
        assert motion.overlap_m == {"lower": pytest.approx(0.03, abs=2e-3), "half": 0.0, "upper": 0.0}
        assert motion.travel == pytest.approx(1.0, abs=1e-3)

    def test_a_link_that_hangs_on_the_part_moves_with_it(self, tmp_path):
        # at -0.2, part and tip are 23 cm deep; were the tip counted to the rest, the part could never leave it
        (motion,) = self.measure(tmp_path, lower=-0.2)
        assert motion.overlap_m["lower"] > 0.1
        assert motion.overlap_m["upper"] == 0.0

    def test_an_absurdly_heavy_part_does_not_cover_its_range(self, tmp_path):
        (motion,) = self.measure(tmp_path, mass=100_000)
        assert 0.0 < motion.travel < 0.01

    def test_a_joint_without_limits_has_a_full_turn_and_an_object_without_joints_no_motion(self, tmp_path):
        (motion,) = self.measure(tmp_path, kind="continuous", continuous={"slide"})
        assert (motion.lower, motion.upper) == pytest.approx((0.0, 6.283185), abs=1e-5)
        assert motion.travel == pytest.approx(1.0, abs=1e-3)
        assert self.measure(tmp_path, kind="fixed") == []
