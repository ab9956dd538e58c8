"""The search for a layout, and for a side to lie on, in which a chain plans."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import groupby

import numpy as np
import pytest

from tests.integration.episodes import assert_replays, assert_success, assert_verified, refuse_plans, run
from unlatch.configs.schema import check_episode
from unlatch.objects.config import RestsOn
from unlatch.simcore.errors import ConfigError, RecordingError
from unlatch.simcore.recording.check import check_record
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.skills.articulation import ArticulationSkill
from unlatch.skills.close import Close
from unlatch.skills.config import StrategyCfg
from unlatch.skills.layout_search import LayoutSearchCfg
from unlatch.skills.open import Open
from unlatch.solver.plan import work_of
from unlatch.workflows.checks.criteria_source import CriteriaSource
from unlatch.workflows.commands.check import replay_problems
from unlatch.workflows.episode.episode import Episode
from unlatch.workflows.episode.layout_search_report import LayoutSearchReport
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.plan import plan
from unlatch.workflows.runs.replay import largest_deviation, replay_record
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


def before_plan(
    monkeypatch: pytest.MonkeyPatch, kind: type[ArticulationSkill], refusal: Callable[..., str | None]
) -> None:
    """Asks a function before each plan of a skill; the plan fails with the message that it returns, if any."""
    original = kind.plan

    def plan_or_refuse(self: ArticulationSkill, rng: np.random.Generator) -> bool:
        message = refusal(self, rng)
        if message is None:
            return original(self, rng)
        self.fail(*(message.split(": ", 1) if ": " in message else ("path_infeasible", message)))
        return False

    monkeypatch.setattr(kind, "plan", plan_or_refuse)


@pytest.mark.slow
def test_the_first_candidate_is_the_layout_without_a_search(episode: Callable[..., EpisodeRecord]):
    without = episode("open_microwave", "object.instance=7")
    cfg = config(candidates=4)
    record = run(cfg)
    preplan = dict(record.layout["preplan"])
    assert preplan.pop("margin_rad") > 0.0
    assert preplan == {"tried": 1, "chosen": 0, "strategies": {"1": "given"}, "counts": {}, "failures": []}
    assert {key: value for key, value in record.layout.items() if key != "preplan"} == without.layout
    # what is planned after the search is what was planned in it: the episode is the same to the bit
    for key, array in without.arrays.items():
        assert key == "skills.index" or np.array_equal(array, record.arrays[key]), key
    first, second = record.skills
    assert (first["name"], first["frame_start"], first["success"]) == ("artpreplan", first["frame_end"], True)
    assert second["frame_start"] == first["frame_end"]
    assert_verified(record, cfg)
    assert record.timings_ms["preplan"] > 0.0
    assert_replays(record, cfg)  # takes the recorded layout without a search


@pytest.mark.slow
def test_refused_layouts_are_counted_and_the_next_one_is_tried(monkeypatch: pytest.MonkeyPatch):
    seen: list[float] = []

    def refuse_two(skill: Open, _: object) -> str | None:
        seen.append(float(skill.context.arm.q[0]))
        return "not this one" if len(seen) <= 2 else None

    before_plan(monkeypatch, Open, refuse_two)
    record = run(config(candidates=5))
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
    refuse_plans(monkeypatch, Open, "not this one")
    cfg = config(candidates=3)
    record = run(cfg)
    assert (record.success, record.code) == (False, "invalid_layout")
    assert record.evidence["message"] == (
        "None of 3 layouts tried has a plan. Layout 2, open: not this one. Refused: 1 open: path_infeasible 3."
    )
    assert record.layout["preplan"]["chosen"] is None
    assert_verified(record, cfg)


@pytest.mark.slow
def test_a_search_ends_once_its_work_is_spent_and_says_so(monkeypatch: pytest.MonkeyPatch):
    def spend_work(skill: Open, _: object) -> str:
        skill.context.budget.meter.spent += 20_000
        return "not this one"

    before_plan(monkeypatch, Open, spend_work)
    record = run(config("planner.work=80000", candidates=16))
    assert record.code == "invalid_layout"
    assert record.layout["preplan"]["tried"] == 3
    assert record.evidence["message"].startswith("None of 3 layouts tried has a plan. Layout 0, open: not this one. ")
    assert "stopped because planner.work=80000 was spent, with 1 layout tried in full" in (record.evidence["message"])


@pytest.mark.slow
def test_layouts_that_are_only_built_spend_the_work_of_a_search(monkeypatch: pytest.MonkeyPatch):
    refuse_plans(monkeypatch, Open)
    built = []
    build = Episode._build_at_rest
    monkeypatch.setattr(Episode, "_build_at_rest", lambda *args: built.append(1) or build(*args))
    record = run(config("planner.work=4000", candidates=1000))
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
    assert (found.code, found.diagnosis.code) == ("invalid_layout", "plan_infeasible")
    assert found.diagnosis.evidence["out_of_reach"]
    assert found.diagnosis.message in "\n".join(found.lines())


@pytest.mark.slow
def test_the_most_promising_layouts_are_tried_with_the_full_budget_where_no_first_look_plans(
    monkeypatch: pytest.MonkeyPatch,
):
    looks: list[tuple[float, bool, int]] = []

    def refuse_first_looks(skill: Open, _: object) -> str | None:
        budget = skill.context.budget
        looks.append((float(skill.context.arm.q[0]), budget.thorough, budget.goal_waves))
        if budget.thorough:
            return None
        return f"{'motion_blocked' if len(looks) == 2 else 'plan_infeasible'}: a first look"

    before_plan(monkeypatch, Open, refuse_first_looks)
    record = run(config(candidates=3))
    preplan = record.layout["preplan"]
    assert (preplan["tried"], preplan["chosen"]) == (3, 1)
    assert [item["candidate"] for item in preplan["failures"]] == [0, 2]
    assert [look[1:] for look in looks] == [(False, 1)] * 3 + [(True, 3)] * 2
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

    def look(skill: ArticulationSkill, _: object) -> str | None:
        looks.append(skill.cfg.name + " all" * skill.context.budget.thorough)
        is_lost = lost and len(looks) > 2 and not skill.context.budget.thorough
        return "not as things are now" if is_lost else None

    before_plan(monkeypatch, Open, look)
    before_plan(monkeypatch, Close, look)
    record = run(load("open_close_microwave", "object.instance=7"))
    assert [found for found, _ in groupby(looks)] == expected  # a skill has several strategies
    assert record.success
    assert [entry["refused"] for entry in record.skills[1:]] == [[], []]


def test_the_reason_is_that_of_a_layout_tried_with_the_full_budget():
    report = LayoutSearchReport()
    first = {"skill": 1, "name": "open", "code": "plan_infeasible", "message": "a first look"}
    for candidate in range(5):
        report.begin_candidate(candidate)
        report.failures.append({"candidate": candidate, **first})
    report.begin_candidate(3, thorough=True)
    report.failures.append({"candidate": 3, **first, "code": "path_infeasible", "message": "worked out"})
    assert report.reason() == "Layout 3, open: worked out."
    assert (report.tried, report.refused_counts()) == (5, {"1 open: plan_infeasible": 4, "1 open: path_infeasible": 1})


@pytest.mark.slow
def test_the_best_of_several_layouts_has_the_largest_margin():
    first, best = (run(config(candidates=6, best_of=best_of)).layout["preplan"] for best_of in (1, 3))
    assert best["tried"] >= 3
    assert best["margin_rad"] >= first["margin_rad"]


@pytest.mark.slow
def test_a_skill_is_planned_from_the_end_of_the_skill_before_it(monkeypatch: pytest.MonkeyPatch):
    cfg = config(candidates=1)
    cfg = replace(cfg, skills=[*cfg.skills, replace(load("close_microwave").skills[0], part="door")])
    opened: list[float] = []

    def look(skill: Close, _: object) -> str:
        opened.append(abs(skill.s - skill.part.openness.closed))
        return "plan_infeasible: seen enough"

    before_plan(monkeypatch, Close, look)
    assert run(cfg).layout["preplan"]["counts"] == {"2 close: plan_infeasible": 1}
    assert opened[0] > 0.5


@pytest.mark.slow
def test_the_next_strategy_is_taken_where_the_first_does_not_plan(monkeypatch: pytest.MonkeyPatch):
    cfg = config(candidates=2)
    search, entry = cfg.skills
    other = StrategyCfg(name="other", planner_setting=replace(entry.planner_setting, task_name="other"))
    cfg = replace(cfg, skills=[search, replace(entry, strategies=[other])])
    drawn: list[float] = []

    def refuse_given(skill: Open, rng: np.random.Generator) -> str | None:
        number = rng.random()
        if skill.cfg.strategy == "given":
            return "not this way"
        drawn.append(number)
        return None

    before_plan(monkeypatch, Open, refuse_given)
    with EpisodeRunner(cfg) as runner:
        record = runner.run(0)
        searched, carried_out = drawn
        assert searched == carried_out  # the same plan, though the search had tried another way before it
        again = runner.run(0)
    assert record.success
    assert record.layout["preplan"]["strategies"] == {"1": "other"}
    assert (record.skills[1]["strategy"], record.skills[1]["refused"]) == ("other", [])  # found by the search
    assert all(np.array_equal(array, again.arrays[key]) for key, array in record.arrays.items())
    without = replace(cfg, skills=cfg.skills[1:])
    record = run(without)
    assert record.skills[0]["strategy"] == "other"
    assert record.skills[0]["refused"] == [{"strategy": "given", "code": "path_infeasible", "message": "not this way"}]
    assert_verified(record, without)


def test_the_reason_of_the_first_strategy_is_recorded_where_none_plans(monkeypatch: pytest.MonkeyPatch):
    cfg = config()
    (entry,) = cfg.skills
    before_plan(monkeypatch, Open, lambda skill, _: f"not {skill.cfg.strategy}")
    record = run(replace(cfg, skills=[replace(entry, strategies=[StrategyCfg("b", entry.planner_setting)])]))
    assert (record.code, record.evidence["message"]) == ("path_infeasible", "not given")
    assert [item["strategy"] for item in record.skills[0]["refused"]] == ["given", "b"]


@pytest.mark.parametrize("names", [["given"], ["b", "b"]])
def test_strategies_of_one_entry_have_different_names(names: list[str]):
    (entry,) = config().skills
    with pytest.raises(ConfigError, match=r"strategies has '(given|b)' twice"):
        replace(entry, strategies=[StrategyCfg(name, entry.planner_setting) for name in names])


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


ON_A_SHELF = (
    "task.regions=[{object: box, center_m: [0.62, 0], half_extent_m: [0.01, 0.01], yaw_deg: 2, height_m: [0.75, 0.75]}]"
)
"""So high that the arm does not reach the lid from above, but reaches it from the front."""


def box(rests_on: str, *overrides: str) -> CollectCfg:
    chosen = ("object=box", "object.instance=0", "skill=open", f"object.rests_on={rests_on}", "skills.0.candidates=2")
    return load(*chosen, *overrides, seed=5)


@pytest.fixture(scope="module")
def laid() -> Iterator[tuple[EpisodeRunner, EpisodeRecord]]:
    """An episode in which the search lays a box on its back, where its lid is too high."""
    with EpisodeRunner(box("any", ON_A_SHELF)) as runner:
        yield runner, runner.run(0)


@pytest.mark.slow
def test_the_search_lays_a_box_on_its_back_where_its_lid_is_too_high(laid: tuple[EpisodeRunner, EpisodeRecord]):
    runner, record = laid
    assert_success(record, runner.cfg)
    assert record.layout["instances"]["box"]["rests_on"] == "back"
    (earlier,) = record.layout["preplan"]["other_sides"]
    assert (earlier["rests_on"], earlier["tried"]) == ({"box": "bottom"}, 2)
    assert record.layout["preplan"]["chosen"] == 0


@pytest.mark.slow
def test_the_record_of_a_found_side_is_replayed_exactly(laid: tuple[EpisodeRunner, EpisodeRecord]):
    runner, record = laid
    assert largest_deviation(replay_record(runner, record), record.arrays).value == 0.0
    assert list(replay_problems(runner, record)) == []


@pytest.mark.slow
def test_another_side_in_a_record_is_found_out(laid: tuple[EpisodeRunner, EpisodeRecord]):
    runner, record = laid

    def lying(side: str) -> EpisodeRecord:
        instances = {"box": {**record.layout["instances"]["box"], "rests_on": side}}
        return replace(record, layout={**record.layout, "instances": instances})

    forged = lying("left")
    assert any("assets.box" in problem for problem in check_record(forged, CriteriaSource(runner.cfg).derive))
    with pytest.raises(RecordingError, match="is not the one that was recorded"):
        replay_record(runner, forged)
    with pytest.raises(RecordingError, match=r"layout\.instances\.box\.rests_on='edge' is not a side .* bottom, back"):
        replay_record(runner, lying("edge"))


@pytest.mark.slow
def test_an_object_that_has_a_plan_as_it_stands_is_not_laid_down():
    record, other = run(box("any")), run(box("bottom"))
    assert "rests_on" not in record.layout["instances"]["box"]
    assert "other_sides" not in record.layout["preplan"]
    assert record.layout["objects"] == other.layout["objects"]
    assert largest_deviation(record.arrays, other.arrays).value == 0.0


@pytest.mark.slow
def test_an_object_stands_again_where_no_side_has_a_plan(monkeypatch: pytest.MonkeyPatch):
    refuse_plans(monkeypatch, Open)
    cfg = box("any")
    record = run(cfg)
    assert (record.success, record.code) == (False, "invalid_layout")
    message = "Refused: 1 open: path_infeasible 2. On another side, it has no plan either: back."
    assert record.evidence["message"].endswith(message)
    assert "rests_on" not in record.layout["instances"]["box"]
    assert [item["rests_on"] for item in record.layout["preplan"]["other_sides"]] == [{"box": "back"}]
    assert_verified(record, cfg)
    assert (
        run(box("bottom"))
        .evidence["message"]
        .endswith(" 'box' is small and light enough to lie on another side: object.rests_on=any also tries those.")
    )


@pytest.mark.slow
def test_the_other_sides_share_the_work_of_one_search(monkeypatch: pytest.MonkeyPatch):
    works: dict[RestsOn, set[int]] = {}

    def note_work(skill: Open, _: object) -> str:
        works.setdefault(skill.object.asset.rests_on, set()).add(skill.context.budget.work)
        return "not here"

    before_plan(monkeypatch, Open, note_work)
    chosen = ("object=microwave", "object.instance=0", "skill=open", "object.rests_on=any", "skills.0.candidates=1")
    cfg = load(*chosen, seed=5)
    assert run(cfg).code == "invalid_layout"
    assert works.pop(RestsOn.bottom) == {cfg.planner.work}
    assert len(works) > 1
    assert sum(max(each) for each in works.values()) <= cfg.planner.work


def test_any_needs_a_search():
    cfg = box("any")
    with pytest.raises(ConfigError, match=r"object\.rests_on=any asks a search .* Expected artpreplan as the first"):
        check_episode(replace(cfg, skills=cfg.skills[1:]))
