"""Rotate: its commands, turn by turn, and when it fails."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.integration.skills.planned import again, planned_skill
from unlatch.objects.annotation import Handle, HandleType, PartKind
from unlatch.skills.commands import Phase
from unlatch.skills.config import SkillCfg
from unlatch.skills.rotate import Rotate
from unlatch.solver.scene import SlipMode
from unlatch.workflows.episode.attempt import Attempt
from unlatch.workflows.episode.chain_planner import ChainPlanner
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.runner import EpisodeRunner

pytestmark = pytest.mark.integration

ROLLS = [2, 6]
"""Joints that roll the upper arm and the hand: together they turn the hand about its approach axis."""


@pytest.fixture(scope="module")
def planned() -> Iterator[Rotate]:
    """A planned skill at the start of an episode; its scene lives as long as this module."""
    with planned_skill(load("turn_safe_dial")) as skill:
        yield skill


def with_narrow_wrist(skill: Rotate, half_rad: float) -> Rotate:
    """The same skill of an arm whose links roll by so much to either side of where they are."""
    arm = skill.context.arm_model
    lower, upper = arm.q_lower.copy(), arm.q_upper.copy()
    middle = skill.context.arm.q[ROLLS]
    lower[ROLLS], upper[ROLLS] = middle - half_rad, middle + half_rad
    return Rotate(skill.cfg, replace(skill.context, arm_model=replace(arm, q_lower=lower, q_upper=upper)))


def test_a_knob_that_the_fingers_cannot_span_is_not_tried(planned):
    skill = again(planned)
    skill.part = replace(skill.part, handle=Handle(HandleType.knob, np.array([0.02, 0.09, 0.081])))
    assert not skill.plan(np.random.default_rng(0))
    assert skill.failure.code == "plan_infeasible"
    assert skill.failure.message == (
        "The hand is too small for 'knob'. Take another robot or a smaller object. The part is 81 mm across where it "
        "is narrowest, the hand opens by 80 mm"
    )


def test_every_turn_is_asked_whether_the_fingers_hold(planned):
    skill = again(planned)
    follows = [command for command in planned.commands if command.phase is Phase.follow]
    skill.executor.load([*follows, *follows])
    skill._follow_index = 0  # the first turn held
    while skill.executor.index == 0:
        skill.executor.next_action()
        skill.executor.advance()
    skill.check_frame()
    assert skill.failure.code == "grasp_missed"


def test_the_joint_is_held_all_the_time_where_the_setting_asks(planned):
    asked = again(planned, update_art_joint=True)
    assert asked.held_joints() == {planned.object_name: frozenset((planned.part.joint,))}


def test_the_hand_turns_with_a_knob_and_only_a_lever_may_turn_in_it(planned):
    skill = again(planned)
    assert [slip.mode for slip in skill.slips] == [SlipMode.fixed]
    skill.part = replace(skill.part, kind=PartKind.lever)
    assert [slip.mode for slip in skill.slips] == [SlipMode.fixed, SlipMode.side, SlipMode.gimbal]


@pytest.mark.slow
def test_a_dial_that_is_taken_again_is_turned_all_the_way(planned, monkeypatch):
    with EpisodeRunner(load("turn_safe_dial")) as runner:
        attempt = Attempt(runner.episode(0))
        make = ChainPlanner.make_skill

        def make_narrow(self: ChainPlanner, entry: SkillCfg, **kwargs: Any) -> Rotate:
            skill = make(self, entry, **kwargs)
            assert isinstance(skill, Rotate)
            return with_narrow_wrist(skill, 1.2)

        monkeypatch.setattr(ChainPlanner, "make_skill", make_narrow)
        attempt.run()
        record = attempt.episode.record()
    assert record.success, record.evidence
    assert len(record.skills[0]["plan"]["turns"]) >= 2
