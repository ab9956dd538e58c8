"""The search for a layout in which a chain plans."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import groupby

import numpy as np
import pytest

from unlatch.configs.schema import check_episode
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.recording.check import check_record
from unlatch.simcore.recording.verdict import recompute_success
from unlatch.skills.articulation import ArticulationSkill
from unlatch.skills.close import Close
from unlatch.skills.config import StrategyCfg
from unlatch.skills.layout_search import LayoutSearchCfg
from unlatch.skills.open import Open
from unlatch.solver.plan import work_of
from unlatch.workflows.checks.criteria_source import CriteriaSource
from unlatch.workflows.episode.episode import Episode
from unlatch.workflows.episode.layout_search_report import LayoutSearchReport
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.plan import plan
from unlatch.workflows.runs.replay import largest_deviation
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.schema import CollectCfg

pytestmark = pytest.mark.integration


def config(*overrides: str, **preplan: int) -> CollectCfg:
    """Opening a microwave after a search, or without one where nothing is asked of it."""
    cfg = load("open_microwave", "object.instance=7", *overrides)
    if not preplan:
        return cfg
    entry = LayoutSearchCfg(name="artpreplan", objects=["microwave"], **preplan)
    return replace(cfg, skills=[entry, *cfg.skills])


def refusing(monkeypatch: pytest.MonkeyPatch, times: int) -> list[float]:
    """Lets the first plans of `open` fail; returns where the first joint of the arm was when each began [rad]."""
    seen: list[float] = []
    plan = Open.plan

    def plan_later(self: Open, rng: np.random.Generator) -> bool:
        seen.append(float(self.context.arm.q[0]))
        if len(seen) <= times:
            self.fail("path_infeasible", "not this one")
            return False
        return plan(self, rng)

    monkeypatch.setattr(Open, "plan", plan_later)
    return seen


@pytest.mark.slow
def test_the_first_candidate_is_the_layout_without_a_search():
    with EpisodeRunner(config()) as runner:
        without = runner.run(0)
    with EpisodeRunner(config(candidates=4)) as runner:
        record = runner.run(0)
    assert record.layout["preplan"] == {
        "tried": 1,
        "chosen": 0,
        "margin_rad": pytest.approx(record.layout["preplan"]["margin_rad"]),
        "strategies": {"1": "given"},
        "counts": {},
        "failures": [],
    }
    assert record.layout["preplan"]["margin_rad"] > 0.0
    assert {key: value for key, value in record.layout.items() if key != "preplan"} == without.layout
    # what is planned after the search is what was planned in it: the episode is the same to the bit
    for key, array in without.arrays.items():
        if key != "skills.index":
            assert np.array_equal(array, record.arrays[key]), key
    first, second = record.skills
    assert (first["name"], first["frame_start"], first["success"]) == ("artpreplan", first["frame_end"], True)
    assert second["frame_start"] == first["frame_end"]
    assert check_record(record, CriteriaSource(config(candidates=4)).derive) == []
    assert recompute_success(record).success == record.success
    assert record.timings_ms["preplan"] > 0.0


@pytest.mark.slow
def test_refused_layouts_are_counted_and_the_next_one_is_tried(monkeypatch: pytest.MonkeyPatch):
    seen = refusing(monkeypatch, 2)
    with EpisodeRunner(config(candidates=5)) as runner:
        record = runner.run(0)
    preplan = record.layout["preplan"]
    assert (preplan["tried"], preplan["chosen"]) == (3, 2)
    assert preplan["counts"] == {"1 open: path_infeasible": 2}
    assert [item["candidate"] for item in preplan["failures"]] == [0, 1]
    assert preplan["failures"][0]["message"] == "not this one"
    assert len(set(seen[:3])) == 3
    assert seen[3] == seen[2]  # the episode begins in the layout that planned
    assert record.success


@pytest.mark.slow
def test_an_episode_without_a_layout_that_plans_is_refused_with_counts(monkeypatch: pytest.MonkeyPatch):
    refusing(monkeypatch, 100)
    with EpisodeRunner(config(candidates=3)) as runner:
        record = runner.run(0)
    assert (record.success, record.code) == (False, "invalid_layout")
    assert record.evidence["message"] == (
        "None of 3 layouts tried has a plan. Number 2, open: not this one. Refused: 1 open: path_infeasible 3."
    )
    assert record.layout["preplan"]["chosen"] is None
    assert check_record(record, CriteriaSource(config(candidates=3)).derive) == []


@pytest.mark.slow
def test_a_search_ends_once_its_work_is_spent_and_says_so(monkeypatch: pytest.MonkeyPatch):
    def spend_work(self: Open, rng: np.random.Generator) -> bool:
        self.context.budget.meter.spent += 20_000
        self.fail("path_infeasible", "not this one")
        return False

    monkeypatch.setattr(Open, "plan", spend_work)
    with EpisodeRunner(config("planner.work=80000", candidates=16)) as runner:
        record = runner.run(0)
    assert record.code == "invalid_layout"
    assert record.layout["preplan"]["tried"] == 3
    assert record.evidence["message"].startswith("None of 3 layouts tried has a plan. Number 0, open: not this one. ")
    assert "stopped because planner.work=80000 was spent, with 1 layout tried in full" in (record.evidence["message"])


@pytest.mark.slow
def test_layouts_that_are_only_built_spend_the_work_of_a_search(monkeypatch: pytest.MonkeyPatch):
    def refuse_at_once(self: Open, rng: np.random.Generator) -> bool:
        self.fail("path_infeasible", "not this one")
        return False

    monkeypatch.setattr(Open, "plan", refuse_at_once)
    built = []
    build = Episode._build_at_rest
    monkeypatch.setattr(Episode, "_build_at_rest", lambda *args: built.append(1) or build(*args))
    with EpisodeRunner(config("planner.work=4000", candidates=1000)) as runner:
        record = runner.run(0)
    per_layout = work_of({"loads": 2})  # the simulation, and the collision checker of one arm
    allowance = 4000 // 5
    tried = math.ceil((0.75 * 4000 + allowance) / per_layout)
    assert record.layout["preplan"]["tried"] == tried
    assert tried < len(built) <= math.ceil((4000 + allowance) / per_layout) + 2  # one tried in full, one for the record
    assert record.evidence["message"].startswith(f"None of {tried} layouts tried has a plan. ")
    assert "stopped because planner.work=4000 was spent" in record.evidence["message"]


@pytest.mark.slow
def test_a_plan_has_the_diagnosis_of_a_search_that_refused_all_layouts():
    found = plan(config("task.regions.0.center_m=[1.9,0]", candidates=2))
    assert found.code == "invalid_layout"
    assert found.diagnosis is not None
    assert found.diagnosis.code == "plan_infeasible"
    assert found.diagnosis.evidence["out_of_reach"]
    assert found.diagnosis.message in "\n".join(found.lines())


@pytest.mark.slow
def test_the_most_promising_layouts_are_tried_with_the_full_budget_where_no_first_look_plans(
    monkeypatch: pytest.MonkeyPatch,
):
    looks: list[tuple[float, bool, int]] = []
    plan = Open.plan

    def plan_thoroughly(self: Open, rng: np.random.Generator) -> bool:
        q, waves = float(self.context.arm.q[0]), self.context.budget.goal_waves
        looks.append((q, self.context.budget.thorough, waves))
        if not self.context.budget.thorough:
            self.fail("motion_blocked" if len(looks) == 2 else "plan_infeasible", "a first look")
            return False
        return plan(self, rng)

    monkeypatch.setattr(Open, "plan", plan_thoroughly)
    with EpisodeRunner(config(candidates=3)) as runner:
        record = runner.run(0)
    preplan = record.layout["preplan"]
    assert (preplan["tried"], preplan["chosen"]) == (3, 1)
    assert [item["candidate"] for item in preplan["failures"]] == [0, 2]
    assert [thorough for _, thorough, _ in looks] == [False, False, False, True, True]
    assert [waves for *_, waves in looks] == [1, 1, 1, 3, 3]
    assert looks[3][0] == looks[4][0] == looks[1][0]  # the one with goals first, and the episode begins there
    assert record.success


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lost", "expected"),
    [(False, ["open", "close", "open", "close all"]), (True, ["open", "close", "open", "open all", "close all"])],
)
def test_only_the_last_skill_is_planned_with_the_full_budget_after_a_first_look(
    monkeypatch: pytest.MonkeyPatch, lost: bool, expected: list[str]
):
    looks: list[str] = []

    def watch(kind: type[ArticulationSkill], name: str) -> None:
        plan = kind.plan

        def plan_seen(self: ArticulationSkill, rng: np.random.Generator) -> bool:
            looks.append(name + " all" * self.context.budget.thorough)
            if lost and len(looks) > 2 and not self.context.budget.thorough:
                self.fail("path_infeasible", "not as things are now")
                return False
            return plan(self, rng)

        monkeypatch.setattr(kind, "plan", plan_seen)

    watch(Open, "open")
    watch(Close, "close")
    cfg = load("open_close_microwave", "object.instance=7")
    with EpisodeRunner(cfg) as runner:
        record = runner.run(0)
    assert [look for look, _ in groupby(looks)] == expected  # a skill has several ways
    assert record.success
    assert [entry["refused"] for entry in record.skills[1:]] == [[], []]


def test_the_reason_is_that_of_a_layout_tried_with_the_full_budget():
    report = LayoutSearchReport()
    for candidate in range(5):
        report.begin_candidate(candidate)
        report.failures.append(
            {"candidate": candidate, "skill": 1, "name": "open", "code": "plan_infeasible", "message": "a first look"}
        )
    report.begin_candidate(3, thorough=True)
    report.failures.append(
        {"candidate": 3, "skill": 1, "name": "open", "code": "path_infeasible", "message": "worked out"}
    )
    assert report.reason() == "Number 3, open: worked out."
    assert (report.tried, report.refused_counts()) == (5, {"1 open: plan_infeasible": 4, "1 open: path_infeasible": 1})


@pytest.mark.slow
def test_the_best_of_several_layouts_has_the_largest_margin():
    found = []
    for best_of in (1, 3):
        with EpisodeRunner(config(candidates=6, best_of=best_of)) as runner:
            found.append(runner.run(0).layout["preplan"])
    assert found[1]["tried"] >= 3
    assert found[1]["margin_rad"] >= found[0]["margin_rad"]


@pytest.mark.slow
def test_a_skill_is_planned_from_the_end_of_the_skill_before_it(monkeypatch: pytest.MonkeyPatch):
    close = load("close_microwave")
    cfg = config(candidates=1)
    cfg = replace(cfg, skills=[*cfg.skills, replace(close.skills[0], part="door")])
    opened: list[float] = []

    def plan(self: Close, rng: np.random.Generator) -> bool:
        opened.append(abs(self.s - self.part.openness.closed))
        self.fail("plan_infeasible", "seen enough")
        return False

    monkeypatch.setattr(Close, "plan", plan)
    with EpisodeRunner(cfg) as runner:
        record = runner.run(0)
    assert record.layout["preplan"]["counts"] == {"2 close: plan_infeasible": 1}
    assert opened[0] > 0.5


@pytest.mark.slow
def test_the_next_strategy_is_taken_where_the_first_does_not_plan(monkeypatch: pytest.MonkeyPatch):
    cfg = config(candidates=2)
    search, entry = cfg.skills
    other = StrategyCfg(name="other", planner_setting=replace(entry.planner_setting, task_name="other"))
    cfg = replace(cfg, skills=[search, replace(entry, strategies=[other])])
    plan = Open.plan
    drawn: list[float] = []

    def plan_others(self: Open, rng: np.random.Generator) -> bool:
        if self.cfg.strategy == "given":
            rng.random()
            self.fail("path_infeasible", "not this way")
            return False
        drawn.append(rng.random())
        return plan(self, rng)

    monkeypatch.setattr(Open, "plan", plan_others)
    with EpisodeRunner(cfg) as runner:
        record = runner.run(0)
        searched, carried_out = drawn
        assert searched == carried_out  # the same plan, though the search had tried another way before it
        again = runner.run(0)
    assert record.success
    assert record.layout["preplan"]["strategies"] == {"1": "other"}
    assert (record.skills[1]["strategy"], record.skills[1]["refused"]) == ("other", [])  # found by the search
    assert all(np.array_equal(array, again.arrays[key]) for key, array in record.arrays.items())
    with EpisodeRunner(replace(cfg, skills=cfg.skills[1:])) as runner:
        record = runner.run(0)
    assert record.skills[0]["strategy"] == "other"
    assert record.skills[0]["refused"] == [{"strategy": "given", "code": "path_infeasible", "message": "not this way"}]
    assert check_record(record, CriteriaSource(replace(cfg, skills=cfg.skills[1:])).derive) == []


def test_the_reason_of_the_first_strategy_is_recorded_where_none_plans(monkeypatch: pytest.MonkeyPatch):
    cfg = config()
    (entry,) = cfg.skills
    cfg = replace(cfg, skills=[replace(entry, strategies=[StrategyCfg("b", entry.planner_setting)])])

    def refuse(self: Open, rng: np.random.Generator) -> bool:
        self.fail("path_infeasible", f"not {self.cfg.strategy}")
        return False

    monkeypatch.setattr(Open, "plan", refuse)
    with EpisodeRunner(cfg) as runner:
        record = runner.run(0)
    assert (record.code, record.evidence["message"]) == ("path_infeasible", "not given")
    assert [item["strategy"] for item in record.skills[0]["refused"]] == ["given", "b"]


@pytest.mark.parametrize("names", [["given"], ["b", "b"]])
def test_strategies_of_one_entry_have_different_names(names: list[str]):
    (entry,) = config().skills
    with pytest.raises(ConfigError, match=r"strategies has '(given|b)' twice"):
        replace(entry, strategies=[StrategyCfg(name, entry.planner_setting) for name in names])


@pytest.mark.slow
def test_a_replay_takes_the_recorded_layout_without_a_search():
    with EpisodeRunner(config(candidates=2)) as runner:
        record = runner.run(0)
        again = runner.replay(record)
    deviation = largest_deviation(again, record.arrays)
    assert (deviation.value, deviation.arrays > 20) == (0.0, True), deviation


@pytest.mark.parametrize("place", [1, None])
def test_a_search_must_be_first_in_a_chain_and_have_skills_after_it(place: int | None):
    cfg = config(candidates=2)
    skills = [cfg.skills[1], cfg.skills[0]] if place == 1 else cfg.skills[:1]
    with pytest.raises(ConfigError, match=r"skills\[[01]\] is 'artpreplan', which searches for a layout"):
        check_episode(replace(cfg, skills=skills))


@pytest.mark.parametrize(("values", "said"), [({"candidates": 0}, "candidates=0"), ({"best_of": 17}, "best_of=17")])
def test_counts_out_of_range_are_refused(values: dict[str, int], said: str):
    with pytest.raises(ConfigError, match=rf"skills\[artpreplan\]\.{said} is out of range"):
        LayoutSearchCfg(name="artpreplan", objects=["microwave"], **values)
