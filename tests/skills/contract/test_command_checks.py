"""Commands that an arm cannot carry out are refused before it moves, with the command, the value and the limit."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from unlatch.simcore.errors import SkillError
from unlatch.simcore.geometry import Pose
from unlatch.skills.close import Close
from unlatch.skills.commands import JointMotion, ManipCommand, ManipKind, Phase
from unlatch.skills.skill import check_commands

LOWER, UPPER, SPEED = [-2.9, 0.0], [2.9, 0.5], [2.0, 0.2]
"""Limits of a turning joint `elbow` [rad] and a sliding joint `lift` [m], and their speeds."""
START = np.array([0.1, 0.2])
FRAME_S = 0.1
MAX_DURATION_S = 20.0


class Nudge(Close):
    def make_commands(self, plan):
        return []


def skill_with(*motions, start=START):
    """Returns a planned skill with a pause and one command for each motion."""
    pause = ManipCommand(ManipKind.close_gripper, Pose.identity(), Phase.grasp, dwell_frames=5)
    moves = [
        ManipCommand(ManipKind.joint_ctrl, Pose.identity(), Phase.follow, motion=JointMotion(np.array(rows)))
        for rows in motions
    ]
    arm = SimpleNamespace(
        q_target=start,
        cfg=SimpleNamespace(
            joints=["elbow", "lift"],
            lower=LOWER,
            upper=UPPER,
            max_velocity=SPEED,
            gripper=SimpleNamespace(max_width_m=0.08),
        ),
    )
    joints = [SimpleNamespace(prismatic=False), SimpleNamespace(prismatic=True)]
    skill = object.__new__(Nudge)
    skill.cfg = SimpleNamespace(name="nudge")
    skill.commands = [pause, *moves]
    skill.context = SimpleNamespace(
        arm=arm, frame_s=FRAME_S, arm_model=SimpleNamespace(kinematics=SimpleNamespace(joints=joints))
    )
    return skill


@pytest.mark.parametrize(
    ("motions", "expected"),
    [
        (
            [[[0.1, 0.2]], [[0.1, 0.2], [45.0, 0.2], [78.0, 0.2]]],
            "leads joint 'elbow' to 78 rad in row 2. Its limits are -2.9 "
            "and 2.9 rad. Are these degrees? Give radians, such as those of np.deg2rad.",
        ),
        ([[[0.1, 0.2], [0.1, 0.6]]], "leads joint 'lift' to 0.6 m in row 1. Its limits are 0 and 0.5 m. Change the mo"),
        ([[[0.1, np.nan]]], "leads joint 'lift' to nan m in row 0. Its limits are 0 and 0.5 m."),
        (
            [[[0.2, 0.2]], [[0.9, 0.2]]],
            "Command 2 of skill 'nudge' (joint_ctrl, follow) begins 0.7 rad away from where joint 'elbow' is then. The "
            "speed limit is 2 rad/s, which is 0.2 rad in a frame. Begin the motion at the end of the one before it.",
        ),
        (
            [[[0.1, 0.2], [0.1, 0.3]]],
            "moves joint 'lift' by 0.1 m in row 1. The speed limit is 0.2 m/s, which is 0.02 m in a frame. Give",
        ),
        ([[[0.1], [0.2]]], "has `q` of shape (2, 1). Expected (rows, 2): one column for each of elbow, lift."),
    ],
    ids=["degrees", "limit", "not a number", "not continued", "too fast", "columns"],
)
def test_a_motion_that_the_arm_cannot_follow_is_named(motions, expected):
    with pytest.raises(SkillError, match=re.escape(expected)) as caught:
        check_commands(skill_with(*motions), max_duration_s=MAX_DURATION_S)
    assert f'File "{__file__}", line ' in str(caught.value)


def test_motions_within_the_limits_are_accepted():
    check_commands(skill_with([[0.3, 0.2], [0.5, 0.22]], [[0.7, 0.21]]), max_duration_s=MAX_DURATION_S)


def test_an_arm_that_begins_beyond_a_limit_may_come_back():
    check_commands(skill_with([[3.0, 0.2], [2.9, 0.2]], start=np.array([3.1, 0.2])), max_duration_s=MAX_DURATION_S)


def test_a_wait_longer_than_the_episode_is_named():
    skill = skill_with()
    skill.commands.append(ManipCommand(ManipKind.close_gripper, Pose.identity(), Phase.hold, dwell_frames=201))
    expected = (
        "Command 1 of skill 'nudge' (close_gripper, hold) waits for 201 record frames, which are 20.1 s. The whole "
        "episode may take 20 s (task.max_duration_s). Give it less: `self.context.frames(0.5)` is half a second. File "
    )
    with pytest.raises(SkillError, match=re.escape(expected)):
        check_commands(skill, max_duration_s=MAX_DURATION_S)


def test_a_wait_as_long_as_the_episode_is_accepted():
    skill = skill_with()
    skill.commands.append(ManipCommand(ManipKind.close_gripper, Pose.identity(), Phase.hold, dwell_frames=200))
    check_commands(skill, max_duration_s=MAX_DURATION_S)


def test_a_motion_of_many_more_rows_than_the_episode_has_frames_is_named():
    rows = [START.tolist()] * 2001
    expected = (
        "Command 1 of skill 'nudge' (joint_ctrl, follow) has 2001 rows, one a record frame, which are 200.1 s. The "
        "whole episode may take 20 s (task.max_duration_s). Give it fewer rows. File "
    )
    with pytest.raises(SkillError, match=re.escape(expected)):
        check_commands(skill_with(rows), max_duration_s=MAX_DURATION_S)


def test_a_motion_somewhat_longer_than_the_episode_is_left_to_its_timeout():
    check_commands(skill_with([START.tolist()] * 2000), max_duration_s=MAX_DURATION_S)


HERE = Pose.identity()
STAY = np.array([START, START])
CLOSE, OPEN, WEIGHTS = ManipKind.close_gripper, ManipKind.open_gripper, ManipKind.update_pose_cost_metric


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (ManipCommand(CLOSE, HERE, Phase.hold, dwell_frames=-7), r"has dwell_frames=-7\. Expected a whole number"),
        (ManipCommand(CLOSE, HERE, Phase.hold, dwell_frames=0.3), r"has dwell_frames=0\.3\. Expected a whole"),
        (ManipCommand(CLOSE, HERE, Phase.hold, dwell_frames=True), "has dwell_frames=True"),
        (ManipCommand(CLOSE, HERE, Phase.hold, dwell_frames=np.nan), "has dwell_frames=nan"),
        (ManipCommand(CLOSE, Pose(np.eye(3), [0.1, np.nan, 0.0]), Phase.hold), r"p=\[0\.1, nan, 0\. *\] m"),
        (ManipCommand(CLOSE, Pose(np.eye(3), [310.0, 0.0, 582.0]), Phase.hold), "at most 10 m from the arm's base"),
        (ManipCommand(CLOSE, Pose(2.0 * np.eye(3), np.zeros(3)), Phase.hold), "is no rotation"),
        (ManipCommand(CLOSE, Pose(-np.eye(3), np.zeros(3)), Phase.hold), "is no rotation"),
        (ManipCommand(CLOSE, Pose(np.full((3, 3), np.nan), np.zeros(3)), Phase.hold), "is no rotation"),
        (ManipCommand(CLOSE, "here", Phase.hold), "has T_base_ee='here'. Expected a Pose"),
        (ManipCommand(CLOSE, HERE, Phase.hold, JointMotion(STAY, s=np.zeros(3))), "Expected 2 finite numbers"),
        (ManipCommand(CLOSE, HERE, Phase.hold, JointMotion(STAY, s=[0.0, np.inf])), "Expected 2 finite numbers"),
        (
            ManipCommand(CLOSE, HERE, Phase.hold, JointMotion(STAY, gripper_m=40.0)),
            r"gripper_m=40\.0\. Expected 0 to 0\.08",
        ),
        (ManipCommand(CLOSE, HERE, Phase.hold, JointMotion(STAY, gripper_m=[0.0, -0.01])), "Expected 0 to 0.08 m"),
        (ManipCommand(CLOSE, HERE, Phase.hold, JointMotion(STAY, gripper_m=np.nan)), "gripper_m=nan"),
        (ManipCommand(OPEN, HERE, Phase.hold, params={"width_m": 0.2}), r"params\['width_m'\]=0\.2\. Expected 0 to 0"),
        (ManipCommand(OPEN, HERE, Phase.hold, params={"width_m": "wide"}), r"params\['width_m'\]='wide'"),
        (ManipCommand(WEIGHTS, HERE, Phase.idle, params={"hold_vec_weight": [0, 0, 1]}), "Expected six finite numbers"),
        (ManipCommand(WEIGHTS, HERE, Phase.idle, params={"hold_vec_weight": [0, 0, 0, 0, 0, np.inf]}), "Expected six"),
    ],
)
def test_a_wrong_number_of_a_command_is_named_with_what_is_expected(command, expected):
    skill = skill_with([START.tolist()])
    skill.commands.append(command)
    with pytest.raises(SkillError, match=expected) as caught:
        check_commands(skill, max_duration_s=MAX_DURATION_S)
    place = r'File ".*test_command_checks\.py", line \d+'
    assert re.search(rf"^Command 2 of skill 'nudge' \({command.kind.value}, .*{place}$", caught.value.message)


def test_right_numbers_of_commands_pass():
    skill = skill_with([START.tolist()])
    skill.commands += [
        ManipCommand(OPEN, HERE, Phase.hold, params={"width_m": 0.08}),
        ManipCommand(CLOSE, HERE, Phase.hold, JointMotion(STAY, s=np.zeros(2), gripper_m=np.array([0.08, 0.0]))),
        ManipCommand(CLOSE, HERE, Phase.hold, dwell_frames=np.int64(3)),
        ManipCommand(WEIGHTS, HERE, Phase.idle, params={"hold_vec_weight": (0, 0, 0, 1, 1, 1)}),
    ]
    check_commands(skill, max_duration_s=MAX_DURATION_S)
