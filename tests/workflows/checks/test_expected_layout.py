"""Which of the drawn layouts a record must state, where each draw puts the oven one metre further."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.success_rules import FAILURE_CODES
from unlatch.simcore.recording.verdict import RECORDED, Criteria
from unlatch.skills.layout_search import LayoutSearchCfg
from unlatch.workflows.checks import expected_statements as expected_layout
from unlatch.workflows.checks.expected_statements import ExpectedLayout

SEARCH = LayoutSearchCfg(name="artpreplan", objects=["oven"], candidates=4)
OPEN = SimpleNamespace(name="open")


@pytest.fixture
def seen(monkeypatch) -> list[tuple[Any, ...]]:
    """Replaces the sampler of layouts; returns the arguments of each draw."""
    calls: list[tuple[Any, ...]] = []

    def draw(*arguments: Any) -> Any:
        calls.append(arguments)
        drawn = {"objects": {"oven": {"x": float(len(calls))}}, "q_home": {"left": [0.1, 0.2]}}
        return SimpleNamespace(to_dict=lambda: drawn)

    monkeypatch.setattr(expected_layout, "sample_layout", draw)
    return calls


def make(
    report: Any = None,
    *,
    skills: tuple[Any, ...] = (SEARCH, OPEN),
    began: bool = False,
    moves_arms: bool = False,
    **layout: Any,
) -> ExpectedLayout:
    rules = [SimpleNamespace(view="panda", attribute="joint_positions")] if moves_arms else []
    cfg: Any = SimpleNamespace(
        skills=list(skills),
        task="the task",
        robot=SimpleNamespace(name="panda", arms=[SimpleNamespace(name="left", home=[0.0, 0.5], home_std=0.25)]),
        randomization=SimpleNamespace(recorded=None, views=[], rules=rules),
    )
    if isinstance(report, dict):
        report = {"counts": {}, "failures": [], **report}
    stated = layout if report is None else {"preplan": report, **layout}
    entries = [{"name": "open"}] if began else []
    record = EpisodeRecord(number=0, seed=0, success=False, code="timeout", layout=stated, skills=entries)
    return ExpectedLayout(cfg, {"oven": "the oven"}, record, np.random.default_rng(0))  # type: ignore[dict-item]


def x_of(expected: ExpectedLayout) -> float:
    return expected.statement()["objects"]["oven"]["x"]


class TestStatement:
    def test_a_chain_without_a_search_has_the_first_draw(self, seen):
        expected = make(skills=(OPEN,))
        assert expected.statement() == {"objects": {"oven": {"x": 1.0}}, "q_home": {"left": [0.1, 0.2]}}
        ((task, assets, homes, rng),) = seen
        assert (task, assets, homes) == ("the task", {"oven": "the oven"}, [("left", [0.0, 0.5], 0.25)])
        assert rng.random() == np.random.default_rng(0).random()

    def test_a_chain_without_skills_has_the_first_draw(self, seen):
        assert x_of(make(skills=())) == 1.0
        assert len(seen) == 1

    def test_only_the_first_skill_searches(self, seen):
        assert x_of(make({"tried": 3, "chosen": 2}, skills=(OPEN, SEARCH))) == 1.0
        assert len(seen) == 1

    def test_start_joints_that_a_rule_changes_are_free(self, seen):
        assert make(skills=(OPEN,), moves_arms=True).statement() == {
            "objects": {"oven": {"x": 1.0}},
            "q_home": {"left": RECORDED},
        }
        assert len(seen) == 1

    @pytest.mark.parametrize(
        ("report", "x"),
        [
            ({"tried": 3, "chosen": 0}, 1.0),
            ({"tried": 3, "chosen": 2}, 3.0),
            ({"tried": 3, "chosen": 3}, 1.0),  # not one of those that were tried: `problems` says so
            ({"tried": 3, "chosen": -1}, 1.0),
            ({"tried": 3, "chosen": "2"}, 1.0),
            ({"tried": 4, "chosen": 3}, 4.0),
            ({"tried": 1, "chosen": 0}, 1.0),
            ({"tried": 9, "chosen": 3}, 4.0),  # an impossible number of layouts: as many as the search may try
            ({"tried": 9, "chosen": 4}, 1.0),
            ({"tried": 0, "chosen": 3}, 4.0),
            ({"tried": "2", "chosen": 3}, 4.0),
        ],
    )
    @pytest.mark.usefixtures("seen")
    def test_a_search_has_the_draw_that_it_chose(self, report, x):
        assert x_of(make(report)) == x

    @pytest.mark.usefixtures("seen")
    def test_a_search_has_the_draw_that_it_chose_although_the_record_states_another_one(self):
        expected = make({"tried": 3, "chosen": 2}, objects={"oven": {"x": 1.0}}, q_home={"left": [0.1, 0.2]})
        assert x_of(expected) == 3.0

    def test_the_draws_after_the_chosen_one_are_not_made(self, seen):
        x_of(make({"tried": 4, "chosen": 1}))
        assert len(seen) == 2

    @pytest.mark.parametrize(
        ("report", "stated", "x", "n_draws"),
        [
            ({"tried": 3, "chosen": None}, 2.0, 2.0, 3),
            ({"tried": 3, "chosen": None}, 1.0, 1.0, 3),
            ({"tried": 3, "chosen": None}, 4.0, 3.0, 3),  # none of those that were tried: the last one
            ({"tried": 1, "chosen": None}, 1.0, 1.0, 1),
            ({"tried": 4, "chosen": None}, 4.0, 4.0, 4),
            (None, 4.0, 4.0, 4),
            ("lost", 2.0, 2.0, 4),
        ],
    )
    def test_a_search_without_a_choice_has_the_draw_that_the_record_states(self, seen, report, stated, x, n_draws):
        expected = make(report, objects={"oven": {"x": stated}}, q_home={"left": [0.1, 0.2]})
        assert x_of(expected) == x
        assert len(seen) == n_draws

    @pytest.mark.usefixtures("seen")
    def test_that_draw_is_found_by_its_values_on_any_machine_and_whatever_the_instances(self):
        layout = {"objects": {"oven": {"x": 2.0 + 1e-9}}, "q_home": {"left": [0.1, 0.2]}, "instances": {"oven": "7"}}
        assert x_of(make({"tried": 3, "chosen": None}, **layout)) == 2.0

    @pytest.mark.usefixtures("seen")
    def test_a_search_must_be_reported(self):
        assert make({"tried": 3, "chosen": 0}).statement()["preplan"] is RECORDED
        assert "preplan" not in make(skills=(OPEN,)).statement()

    @pytest.mark.usefixtures("seen")
    def test_no_further_object_may_be_stated(self):
        layout = {"objects": {"oven": {"x": 1.0}, "tap": {}}, "q_home": {"left": [0.1, 0.2]}}
        record = EpisodeRecord(number=0, seed=0, success=True, layout=layout)
        statements = {"layout": make(skills=(OPEN,)).statement()}
        assert list(Criteria(statements).differences(record)) == [
            "layout.objects.tap is {} in the record, expected nothing by the configuration."
        ]


class TestProblems:
    @pytest.mark.parametrize(
        ("report", "said"),
        [
            ({"tried": 4, "chosen": 3}, []),
            ({"tried": 1, "chosen": 0}, []),
            ({"tried": 4, "chosen": None}, []),
            (None, ["layout.preplan is None, but the chain begins with a search for a layout."]),
            ("lost", ["layout.preplan is 'lost', but the chain begins with a search for a layout."]),
            ({"chosen": 0}, ["layout.preplan.tried is None, expected 1 to 4 by the configuration."]),
            ({"tried": 0, "chosen": 0}, ["layout.preplan.tried is 0, expected 1 to 4 by the configuration."]),
            ({"tried": 5, "chosen": 0}, ["layout.preplan.tried is 5, expected 1 to 4 by the configuration."]),
            ({"tried": "4", "chosen": 0}, ["layout.preplan.tried is '4', expected 1 to 4 by the configuration."]),
            (
                {"tried": 3, "chosen": 3},
                ["layout.preplan.chosen is 3, expected one of the 3 layouts that were tried."],
            ),
            (
                {"tried": 3, "chosen": -1},
                ["layout.preplan.chosen is -1, expected one of the 3 layouts that were tried."],
            ),
            (
                {"tried": 3, "chosen": "2"},
                ["layout.preplan.chosen is '2', expected one of the 3 layouts that were tried."],
            ),
        ],
    )
    def test_a_report_of_a_search_that_cannot_be_is_named(self, report, said):
        assert list(make(report).problems()) == said

    def test_skills_begin_only_after_a_choice(self):
        report = {"tried": 4, "chosen": None}
        assert list(make(report, began=True).problems()) == ["layout.preplan.chosen is None, but skills began."]
        assert list(make({"tried": 4, "chosen": 3}, began=True).problems()) == []

    @pytest.mark.parametrize("skills", [(), (OPEN,), (OPEN, SEARCH)])
    def test_a_chain_that_does_not_begin_with_a_search_needs_no_report(self, skills):
        assert list(make(skills=skills).problems()) == []

    def test_a_success_needs_a_choice_too(self):
        expected = make({"tried": 4, "chosen": None})
        expected._record.success, expected._record.code = True, None
        assert list(expected.problems()) == ["layout.preplan.chosen is None, but skills began."]

    def test_refused_layouts_must_fit_the_chain_and_their_counts(self, seen):
        refused = [{"candidate": 0, "skill": 1, "name": "open", "code": "path_infeasible", "message": "no"}]
        counts = {"1 open: path_infeasible": 1}
        assert list(make({"tried": 2, "chosen": 1, "failures": refused, "counts": counts}).problems()) == []
        assert list(make({"tried": 2, "chosen": 1, "failures": refused, "counts": {}}).problems()) == [
            "layout.preplan.counts is {} in the record, expected {'1 open: path_infeasible': 1} by its failures."
        ]
        assert list(make({"tried": 2, "chosen": 0, "failures": refused, "counts": counts}).problems()) == [
            "layout.preplan.failures[0].candidate is 0 in the record, expected another layout that was tried."
        ]
        refused = [{**refused[0], "name": "close", "code": "bored"}]
        found = list(make({"tried": 2, "chosen": 1, "failures": refused, "counts": {"1 close: bored": 1}}).problems())
        assert found[0] == "layout.preplan.failures[0] is of skill 1 (close), which the chain does not have."
        codes = ", ".join(FAILURE_CODES)
        assert found[1] == f"layout.preplan.failures[0].code is 'bored' in the record, expected one of {codes}."
        assert len(found) == 2

    @pytest.mark.usefixtures("seen")
    def test_refused_layouts_are_counted_by_skill_and_code(self):
        def refuse(candidate: int, skill: int, name: str) -> dict[str, Any]:
            return {"candidate": candidate, "skill": skill, "name": name, "code": "path_infeasible", "message": "no"}

        refused = [refuse(0, -1, "layout"), refuse(1, 0, "artpreplan"), refuse(2, -1, "layout")]
        counts = {"layout: path_infeasible": 2, "0 artpreplan: path_infeasible": 1}
        assert list(make({"tried": 4, "chosen": 3, "failures": refused, "counts": counts}).problems()) == []
        twice = [refused[0], refused[1], refused[0]]
        assert list(make({"tried": 4, "chosen": 3, "failures": twice, "counts": counts}).problems()) == [
            "layout.preplan.failures[2].candidate is 0 in the record, expected another layout that was tried."
        ]
