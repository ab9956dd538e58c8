"""A robot with two arms: which one acts, what the other one is to it, and stages in which both act."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tests.integration.episodes import assert_replays, assert_success, assert_verified, run
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.skills.close import Close
from unlatch.skills.layout_search import LayoutSearchCfg
from unlatch.skills.open import Open
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.schema import CollectCfg

pytestmark = pytest.mark.integration


def microwave(*overrides: str) -> CollectCfg:
    return load("open_microwave", "robot=dual_panda", "object.instance=7", *overrides)


@pytest.mark.parametrize(("y", "nearest"), [(0.2, "left"), (-0.4, "right")])
def test_the_nearest_arm_acts_where_none_is_named(y, nearest):
    cfg = microwave(f"task.regions.0.center_m=[0.7,{y}]", "task.regions.0.half_extent_m=[0.0,0.0]")
    with EpisodeRunner(cfg) as runner:
        episode = runner.episode(0)
        episode.begin()
        assert episode.begin_skill(0).skill.context.arm.name == nearest


@pytest.mark.slow
def test_a_named_arm_acts():
    cfg = microwave("skills.0.arm=left")
    record = run(cfg)
    assert_success(record, cfg)
    assert record.skills[0]["arm"] == "left"
    targets = [record.arrays[f"actions.dual_panda.{arm}.joint_targets"] for arm in ("left", "right")]
    left, right = (np.ptp(each, axis=0).max() for each in targets)
    assert left > 0.3
    assert right == 0.0


@pytest.mark.slow
def test_a_search_tries_the_nearest_arm_first_and_then_the_other(monkeypatch):
    cfg = microwave()
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
    record = run(cfg)
    assert tried[:2] == ["right", "left"]  # the microwave's handle is on its left, the robot's right
    assert tried[-1] == "left"  # the episode begins with what was found
    assert record.layout["preplan"]["arms"] == {"1": "left"}
    assert (record.skills[1]["arm"], record.skills[1]["refused"]) == ("left", [])


@pytest.mark.slow
def test_the_other_arm_is_an_obstacle():
    with EpisodeRunner(microwave("skills.0.arm=left")) as runner:
        episode = runner.episode(0)
        episode.reset()
        right, left = episode.scene.robot.arm("right"), episode.scene.robot.arm("left")
        inwards = np.array(left.cfg.home)
        inwards[0] = -1.2
        for is_in_the_way in (False, True):
            if is_in_the_way:
                right.reset(np.array([1.2, *right.cfg.home[1:]]), gripper_m=0.08)
            skill = episode.planner.make_skill(episode.cfg.skills[0])
            skill.context.checker.load(skill.context.robot_model, [])
            hit = skill.context.checker.deepest_collision(inwards)
            links = {name.split("_")[0] for name in (hit.link_a, hit.link_b)} if hit else set()
            assert links == ({"left", "right"} if is_in_the_way else set())
        assert skill.context.checker.deepest_collision(np.array(left.cfg.home)) is None


def carton(*, search: bool = False) -> CollectCfg:
    cfg = load("close_carton_both", "object.instance=3")
    return cfg if search else replace(cfg, skills=cfg.skills[1:])


def tried_once() -> CollectCfg:
    return replace(carton(), replan=0)


@pytest.fixture(scope="module")
def pushed(episode: Callable[..., EpisodeRecord]) -> EpisodeRecord:
    """An episode in which both flaps of a carton are pushed down."""
    return episode("close_carton_both", "object.instance=3")


def test_both_arms_act_at_the_same_time(pushed):
    assert pushed.success, pushed.evidence
    search, left, right = pushed.skills
    assert (left["arm"], right["arm"]) == ("left", "right")
    assert (search["stage"], left["stage"], right["stage"]) == (0, 1, 1)
    assert [skill["entry"] for skill in pushed.skills] == [0, 1, 2]
    assert left["frame_start"] == right["frame_start"]
    both = slice(left["frame_start"], min(left["frame_end"], right["frame_end"]))
    pushes = np.ones(pushed.n_actions, dtype=bool)
    for arm in ("left", "right"):
        targets = pushed.arrays[f"actions.dual_panda.{arm}.joint_targets"][both]
        assert (np.abs(np.diff(targets, axis=0)).max(axis=1) > 0.0).mean() > 0.7, arm
        pushes &= pushed.arrays[f"contacts.dual_panda.{arm}.carton.fingers_link.force_max_n"].ravel() > 0.0
    assert pushes.any()


def test_a_record_has_the_status_of_each_arm(pushed):
    _, left, right = pushed.skills
    for index, skill in ((1, left), (2, right)):
        own = pushed.arrays[f"skills.{skill['arm']}.index"]
        assert np.all(own[skill["frame_start"] + 1 :] == index)
        phases = pushed.arrays[f"skills.{skill['arm']}.phase"][skill["frame_start"] + 1 : skill["frame_end"] + 1]
        assert len(set(phases.tolist())) >= 3
    assert np.all(pushed.arrays["skills.index"][left["frame_start"] + 1 :] == 2)
    assert assert_verified(pushed, carton(search=True)).skills == (True, True, True)


@pytest.mark.slow
def test_a_replay_is_exact(pushed):
    assert_replays(pushed, carton(search=True))


def on_the_right(monkeypatch: pytest.MonkeyPatch, after_s: float, act: Callable[[Close], None]) -> None:
    """Lets something happen to the skill of the right arm in each frame after a time."""
    update = Close.update

    def update_and_act(self: Close) -> None:
        update(self)
        if self.context.arm.name == "right" and self.context.time_s > after_s and self.failure is None:
            act(self)

    monkeypatch.setattr(Close, "update", update_and_act)


@pytest.mark.slow
def test_a_skill_that_fails_ends_the_chain_with_its_index_and_arm(monkeypatch):
    def fail(skill: Close) -> None:
        skill.fail("motion_blocked", "not further")
        skill.executor.stop()

    on_the_right(monkeypatch, 2.0, fail)
    record = run(tried_once())
    assert (record.code, record.evidence["message"]) == ("motion_blocked", "not further")
    assert (record.evidence["skill"], record.evidence["arm"]) == (1, "right")
    assert [(skill["success"], skill["broken_off"]) for skill in record.skills] == [(False, True), (False, True)]
    assert record.skills[0]["frame_end"] == record.skills[1]["frame_end"] == record.n_actions
    assert_verified(record, tried_once())


def refuse_right(monkeypatch: pytest.MonkeyPatch, times: int) -> list[tuple[str, str]]:
    """Lets the first plans of the right arm fail; returns arm and strategy of each plan that is made."""
    seen: list[tuple[str, str]] = []
    plan = Close.plan
    (left, _) = carton().robot.arms
    links = frozenset((*left.forbidden_links, *left.gripper.finger_links))

    def plan_later(self: Close, rng: np.random.Generator) -> bool:
        arm = self.context.arm.name
        seen.append((arm, self.cfg.strategy))
        assert [motion.links for motion in self.context.concurrent_motions] == ([] if arm == "left" else [links])
        if arm == "right" and sum(each == "right" for each, _ in seen) <= times:
            self.fail("path_infeasible", "no room beside the left arm")
            return False
        return plan(self, rng)

    monkeypatch.setattr(Close, "plan", plan_later)
    return seen


@pytest.mark.slow
def test_the_first_arm_takes_another_strategy_where_the_second_finds_no_plan(monkeypatch):
    with EpisodeRunner(carton()) as runner:
        episode = runner.episode(0)
        episode.begin()
        left, right = ([way.strategy for way in episode.planner.strategies(index)] for index in (0, 1))
        seen = refuse_right(monkeypatch, len(right))
        record = runner.run(0)
    assert len(left) > 1
    tried = [("left", left[0]), *(("right", way) for way in right), ("left", left[1]), ("right", right[0])]
    assert seen[: len(tried)] == tried
    assert record.skills[0]["refused"] == [
        {"strategy": left[0], "arm": "left", "code": "path_infeasible", "message": "no room beside the left arm"}
    ]
    assert record.skills[0]["strategy"] == left[1]


@pytest.mark.slow
def test_a_sequence_continues_while_the_other_arm_acts():
    cfg = tried_once()
    left, right = cfg.skills
    cfg = replace(cfg, skills=[left, replace(left), right])
    record = run(cfg)
    assert [(skill["arm"], skill["entry"]) for skill in record.skills] == [("left", 0), ("right", 2), ("left", 1)]
    assert record.skills[2]["frame_start"] == record.skills[0]["frame_end"]
    assert record.skills[1]["frame_start"] == record.skills[0]["frame_start"]
    assert_verified(record, cfg)
