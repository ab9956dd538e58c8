"""Stages of a chain: two arms act at the same time, each by its own rules, and one that fails ends them all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unlatch.simcore.recording.check import check_record
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.verdict import recompute_success
from unlatch.skills.close import Close
from unlatch.workflows.checks.criteria_source import CriteriaSource
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.replay import largest_deviation
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.schema import CollectCfg

pytestmark = pytest.mark.integration


def config(*, search: bool = False) -> CollectCfg:
    cfg = load("close_carton_both", "object.instance=3")
    return cfg if search else replace(cfg, skills=cfg.skills[1:])


@pytest.fixture(scope="module")
def record() -> EpisodeRecord:
    """An episode in which both flaps are pushed down."""
    with EpisodeRunner(config(search=True)) as runner:
        return runner.run(0)


def test_both_arms_act_at_the_same_time(record: EpisodeRecord):
    assert record.success, record.evidence
    search, left, right = record.skills
    assert (left["arm"], right["arm"]) == ("left", "right")
    assert (search["stage"], left["stage"], right["stage"]) == (0, 1, 1)
    assert [skill["entry"] for skill in record.skills] == [0, 1, 2]
    assert left["frame_start"] == right["frame_start"]
    until = min(left["frame_end"], right["frame_end"])
    for arm in ("left", "right"):
        targets = record.arrays[f"actions.dual_panda.{arm}.joint_targets"][left["frame_start"] : until]
        assert (np.abs(np.diff(targets, axis=0)).max(axis=1) > 0.0).mean() > 0.7, arm
    forces = {
        arm: record.arrays[f"contacts.dual_panda.{arm}.carton.fingers_link.force_max_n"] for arm in ("left", "right")
    }
    assert ((forces["left"] > 0.0) & (forces["right"] > 0.0)).any()  # both push for a while


def test_a_record_has_the_status_of_each_arm(record: EpisodeRecord):
    _, left, right = record.skills
    for index, skill in ((1, left), (2, right)):
        own = record.arrays[f"skills.{skill['arm']}.index"]
        assert np.all(own[skill["frame_start"] + 1 :] == index)
        phases = record.arrays[f"skills.{skill['arm']}.phase"][skill["frame_start"] + 1 : skill["frame_end"] + 1]
        assert len(set(phases.tolist())) >= 3
    assert np.all(record.arrays["skills.index"][left["frame_start"] + 1 :] == 2)
    assert check_record(record, CriteriaSource(config(search=True)).derive) == []
    verdict = recompute_success(record)
    assert (verdict.success, verdict.skills) == (True, (True, True, True))


@pytest.mark.slow
def test_replay_and_second_run_are_exact(record: EpisodeRecord):
    with EpisodeRunner(config(search=True)) as runner:
        replayed = runner.replay(record)
        again = runner.run(0)
    deviation = largest_deviation(replayed, record.arrays)
    assert (deviation.value, deviation.arrays > 20) == (0.0, True), deviation
    for key, array in again.arrays.items():
        assert np.array_equal(array, record.arrays[key]), key


def test_each_is_judged_by_the_views_of_its_own_arm(record: EpisodeRecord):
    _, left, right = record.skills
    row = (left["frame_start"] + min(left["frame_end"], right["frame_end"])) // 2
    arrays = dict(record.arrays)
    for arm, results in (("left", (True, False, True)), ("right", (True, True, False))):
        key = f"contacts.dual_panda.{arm}.carton.fingers_base.force_max_n"
        force = record.arrays[key].copy()
        force[row] = 50.0
        verdict = recompute_success(replace(record, arrays={**arrays, key: force}))
        assert (verdict.code, verdict.skills) == ("collision", results)
        assert verdict.evidence["view"] == f"dual_panda.{arm}.carton.fingers_base"
    key = "contacts.dual_panda.environment.force_max_n"
    force = record.arrays[key].copy()
    force[row] = 50.0
    assert recompute_success(replace(record, arrays={**arrays, key: force})).skills == (True, False, False)


@pytest.mark.slow
def test_a_skill_that_fails_ends_the_chain_with_its_index_and_arm(monkeypatch: pytest.MonkeyPatch):
    update = Close.update

    def fail_on_the_right(self: Close) -> None:
        update(self)
        if self.context.arm.name == "right" and self.context.time_s > 2.0 and self.failure is None:
            self.fail("motion_blocked", "not further")
            self.executor.stop()

    monkeypatch.setattr(Close, "update", fail_on_the_right)
    with EpisodeRunner(config()) as runner:
        record = runner.run(0)
    assert (record.code, record.evidence["message"]) == ("motion_blocked", "not further")
    assert (record.evidence["skill"], record.evidence["arm"]) == (1, "right")
    assert [(skill["success"], skill["broken_off"]) for skill in record.skills] == [(False, True), (False, True)]
    assert record.skills[0]["frame_end"] == record.skills[1]["frame_end"] == record.n_actions
    assert check_record(record, CriteriaSource(config()).derive) == []


@pytest.mark.slow
def test_a_failure_at_the_end_of_one_arm_stops_the_other(monkeypatch: pytest.MonkeyPatch):
    update = Close.update

    def stop_on_the_right(self: Close) -> None:
        update(self)
        if self.context.arm.name == "right" and self.context.time_s > 1.0:
            self.executor.stop()

    monkeypatch.setattr(Close, "update", stop_on_the_right)
    with EpisodeRunner(config()) as runner:
        record = runner.run(0)
    assert (record.code, record.evidence["skill"], record.evidence["arm"]) == ("not_reached", 1, "right")
    assert [skill["broken_off"] for skill in record.skills] == [True, False]
    assert check_record(record, CriteriaSource(config()).derive) == []
    assert recompute_success(record).skills == (None, False)


def refusing(monkeypatch: pytest.MonkeyPatch, times: int) -> list[tuple[str, str]]:
    """Lets the first plans of the right arm fail; returns arm and way of each plan that is made."""
    seen: list[tuple[str, str]] = []
    plan = Close.plan

    def plan_later(self: Close, rng: np.random.Generator) -> bool:
        seen.append((self.context.arm.name, self.cfg.strategy))
        assert [motion.links for motion in self.context.concurrent_motions] == (
            [] if self.context.arm.name == "left" else [frozenset(seen_links)]
        )
        if self.context.arm.name == "right" and sum(arm == "right" for arm, _ in seen) <= times:
            self.fail("path_infeasible", "no room beside the left arm")
            return False
        return plan(self, rng)

    (left, _) = config().robot.arms
    seen_links = (*left.forbidden_links, *left.gripper.finger_links)
    monkeypatch.setattr(Close, "plan", plan_later)
    return seen


@pytest.mark.slow
def test_the_first_arm_takes_another_strategy_where_the_second_finds_no_plan(monkeypatch: pytest.MonkeyPatch):
    with EpisodeRunner(config()) as runner:
        episode = runner.episode(0)
        episode.begin()
        ways = {index: [way.strategy for way in episode.planner.strategies(index)] for index in (0, 1)}
        seen = refusing(monkeypatch, len(ways[1]))
        record = runner.run(0)
    assert len(ways[0]) > 1
    tried = [("left", ways[0][0]), *(("right", way) for way in ways[1]), ("left", ways[0][1]), ("right", ways[1][0])]
    assert seen[: len(tried)] == tried
    assert record.skills[0]["refused"] == [
        {"strategy": ways[0][0], "arm": "left", "code": "path_infeasible", "message": "no room beside the left arm"}
    ]
    assert record.skills[0]["strategy"] == ways[0][1]


@pytest.mark.slow
def test_the_reason_of_the_second_arm_is_recorded_where_no_strategy_leaves_it_room(monkeypatch: pytest.MonkeyPatch):
    refusing(monkeypatch, 1000)
    with EpisodeRunner(config()) as runner:
        record = runner.run(0)
    assert (record.code, record.evidence["arm"], record.evidence["skill"]) == ("path_infeasible", "right", 1)
    assert record.evidence["message"] == "no room beside the left arm"
    assert [skill["broken_off"] for skill in record.skills] == [True, True]
    assert check_record(record, CriteriaSource(config()).derive) == []


@pytest.mark.slow
def test_a_sequence_continues_while_the_other_arm_acts():
    cfg = config()
    left, right = cfg.skills
    cfg = replace(cfg, skills=[left, replace(left), right])
    with EpisodeRunner(cfg) as runner:
        record = runner.run(0)
    assert [(skill["arm"], skill["entry"]) for skill in record.skills] == [("left", 0), ("right", 2), ("left", 1)]
    assert record.skills[2]["frame_start"] == record.skills[0]["frame_end"]
    assert record.skills[1]["frame_start"] == record.skills[0]["frame_start"]
    assert check_record(record, CriteriaSource(cfg).derive) == []
    assert recompute_success(record).success == record.success


@pytest.mark.slow
def test_a_policy_is_judged_by_both_stages(record: EpisodeRecord, tmp_path: Path):
    pytest.importorskip("gymnasium")
    from unlatch.workflows.gym.env import UnlatchEnv

    env = UnlatchEnv("close_carton_both", overrides=["object.instance=3", "seed=0"])
    env.reset(seed=0, options={"episode": 0})
    assert [stage.arm for stage in env.episode.judge.current] == ["left", "right"]
    arms = [
        np.hstack([record.arrays[f"actions.dual_panda.{arm}.{key}"] for key in ("joint_targets", "gripper_target")])
        for arm in ("left", "right")
    ]
    over, info = False, {}
    for action in np.hstack(arms)[record.skills[1]["frame_start"] :]:
        _, _, over, _, info = env.step(action)
        if over:
            break
    env.close()
    assert over
    assert info["success"]
