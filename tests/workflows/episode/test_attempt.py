"""With which budget the skills of a chain are planned in the episode."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from unlatch.solver.plan import PlanBudget
from unlatch.workflows.episode.attempt import Attempt


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
