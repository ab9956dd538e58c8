"""Commands and their execution, one action a record frame."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from robots.franka_panda import franka_panda
from robots.model import model_path
from robots.robot import Arm, Robot
from simcore.geometry import Pose
from simcore.sim.rates import WorldCfg
from simcore.sim.world import World
from skills.command import JointMotion, ManipCommand, ManipKind, Phase
from skills.execution import CommandExecutor


@pytest.fixture
def arm() -> Iterator[Arm]:
    cfg = franka_panda()
    with World(WorldCfg()) as world:
        robot = Robot(world, cfg, model_path(cfg.name), T_world_root=Pose.identity())
        arm = robot.arm(None)
        arm.reset(arm.cfg.home, gripper_m=0.08)
        yield arm


def forward(q: np.ndarray) -> np.ndarray:
    return np.eye(4)


def test_as_tuple_has_the_quaternion_with_w_first() -> None:
    command = ManipCommand(
        ManipKind.close_gripper, Pose.from_rpy((1, 2, 3), (0, 0, np.pi / 2)), Phase.follow, params={"a": 1}
    )
    p, quat_wxyz, name, params = command.as_tuple()
    assert p.tolist() == [1, 2, 3]
    assert np.allclose(quat_wxyz, [np.sqrt(0.5), 0, 0, np.sqrt(0.5)])
    assert (name, params) == ("close_gripper", {"a": 1})


def test_a_motion_is_handed_out_row_by_row_then_the_next_command(arm: Arm) -> None:
    rows = arm.q + 1e-4 * np.arange(3)[:, None]
    executor = CommandExecutor(arm, forward=forward, rates=WorldCfg())
    executor.load(
        [
            ManipCommand(ManipKind.update_specific, Pose.identity(), Phase.idle, params={"allowed_pairs": []}),
            ManipCommand(ManipKind.open_gripper, Pose.identity(), Phase.transit, motion=JointMotion(rows)),
            ManipCommand(ManipKind.close_gripper, Pose.identity(), Phase.grasp, dwell_frames=2),
        ]
    )
    seen = []
    while not executor.is_done():
        phase = executor.phase
        action = executor.next_action()
        seen.append((phase, action.gripper_target_m, action.joint_targets.copy()))
        executor.update()
    assert [phase for phase, _, _ in seen] == [Phase.transit] * 3 + [Phase.grasp] * 2
    assert [width for _, width, _ in seen] == [0.08] * 3 + [0.0] * 2
    assert all(np.array_equal(target, row) for (_, _, target), row in zip(seen, [*rows, rows[2], rows[2]], strict=True))


@pytest.mark.parametrize(("record_hz", "waited"), [(20, 7), (30, 10), (60, 20)])
def test_an_arm_that_does_not_arrive_is_waited_for_a_third_of_a_second(arm: Arm, record_hz: int, waited: int) -> None:
    executor = CommandExecutor(arm, forward=forward, rates=WorldCfg(record_hz=record_hz))
    far = arm.q + 0.5
    executor.load([ManipCommand(ManipKind.open_gripper, Pose.identity(), Phase.transit, motion=JointMotion(far[None]))])
    count = 0
    while not executor.is_done():
        executor.next_action()
        executor.update()
        count += 1
    assert count == 1 + waited


def test_expected_joint_position_follows_the_motion(arm: Arm) -> None:
    executor = CommandExecutor(arm, forward=forward, rates=WorldCfg())
    motion = JointMotion(np.tile(arm.q, (3, 1)), s=np.array([0.1, 0.2, 0.3]))
    executor.load([ManipCommand(ManipKind.close_gripper, Pose.identity(), Phase.follow, motion=motion)])
    expected = []
    for _ in range(3):
        executor.next_action()
        expected.append(executor.expected_s)
        executor.update()
    assert expected == [0.1, 0.2, 0.3]


def test_a_stopped_arm_stays_at_its_last_target(arm: Arm) -> None:
    executor = CommandExecutor(arm, forward=forward, rates=WorldCfg())
    rows = arm.q + 1e-3 * np.arange(5)[:, None]
    executor.load([ManipCommand(ManipKind.open_gripper, Pose.identity(), Phase.transit, motion=JointMotion(rows))])
    executor.next_action()
    executor.next_action()
    executor.stop()
    assert executor.is_done()
    assert np.array_equal(executor.next_action().joint_targets, rows[1])


def test_a_motion_is_a_copy_that_cannot_be_changed() -> None:
    q = np.zeros((2, 7))
    motion = JointMotion(q)
    q[:] = 1.0
    assert not motion.q.any()
    with pytest.raises(ValueError, match="read-only"):
        motion.q[0, 0] = 1.0
