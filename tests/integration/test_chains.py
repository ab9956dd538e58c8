"""Chains of skills: each plans from where the one before left things, and a failure ends the chain at its index."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from unlatch.simcore.recording.check import check_record
from unlatch.simcore.recording.verdict import recompute_success
from unlatch.skills.close import Close
from unlatch.workflows.checks.criteria_source import CriteriaSource
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.schema import CollectCfg

pytestmark = pytest.mark.integration

CHAINS = {
    "open_cabinet_drawer": ["artpreplan", "open", "open"],
    "open_close_drawer": ["artpreplan", "open", "close"],
    "open_close_microwave": ["artpreplan", "open", "close"],
    "open_drawers": ["artpreplan", "open", "close", "open"],
    "turn_knob_close_oven": ["artpreplan", "rotate", "close"],
}


def config(task: str) -> CollectCfg:
    return load(task)


@pytest.mark.slow
@pytest.mark.parametrize("task", CHAINS)
def test_a_chain_is_carried_out(task: str):
    with EpisodeRunner(config(task)) as runner:
        record = runner.run(0)
    assert [skill["name"] for skill in record.skills] == CHAINS[task]
    assert record.success, record.evidence
    assert all(skill["success"] for skill in record.skills)
    ends = [(skill["frame_start"], skill["frame_end"]) for skill in record.skills]
    assert all(first[1] == second[0] for first, second in itertools.pairwise(ends))
    assert check_record(record, CriteriaSource(config(task)).derive) == []
    assert recompute_success(record).success


@pytest.mark.slow
def test_a_closed_door_blocks_the_drawer_behind_it():
    """The task above is one of its kind only if its drawer cannot be opened first."""
    cfg = config("open_cabinet_drawer")
    cfg.skills.pop(1)
    with EpisodeRunner(cfg) as runner:
        record = runner.run(0)
    assert record.code == "invalid_layout"
    refused = record.layout["preplan"]["failures"]
    assert len(refused) == cfg.skills[0].candidates
    assert all(failure["skill"] == 1 for failure in refused)
    assert any("meets cabinet/door" in failure["message"] for failure in refused)


@pytest.mark.slow
def test_a_failed_skill_ends_the_chain_at_its_index(monkeypatch: pytest.MonkeyPatch):
    cfg = config("open_close_drawer")
    cfg.skills.pop(0)  # a search would refuse the layout
    seen = []

    def plan(self: Close, rng: np.random.Generator) -> bool:
        seen.append(abs(self.s - self.part.openness.closed))
        self.fail("path_infeasible", "not today")
        return False

    monkeypatch.setattr(Close, "plan", plan)
    with EpisodeRunner(cfg) as runner:
        record = runner.run(0)
    assert seen[0] > 0.1  # it saw the drawer as it was then
    assert (record.code, record.evidence["message"]) == ("path_infeasible", "not today")
    assert [(skill["name"], skill["success"]) for skill in record.skills] == [("open", True), ("close", False)]
