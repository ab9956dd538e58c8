"""With which look the skills of a chain are planned in the episode."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from unlatch.solver.planning.plan import PlanBudget
from unlatch.workflows.episode import attempt
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
def test_what_others_depend_on_is_planned_as_it_was_searched(
    monkeypatch: pytest.MonkeyPatch, begun: int, indices: list[int], as_searched: bool
):
    monkeypatch.setattr(attempt, "planned_together", lambda episode, indices, *, budget, beside: [(indices, budget)])
    episode: Any = SimpleNamespace(
        cfg=SimpleNamespace(skills=[None] * 3),
        judge=SimpleNamespace(stages=[None] * begun),
        preplan=SimpleNamespace(at_first_look=True),
        budget=PlanBudget(),
    )
    made = Attempt(episode)
    found = cast("list[Any]", made._planned_as_searched(indices, []))
    assert found == ([(indices, PlanBudget().first_look())] if as_searched else [])
    episode.preplan.at_first_look = False
    assert made._planned_as_searched(indices, []) == []
