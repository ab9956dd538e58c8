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


def test_who_moved_the_arms_is_found_in_a_record():
    plain = EpisodeRecord(0, 0, True)
    taken_over = EpisodeRecord(0, 0, True, events=[{"event": TAKEOVER, "frame": 3}])
    unlabelled = EpisodeRecord(0, 0, True, arrays={"labels.panda.left.valid": np.array([False, True])})
    found = [find_actor(record, is_evaluation=False) for record in (plain, taken_over, unlabelled)]
    assert found == [Actor.planner, Actor.both, Actor.both]
    assert find_actor(plain, is_evaluation=True) is Actor.policy
    assert takeover_frame(taken_over) == 3


@pytest.mark.parametrize(
    ("moved_m", "turned_rad", "fell_m", "said"),
    [
        (44.2, 0.0, 44.2, "Move its region to where something is below it: it fell by 44.20 m"),
        (0.012, 0.3, 0.001, "stands level and touches nothing: it moved by 12 mm and turned by 0.30 rad"),
    ],
)
def test_what_is_to_be_done_about_an_object_that_does_not_rest_is_said(moved_m, turned_rad, fell_m, said):
    text = _describe_unrest("can", moved_m, turned_rad, fell_m=fell_m)
    assert text.startswith("'can' does not rest where it was put. ")
    assert text.endswith(said)
