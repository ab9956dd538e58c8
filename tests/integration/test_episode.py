"""Episodes from configuration to record: what they depend on, and that every kind of failure is named."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from unlatch.objects.library import load_object
from unlatch.robots.arm_control import EffortMean
from unlatch.robots.robot import Arm
from unlatch.simcore.recording.check import check_record
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.verdict import recompute_success
from unlatch.simcore.rng import stream
from unlatch.simcore.sim.collision import BulletCollisionChecker
from unlatch.simcore.sim.world import World
from unlatch.skills.context import Failure
from unlatch.skills.open import Open
from unlatch.tasks.language import phrasing_draws, step_language, task_language
from unlatch.workflows.episode.attempt import Attempt
from unlatch.workflows.episode.episode import Episode
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.replay import largest_deviation
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.schema import CollectCfg

pytestmark = pytest.mark.integration


def config(*overrides: str, task: str = "open_microwave") -> CollectCfg:
    return load(task, *overrides)


@pytest.fixture(scope="module")
def runner() -> Iterator[EpisodeRunner]:
    with EpisodeRunner(config()) as opened:
        yield opened


@pytest.fixture(scope="module")
def record(runner: EpisodeRunner) -> EpisodeRecord:
    return runner.run(0)


def same_bits(a: EpisodeRecord, b: EpisodeRecord) -> bool:
    return a.arrays.keys() == b.arrays.keys() and all(np.array_equal(a.arrays[k], b.arrays[k]) for k in a.arrays)


def test_a_record_is_complete_and_its_verdict_is_recomputed(record: EpisodeRecord) -> None:
    assert check_record(record) == []
    assert recompute_success(record).success == record.success
    assert record.success
    assert {"plan", "reset", "execute"} <= record.timings_ms.keys()
    assert record.arrays["actions.franka_panda.left.joint_targets"].shape == (record.n_actions, 7)


@pytest.mark.slow
def test_an_episode_does_not_depend_on_what_ran_before(runner: EpisodeRunner, record: EpisodeRecord) -> None:
    runner.run(4)
    assert same_bits(runner.run(0), record)
    with EpisodeRunner(config()) as fresh:
        assert same_bits(fresh.run(0), record)


@pytest.mark.slow
def test_another_episode_is_another(runner: EpisodeRunner, record: EpisodeRecord) -> None:
    assert not same_bits(runner.run(1), record)


@pytest.mark.slow
def test_recorded_actions_reach_the_recorded_end_with_sensors_off(runner: EpisodeRunner, record: EpisodeRecord) -> None:
    _, state = runner.replay_actions(record)
    ends = {key: array[-1:] for key, array in record.arrays.items()}
    deviation = largest_deviation({key: value[None] for key, value in state.items()}, ends)
    assert (deviation.value, deviation.arrays > 5) == (0.0, True), deviation


def test_no_limit_of_the_robot_is_exceeded(runner: EpisodeRunner, record: EpisodeRecord) -> None:
    arm = runner.cfg.robot.arms[0]
    q = record.arrays["robots.franka_panda.left.joint_positions"]
    dq = record.arrays["robots.franka_panda.left.joint_velocities"]
    assert np.all(q >= arm.lower)
    assert np.all(q <= arm.upper)
    assert np.all(np.abs(dq) <= arm.max_velocity)
    assert np.all(np.abs(record.arrays["robots.franka_panda.left.joint_efforts"]) <= np.array(arm.max_effort) + 1e-9)


@pytest.mark.slow
def test_planning_changes_nothing_in_the_world() -> None:
    cfg = config()
    with World(cfg.world) as world, BulletCollisionChecker() as checker:
        episode = Episode(cfg, 2, world, checker)
        episode.begin()
        scene = episode.scene.state_tree
        before = {key: value.copy() for key, value in scene.state_dict().items()}
        assert Attempt(episode).plan().is_ready()
        scene.update_state()
        after = scene.state_dict()
    assert all(np.array_equal(before[key], after[key]) for key in before)


def test_a_plan_alone_is_the_plan_that_is_executed(runner: EpisodeRunner, record: EpisodeRecord) -> None:
    made = runner.plan(0).keyframe_plan
    assert made is not None
    alone, executed = made.to_dict(), dict(record.skills[0]["plan"])
    del alone["timings_ms"], executed["timings_ms"]
    assert alone == executed


@pytest.mark.slow
def test_warming_up_changes_nothing(record: EpisodeRecord) -> None:
    with EpisodeRunner(config()) as fresh:
        fresh.warm_up()
        assert same_bits(fresh.run(0), record)


def test_layouts_that_overlap_are_counted_not_redrawn() -> None:
    cfg = config("task.regions.0.center_m=[-0.2,0.0]", "task.regions.0.half_extent_m=[0.0,0.0]")
    with EpisodeRunner(cfg) as runner:
        record = runner.run(0)
    assert record.code == "invalid_layout"
    assert "overlaps" in record.evidence["message"]
    assert not recompute_success(record).success


@pytest.mark.parametrize(("y_m", "arm"), [(0.35, "left"), (-0.35, "right")])
def test_an_object_that_overlaps_one_of_two_arms_is_found(y_m: float, arm: str) -> None:
    region = f"task.regions.0.center_m=[0.0,{y_m}]", "task.regions.0.half_extent_m=[0.0,0.0]"
    with EpisodeRunner(config("robot=dual_panda", *region)) as runner:
        record = runner.run(0)
    assert record.code == "invalid_layout"
    assert record.evidence["pair"][0].startswith(f"{arm}_panda")


@pytest.mark.slow
def test_an_object_out_of_reach_is_plan_infeasible() -> None:
    cfg = config("task.regions.0.center_m=[1.6,0.0]")
    with EpisodeRunner(cfg) as runner:
        record = runner.run(0)
    assert record.code == "plan_infeasible"
    assert "point2point_constraint" in record.evidence["message"]
    assert not recompute_success(record).success


@pytest.mark.slow
def test_fingers_that_close_on_nothing_are_grasp_missed(runner: EpisodeRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Arm, "gripper_opening_m", property(lambda self: 0.0))
    record = runner.run(0)
    assert record.code == "grasp_missed"
    assert record.evidence["gripper_opening_m"] == 0.0
    assert not recompute_success(record).success


@pytest.mark.slow
def test_a_touch_of_the_object_by_the_arm_is_a_collision(
    runner: EpisodeRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a planner that sees no obstacles drives the hand into the microwave in most placements
    monkeypatch.setattr(BulletCollisionChecker, "deepest_collision", lambda *_args, **_kwargs: None)
    records = [runner.run(number) for number in range(6)]
    hits = [record for record in records if record.code == "collision"]
    assert hits
    for record in hits:
        violation = record.skills[0]["first_violation"]
        assert violation["force_n"] > 1.0
        assert record.evidence["pair"] == violation["pair"]
        verdict = recompute_success(record)
        assert (verdict.success, verdict.code) == (False, "collision")


@pytest.mark.slow
def test_a_finger_that_bears_more_than_its_gripper_allows_is_an_overload() -> None:
    with EpisodeRunner(config("robot.arms.0.gripper.finger_force_limit_n=5")) as runner:
        record = runner.run(0)
    assert (record.code, record.success) == ("overload", False)
    finger, hand, force_n, limit_n = (record.evidence[key] for key in ("finger", "hand", "force_n", "limit_n"))
    assert finger in runner.cfg.robot.arms[0].gripper.finger_links
    assert record.message == f"{finger} bore {force_n:.0f} N for longer than 20 ms (allowed 5 N)"
    sustained_n = record.arrays["contacts.franka_panda.left.fingers.force_sustained_n"]
    assert sustained_n[-1] == force_n > limit_n == 5.0
    assert sustained_n[:-1].max() <= limit_n
    assert record.evidence["time_s"] == record.arrays["time"][-1]
    verdict = recompute_success(record)
    assert (verdict.code, *(verdict.evidence[key] for key in ("hand", "force_n", "limit_n", "frame"))) == (
        "overload",
        hand,
        force_n,
        limit_n,
        record.n_actions,
    )
    assert hand == "franka_panda.left"
    assert check_record(record) == []
    for claim in ({"success": True, "code": None}, {"code": "slipped"}):
        (problem,) = check_record(replace(record, evidence={}, **claim))
        assert "overload" in problem


def test_mean_efforts_are_those_of_the_physics_steps(runner: EpisodeRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[np.ndarray] = []
    sample = EffortMean.sample

    def sample_and_note(self: EffortMean) -> None:
        sample(self)
        seen.append(episode.scene.robot.body.joint_states(runner.cfg.robot.arms[0].joints)[2])

    monkeypatch.setattr(EffortMean, "sample", sample_and_note)
    episode = runner.episode(0)
    episode.reset()
    seen.clear()
    episode.scene.advance_frame()
    values = episode.scene.interval_values()
    assert len(seen) == 8
    np.testing.assert_allclose(values["robots.franka_panda.left.joint_efforts_mean"], np.mean(seen, axis=0), rtol=1e-12)
    state = episode.scene.state_tree.state_dict()
    np.testing.assert_array_equal(state["robots.franka_panda.left.joint_efforts"], seen[-1])


@pytest.mark.slow
def test_a_switched_off_check_is_recorded() -> None:
    with EpisodeRunner(config("skills.0.collision_valid=false")) as runner:
        record = runner.run(0)
    assert record.skills[0]["collision_valid_enabled"] is False


def test_a_bug_ends_the_episode_and_keeps_its_traceback(runner: EpisodeRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Open) -> None:
        raise RuntimeError("made on purpose")

    monkeypatch.setattr(Open, "check_frame", broken)
    record = runner.run(0)
    assert record.code == "error"
    assert "made on purpose" in record.evidence["traceback"]
    assert not recompute_success(record).success


def test_an_episode_past_its_time_limit_is_a_timeout(runner: EpisodeRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "cfg", replace(runner.cfg, task=replace(runner.cfg.task, max_duration_s=1.0)))
    record = runner.run(0)
    assert record.code == "timeout"
    assert record.evidence["time_s"] == pytest.approx(1.0, abs=0.1)
    assert not recompute_success(record).success


@pytest.mark.parametrize("task", ["close_drawer", "close_microwave", "open_drawer"])
def test_every_task_succeeds_and_agrees_with_its_record(task: str) -> None:
    with EpisodeRunner(config(task=task)) as runner:
        record = runner.run(0)
    assert record.success, record.evidence
    assert recompute_success(record).success


@pytest.mark.slow
def test_phrasings_are_those_of_task_and_skill_and_the_drawn_one_comes_first() -> None:
    cfg = config(task="close_drawer")
    with EpisodeRunner(cfg) as runner:
        found = []
        for number in range(3):
            episode = runner.episode(number)
            episode.begin()
            episode.begin_skill(0)
            episode.conclude(Failure("timeout", "It is enough", 0.0))
            found.append(episode.record())
    for record in found:
        instance = record.layout["instances"]["drawer"]["instance"]
        asset = load_object(replace(cfg.object, instance=instance), rng=stream(0, "layout"))
        whole, step = phrasing_draws(record.seed, 2)
        assert record.language == task_language(cfg.task.language, [("close", asset, "drawer")], whole)
        (entry,) = record.skills
        assert entry["language"] == step_language([], "close", asset, "drawer", step)
        assert len(record.language) >= 3 <= len(entry["language"])


@pytest.mark.slow
def test_a_held_joint_is_recorded_and_still_opens() -> None:
    with EpisodeRunner(config("skills.0.planner_setting.update_art_joint=true")) as runner:
        record = runner.run(0)
        _, state = runner.replay_actions(record)
    held = record.arrays["actions.hold"][:, 0]
    first = record.skills[0]["frame_start"]
    assert not held[:first].any()
    assert held[first : record.skills[0]["frame_end"]].all()
    assert record.success, record.evidence
    ends = {key: array[-1:] for key, array in record.arrays.items()}
    deviation = largest_deviation({key: value[None] for key, value in state.items()}, ends)
    assert (deviation.value, deviation.arrays > 5) == (0.0, True), deviation


def test_without_update_art_joint_nothing_is_held(record: EpisodeRecord) -> None:
    assert not record.arrays["actions.hold"].any()


def test_ignored_links_are_left_out_of_the_planners_collisions(runner: EpisodeRunner) -> None:
    skill = runner.plan(0)
    context = skill.context
    q = np.array(context.arm_model.q_home)
    q[[1, 3]] = (1.4, -0.3)  # stretched forward and down, through whatever stands there
    context.checker.load(context.robot_model, context.obstacles())
    hit = context.checker.deepest_collision(q)
    assert hit is not None
    words = ["microwave", "table", "plinth"]
    context.checker.load(context.robot_model, context.obstacles(), ignored_substrings=words)
    left = context.checker.deepest_collision(q)
    assert left is None or not any(word in left.link_b for word in words)
