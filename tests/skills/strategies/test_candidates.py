"""Candidates are drawn from the shape of a part alone: they lie on it, the hand is free, and they differ."""

import numpy as np

from tests.skills.builders import CLOSED, HAND, HEAD, part_of
from unlatch.skills.strategies.candidates import draw_candidates
from unlatch.skills.strategies.ranking import derive_strategies
from unlatch.solver.term_kinds import FrameAxisParallel


def draw(category, skill="open", start=CLOSED, *, seed=0, count=12):
    asset, part = part_of(category)
    base = derive_strategies(skill, asset, part, HAND, start)[0][1]
    found = draw_candidates(skill, asset, part, HAND, start, base, count=count, rng=np.random.default_rng(seed))
    return part, base, found


def kinds(found):
    return {name.rpartition("_")[0] for name, _ in found}


def test_a_bar_is_pinched_near_its_handle_without_its_annotation():
    part, _, found = draw("microwave", count=24)
    shifts = [setting.keypoint_shifts[HEAD] for name, setting in found if name.startswith("pinch")]
    assert min(np.linalg.norm(shift) for shift in shifts) < 0.1
    assert part.handle.size.max() > 0.1


def test_candidates_are_judged_as_the_derived_strategy_is():
    _, base, found = draw("drawer")
    assert {setting.success_threshold for _, setting in found} == {base.success_threshold}


def test_a_door_is_closed_by_pushes_and_by_pinches_that_lead_it_to_closed():
    part, _, found = draw("microwave", "close", (0.5, 0.6), count=24)
    assert kinds(found) >= {"pinch", "tip"}
    pinches = [setting for name, setting in found if name.startswith("pinch")]
    assert {setting.follow_joint.to for setting in pinches} == {part.openness.closed}


def test_the_same_stream_draws_the_same_candidates_as_many_as_asked_for_and_another_one_others():
    first, again, other = (draw("drawer", seed=seed, count=5)[2] for seed in (0, 0, 1))
    assert len({name for name, _ in first}) == 5
    assert [setting.to_yaml() for _, setting in first] == [setting.to_yaml() for _, setting in again]
    assert [setting.to_yaml() for _, setting in first] != [setting.to_yaml() for _, setting in other]


def test_hands_do_not_come_from_behind_or_below():
    _, _, found = draw("drawer", count=24)
    for _, setting in found:
        back = next(
            term.target_axis
            for term in setting.constraint_list
            if isinstance(term, FrameAxisParallel) and term.axis_to_keypoint_name == "tool_tail"
        )
        assert back[0] > -0.36  # the object faces +x
        assert back[2] > -0.36
