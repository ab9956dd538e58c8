"""Chains that carry things: where a skill has no plan, skills before it are asked for another choice."""

from types import SimpleNamespace
from typing import Any

import pytest

from unlatch.skills.context import Failure
from unlatch.skills.layout_search import LayoutSearchCfg
from unlatch.solver.plan import PlanBudget, WorkMeter
from unlatch.tasks.layout import Layout
from unlatch.workflows.episode.layout_search import CHANGES_SHARE, MOST_CHANGES, LayoutSearch
from unlatch.workflows.episode.layout_search_report import LayoutCandidate, LayoutSearchReport

PICK, PLACE, CLOSE = 1, 2, 3


class Chain:
    """A search whose skills are numbers; a skill has a plan with the first of its choices that `fits` allows."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, choices: dict[int, int], fits: Any, price: int = 0) -> None:
        self.meter = WorkMeter(1000)
        self.choices, self.fits, self.price = choices, fits, price
        self.now: dict[int, int] = {}
        """The present choice of each skill that has a plan."""
        self.tried: list[dict[int, int]] = []
        planner: Any = SimpleNamespace(budget=PlanBudget())
        self.search = LayoutSearch(planner, LayoutSearchCfg(name="artpreplan"), draw=None, build=None)  # type: ignore[arg-type]
        monkeypatch.setattr(self.search, "_plan_skills", self._plan_skills)
        monkeypatch.setattr(self.search, "_move_to_end", lambda skill: None)
        monkeypatch.setattr(self.search, "_remember_scene", self._remember_scene)

    def run(self) -> LayoutCandidate | None:
        candidate = LayoutCandidate(0, SimpleNamespace())  # type: ignore[arg-type]
        return self.search._plan_one_by_one(candidate, [PICK, PLACE, CLOSE], SimpleNamespace(meter=self.meter))  # type: ignore[arg-type]

    def _remember_scene(self) -> Any:
        before = dict(self.now)

        def restore() -> None:
            self.now = dict(before)

        return restore

    def _take(self, skill: int, choice: int) -> bool:
        self.meter.spent += self.price
        for each in range(choice, self.choices[skill]):
            if self.fits({**self.now, skill: each}):
                self.now[skill] = each
                return True
        self.tried.append(dict(self.now))
        return False

    def _plan_skills(self, candidate: LayoutCandidate, indices: list[int], *_: Any) -> list[Any] | None:
        (index,) = indices
        if not self._take(index, 0):
            self.search.refused.append(candidate)
            self.search.report.failures.append({"skill": index})
            return None
        skill = SimpleNamespace(choice=0)

        def plan_next() -> bool:
            found = self._take(index, skill.choice + 1)
            skill.choice = self.now.get(index, skill.choice)
            return found

        skill.plan_next = plan_next
        candidate.margins_rad.append(0.1)
        return [skill]


def test_a_chain_without_refusals_takes_the_first_choices(monkeypatch):
    chain = Chain(monkeypatch, choices={PICK: 2, PLACE: 2, CLOSE: 1}, fits=lambda now: True)
    assert chain.run() is not None
    assert chain.now == {PICK: 0, PLACE: 0, CLOSE: 0}


def test_the_skill_before_takes_its_next_choice(monkeypatch):
    chain = Chain(
        monkeypatch, choices={PICK: 2, PLACE: 3, CLOSE: 1}, fits=lambda now: CLOSE not in now or now[PLACE] == 2
    )
    candidate = chain.run()
    assert candidate is not None
    assert chain.now == {PICK: 0, PLACE: 2, CLOSE: 0}
    assert candidate.choices == {PLACE: 2}
    assert chain.search.refused == []
    assert chain.search.report.failures == []


def test_without_another_choice_the_one_before_it_changes_and_the_others_begin_anew(monkeypatch):
    chain = Chain(
        monkeypatch, choices={PICK: 2, PLACE: 2, CLOSE: 1}, fits=lambda now: CLOSE not in now or now[PICK] == 1
    )
    candidate = chain.run()
    assert candidate is not None
    assert chain.now == {PICK: 1, PLACE: 0, CLOSE: 0}
    assert len(candidate.margins_rad) == 3


def test_a_chain_without_a_plan_is_refused_after_a_limited_number_of_changes(monkeypatch):
    chain = Chain(monkeypatch, choices={PICK: 99, PLACE: 99, CLOSE: 1}, fits=lambda now: CLOSE not in now)
    assert chain.run() is None
    assert len(chain.tried) == MOST_CHANGES + 1
    assert len(chain.search.report.failures) == 1


def test_one_layout_does_not_take_all_the_work(monkeypatch):
    chain = Chain(monkeypatch, choices={PICK: 99, PLACE: 99, CLOSE: 1}, fits=lambda now: CLOSE not in now, price=60)
    assert chain.run() is None
    assert not chain.meter.is_spent
    assert chain.meter.spent < (CHANGES_SHARE + 0.15) * chain.meter.limit


def refused(*codes: str, spent: int | None = 100) -> LayoutSearchReport:
    report = LayoutSearchReport(spent_work=spent)
    for number, code in enumerate(codes):
        report.begin_candidate(number)
        report.failures.append({"candidate": number, "skill": 1, "name": "open", "code": code, "message": "why not"})
    return report


@pytest.mark.parametrize(
    ("report", "advice"),
    [
        (
            refused("plan_infeasible", "path_infeasible"),
            "because planner.work=100 was spent, with 0 layouts tried in full; a larger one makes it try more.",
        ),
        (
            refused("plan_infeasible", "plan_infeasible"),
            " has a plan. Change the region of the object, or the constraints. Layout 1, open: why not.",
        ),
        (refused("plan_infeasible", "path_infeasible", spent=None), None),
    ],
)
def test_more_work_is_advised_only_where_it_may_help(report, advice):
    text = report.refusal()
    assert text.startswith("None of 2 layouts tried has a plan. ")
    assert "open: why not. Refused: 1 open: " in text
    if advice is None:
        assert "planner.work" not in text
    else:
        assert advice in text
        assert "The search stopped because planner.work=100 was spent, with 0 layouts tried in full" in text
        assert ("a larger one" in text) == ("a larger one" in advice)


def test_a_report_names_the_sides_without_a_plan_and_keeps_them_for_the_record():
    standing, found = refused("path_infeasible"), LayoutSearchReport()
    found.begin_candidate(0)
    found.chosen = LayoutCandidate(0, Layout({}, {}))
    assert "other_sides" not in found.to_dict()
    standing.sides = {"box": "bottom"}
    found.other_sides = [standing.describe_side()]
    assert str(found) == "1 layout tried, number 0 taken, 0.00 rad from the joint limits; no plan on its bottom"
    (entry,) = found.to_dict()["other_sides"]
    assert entry == {"rests_on": {"box": "bottom"}, "tried": 1, "counts": {"1 open: path_infeasible": 1}}


def test_layouts_that_are_only_built_spend_the_work_of_a_search():
    cfg = SimpleNamespace(robot=SimpleNamespace(arms=[None]))
    planner: Any = SimpleNamespace(budget=PlanBudget(work=4000), cfg=cfg, layout=None)
    overlaps = Failure("invalid_layout", "overlaps", 0.0)
    entry = LayoutSearchCfg(name="artpreplan", candidates=1000)
    search = LayoutSearch(planner, entry, draw=lambda: Layout({}, {}), build=lambda layout: overlaps)
    assert search.search() is None
    assert (search.report.tried < 100, search.report.spent_work) == (True, 4000)
