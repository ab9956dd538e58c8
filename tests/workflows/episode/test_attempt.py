"""With which budget the skills of a chain are planned in the episode."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.solver.plan import PlanBudget
from unlatch.workflows.episode.attempt import Attempt
from unlatch.workflows.episode.criteria import TAKEOVER, Actor, find_actor, takeover_frame
from unlatch.workflows.episode.scene import _describe_unrest


@pytest.mark.parametrize(
    ("begun", "indices", "as_searched"),
    [
        (2, [1], True),  # another one follows
        (3, [2], False),
        (2, [2], True),  # one that holds, written after the one that it holds for
        (3, [1, 2], True),  # two arms at once: the second was tried against the first
    ],
)
def test_a_skill_that_others_depend_on_is_planned_with_the_budget_of_the_search(begun, indices, as_searched):
    planner = SimpleNamespace(
        plan_together=lambda indices, *, budget, concurrent: [(indices, budget)],
        layout_search=SimpleNamespace(at_first_look=True),
    )
    episode: Any = SimpleNamespace(
        cfg=SimpleNamespace(skills=[None] * 3), judge=SimpleNamespace(begun_entries=set(range(begun))), planner=planner
    )
    attempt, budget = Attempt(episode), PlanBudget()
    found = cast("list[Any]", attempt._plan_as_searched(indices, [], budget=budget))
    assert found == ([(indices, PlanBudget().first_look())] if as_searched else [])
    assert all(item.meter is budget.meter for _, item in found)  # a plan in full shares the work
    planner.layout_search.at_first_look = False
    assert attempt._plan_as_searched(indices, [], budget=budget) == []


@pytest.mark.parametrize(("inner_plan_ms", "most_ms"), [(0.0, 60_000.0), (1e9, -1.0)], ids=["alone", "with planning"])
def test_the_time_of_a_stage_counts_also_if_an_exception_ends_it(inner_plan_ms, most_ms):
    episode: Any = SimpleNamespace(timings_ms={"plan": 0.0, "execute": 0.0})
    attempt = Attempt(episode)

    def fail() -> None:
        with attempt._timing("execute"):
            episode.timings_ms["plan"] += inner_plan_ms
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert episode.timings_ms["execute"] != 0.0
    assert episode.timings_ms["execute"] < most_ms


@pytest.mark.parametrize(
    ("actor", "disturbed", "has_labels", "may_push"),
    [
        (Actor.planner, False, False, False),
        (Actor.planner, True, True, True),
        (Actor.policy, True, False, False),
        (Actor.both, False, True, False),
        (Actor.both, True, True, False),
        (Actor.record, True, False, False),
    ],
)
def test_who_moves_the_arms_decides_which_arrays_a_record_has(actor, disturbed, has_labels, may_push):
    disturb = SimpleNamespace(moves_targets=disturbed, nudge_probability=0.5 if disturbed else 0.0)
    cfg: Any = SimpleNamespace(disturb=disturb)
    assert actor.records_labels(cfg) == has_labels
    assert actor.may_push(cfg) == may_push


def test_a_record_of_an_evaluation_is_that_of_a_policy():
    assert find_actor(EpisodeRecord(0, 0, True), is_evaluation=True) is Actor.policy


def test_a_takeover_and_labels_that_no_planner_gave_are_those_of_a_policy_and_the_planner():
    taken_over = EpisodeRecord(0, 0, True, events=[{"event": TAKEOVER, "frame": 3}])
    unlabelled = EpisodeRecord(0, 0, True, arrays={"labels.panda.left.valid": np.array([False, True])})
    assert [find_actor(record, is_evaluation=False) for record in (taken_over, unlabelled)] == [Actor.both] * 2
    assert takeover_frame(taken_over) == 3
    assert find_actor(EpisodeRecord(0, 0, True), is_evaluation=False) is Actor.planner


def test_an_object_that_fell_is_to_be_put_on_something():
    assert _describe_unrest("can", 44.2, 0.0, fell_m=44.2) == (
        "'can' does not rest where it was put. Move its region to where something is below it: it fell by 44.20 m"
    )


def test_an_object_that_moved_is_to_stand_level():
    text = _describe_unrest("can", 0.012, 0.3, fell_m=0.001)
    assert text.endswith("stands level and touches nothing: it moved by 12 mm and turned by 0.30 rad")
