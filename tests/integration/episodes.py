"""Whole episodes in tests: how one is run, and what holds of every verified record."""

from __future__ import annotations

import numpy as np
import pytest

from unlatch.simcore.recording.check import check_record
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.verdict import Verdict, recompute_success
from unlatch.skills.articulation import ArticulationSkill
from unlatch.workflows.checks.criteria_source import CriteriaSource
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.replay import largest_deviation, replay_actions, replay_record
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.schema import CollectCfg


def run(cfg: CollectCfg, number: int = 0) -> EpisodeRecord:
    """Returns the record of an episode."""
    with EpisodeRunner(cfg) as runner:
        return runner.run(number)


def run_task(task: str, *overrides: str, number: int = 0) -> EpisodeRecord:
    """Returns the record of an episode of a task."""
    return run(load(task, *overrides), number)


def assert_verified(record: EpisodeRecord, cfg: CollectCfg | None = None) -> Verdict:
    """The record is whole, states what its configuration asks, and has the verdict that follows from its arrays."""
    assert check_record(record, *([CriteriaSource(cfg).derive] if cfg else [])) == []
    verdict = recompute_success(record)
    assert verdict.success == record.success, record.evidence
    return verdict


def assert_success(record: EpisodeRecord, cfg: CollectCfg | None = None) -> None:
    """The episode succeeded, and its record is verified."""
    assert record.success, record.evidence
    assert_verified(record, cfg)


def assert_replays(record: EpisodeRecord, cfg: CollectCfg) -> None:
    """A replay of the recorded actions has the recorded states, to the bit."""
    with EpisodeRunner(cfg) as runner:
        deviation = largest_deviation(replay_record(runner, record), record.arrays)
    assert (deviation.value, deviation.arrays > 20) == (0.0, True), deviation


def assert_ends_alike(runner: EpisodeRunner, record: EpisodeRecord) -> None:
    """The recorded actions alone, without sensors, reach the recorded end."""
    _, state = replay_actions(runner, record)
    ends = {key: array[-1:] for key, array in record.arrays.items()}
    deviation = largest_deviation({key: value[None] for key, value in state.items()}, ends)
    assert (deviation.value, deviation.arrays > 5) == (0.0, True), deviation


def same_bits(a: EpisodeRecord, b: EpisodeRecord) -> bool:
    """Returns whether two records have the same arrays."""
    return a.arrays.keys() == b.arrays.keys() and all(np.array_equal(a.arrays[k], b.arrays[k]) for k in a.arrays)


def refuse_plans(monkeypatch: pytest.MonkeyPatch, kind: type[ArticulationSkill], message: str = "not here") -> None:
    """Lets every plan of a skill fail."""

    def plan(self: ArticulationSkill, rng: np.random.Generator) -> bool:
        self.fail("path_infeasible", message)
        return False

    monkeypatch.setattr(kind, "plan", plan)
