"""The physics loop in C does what its models in Python do: targets, gains, torques, catches and contact forces."""

from __future__ import annotations

import gc
import hashlib
import subprocess
import sys
import weakref
from collections import deque
from pathlib import Path

import numpy as np
import pybullet as p
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unlatch.robots.catalog import load_robot
from unlatch.robots.models import model_path
from unlatch.robots.robot import Arm, Robot
from unlatch.simcore.closing_profile import catch_force, gasket_force
from unlatch.simcore.errors import WorldError
from unlatch.simcore.geometry import (
    Pose,
    matrices_from_quats_xyzw,
    matrix_from_quat_xyzw,
    multiply_in_order,
    quat_xyzw_from_matrix,
)
from unlatch.simcore.process import check_sources
from unlatch.simcore.sim import core as core_module
from unlatch.simcore.sim.bodies import WITH_LINKS, moved_links
from unlatch.simcore.sim.contacts import ContactMonitor, ContactView, FingerLoads
from unlatch.simcore.sim.core import BodyState, ServoState
from unlatch.simcore.sim.drives import DriveGroup, DriveMode, JointDrive
from unlatch.simcore.sim.joint_mechanisms import ClosedStop
from unlatch.simcore.sim.world import World

ROBOTS = ("franka_panda", "dual_panda", "ur5", "xarm6", "baxter")


def load_arm(world: World, name: str) -> Arm:
    """An arm at a drawn pose, in motion."""
    cfg = load_robot(name)
    arm = next(iter(Robot(world, cfg, model_path(cfg), T_world_root=Pose.identity()).arms.values()))
    rng = np.random.default_rng(3)
    arm.reset(np.array(arm.cfg.home) + rng.uniform(-0.3, 0.3, len(arm.cfg.home)), gripper_m=arm.cfg.gripper.max_width_m)
    arm._body.set_joint_positions(arm.cfg.joints, arm.q + 0.01, rng.uniform(-0.2, 0.2, len(arm.cfg.home)))
    return arm


class TargetModel:
    """A uniform cubic B-spline through the actions, and commands that are late or get lost."""

    def __init__(self, q: np.ndarray, opening: float) -> None:
        self.points, self.opening, self.step = [q, q, q, q], opening, 0
        self.sent = deque([self._command(0, 1, 1.0)])
        self.arrived = self.sent[0]

    def begin_frame(self, q: np.ndarray, most: np.ndarray, opening: float) -> None:
        last = self.points[3]
        self.points = [*self.points[1:], np.clip(q, last - most, last + most)]
        self.opening, self.step = opening, 0

    def next(self, steps: int, frame_s: float, *, late: int, dropped: bool) -> np.ndarray:
        self.sent.append(self._command(self.step, steps, frame_s))
        self.step += 1
        if not dropped:
            self.arrived = self.sent[max(0, len(self.sent) - 1 - late)]
        return self.arrived

    def _command(self, step: int, steps: int, frame_s: float) -> np.ndarray:
        first, second, third, fourth = self.points
        share, before, after = min(step, steps - 1) / steps, second - first, third - second
        change = after - before
        rise, speed = ((fourth - third) - after) - change, 0.5 * (before + after)
        q = second + change / 6.0 + share * (speed + share * (0.5 * change + share * (rise / 6.0)))
        dq = (speed + share * (change + share * (0.5 * rise))) / frame_s
        return np.concatenate([q, dq, (change + share * rise) / frame_s**2, [self.opening]])


@given(
    st.lists(
        st.tuples(st.floats(-2.0, 2.0), st.floats(0.0, 0.08), st.integers(0, 11), st.booleans()), min_size=1, max_size=9
    )
)
def test_commands_are_those_of_the_spline_and_arrive_late_or_never_to_the_bit(frames):
    servo, most, steps = ServoState([0, 1]), np.array([0.5, 3.0]), 8
    servo.points[:] = servo.arrived[:2] = (0.1, -0.2)
    servo.arrived[-1] = servo.struct.opening = 0.04
    servo.sent[0] = servo.arrived
    servo.struct.n_sent = servo.struct.has_arrived = 1
    model = TargetModel(np.array([0.1, -0.2]), 0.04)
    for q, opening, late, dropped in frames:
        model.begin_frame(np.array([q, -q]), most, opening)
        servo.points[:] = model.points
        struct = servo.struct
        struct.opening, struct.step, struct.frame_steps, struct.frame_s = opening, 0, steps, 1 / 30
        struct.late_steps, struct.is_dropped = late, dropped
        for _ in range(steps + 2):  # beyond its end, a frame keeps its last target
            expected = model.next(steps, 1 / 30, late=late, dropped=dropped)
            np.testing.assert_array_equal(servo.transmit(), expected)


@pytest.mark.parametrize("name", ROBOTS)
def test_inertia_gains_and_torques_are_those_of_the_control_law(world: World, name: str) -> None:
    arm = load_arm(world, name)
    body, servo, joints = arm._body, arm.drives.servo.state, arm.cfg.joints
    drives = [arm.drives.drives[joint] for joint in joints]
    q_all, dq_all, _ = body.joint_states()
    arm.drives.refresh_inertia()

    whole = np.array(p.calculateMassMatrix(body.body_id, q_all.tolist(), physicsClientId=world.client))
    rows = [body.rows[joint] for joint in joints]
    turning = {n: d.armature for n, d in arm.drives.drives.items() if d.armature > 0 and not body.joint(n).prismatic}
    both = list(dict.fromkeys((*joints, *turning)))
    states = p.getLinkStates(
        body.body_id, [body.joint(n).index for n in both], computeForwardKinematics=1, physicsClientId=world.client
    )
    rotations = matrices_from_quats_xyzw([state[5] for state in states])
    axes = {n: R @ np.array(body.joint(n).axis) for n, R in zip(both, rotations, strict=True)}
    M = whole[np.ix_(rows, rows)]
    for n, armature in turning.items():
        J = np.array([axes[n] @ axes[k] if body.joint(n).index in moved_links(body, k) else 0.0 for k in joints])
        M = M + armature * np.outer(J, J)
    np.testing.assert_allclose(servo.M, M, rtol=0, atol=1e-12 * np.abs(M).max())

    lower = np.linalg.cholesky(M)
    inverse = np.linalg.inv(lower)
    squares, modes = np.linalg.eigh(inverse @ np.diag([d.stiffness for d in drives]) @ inverse.T)
    frequency, shapes = np.minimum(np.sqrt(squares), 0.75 / world.dt), lower @ modes
    ratio = np.sqrt([d.damping for d in drives])
    K = (shapes * frequency**2) @ shapes.T
    D = ratio[:, None] * ((shapes * (2 * frequency - world.dt * frequency**2)) @ shapes.T) * ratio
    np.testing.assert_allclose(servo.K, K, rtol=0, atol=1e-9 * np.abs(K).max())
    np.testing.assert_allclose(servo.D, D, rtol=0, atol=1e-9 * np.abs(D).max())

    still = [0.0] * len(q_all)
    bias = p.calculateInverseDynamics(
        body.body_id, q_all.tolist(), dq_all.tolist(), still, physicsClientId=world.client
    )
    target = arm.drives.servo.targets
    balance = [d.counterbalance * np.cos(q_all[row]) for d, row in zip(drives, rows, strict=True)]
    torque = K @ (target.positions - q_all[rows]) - D @ dq_all[rows] + np.array(bias)[rows] - balance
    limits = [d.max_effort for d in drives]
    world.step()
    np.testing.assert_allclose(servo.torque, np.clip(torque, -np.array(limits), limits), rtol=0, atol=1e-9)


def test_the_core_turns_frames_and_points_as_the_geometry_in_python_does_to_the_bit(world: World) -> None:
    body = load_arm(world, "franka_panda")._body
    link, point = 3, np.array([0.1, -0.2, 0.3])
    read, frame = body.state.point_reader(link, point), body.state.links[link]
    body.read_state()
    rng = np.random.default_rng(8)
    half_turns = np.vstack([np.eye(4), -np.eye(4)])
    for quat in (*half_turns, *rng.normal(size=(200, 4))):
        frame[:] = *rng.normal(size=3), *quat
        R = matrix_from_quat_xyzw(quat)
        expected = [*quat_xyzw_from_matrix(R), *(multiply_in_order(R, point) + frame[:3])]
        assert read().tobytes() == np.array(expected).tobytes()


def test_a_reader_of_a_point_keeps_the_state_that_it_reads_and_refuses_links_that_are_not_there() -> None:
    state = BodyState(0, [], 2)
    state.links[1, 6] = 1.0
    kept = weakref.ref(state)
    for link in (-1, 2):
        with pytest.raises(WorldError, match=f"Body 0 has no link {link}, expected 0 to 1"):
            state.point_reader(link, np.zeros(3))
    read = state.point_reader(1, np.array([0.1, 0.2, 0.3]))
    del state
    gc.collect()
    assert kept() is not None
    np.testing.assert_array_equal(read(), [0, 0, 0, 1, 0.1, 0.2, 0.3])


def test_a_body_that_was_moved_between_two_frames_is_found_and_one_that_was_not_keeps_its_links(world: World) -> None:
    body = load_arm(world, "franka_panda")._body
    world.step(2)
    links = body.read_state().links.copy()
    assert world.find_moved() == []
    assert body.state.struct.is_known == WITH_LINKS
    body.core.read(body.state)
    assert body.state.links.tobytes() == links.tobytes()
    p.resetJointState(body.body_id, 3, float(body.state.q[3]) + 1e-4, physicsClientId=world.client)
    assert world.find_moved() == [body.name]
    assert body.read_state().links.tobytes() != links.tobytes()


def test_the_effort_of_a_catch_and_a_gasket_is_their_profile(world: World, sled_and_wheel: Path) -> None:
    body = world.load_urdf(sled_and_wheel, name="sled", T_world_root=Pose.identity())
    drives = DriveGroup(body, {"rail": JointDrive(DriveMode.passive)}, world=world)
    values = {"catch_effort": 9.0, "catch_reach": 0.01, "gasket_effort": -2.0, "gasket_reach": 0.03}
    drives.set_closed_stop("rail", ClosedStop(closed=0.1, sign=-1.0, enter_share=0.4, **values))
    mass = p.calculateMassMatrix(body.body_id, [0.0, 0.0], physicsClientId=world.client)[0][0]
    for opening in (-0.001, 0.0, 0.003, 0.012, 0.017, 0.025, 0.04):
        body.set_joint_positions(["rail"], [0.1 - opening])
        world.step()
        force = catch_force(opening, leave=9.0, enter=3.6, reach=0.01) + gasket_force(opening, pull=-2.0, reach=0.03)
        assert mass * body.joint_states(["rail"])[1][0] / world.dt == pytest.approx(force, abs=1e-6)


def test_forces_are_the_sums_over_bullets_contact_points(world: World, sled_and_wheel: Path) -> None:
    body = world.load_urdf(sled_and_wheel, name="robot", T_world_root=Pose.identity())
    world.add_box("wall", size_m=(0.1, 1, 1), T_world_box=Pose.from_translation((0.2, 0, 0)))
    drives = DriveGroup(body, {"rail": JointDrive(DriveMode.servo, max_effort=7.0, max_velocity=1.0)})
    drives.set_targets(["rail"], np.array([0.5]), np.zeros(1))
    monitor = ContactMonitor(world, body)
    wall = monitor.add(ContactView("robot.wall", lambda _link, other, _l: other == "wall"))
    loads = monitor.add_loads(FingerLoads("robot.fingers", [frozenset({"sled"})], physics_hz=240))
    normal, finger = [], []

    def read() -> None:
        points = p.getContactPoints(physicsClientId=world.client)
        sled = body.link_index("sled")
        its = [point for point in points if (point[1], point[3]) == (body.body_id, sled)]
        normal.append(sum(point[9] for point in its))
        total = np.zeros(3)
        for point in its:
            total = total + point[9] * np.array(point[7]) + point[10] * np.array(point[11])
            total = total + point[12] * np.array(point[13])
        finger.append(float(np.linalg.norm(total)))

    world.call_after_step(read)
    for _ in range(20):
        normal.clear()
        finger.clear()
        world.step(8)
        monitor.sample()
        assert [force for (force,) in loads.frame_forces_n] == pytest.approx(finger, abs=1e-9)
        monitor.end_frame()
        assert float(wall.force_max_n.get_value()) == pytest.approx(max(normal), abs=1e-9)
        assert float(wall.force_mean_n.get_value()) == pytest.approx(np.mean(normal), abs=1e-9)
    assert max(normal) > 1.0


def test_steps_together_and_one_by_one_end_alike_to_the_bit(world: World) -> None:
    arm = load_arm(world, "franka_panda")
    world.step(16)
    together = world.signature()
    world.reset()
    arm = load_arm(world, "franka_panda")
    world.call_after_step(lambda: None)
    world.step(16)
    assert world.signature() == together
    assert arm.q.any()


@pytest.mark.heavy
def test_two_compilers_give_the_same_bits(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ziglang", reason="a second compiler: pip install ziglang")
    source = Path(core_module.__file__).parent / "native" / "core.c"
    flags = ["-std=c99", "-D_GNU_SOURCE", "-O2", "-fvisibility=hidden", "-ffp-contract=off", "-fno-fast-math"]
    other = tmp_path / "native" / "_core.so"
    other.parent.mkdir()
    command = [sys.executable, "-m", "ziglang", "cc", *flags, "-shared", "-fPIC", str(source), "-o", str(other), "-lm"]
    subprocess.run(command, check=True)
    load_arm(world, "franka_panda")
    world.step(40)
    expected = world.signature()
    monkeypatch.setattr(core_module, "__file__", str(tmp_path / "core.py"))
    core_module._library.cache_clear()
    try:
        with World(world.cfg) as second:
            load_arm(second, "franka_panda")
            second.step(40)
            assert second.signature() == expected
    finally:
        monkeypatch.undo()
        core_module._library.cache_clear()


def test_a_library_that_is_older_than_its_sources_is_refused(tmp_path):
    check_sources(tmp_path, "of another version")  # installed from a wheel: there are no sources
    (tmp_path / "core.c").write_text("int x;\n")
    check_sources(tmp_path, hashlib.sha256(b"int x;\n").hexdigest())
    with pytest.raises(WorldError, match="older than the C files beside it"):
        check_sources(tmp_path, "of another version")
