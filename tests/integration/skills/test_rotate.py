"""Rotate: its commands, turn by turn, and when it fails."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tests.integration.skills.planned import again, planned_skill
from unlatch.objects.annotation import Handle, HandleType, PartKind
from unlatch.skills import grasping
from unlatch.skills.commands import ManipKind, Phase
from unlatch.skills.config import SkillCfg
from unlatch.skills.rotate import Rotate
from unlatch.solver.diagnosis import Diagnosis
from unlatch.solver.plan import KeyframePlan, TurningPlan
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


def turning_plan(skill: Rotate) -> TurningPlan:
    assert isinstance(skill.keyframe_plan, TurningPlan)
    return skill.keyframe_plan


def with_narrow_wrist(skill: Rotate, half_rad: float) -> Rotate:
    """The same skill of an arm whose links roll by so much to either side of where they are."""
    arm = skill.context.arm_model
    lower, upper = arm.q_lower.copy(), arm.q_upper.copy()
    middle = skill.context.arm.q[ROLLS]
    lower[ROLLS], upper[ROLLS] = middle - half_rad, middle + half_rad
    return Rotate(skill.cfg, replace(skill.context, arm_model=replace(arm, q_lower=lower, q_upper=upper)))


def test_a_knob_that_the_fingers_cannot_span_is_not_tried(planned: Rotate) -> None:
    skill = again(planned)
    skill.part = replace(skill.part, handle=Handle(HandleType.knob, np.array([0.02, 0.09, 0.081])))
    assert not skill.plan(np.random.default_rng(0))
    assert skill.failure.code == "plan_infeasible"
    assert skill.failure.message == (
        "The hand is too small for 'knob'. Take another robot or a smaller object. The part is 81 mm across where it "
        "is narrowest, the hand opens by 80 mm"
    )


def test_one_turn_is_a_grasp_a_turn_and_a_release(planned: Rotate) -> None:
    told = [(c.kind, c.phase) for c in planned.commands if c.phase not in (Phase.transit, Phase.idle)]
    assert told == [
        (ManipKind.open_gripper, Phase.approach),
        (ManipKind.close_gripper, Phase.grasp),
        (ManipKind.close_gripper, Phase.follow),
        (ManipKind.open_gripper, Phase.release),
        (ManipKind.open_gripper, Phase.retreat),
    ]
    assert planned.finger_contact_required


def test_the_turn_ends_where_the_setting_says(planned: Rotate) -> None:
    (turn,) = turning_plan(planned).turns
    assert (turn.s_from, turn.s_to) == (pytest.approx(planned.s0), planned.follow_to)
    (follow,) = [command.motion for command in planned.commands if command.phase is Phase.follow]
    assert follow.s[-1] == pytest.approx(planned.follow_to, abs=1e-6)


def test_fingers_open_as_wide_as_the_setting_says(planned: Rotate) -> None:
    setting = planned.cfg.planner_setting
    assert setting.approach_width_m is not None
    (release,) = [command for command in planned.commands if command.phase is Phase.release]
    assert release.params["width_m"] == pytest.approx(setting.approach_width_m)


@pytest.mark.slow
def test_a_turn_beyond_the_wrist_is_several_each_from_where_the_last_one_ended(planned: Rotate) -> None:
    skill = with_narrow_wrist(planned, 1.2)
    assert skill.plan(np.random.default_rng(0))
    turns = turning_plan(skill).turns
    assert len(turns) >= 2
    assert turns[0].s_from == pytest.approx(skill.s0)
    assert turns[-1].s_to == skill.follow_to
    for before, after in pairwise(turns):
        assert after.s_from == before.s_to
        np.testing.assert_allclose(after.plan.segments[0].q[0], before.q_end, atol=1e-9)
    phases = [command.phase for command in skill.commands]
    for phase in (Phase.grasp, Phase.release, Phase.retreat):
        assert phases.count(phase) == len(turns)
    # the planner is asked with the part where the turn before has left it
    follows = [command.motion for command in skill.commands if command.phase is Phase.follow]
    assert [motion.s[0] for motion in follows] == pytest.approx([turn.s_from for turn in turns])


def test_no_plan_is_a_failure_with_the_planners_reason(planned: Rotate, monkeypatch: pytest.MonkeyPatch) -> None:
    skill = again(planned)
    diagnosis = Diagnosis("path_infeasible", "the hand gets to -0.300 only", {"reached_s": -0.3})
    found = KeyframePlan(False, turning_plan(planned).keyframes[:1], diagnosis=diagnosis)
    monkeypatch.setattr(grasping, "plan_keyframes", lambda *_: found)
    assert not skill.plan(np.random.default_rng(0))
    assert not skill.is_ready()
    assert (skill.failure.code, skill.failure.message) == ("path_infeasible", "the hand gets to -0.300 only")


def test_every_turn_is_asked_whether_the_fingers_hold(planned: Rotate) -> None:
    skill = again(planned)
    follows = [command for command in planned.commands if command.phase is Phase.follow]
    skill.executor.load([*follows, *follows])
    skill._follow_index = 0  # the first turn held
    while skill.executor.index == 0:
        skill.executor.next_action()
        skill.executor.advance()
    skill.check_frame()
    assert skill.failure.code == "grasp_missed"


def test_the_joint_is_held_all_the_time_where_the_setting_asks(planned: Rotate) -> None:
    asked = again(planned, update_art_joint=True)
    assert asked.held_joints() == {planned.object_name: frozenset((planned.part.joint,))}


def test_the_hand_turns_with_a_knob_and_only_a_lever_may_turn_in_it(planned: Rotate) -> None:
    skill = again(planned)
    assert [slip.mode for slip in skill.slips] == [SlipMode.fixed]
    skill.part = replace(skill.part, kind=PartKind.lever)
    assert [slip.mode for slip in skill.slips] == [SlipMode.fixed, SlipMode.side, SlipMode.gimbal]


@pytest.mark.slow
def test_a_dial_that_is_taken_again_is_turned_all_the_way(planned: Rotate, monkeypatch: pytest.MonkeyPatch) -> None:
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
