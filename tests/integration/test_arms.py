"""A robot with two arms: which one acts, and what the other one is to it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from unlatch.simcore.recording.check import check_record
from unlatch.simcore.recording.verdict import recompute_success
from unlatch.skills.layout_search import LayoutSearchCfg
from unlatch.skills.open import Open
from unlatch.workflows.checks.criteria_source import CriteriaSource
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.replay import largest_deviation
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.schema import CollectCfg

pytestmark = pytest.mark.integration


def config(*overrides: str) -> CollectCfg:
    return load("open_microwave", "robot=dual_panda", "object.instance=7", *overrides)


@pytest.mark.parametrize(("y", "nearest"), [(0.2, "left"), (-0.4, "right")])
def test_the_nearest_arm_acts_where_none_is_named(y: float, nearest: str):
    cfg = config(f"task.regions.0.center_m=[0.7,{y}]", "task.regions.0.half_extent_m=[0.0,0.0]")
    with EpisodeRunner(cfg) as runner:
        episode = runner.episode(0)
        episode.begin()
        assert episode.begin_skill(0).skill.context.arm.name == nearest


@pytest.mark.parametrize("arm", ["left", pytest.param("right", marks=pytest.mark.slow)])
def test_a_named_arm_acts(arm: str):
    cfg = config(f"skills.0.arm={arm}")
    with EpisodeRunner(cfg) as runner:
        record = runner.run(0)
        again = runner.replay(record)
    assert record.success, record.evidence
    assert record.skills[0]["arm"] == arm
    other = "right" if arm == "left" else "left"
    moved = {name: np.ptp(record.arrays[f"actions.dual_panda.{name}.joint_targets"], axis=0) for name in (arm, other)}
    assert moved[arm].max() > 0.3
    assert moved[other].max() == 0.0
    assert check_record(record, CriteriaSource(cfg).derive) == []
    assert recompute_success(record).success
    deviation = largest_deviation(again, record.arrays)
    assert (deviation.value, deviation.arrays > 20) == (0.0, True), deviation


@pytest.mark.slow
def test_a_search_tries_the_nearest_arm_first_and_then_the_other(monkeypatch: pytest.MonkeyPatch):
    cfg = config()
    cfg = replace(cfg, skills=[LayoutSearchCfg(name="artpreplan", objects=["microwave"], candidates=2), *cfg.skills])
    tried: list[str] = []
    plan = Open.plan

    def plan_left(self: Open, rng: np.random.Generator) -> bool:
        tried.append(self.context.arm.name)
        if self.context.arm.name == "right":
            self.fail("path_infeasible", "not with this arm")
            return False
        return plan(self, rng)

    monkeypatch.setattr(Open, "plan", plan_left)
    with EpisodeRunner(cfg) as runner:
        record = runner.run(0)
    assert tried[:2] == ["right", "left"]  # the microwave's handle is on its left, the robot's right
    assert tried[-1] == "left"  # the episode begins with what was found
    assert record.layout["preplan"]["arms"] == {"1": "left"}
    assert record.skills[1]["arm"] == "left"
    assert record.skills[1]["refused"] == []


@pytest.mark.slow
def test_the_other_arm_is_an_obstacle():
    with EpisodeRunner(config("skills.0.arm=left")) as runner:
        episode = runner.episode(0)
        episode.reset()
        right, left = episode.scene.robot.arm("right"), episode.scene.robot.arm("left")
        inwards = np.array(left.cfg.home)
        inwards[0] = -1.2
        skill = episode.planner.make_skill(episode.cfg.skills[0])
        skill.context.checker.load(skill.context.robot_model, [])
        assert skill.context.checker.deepest_collision(inwards) is None
        right.reset(np.array([1.2, *right.cfg.home[1:]]), gripper_m=0.08)
        skill = episode.planner.make_skill(episode.cfg.skills[0])
        skill.context.checker.load(skill.context.robot_model, [])
        hit = skill.context.checker.deepest_collision(inwards)
        assert hit is not None
        assert {name.split("_")[0] for name in (hit.link_a, hit.link_b)} == {"left", "right"}
        assert skill.context.checker.deepest_collision(np.array(left.cfg.home)) is None


@pytest.mark.slow
def test_records_of_one_arm_have_no_keys_for_arms():
    cfg = load("open_microwave")
    with EpisodeRunner(cfg) as runner:
        record = runner.run(0)
    assert not {"arm", "stage", "entry", "broken_off"} & set(record.skills[0])
    assert sorted(key for key in record.arrays if key.startswith("skills.")) == [
        "skills.command_index",
        "skills.index",
        "skills.phase",
    ]
