"""Commands and their execution, one action a record frame."""

import numpy as np
import pytest

from unlatch.robots.catalog import load_robot
from unlatch.robots.models import model_path
from unlatch.robots.robot import Robot
from unlatch.simcore.errors import SkillError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.world import World, WorldCfg
from unlatch.skills.commands import PLANNER_PARAMETER, CommandExecutor, JointMotion, ManipCommand, ManipKind, Phase

HERE = Pose.identity()
OPEN, CLOSE = ManipKind.open_gripper, ManipKind.close_gripper
FRAME_S = 1.0 / 30.0


@pytest.fixture(scope="module")
def robot():
    cfg = load_robot("franka_panda")
    with World(WorldCfg()) as world:
        yield Robot(world, cfg, model_path(cfg.name), T_world_root=HERE)


@pytest.fixture
def arm(robot):
    arm = robot.arm(None)
    arm.reset(arm.cfg.home, gripper_m=0.08)
    return arm


def forward(q):
    return np.tile(np.eye(3), (len(q), 1, 1)), np.zeros((len(q), 3))


def moving(kind, phase, rows, **more):
    return ManipCommand(kind, HERE, phase, motion=JointMotion(rows, **more))


def loaded(arm, *commands, rates=None):
    executor = CommandExecutor(arm, forward=forward, rates=rates or WorldCfg())
    executor.load(commands)
    return executor


def step(executor):
    """What a skill does after a frame in which nothing went wrong."""
    if executor.is_subtask_done():
        executor.advance()


def run(executor, look=lambda action: action, after=lambda seen: None):
    """What is seen in each frame to the end."""
    seen = []
    while not executor.is_done():
        seen.append(look(executor.next_action()))
        after(seen)
        step(executor)
    return seen


def test_as_tuple_has_the_quaternion_with_w_first():
    pose = Pose.from_rpy((1, 2, 3), (0, 0, np.pi / 2))
    p, quat_wxyz, name, params = ManipCommand(CLOSE, pose, Phase.follow, params={"a": 1}).as_tuple()
    assert (p.tolist(), name, params) == ([1, 2, 3], "close_gripper", {"a": 1})
    assert np.allclose(quat_wxyz, [np.sqrt(0.5), 0, 0, np.sqrt(0.5)])


def test_a_motion_is_handed_out_row_by_row_then_the_next_command(arm):
    rows = arm.q + 1e-4 * np.arange(3)[:, None]
    executor = loaded(
        arm,
        ManipCommand(ManipKind.update_specific, HERE, Phase.idle, params={"allowed_pairs": []}),
        moving(OPEN, Phase.transit, rows, s=np.array([0.1, 0.2, 0.3])),
        ManipCommand(CLOSE, HERE, Phase.grasp, dwell_frames=2),
    )
    seen = run(executor, lambda action: (executor.phase, executor.expected_s, action))
    assert [phase for phase, *_ in seen] == [Phase.transit] * 3 + [Phase.grasp] * 2
    assert [s for _, s, _ in seen[:3]] == [0.1, 0.2, 0.3]
    assert [action.gripper_target_m for *_, action in seen] == [0.08] * 3 + [0.0] * 2
    np.testing.assert_array_equal([a.joint_targets for *_, a in seen], [*rows, rows[2], rows[2]])


@pytest.mark.parametrize("waits", [0, 2])
def test_after_an_ended_motion_the_next_one_starts_where_the_arm_is(arm, waits):
    away, back = arm.q + 0.1 * np.arange(6)[:, None], arm.q + 0.1 * np.arange(5, 0, -1)[:, None]
    wait = ManipCommand(CLOSE, HERE, Phase.follow, dwell_frames=1)
    executor = loaded(arm, moving(CLOSE, Phase.follow, away), *[wait] * waits, moving(CLOSE, Phase.retreat, back))
    executor.next_action()
    executor.next_action()
    executor.end_motion()
    step(executor)
    for _ in range(waits):
        assert np.allclose(executor.next_action().joint_targets, arm.q)
        step(executor)
    assert executor.phase is Phase.retreat
    targets = np.array([executor.next_action().joint_targets for _ in range(5)])
    assert np.allclose(targets[0], arm.q)  # where it is, not where it was told to be
    assert np.array_equal(targets[-1], back[-1])
    assert np.allclose(np.diff(targets, axis=0), (back[-1] - arm.q) / 4)
    assert executor.is_subtask_done() == (float(np.abs(arm.q - back[-1]).max()) < 5e-3)


def test_an_ended_motion_brakes_within_the_accelerations_of_the_arm(arm):
    away = arm.q + 0.02 * np.arange(12)[:, None]
    motion = moving(CLOSE, Phase.follow, away, s=np.arange(12.0))
    executor = loaded(arm, motion, moving(CLOSE, Phase.retreat, away[::-1]))
    targets = []
    while executor.phase is Phase.follow:
        action = executor.next_action()
        arm.begin_frame(action, frame_s=FRAME_S, steps=8)
        targets.append(action.joint_targets)
        if len(targets) >= 6:
            executor.end_motion()  # a skill calls it in every frame
        if len(targets) == 7:
            assert executor.expected_s == 5.0
        step(executor)
    steps = np.diff(targets, axis=0)
    changes = np.abs(np.diff(np.vstack([steps, np.zeros(7)]), axis=0)) / FRAME_S**2
    assert np.all(steps > -1e-12)
    assert np.all(changes.max(axis=0) <= 0.7 * np.array(arm.cfg.max_acceleration) + 1e-9)
    assert len(targets) == 6 + 4  # 0.02 rad a frame, and that of joint 2 may change by 0.0058 rad in a frame


@pytest.mark.parametrize("done", [3, 4, 5])
def test_a_motion_that_flows_into_the_next_brakes_on_along_both(arm, done):
    """The first motion has four rows: it is broken off before its last row, in it, and in the first row of the next."""
    rows = arm.q + 0.02 * np.arange(1, 13)[:, None]
    first, second = moving(CLOSE, Phase.transit, rows[:4], flows=True), moving(CLOSE, Phase.transit, rows[4:])
    executor = loaded(arm, first, second)
    for _ in range(done):
        arm.begin_frame(executor.next_action(), frame_s=FRAME_S, steps=8)
        step(executor)
    braking = executor.braking_path(8)
    executor.end_motion()
    ended = executor.next_action().joint_targets
    assert np.all(braking[0] > rows[done - 1] + 0.01)
    assert np.all(np.diff(braking, axis=0) >= 0.0)
    assert np.all(ended > rows[done - 1] + 0.005)


def test_an_ended_motion_keeps_the_opening_that_it_had(arm):
    away, widths_m = arm.q + 0.02 * np.arange(12)[:, None], np.linspace(0.08, 0.0, 12)
    executor = loaded(arm, moving(CLOSE, Phase.grasp, away, gripper_m=widths_m))
    found = run(executor, lambda a: a.gripper_target_m, lambda seen: len(seen) == 6 and executor.end_motion())
    assert found[:6] == widths_m[:6].tolist()
    assert set(found[6:]) == {widths_m[5]}


@pytest.mark.parametrize(("record_hz", "waited"), [(20, 7), (60, 20)])
def test_an_arm_that_moves_without_arriving_is_waited_for_a_third_of_a_second(arm, record_hz, waited):
    far = moving(OPEN, Phase.transit, arm.q[None] + 0.5)

    def drift(seen):
        arm._body.set_joint_positions(arm.cfg.joints, arm.q + 1e-3)

    assert len(run(loaded(arm, far, rates=WorldCfg(record_hz=record_hz)), after=drift)) == 1 + waited


def test_an_arm_that_rests_without_arriving_is_not_waited_for(arm):
    far = moving(OPEN, Phase.transit, arm.q[None] + 0.5)
    assert len(run(loaded(arm, far))) == 1 + 3  # two frames until the motors have the target, and one of rest


def test_an_arm_does_not_wait_at_the_end_of_a_motion_that_flows_into_the_next_one(arm):
    first = moving(OPEN, Phase.transit, arm.q + 0.1 * np.arange(4)[:, None], flows=True)
    second = moving(OPEN, Phase.approach, arm.q + 0.1 * np.arange(4, 8)[:, None])
    executor = loaded(arm, first, second)
    assert run(executor, lambda action: executor.phase)[:5] == [Phase.transit] * 4 + [Phase.approach]


@pytest.mark.parametrize(("kind", "opened_m", "frames"), [(CLOSE, 0.0, 4), (OPEN, 0.004, 3), (OPEN, 0.0, 4)])
def test_a_dwell_ends_when_the_fingers_rest_or_are_clear(arm, kind, opened_m, frames):
    arm.reset(arm.cfg.home, gripper_m=0.04)
    dwell = ManipCommand(kind, HERE, Phase.grasp, dwell_frames=20, until_rest=True)

    def move_fingers(seen):
        arm.reset(arm.q, gripper_m=0.04 + opened_m * len(seen))

    assert len(run(loaded(arm, dwell), after=move_fingers)) == frames
    assert len(run(loaded(arm, ManipCommand(kind, HERE, Phase.grasp, dwell_frames=20)))) == 20


def test_the_rows_that_are_left_are_those_of_a_last_step_back(arm):
    rows = arm.q + 0.01 * np.arange(6)[:, None]
    executor = loaded(arm, moving(OPEN, Phase.retreat, rows))
    left = []
    for _ in range(5):
        executor.next_action()
        left.append(executor.last_rows(3))
    assert left[:2] == [None, None]
    np.testing.assert_array_equal(left[2], rows[3:])
    assert len(left[4]) == 1
    assert loaded(arm, moving(OPEN, Phase.transit, rows)).last_rows(9) is None
    two = loaded(arm, moving(OPEN, Phase.retreat, rows), moving(OPEN, Phase.transit, rows))
    assert two.last_rows(9) is None


PARAMETERS = {
    ManipKind.attach_obj: {"object": "cup"},
    ManipKind.detach_obj: {"object": "cup"},
    ManipKind.update_specific: {"allowed_pairs": [("finger", "cup/handle")]},
    ManipKind.update_pose_cost_metric: {"hold_vec_weight": [1, 1, 1, 0, 0, 0]},
}
MUST_MOVE = [ManipKind.dummy_forward, ManipKind.in_plane_rotation, ManipKind.joint_ctrl]


@pytest.mark.parametrize("kind", [CLOSE, ManipKind.joint_ctrl])
def test_a_command_with_a_motion_moves_as_given_whatever_its_kind(arm, kind):
    rows = arm.q + 1e-4 * np.arange(1, 4)[:, None]
    actions = run(loaded(arm, moving(kind, Phase.follow, rows, gripper_m=0.03)))
    assert [action.gripper_target_m for action in actions] == [0.03] * 3
    np.testing.assert_array_equal([action.joint_targets for action in actions], rows)


@pytest.mark.parametrize("kind", MUST_MOVE)
def test_a_command_that_must_move_has_a_motion_and_may_leave_the_gripper_as_it_is(arm, kind):
    arm.reset(arm.cfg.home, gripper_m=0.02)
    assert loaded(arm, moving(kind, Phase.follow, arm.q[None])).next_action().gripper_target_m == 0.02
    with pytest.raises(SkillError, match=rf"Command '{kind.value}' has no motion\. Give it the JointMotion"):
        ManipCommand(kind, HERE, Phase.follow)


def test_planner_parameters_apply_from_their_place_in_the_list_and_take_no_time(arm):
    def set_parameter(kind):
        return ManipCommand(kind, HERE, Phase.idle, params=PARAMETERS[kind])

    dwell = ManipCommand(OPEN, HERE, Phase.grasp, dwell_frames=1)
    first = (set_parameter(ManipKind.update_specific), set_parameter(ManipKind.attach_obj))
    then = (set_parameter(ManipKind.update_pose_cost_metric), set_parameter(ManipKind.detach_obj))
    executor = loaded(arm, dwell, *first, dwell, *then, dwell)
    seen = run(executor, lambda _: (executor.allowed_pairs, executor.attached, executor.hold_vec_weight))
    pairs, cup, nothing = frozenset({("finger", "cup/handle")}), frozenset({"cup"}), frozenset()
    weights = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)
    assert seen == [(nothing, nothing, (0.0,) * 6), (pairs, cup, (0.0,) * 6), (pairs, nothing, weights)]
    executor.load([dwell])
    assert executor.allowed_pairs == pairs


@pytest.mark.parametrize("kind", PLANNER_PARAMETER)
def test_a_command_for_the_planner_is_refused_without_its_parameter_and_with_a_motion(kind):
    with pytest.raises(SkillError, match=rf"Command '{kind.value}' lacks parameter '\w+'; got \['x'\]\. Add it\."):
        ManipCommand(kind, HERE, Phase.idle, params={"x": 1})
    with pytest.raises(SkillError, match=r"takes no time, but has a motion or 0 frames to dwell"):
        ManipCommand(kind, HERE, Phase.idle, params=PARAMETERS[kind], motion=JointMotion(np.zeros((1, 7))))


def test_a_stopped_arm_stays_at_its_last_target(arm):
    rows = arm.q + 1e-3 * np.arange(5)[:, None]
    executor = loaded(arm, moving(OPEN, Phase.transit, rows))
    executor.next_action()
    executor.next_action()
    executor.stop()
    assert executor.is_done()
    assert np.array_equal(executor.next_action().joint_targets, rows[1])


@pytest.mark.parametrize("gripper_m", [None, 0.03, (0.01, 0.02, 0.03)])
@pytest.mark.parametrize("kind", [ManipKind.joint_ctrl, ManipKind.open_gripper, ManipKind.close_gripper])
def test_the_opening_of_a_frame_is_that_of_all_openings(kind, gripper_m):
    motion = JointMotion(np.zeros((3, 7)), gripper_m=None if gripper_m is None else np.array(gripper_m))
    command = ManipCommand(kind, Pose.identity(), Phase.transit, motion=motion)
    for count in (2, 3, 5):
        openings = command.openings(count, 0.08)
        single = [command.opening(frame, count, 0.08) for frame in range(count)]
        assert single == ([None] * count if openings is None else openings.tolist())


@pytest.mark.parametrize("widths_m", [[0.0], np.zeros((2, 1))])
def test_a_motion_has_one_opening_or_one_for_each_row(widths_m):
    message = r"gripper_m .* has shape .*\. Expected one number or 2, one for each row of q"
    with pytest.raises(SkillError, match=message):
        JointMotion(np.zeros((2, 7)), gripper_m=widths_m)
