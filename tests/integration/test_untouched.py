"""A skill that moves the scene itself, in place of commanding the arm, is caught whatever its own verdict says."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pybullet as p
import pytest

from unlatch.skills.close import Close
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.runner import EpisodeRunner

pytestmark = pytest.mark.integration


def push_by_hand(skill: Close) -> None:
    skill.object.set_joints({skill.part.joint: skill.part.openness.closed})


def move_the_arm(skill: Close) -> None:
    arm = skill.context.arm
    arm.reset(arm.q + 0.01, gripper_m=arm.gripper_opening_m)


def throw(skill: Close) -> None:
    skill.object.body.set_joint_positions([skill.part.joint], [skill.s], np.array([-0.5]))


def tie(skill: Close) -> None:
    body = skill.object.body
    fixed = {"jointAxis": (0, 0, 0), "parentFramePosition": (0, 0, 0), "childFramePosition": (0, 0, 0)}
    hand = skill.context.robot.body
    link = body.link_index(skill.part.link)
    p.createConstraint(hand.body_id, 0, body.body_id, link, p.JOINT_POINT2POINT, physicsClientId=body.client, **fixed)


@pytest.mark.parametrize(
    ("cheat", "what"),
    [
        (push_by_hand, "drawer"),
        pytest.param(move_the_arm, "franka_panda", marks=pytest.mark.slow),
        pytest.param(throw, "drawer", marks=pytest.mark.slow),
        pytest.param(tie, "constraints", marks=pytest.mark.slow),
    ],
)
def test_a_skill_that_moves_the_scene_itself_is_an_error(
    cheat: Callable[[Close], None],
    what: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frames = [0]

    def on_frame(self: Close) -> None:
        frames[0] += 1
        if frames[0] == 3:
            cheat(self)

    monkeypatch.setattr(Close, "check_frame", on_frame)
    monkeypatch.setattr(Close, "unmet_condition", lambda self: None)
    cfg = load("close_drawer")
    with EpisodeRunner(cfg) as runner:
        record = runner.run(0)
    assert frames == [3]
    assert (record.success, record.code) == (False, "error")
    assert f"{what} of the scene changed between two record frames" in record.evidence["message"]
