"""Objects that lie on another side: in an episode, in its record, and in the search of `rests_on=any`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from unlatch.configs.schema import check_episode
from unlatch.objects.config import RestsOn
from unlatch.simcore.errors import ConfigError, RecordingError
from unlatch.simcore.recording.check import check_record
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.verdict import recompute_success
from unlatch.skills.open import Open
from unlatch.workflows.checks.criteria_source import CriteriaSource
from unlatch.workflows.commands.check import replay_problems
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.replay import largest_deviation
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.schema import CollectCfg

pytestmark = pytest.mark.integration

ON_A_SHELF = (
    "task.regions=[{object: box, center_m: [0.62, 0], half_extent_m: [0.01, 0.01], yaw_deg: 2, height_m: [0.75, 0.75]}]"
)
"""So high that the arm does not reach the lid from above, but reaches it from the front."""


def config(rests_on: str, *overrides: str) -> CollectCfg:
    chosen = ("object=box", "object.instance=0", "skill=open", f"object.rests_on={rests_on}", "skills.0.candidates=2")
    return load(*chosen, *overrides, seed=5)


@pytest.fixture(scope="module")
def made() -> Iterator[tuple[EpisodeRunner, EpisodeRecord]]:
    with EpisodeRunner(config("any", ON_A_SHELF)) as runner:
        yield runner, runner.run(0)


def test_the_search_lays_a_box_on_its_back_where_its_lid_is_too_high(made: tuple[EpisodeRunner, EpisodeRecord]):
    _, record = made
    assert record.success
    assert recompute_success(record).success
    assert record.layout["instances"]["box"]["rests_on"] == "back"
    (earlier,) = record.layout["preplan"]["other_sides"]
    assert earlier["rests_on"] == {"box": "bottom"}
    assert earlier["tried"] == 2
    assert record.layout["preplan"]["chosen"] == 0


@pytest.mark.slow
def test_the_record_of_a_found_side_is_checked_and_replayed_exactly(made: tuple[EpisodeRunner, EpisodeRecord]):
    runner, record = made
    assert check_record(record, CriteriaSource(runner.cfg).derive) == []
    assert largest_deviation(runner.replay(record), record.arrays).value == 0.0
    assert list(replay_problems(runner, record)) == []


def test_another_side_in_a_record_is_found_out(made: tuple[EpisodeRunner, EpisodeRecord]):
    runner, record = made
    instances = {"box": {**record.layout["instances"]["box"], "rests_on": "left"}}
    forged = replace(record, layout={**record.layout, "instances": instances})
    assert any("assets.box" in problem for problem in check_record(forged, CriteriaSource(runner.cfg).derive))
    with pytest.raises(RecordingError, match="is not the one that was recorded"):
        runner.replay(forged)


def test_a_side_that_does_not_exist_in_a_record_is_named(made: tuple[EpisodeRunner, EpisodeRecord]):
    runner, record = made
    instances = {"box": {**record.layout["instances"]["box"], "rests_on": "edge"}}
    with pytest.raises(RecordingError, match=r"layout\.instances\.box\.rests_on='edge' is not a side .* bottom, back"):
        runner.replay(replace(record, layout={**record.layout, "instances": instances}))


@pytest.mark.slow
def test_an_object_that_has_a_plan_as_it_stands_is_not_laid_down():
    with EpisodeRunner(config("any")) as runner, EpisodeRunner(config("bottom")) as standing:
        record, other = runner.run(0), standing.run(0)
    assert "rests_on" not in record.layout["instances"]["box"]
    assert "other_sides" not in record.layout["preplan"]
    assert record.layout["objects"] == other.layout["objects"]
    assert largest_deviation(record.arrays, other.arrays).value == 0.0


def refuse_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    def plan(self: Open, rng: np.random.Generator) -> bool:
        self.fail("path_infeasible", "not here")
        return False

    monkeypatch.setattr(Open, "plan", plan)


@pytest.mark.slow
def test_an_object_stands_again_where_no_side_has_a_plan(monkeypatch: pytest.MonkeyPatch):
    refuse_plans(monkeypatch)
    cfg = config("any")
    with EpisodeRunner(cfg) as runner:
        record = runner.run(0)
    assert (record.success, record.code) == (False, "invalid_layout")
    message = "Refused: 1 open: path_infeasible 2. On another side, it has no plan either: back."
    assert record.evidence["message"].endswith(message)
    assert "rests_on" not in record.layout["instances"]["box"]
    assert [item["rests_on"] for item in record.layout["preplan"]["other_sides"]] == [{"box": "back"}]
    assert check_record(record, CriteriaSource(cfg).derive) == []


@pytest.mark.slow
def test_the_other_sides_share_the_work_of_one_search(monkeypatch: pytest.MonkeyPatch):
    works: dict[RestsOn, set[int]] = {}

    def plan(self: Open, rng: np.random.Generator) -> bool:
        works.setdefault(self.object.asset.rests_on, set()).add(self.context.budget.work)
        self.fail("path_infeasible", "not here")
        return False

    monkeypatch.setattr(Open, "plan", plan)
    chosen = ("object=microwave", "object.instance=0", "skill=open", "object.rests_on=any", "skills.0.candidates=1")
    cfg = load(*chosen, seed=5)
    with EpisodeRunner(cfg) as runner:
        assert runner.run(0).code == "invalid_layout"
    assert works.pop(RestsOn.bottom) == {cfg.planner.work}
    assert len(works) > 1
    assert sum(max(each) for each in works.values()) <= cfg.planner.work


@pytest.mark.slow
def test_a_refused_small_object_suggests_the_other_sides(monkeypatch: pytest.MonkeyPatch):
    refuse_plans(monkeypatch)
    with EpisodeRunner(config("bottom")) as runner:
        record = runner.run(0)
    assert record.evidence["message"].endswith(
        " 'box' is small and light enough to lie on another side: object.rests_on=any also tries those."
    )


def test_any_needs_a_search():
    cfg = config("any")
    with pytest.raises(ConfigError, match=r"object\.rests_on=any asks a search .* Expected artpreplan as the first"):
        check_episode(replace(cfg, skills=cfg.skills[1:]))
