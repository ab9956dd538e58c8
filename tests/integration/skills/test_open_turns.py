"""Open: a cap that is turned further than the wrist turns is let go and grasped again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tests.integration.skills.planned import again, planned_skill
from unlatch.skills import articulation, grasping
from unlatch.skills.commands import Phase
from unlatch.skills.open import Open
from unlatch.skills.strategies import open_close
from unlatch.solver.diagnosis import Diagnosis
from unlatch.solver.plan import MOST_TURNS, KeyframePlan, PlanRequest, TurningPlan
from unlatch.solver.planner import plan_keyframes
from unlatch.solver.setting import FollowJointCfg
from unlatch.workflows.runs.loading import load

pytestmark = pytest.mark.integration

WORDS = ["object=bottle", "object.instance=0", "skill=open", "openness=0.9", "skills.0.candidates=1"]


@pytest.fixture(scope="module")
def planned() -> Iterator[Open]:
    """A planned skill on a bottle; its scene lives as long as this module."""
    with planned_skill(load(*WORDS)) as skill:
        yield skill


def refuse_beyond(skill: Open, most_rad: float, asked: list[tuple[bool, float]]) -> Callable[..., KeyframePlan]:
    """A planner that refuses every turn beyond an angle; notes whether it was thorough, and how far it had to turn."""

    def plan(request: PlanRequest, checker: Any, rng: np.random.Generator) -> KeyframePlan:
        assert request.follow_to is not None
        way = abs(request.follow_to - request.scene.s)
        asked.append((request.budget.thorough, way))
        if way <= most_rad:
            return plan_keyframes(request, checker, rng)
        diagnosis = Diagnosis("path_infeasible", "the wrist ends", {"stage": "follow"})
        return KeyframePlan(False, skill.keyframe_plan.keyframes[:1], diagnosis=diagnosis)

    return plan


def ways(turns: Sequence[Any]) -> list[float]:
    return [abs(turn.s_to - turn.s_from) for turn in turns]


def test_a_cap_is_turned_in_as_few_turns_as_the_wrist_allows(planned, monkeypatch):
    skill, asked = again(planned), list[tuple[bool, float]]()
    whole = abs(skill.follow_to - skill.s)
    monkeypatch.setattr(grasping, "plan_keyframes", refuse_beyond(planned, 0.4 * whole, asked))
    assert skill.plan(np.random.default_rng(0))
    assert isinstance(skill.keyframe_plan, TurningPlan)
    turns = skill.keyframe_plan.turns
    np.testing.assert_allclose(ways(turns), whole / 3)
    assert not any(thorough for thorough, _ in asked)
    assert turns[-1].s_to == skill.follow_to
    phases = [command.phase for command in skill.commands]
    assert [phases.count(phase) for phase in (Phase.follow, Phase.release, Phase.retreat)] == [3, 3, 3]
    for before, after in pairwise(turns):
        np.testing.assert_allclose(after.plan.segments[0].q[0], before.q_end, atol=1e-9)


def test_fingers_close_slowly_where_the_plan_only_predicts_how_the_part_stands(planned, monkeypatch):
    skill = again(planned)
    monkeypatch.setattr(open_close, "is_round", lambda _: False)  # as if the cap were a blade
    monkeypatch.setattr(grasping, "plan_keyframes", refuse_beyond(planned, 0.6 * abs(skill.follow_to - skill.s), []))
    assert skill.plan(np.random.default_rng(0))
    at_once, slowly, held = (command for command in skill.commands if command.phase is Phase.grasp)
    assert at_once.motion is None
    assert at_once.dwell_frames == held.dwell_frames
    assert isinstance(slowly.motion.gripper_m, np.ndarray)
    widths = slowly.motion.gripper_m
    assert (widths[0], widths[-1]) == (skill.approach_width_m, 0.0)
    fastest_m = 2.0 * skill.context.arm.cfg.gripper.max_speed_m_s * skill.context.frame_s  # of both fingers in a frame
    np.testing.assert_allclose(-np.diff(widths) / fastest_m, 0.3, atol=0.02)
    np.testing.assert_array_equal(np.ptp(slowly.motion.q, axis=0), 0.0)
    executor = skill.executor
    executor.load([slowly])
    np.testing.assert_array_equal([executor.next_action().gripper_target_m for _ in widths], widths)


def test_a_cap_that_is_turned_little_or_with_closed_fingers_is_led_once(planned, monkeypatch):
    monkeypatch.setattr(articulation, "plan_keyframes", refuse_beyond(planned, 0.0, []))
    monkeypatch.setattr(grasping, "plan_keyframes", lambda *_: pytest.fail("planned in turns"))
    setting = planned.cfg.planner_setting
    little = replace(setting, post_actuation_motions=FollowJointCfg(to=planned.part.openness.position(0.75)))
    for changed in (little, replace(setting, approach_width_m=0.0)):
        assert not Open(replace(planned.cfg, planner_setting=changed), planned.context).plan(np.random.default_rng(0))


def test_turns_that_have_no_plan_at_first_are_searched_with_the_full_budget(planned, monkeypatch):
    skill, asked = again(planned), list[tuple[bool, float]]()
    monkeypatch.setattr(grasping, "plan_keyframes", refuse_beyond(planned, 0.0, asked))
    assert not skill.plan(np.random.default_rng(0))
    assert (skill.failure.code, skill.failure.message) == ("path_infeasible", "the wrist ends")
    whole = abs(skill.follow_to - skill.s)
    parts = [whole / n for n in range(1, MOST_TURNS + 1)]
    assert [way for thorough, way in asked if not thorough] == pytest.approx(parts)
    assert [way for thorough, way in asked if thorough] == pytest.approx(parts)
