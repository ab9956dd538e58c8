"""What a search that chose no layout says and advises."""

from __future__ import annotations

import pytest

from unlatch.tasks.layout import Layout
from unlatch.workflows.episode.layout_search_report import LayoutCandidate, LayoutSearchReport


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
            " has a plan. Change the region of the object, or the constraints. Number 1, open: why not.",
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
    found.other_sides = [standing.describe_side({"box": "bottom"})]
    assert str(found) == "1 layout tried, number 0 taken, 0.00 rad from the joint limits; no plan on its bottom"
    (entry,) = found.to_dict()["other_sides"]
    assert entry == {"rests_on": {"box": "bottom"}, "tried": 1, "counts": {"1 open: path_infeasible": 1}}
