"""A robot with two arms: which one acts, what the other one is to it, and stages in which both act."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tests.integration.episodes import assert_replays, assert_success, assert_verified, run, same_bits
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.verdict import recompute_success
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
def test_the_nearest_arm_acts_where_none_is_named(y: float, nearest: str):
    cfg = microwave(f"task.regions.0.center_m=[0.7,{y}]", "task.regions.0.half_extent_m=[0.0,0.0]")
    with EpisodeRunner(cfg) as runner:
        episode = runner.episode(0)
        episode.begin()
        assert episode.begin_skill(0).skill.context.arm.name == nearest


@pytest.mark.slow
@pytest.mark.parametrize("arm", ["left", pytest.param("right", marks=pytest.mark.heavy)])
def test_a_named_arm_acts(arm: str):
    cfg = microwave(f"skills.0.arm={arm}")
    record = run(cfg)
    assert_success(record, cfg)
    assert record.skills[0]["arm"] == arm
    other = "right" if arm == "left" else "left"
    moved = {name: np.ptp(record.arrays[f"actions.dual_panda.{name}.joint_targets"], axis=0) for name in (arm, other)}
    assert moved[arm].max() > 0.3
    assert moved[other].max() == 0.0
    assert_replays(record, cfg)


@pytest.mark.slow
def test_a_search_tries_the_nearest_arm_first_and_then_the_other(monkeypatch: pytest.MonkeyPatch):
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


def test_records_of_one_arm_have_no_keys_for_arms(episode: Callable[..., EpisodeRecord]):
    record = episode("open_microwave")
    assert not {"arm", "stage"} & set(record.skills[0])
    found = sorted(key for key in record.arrays if key.startswith("skills."))
    assert found == ["skills.command_index", "skills.index", "skills.phase"]


def carton(*, search: bool = False) -> CollectCfg:
    cfg = load("close_carton_both", "object.instance=3")
    return cfg if search else replace(cfg, skills=cfg.skills[1:])


def tried_once() -> CollectCfg:
    return replace(carton(), replan=0)


@pytest.fixture(scope="module")
def pushed(episode: Callable[..., EpisodeRecord]) -> EpisodeRecord:
    """An episode in which both flaps of a carton are pushed down."""
    return episode("close_carton_both", "object.instance=3")


def test_both_arms_act_at_the_same_time(pushed: EpisodeRecord):
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


def test_a_record_has_the_status_of_each_arm(pushed: EpisodeRecord):
    _, left, right = pushed.skills
    for index, skill in ((1, left), (2, right)):
        own = pushed.arrays[f"skills.{skill['arm']}.index"]
        assert np.all(own[skill["frame_start"] + 1 :] == index)
        phases = pushed.arrays[f"skills.{skill['arm']}.phase"][skill["frame_start"] + 1 : skill["frame_end"] + 1]
        assert len(set(phases.tolist())) >= 3
    assert np.all(pushed.arrays["skills.index"][left["frame_start"] + 1 :] == 2)
    assert assert_verified(pushed, carton(search=True)).skills == (True, True, True)


@pytest.mark.slow
def test_replay_and_second_run_are_exact(pushed: EpisodeRecord):
    assert_replays(pushed, carton(search=True))
    assert same_bits(run(carton(search=True)), pushed)


def test_each_is_judged_by_the_views_of_its_own_arm(pushed: EpisodeRecord):
    _, left, right = pushed.skills
    row = (left["frame_start"] + min(left["frame_end"], right["frame_end"])) // 2
    for view, results in (
        ("left.carton.fingers_base", (True, False, True)),
        ("right.carton.fingers_base", (True, True, False)),
        ("environment", (True, False, False)),
    ):
        key = f"contacts.dual_panda.{view}.force_max_n"
        force = pushed.arrays[key].copy()
        force[row] = 50.0
        verdict = recompute_success(replace(pushed, arrays={**pushed.arrays, key: force}))
        assert (verdict.code, verdict.skills) == ("collision", results)
        assert verdict.evidence["view"] == f"dual_panda.{view}"


def on_the_right(monkeypatch: pytest.MonkeyPatch, after_s: float, act: Callable[[Close], None]) -> None:
    """Lets something happen to the skill of the right arm in each frame after a time."""
    update = Close.update

    def update_and_act(self: Close) -> None:
        update(self)
        if self.context.arm.name == "right" and self.context.time_s > after_s and self.failure is None:
            act(self)

    monkeypatch.setattr(Close, "update", update_and_act)


@pytest.mark.slow
def test_a_skill_that_fails_ends_the_chain_with_its_index_and_arm(monkeypatch: pytest.MonkeyPatch):
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


@pytest.mark.slow
def test_a_failure_at_the_end_of_one_arm_stops_the_other(monkeypatch: pytest.MonkeyPatch):
    on_the_right(monkeypatch, 1.0, lambda skill: skill.executor.stop())
    record = run(tried_once())
    assert (record.code, record.evidence["skill"], record.evidence["arm"]) == ("not_reached", 1, "right")
    assert [skill["broken_off"] for skill in record.skills] == [True, False]
    assert assert_verified(record, tried_once()).skills == (None, False)


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
def test_the_first_arm_takes_another_strategy_where_the_second_finds_no_plan(monkeypatch: pytest.MonkeyPatch):
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
def test_the_reason_of_the_second_arm_is_recorded_where_no_strategy_leaves_it_room(monkeypatch: pytest.MonkeyPatch):
    refuse_right(monkeypatch, 1000)
    record = run(carton())
    assert (record.code, record.evidence["arm"], record.evidence["skill"]) == ("path_infeasible", "right", 1)
    assert record.evidence["message"] == "no room beside the left arm"
    assert [skill["broken_off"] for skill in record.skills] == [True, True]
    assert_verified(record, carton())


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


@pytest.mark.slow
def test_a_policy_is_judged_by_both_stages(pushed: EpisodeRecord):
    from unlatch.workflows.gym.env import UnlatchEnv

    env = UnlatchEnv("close_carton_both", overrides=["object.instance=3", "seed=0"])
    env.reset(seed=0, options={"episode": 0})
    assert [stage.arm for stage in env.episode.judge.current] == ["left", "right"]
    keys = [
        f"actions.dual_panda.{arm}.{key}" for arm in ("left", "right") for key in ("joint_targets", "gripper_target")
    ]
    over, info = False, {}
    for action in np.hstack([pushed.arrays[key] for key in keys])[pushed.skills[1]["frame_start"] :]:
        _, _, over, _, info = env.step(action)
        if over:
            break
    env.close()
    assert over
    assert info["success"]
