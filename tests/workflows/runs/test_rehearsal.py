"""A rehearsal keeps what works by its counts, and a configuration plans from it; results are read and written."""

from contextlib import nullcontext
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
import yaml

from tests.workflows.builders import episode
from unlatch.objects.annotation import write_articulation
from unlatch.objects.procedural.openings import latched_door
from unlatch.simcore.errors import ConfigError, UnlatchError
from unlatch.skills.config import SkillCfg
from unlatch.solver.setting import PlannerSettingCfg
from unlatch.workflows.runs import rehearsal
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.rehearsal import (
    Option,
    Rehearsal,
    acting_entry,
    read_beside,
    rehearse,
    with_strategies,
    write_beside,
)

DOOR = "examples/objects/sliding_door.urdf"


@pytest.fixture(scope="module")
def cfg():
    return load(f"object={DOOR}", "skill=open")


def entry_of(cfg) -> SkillCfg:
    index = acting_entry(cfg)
    assert index is not None
    return cfg.skills[index]


def found_for(cfg, key="k", **changes) -> Rehearsal:
    setting = entry_of(cfg).planner_setting.to_yaml()
    proven = [
        {"name": name, "planner_setting": setting, "trials": 8, "successes": n} for name, n in (("a", 8), ("b", 7))
    ]
    values = {"key": key, "skill": "open", "part": "drawer", "robot": "franka_panda", "where": "", "task": {}}
    return Rehearsal(**{**values, "proven": proven, "failed": [], "tried": 3, "trials": 9, "cpu_s": 1.0, **changes})


class Runner(nullcontext):
    """Stands in for physics: names of strategies that succeed, and in how many trials, in one hold or in two."""

    works: ClassVar[dict[str, int]] = {}
    works_in_two_holds: ClassVar[dict[str, int]] = {}
    bad_trials: ClassVar[set[int]] = set()
    trials: ClassVar[list[tuple[str, int, int]]] = []
    drawn: ClassVar[list[tuple[str, PlannerSettingCfg]]] = []
    cause = "slipped"
    refusals: ClassVar[list[int]] = []
    """Places in the chain at which the layouts of a trial that fails are refused; -1: before anything is planned."""

    def __init__(self, cfg):
        super().__init__(self)
        self.cfg = cfg

    def run(self, number):
        name = entry_of(self.cfg).strategy
        Runner.trials.append((name, number, self.cfg.seed))
        holds = sum(item.name == "open" for item in self.cfg.skills)
        works = Runner.works if holds == 1 else Runner.works_in_two_holds
        success = number < works.get(name, 0) and number not in Runner.bad_trials
        layout = {"preplan": {"failures": [{"skill": index} for index in Runner.refusals]}}
        return episode(None if success else Runner.cause, number, layout=layout)


@pytest.fixture
def physics(monkeypatch, tmp_path):
    monkeypatch.setattr(rehearsal, "EpisodeRunner", Runner)
    monkeypatch.setattr(rehearsal, "cache_root", lambda _: tmp_path)
    monkeypatch.setattr(rehearsal, "draw_candidates", lambda *args, **options: Runner.drawn)
    Runner.trials, Runner.works, Runner.works_in_two_holds, Runner.drawn = [], {}, {}, []
    Runner.bad_trials, Runner.cause, Runner.refusals = set(), "slipped", []
    return Runner


def test_derived_strategies_that_work_are_kept_without_other_candidates(cfg, physics):
    name = entry_of(cfg).strategy
    physics.works = {name: 99}
    found, _ = rehearse(cfg)
    assert len(physics.trials) == rehearsal.PLAIN_TRIALS
    assert [item["name"] for item in found.proven] == [item.strategy for item in entry_of(cfg).entries_by_strategy()]
    assert found.apply(cfg).skills == [replace(entry, order=[]) for entry in cfg.skills]
    physics.bad_trials = {0}
    found, _ = rehearse(cfg, fresh=True)  # one failure is not the end of them
    assert [(item["successes"], item["trials"]) for item in found.proven][:1] == [(7, 8)]


def test_a_part_that_falls_shut_before_the_hand_is_there_proves_nothing(cfg, physics, monkeypatch):
    physics.works = {entry_of(cfg).strategy: 99}
    run = physics.run
    moved = {"joint": "j", "joint_index": 0, "object": "object", "s0": 0.6, "s_end": 0.0, "success_threshold": 0.05}
    force = "contacts.franka_panda.left.object.fingers_link.force_max_n"

    def run_until_touched(touch: int) -> Rehearsal:
        q = np.linspace(0.6, 0.0, 11)[:, None]
        arrays = {"objects.object.joint_positions": q, force: (np.arange(10) >= touch).astype(float)}
        monkeypatch.setattr(Runner, "run", lambda *args: replace(run(*args), skills=[moved], arrays=arrays))
        return rehearse(cfg, fresh=True)[0]

    assert run_until_touched(0).proven, "the hand moves it from the first frame on"
    fell = run_until_touched(5)
    assert not fell.proven
    assert fell.failed[0]["causes"]["not_reached"] == fell.failed[0]["trials"]


def test_what_succeeds_most_comes_first_and_what_fails_is_kept_with_its_cause(cfg, physics):
    setting = entry_of(cfg).planner_setting
    physics.drawn = [("never", setting), ("often", setting), ("always", setting)]
    physics.works = {"often": 6, "always": 99}
    found, _ = rehearse(cfg)
    assert [(item["name"], item["successes"], item["trials"]) for item in found.proven] == [
        ("always", 8, 8),
        ("often", 6, 8),
    ]
    assert {"name": "never", "where": "", "trials": 1, "causes": {"slipped": 1}} in found.failed
    assert [entry.strategy for entry in entry_of(found.apply(cfg)).entries_by_strategy()] == ["always", "often"]


def test_a_strategy_proven_by_itself_and_among_all_derived_ones_is_kept_once(cfg, physics):
    entry = entry_of(cfg)
    two = [("one", entry.planner_setting), ("other", entry.planner_setting)]
    twice = with_strategies(entry, two, more_holds=0)[0]
    with_two = replace(cfg, skills=[twice if item is entry else item for item in cfg.skills])
    physics.works, physics.bad_trials = {"one": 99, "other": 99}, {4}
    found, _ = rehearse(with_two)
    assert sorted(item["name"] for item in found.proven) == ["one", "other"]
    assert found.apply(with_two).skills


@pytest.mark.parametrize("works", [{}, {"bar_1": 6}])
def test_a_first_hold_leads_half_of_the_way_where_one_hold_does_not_always_succeed(cfg, physics, works):
    setting = entry_of(cfg).planner_setting
    physics.drawn = [("bar_1", setting)]
    physics.works, physics.works_in_two_holds = works, {"bar_1": 99}
    found, _ = rehearse(cfg)
    assert (found.where, found.more_holds, found.proven[0]["successes"]) == ("in two holds", 1, 8)
    first, again = [item for item in found.apply(cfg).skills if item.name == "open"]
    assert first.planner_setting.success_threshold == pytest.approx(0.5 * setting.success_threshold)
    assert again.planner_setting.derived
    assert again.part == entry_of(cfg).part


def test_the_first_of_several_holds_leads_less_far_before_other_grasps_are_tried(cfg, physics):
    setting = entry_of(cfg).planner_setting
    chain = [item for item in cfg.skills if item.name != "open"]
    chain += with_strategies(entry_of(cfg), [("bar", setting)], more_holds=1)
    physics.drawn = [("bar_1", setting)]
    physics.works_in_two_holds = {"bar_1": 99}
    found, _ = rehearse(replace(cfg, skills=chain))
    assert (found.where, found.more_holds) == ("with a shorter first hold", 0)
    assert [name for name, *_ in physics.trials][:4] == ["bar", "bar", "bar", "bar"]
    first, _ = [item for item in found.apply(replace(cfg, skills=chain)).skills if item.name == "open"]
    assert first.planner_setting.success_threshold == pytest.approx(0.5 * setting.success_threshold)


def test_a_rehearsal_stops_where_its_first_trials_are_errors_of_the_program(cfg, physics):
    setting = entry_of(cfg).planner_setting
    physics.drawn, physics.cause = [(f"bar_{number}", setting) for number in range(9)], "error"
    with pytest.raises(UnlatchError, match="first 3 trials of the rehearsal ended with an error of the program"):
        rehearse(cfg)
    assert len(physics.trials) == 3


@pytest.mark.parametrize("refusals", [[-1, -1], [-1, 1]])
def test_other_strategies_are_tried_only_where_something_can_be_planned(cfg, physics, refusals):
    setting = entry_of(cfg).planner_setting
    physics.drawn, physics.refusals = [(f"bar_{number}", setting) for number in range(9)], refusals
    rehearse(cfg)
    tried = {name for name, *_ in physics.trials}
    assert ("bar_0" in tried) == (1 in refusals)


def test_a_part_that_a_mechanism_holds_is_tried_from_closed_alone(physics, tmp_path, monkeypatch):
    made, path, starts = latched_door(1), tmp_path / "object.urdf", []
    path.write_text(made.model.to_urdf())
    write_articulation(made.articulation, tmp_path)
    run = Runner.run
    monkeypatch.setattr(Runner, "run", lambda self, n: starts.append(self.cfg.task.openness[0].range) or run(self, n))
    rehearse(load(f"object={path}", "skill=open", "part=door"))
    assert len(starts) > 3
    assert {tuple(start) for start in starts} == {(0.0, 0.0)}


def test_a_chain_of_the_same_skill_on_the_same_part_is_rehearsed_at_its_first_hold(cfg):
    again = with_strategies(entry_of(cfg), [("bar", entry_of(cfg).planner_setting)], more_holds=1)
    chain = [item for item in cfg.skills if item.name != "open"] + again
    assert acting_entry(replace(cfg, skills=chain)) == chain.index(again[0])
    other = [*chain, replace(again[0], name="close")]
    assert acting_entry(replace(cfg, skills=other)) is None


def test_a_result_is_taken_from_the_cache_until_the_task_changes(cfg, physics):
    physics.works = {entry_of(cfg).strategy: 99}
    first, _ = rehearse(replace(cfg, seed=12))
    assert {seed for _, _, seed in physics.trials} == {rehearsal.SEED}  # of their own
    count = len(physics.trials)
    again, best = rehearse(replace(cfg, seed=5))
    assert (again, best, len(physics.trials)) == (first, None, count)
    rehearse(replace(cfg, world=replace(cfg.world, solver_iterations=150)))
    assert len(physics.trials) > count


def test_nothing_is_kept_where_nothing_succeeds(cfg, physics):
    found, _ = rehearse(cfg)
    assert not found.proven
    assert "never succeeded" in found.line
    count = len(physics.trials)
    rehearse(cfg)
    assert len(physics.trials) == 2 * count <= 2 * rehearsal.MOST_TRIALS


def test_a_rehearsal_beside_an_object_is_written_read_and_replaced(cfg, tmp_path, monkeypatch):
    source = tmp_path / "door.urdf"
    monkeypatch.setattr(rehearsal, "rehearsal_key", lambda _: "k")
    at = replace(cfg, object=replace(cfg.object, root=str(source)))
    assert read_beside(at) is None
    path = write_beside([found_for(cfg), found_for(cfg, "other")], source)
    write_beside([found_for(cfg, trials=20)], source)
    assert read_beside(at) == found_for(cfg, trials=20)
    assert [item["key"] for item in yaml.safe_load(path.read_text())["rehearsed"]] == ["other", "k"]


def test_a_damaged_file_beside_an_object_is_named(cfg, tmp_path):
    (tmp_path / rehearsal.FILE).write_text("rehearsed: 3\n")
    with pytest.raises(ConfigError, match=r"rehearsed\.yaml has no list"):
        read_beside(replace(cfg, object=replace(cfg.object, root=str(tmp_path))))


def test_only_an_object_that_is_a_file_is_rehearsed_and_an_option_is_ranked_by_its_lower_bound():
    assert acting_entry(load("open_drawer")) is acting_entry(load("object=drawer", "skill=open")) is None
    few, many = Option("few", [], None, trials=1, successes=1), Option("many", [], None, trials=8, successes=7)
    assert few.lower_bound < many.lower_bound
