"""Disturbed episodes have labels and replay; a skill that lost its part is planned anew from where things are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests.integration.episodes import assert_success, run, run_task
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.export.config import ExportCfg
from unlatch.simcore.recording.export.trajectory import TrajectoryMaker
from unlatch.simcore.recording.index import EpisodeSummary
from unlatch.skills.articulation import ArticulationSkill
from unlatch.skills.commands import ManipCommand, ManipKind, Phase
from unlatch.skills.grasping import GraspingSkill
from unlatch.skills.pick import Pick
from unlatch.skills.place import Place
from unlatch.skills.strategies.free_objects import GraspCandidate
from unlatch.solver import explanation
from unlatch.solver.plan import KeyframePlan
from unlatch.workflows.episode.criteria import Actor
from unlatch.workflows.gym.config import SuccessWhen
from unlatch.workflows.gym.env import UnlatchEnv
from unlatch.workflows.policies.catalog import wrap_policy
from unlatch.workflows.policies.takeover import PlannerLabels, TakeoverRule, run_correction
from unlatch.workflows.runs.loading import config_as, load
from unlatch.workflows.runs.replay import replay
from unlatch.workflows.runs.schema import CollectCfg, EnvCfg

pytestmark = pytest.mark.integration
ARM = "franka_panda.left"


def config(*overrides: str, task: str = "open_drawer") -> CollectCfg:
    return load(task, *overrides)


@pytest.fixture(scope="module")
def disturbed(episode: Callable[..., EpisodeRecord]) -> EpisodeRecord:
    return episode("open_drawer", "disturb=strong")


def assert_replays(record: EpisodeRecord, cfg: CollectCfg) -> None:
    """A replay by the function of the package, which also applies what disturbed the arm."""
    assert replay(record, cfg).deviation.value == 0.0


def test_a_disturbed_episode_has_the_planners_targets_as_labels(disturbed: EpisodeRecord) -> None:
    assert_success(disturbed, config("disturb=strong"))
    executed, planned = (disturbed.arrays[f"{word}.{ARM}.joint_targets"] for word in ("actions", "labels"))
    phases = disturbed.arrays["skills.phase"][1:]
    off = np.abs(executed - planned).max(axis=1)
    assert off[phases == Phase.transit.value].max() > 0.02
    assert not off[np.isin(phases, [Phase.grasp.value, Phase.release.value, Phase.settle.value])].any()
    np.testing.assert_array_equal(
        disturbed.arrays[f"actions.{ARM}.gripper_target"], disturbed.arrays[f"labels.{ARM}.gripper_target"]
    )


@pytest.mark.slow
def test_a_disturbed_episode_replays_exactly(disturbed: EpisodeRecord) -> None:
    assert_replays(disturbed, config("disturb=strong"))


def test_an_undisturbed_episode_has_the_same_plan_and_no_labels(
    disturbed: EpisodeRecord, episode: Callable[..., EpisodeRecord]
) -> None:
    plain = episode("open_drawer")
    assert not [key for key in plain.arrays if key.startswith("labels.")]
    assert plain.layout == disturbed.layout
    first = slice(0, 40)  # nothing has come of the noise yet: the labels are those of the undisturbed plan
    np.testing.assert_array_equal(
        plain.arrays[f"actions.{ARM}.joint_targets"][first], disturbed.arrays[f"labels.{ARM}.joint_targets"][first]
    )


@pytest.fixture
def lost_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first attempt of every episode loses its part halfway."""
    checked = GraspingSkill.check_frame

    def lose_part(skill: GraspingSkill) -> None:
        checked(skill)
        half_way = abs(skill.s - skill.s0) > 0.4 * abs(skill.follow_to - skill.s0)
        if skill.phase is Phase.follow and half_way and skill.keyframe_plan is not None:
            began_here = abs(skill.keyframe_plan.keyframes[0].s - skill.s0) < 0.01
            if began_here:
                skill.fail("slipped", "lost on purpose")

    monkeypatch.setattr(GraspingSkill, "check_frame", lose_part)


SHORT_WAY = "skills.0.planner_setting.post_actuation_motions={follow_joint: {to: 0.06}}"


def test_a_path_that_ends_before_the_part_has_arrived_is_extended() -> None:
    cfg = config(SHORT_WAY, "replan=0")
    record = run(cfg)
    assert_success(record, cfg)
    (skill,) = record.skills
    assert skill["s_end"] > 0.12
    assert (record.arrays["skills.phase"] == Phase.release.value).any()


def test_a_path_is_extended_by_less_where_the_arm_does_not_reach_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    plan_on, ways = ArticulationSkill._plan_on, list[float]()

    def plan_near(skill: ArticulationSkill, target: float, **options: bool) -> KeyframePlan | SimpleNamespace:
        ways.append(abs(target - skill.s))
        return plan_on(skill, target, **options) if ways[-1] < 0.08 else SimpleNamespace(found=False)

    monkeypatch.setattr(ArticulationSkill, "_plan_on", plan_near)
    cfg = config(SHORT_WAY, "replan=0")
    assert_success(run(cfg), cfg)
    assert ways[0] > 0.08 > ways[1]


def test_a_path_that_is_long_enough_is_not_extended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(ArticulationSkill, "_plan_on")
    cfg = config()
    assert_success(run(cfg), cfg)


@pytest.mark.slow
@pytest.mark.usefixtures("lost_once")
def test_a_part_that_was_lost_is_grasped_again_and_led_to_its_goal() -> None:
    cfg = config()
    record = run(cfg)
    assert_success(record, cfg)
    first, second = record.skills
    assert (first["attempt"], first["broken_off"], first["code"]) == (0, True, "slipped")
    assert (second["attempt"], second["broken_off"], second["success"]) == (1, False, True)
    assert second["s0"] == first["s0"]
    between = record.arrays["skills.phase"][first["frame_end"] + 1 : second["frame_start"] + 1]
    assert set(between.tolist()) == {Phase.follow.value, Phase.release.value, Phase.retreat.value}  # brakes first
    assert_replays(record, cfg)


@pytest.mark.slow
@pytest.mark.usefixtures("lost_once")
def test_a_part_that_was_lost_fails_the_episode_without_replans() -> None:
    record = run(config("replan=0"))
    assert (record.code, "attempt" in record.skills[0]) == ("slipped", False)


@pytest.mark.slow
def test_a_part_that_is_pushed_on_the_way_to_it_is_planned_anew_without_a_replan() -> None:
    only_nudges = ("disturb=strong", "disturb.nudge_probability=1", "disturb.free_rad=0", "disturb.follow_rad=0")
    cfg = config(*only_nudges, task="close_drawer")
    record = run(cfg)
    assert_success(record, cfg)
    first, second = record.skills
    assert (first["code"], first["attempt"], second["attempt"]) == ("part_moved", 0, 1)
    pushes = record.arrays["actions.push"]
    assert pushes.any()
    assert not pushes[second["frame_start"] :].any()
    moved = record.arrays["objects.drawer.joint_positions"][[first["frame_start"], second["frame_start"]]]
    assert np.abs(np.diff(moved, axis=0)).max() > 0.005
    assert_replays(record, cfg)
    targets = record.arrays[f"actions.{ARM}.joint_targets"][: second["frame_start"] + 5]
    changes = np.abs(np.diff(targets, 2, axis=0)) * 30.0**2
    limits = np.array(cfg.robot.arms[0].max_acceleration)
    assert np.all(changes.max(axis=0) <= limits)  # the arm brakes on its way, it does not stop dead
    assert EpisodeSummary.of(record, b"").replans == 0


def rows_of(record: EpisodeRecord) -> np.ndarray:
    """The (T, 8) joint and gripper targets that were executed."""
    return np.hstack([record.arrays[f"actions.{ARM}.{key}"] for key in ("joint_targets", "gripper_target")])


BEGUN = 5
"""Frames of standing still with which the environment has begun."""


def frames_until(record: EpisodeRecord, phase: Phase, share: float) -> int:
    """Number of actions of a recorded policy until a share of a phase is over."""
    frames = np.flatnonzero(record.arrays["skills.phase"] == phase.value)
    return round(np.interp(share, [0.0, 1.0], frames[[0, -1]])) - BEGUN


def correct(
    frames: int,
    *overrides: str,
    task: str = "open_drawer",
    rows: np.ndarray | None = None,
    label_every: int = 0,
) -> EpisodeRecord:
    """Episode 0 of a task: recorded actions act for some frames, then the planner takes over."""
    recorded = rows_of(run_task(task, *overrides)) if rows is None else rows
    cfg = config("policy=random", f"takeover={frames}", *overrides, task=task)
    with closing(UnlatchEnv(cfg=config_as(EnvCfg, cfg, success_when=SuccessWhen.still))) as env:
        env.options = replace(env.options, actor=Actor.both)
        left = iter(recorded[BEGUN:])
        policy = wrap_policy(lambda observation: next(left), env, name="recorded rows")
        rule = TakeoverRule.parse(cfg.takeover)
        return run_correction(env, policy, rule, "recorded rows", 0, label_every=label_every)


def events(record: EpisodeRecord) -> list[str]:
    return [event["event"] for event in record.events]


@pytest.mark.slow
def test_the_planner_takes_over_from_a_policy_and_labels_only_its_own_part() -> None:
    frames = 30  # in transit
    record = correct(frames)
    assert_success(record, config())
    assert record.events == [
        {"event": "takeover", "frame": 5 + frames, "policy": "recorded rows", "reason": "as drawn"}
    ]
    assert [entry.get("code") for entry in record.skills] == ["taken_over", None]
    valid = record.arrays[f"labels.{ARM}.valid"]
    assert not valid[5 : 5 + frames].any()
    assert valid[5 + frames :].all()
    (exported,) = TrajectoryMaker(ExportCfg(), {}).make(record)
    assert exported.n_actions == record.n_actions - 5 - frames
    assert len(exported.columns["observation.state"].values) == exported.n_actions + 1


@pytest.mark.slow
@pytest.mark.parametrize(("task", "share"), [("open_drawer", 0.1), ("close_drawer", 0.3), ("turn_stove_knob", 0.3)])
def test_the_planner_goes_on_with_the_grasp_that_a_policy_left(
    episode: Callable[..., EpisodeRecord], task: str, share: float
) -> None:
    demonstration = episode(task)
    record = correct(frames_until(demonstration, Phase.follow, share), task=task, rows=rows_of(demonstration))
    assert_success(record, config(task=task))
    assert events(record) == ["takeover", "grasp_kept"]
    assert [entry.get("code") for entry in record.skills] == ["taken_over", None]
    assert [segment["kind"] for segment in record.skills[1]["plan"]["segments"]] == ["follow", "retreat"]
    kept = slice(record.events[1]["frame"] + 1, None)
    phases = record.arrays["skills.phase"][kept]
    assert not np.isin(phases, [Phase.transit.value, Phase.approach.value]).any()
    follow = record.arrays["skills.phase"] == Phase.follow.value
    assert not record.arrays[f"actions.{ARM}.gripper_target"][follow[1:]].any()  # the fingers stay closed
    assert_replays(record, config(task=task))


@pytest.mark.slow
def test_a_hand_opens_and_steps_back_where_there_is_no_plan_from_its_grasp(
    episode: Callable[..., EpisodeRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    demonstration = episode("open_drawer")
    monkeypatch.setattr(explanation, "_OFF_M", 0.0)
    record = correct(frames_until(demonstration, Phase.follow, 0.1), rows=rows_of(demonstration))
    assert_success(record, config())
    assert events(record) == ["takeover", "grasp_released"]
    assert "off the place of its grasp" in record.events[1]["reason"]
    kinds = [segment["kind"] for segment in record.skills[1]["plan"]["segments"]]
    assert kinds == ["transit", "approach", "follow", "retreat"]


@pytest.mark.slow
def test_a_part_that_reaches_its_goal_while_the_arm_of_a_policy_brakes_counts_as_moved_by_the_policy(
    episode: Callable[..., EpisodeRecord],
) -> None:
    demonstration = episode("open_microwave")
    s = demonstration.arrays["objects.microwave.joint_positions"][:, 0]
    short = float(demonstration.skills[0]["success_threshold"]) - np.radians(4.0)
    frames = int(np.argmax(s > short)) - BEGUN  # the door is 4 degrees short of its threshold, and moves
    record = correct(frames, task="open_microwave", rows=rows_of(demonstration))
    assert_success(record, config(task="open_microwave"))
    assert events(record) == ["takeover"]
    assert [entry["success"] for entry in record.skills] == [True]


@pytest.mark.slow
def test_fingers_that_do_not_hold_the_part_do_not_go_on_with_their_grasp(
    episode: Callable[..., EpisodeRecord],
) -> None:
    demonstration = episode("open_drawer")
    recorded, frames = rows_of(demonstration), frames_until(demonstration, Phase.grasp, 1.0)
    held = recorded[BEGUN + frames - 1]
    with closing(UnlatchEnv(cfg=config_as(EnvCfg, config()))) as env:
        env.reset(options={"episode": 0})
        for row in recorded[BEGUN : BEGUN + frames]:
            env.step(row)
        for _ in range(20):
            env.step(held)
        skill = env.episode.judge.current[-1].skill
        assert isinstance(skill, GraspingSkill)
        assert skill.plan_from_grasp() is None
        assert skill.commands
        skill.views.fingers_link.touching_links = frozenset({"panda_leftfinger"})
        assert skill.plan_from_grasp() == "1 of 2 fingers touch 'drawer'"
        skill.views.fingers_link.touching_links = frozenset()
        assert skill.plan_from_grasp() == "0 of 2 fingers touch 'drawer'"
        env.step(held + np.array([0.1] + 7 * [0.0]))  # the arm is not there yet
        assert "away from its targets, expected at most 0.03" in str(skill.plan_from_grasp())


@pytest.mark.slow
def test_labels_of_a_policy_that_acts_like_the_planner_are_its_own_actions(
    episode: Callable[..., EpisodeRecord],
) -> None:
    demonstration = episode("open_drawer", "variety=0")
    frames = frames_until(demonstration, Phase.follow, 0.75)
    record = correct(frames, "variety=0", rows=rows_of(demonstration), label_every=8)
    assert_success(record, config("variety=0"))
    acted = slice(BEGUN, BEGUN + frames)
    joints = f"robots.{ARM}.joint_positions"  # the planner of labels leaves the world alone
    np.testing.assert_array_equal(record.arrays[joints][acted], demonstration.arrays[joints][acted])
    valid = record.arrays[f"labels.{ARM}.valid"]
    assert valid.all()
    (exported,) = TrajectoryMaker(ExportCfg(), {}).make(record)
    assert exported.n_actions == record.n_actions
    hand = "ee_target_position"
    off_m = np.linalg.norm(record.arrays[f"labels.{ARM}.{hand}"] - record.arrays[f"actions.{ARM}.{hand}"], axis=1)
    assert np.median(off_m[acted]) < 0.003
    assert off_m[acted].max() < 0.03
    phases = demonstration.arrays["skills.phase"][1:][acted]
    closed = record.arrays[f"labels.{ARM}.gripper_target"][acted, 0] == 0.0
    assert not closed[phases == Phase.transit.value].any()
    assert closed[phases == Phase.follow.value].all()
    assert_replays(record, config("variety=0"))


@pytest.mark.slow
def test_labels_of_a_policy_that_stands_still_are_the_beginning_of_the_plan_again_and_again(
    episode: Callable[..., EpisodeRecord],
) -> None:
    rows = rows_of(episode("open_drawer", "variety=0"))
    record = correct(16, "variety=0", rows=np.tile(rows[4], (40, 1)), label_every=8)
    labels = record.arrays[f"labels.{ARM}.joint_targets"]
    np.testing.assert_allclose(labels[5:13], rows[5:13, :7], atol=1e-6)
    np.testing.assert_allclose(labels[13:21], rows[5:13, :7], atol=1e-3)


@pytest.mark.slow
def test_frames_of_a_policy_in_which_the_planner_has_no_plan_have_no_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = PlannerLabels._plan
    calls = iter([True, False, True, True])
    monkeypatch.setattr(PlannerLabels, "_plan", lambda self, run: planned(self, run) if next(calls) else None)
    record = correct(28, "variety=0", label_every=8)
    valid = record.arrays[f"labels.{ARM}.valid"]
    assert valid[:13].all()
    assert not valid[13:21].any()
    assert valid[21:].all()
    made = TrajectoryMaker(ExportCfg(), {}).make(record)
    assert [each.n_actions for each in made] == [13, record.n_actions - 21]
    assert [each.success for each in made] == [False, True]


def test_labels_without_a_policy_are_refused() -> None:
    with pytest.raises(ConfigError, match="label_every=8 has no effect without a policy"):
        config("label_every=8")


@pytest.fixture
def missed_and_dropped_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first grasp of an episode is beside its object, and the hand opens on the first way with it."""
    candidates, make_commands, seen = Pick._candidates, Place.make_commands, set[str]()

    def find_beside(skill: Pick) -> Iterator[GraspCandidate]:
        offset = Pose.from_translation([0.0, 0.0, 0.0] if "pick" in seen else [0.0, -0.12, 0.0])
        seen.add("pick")
        return (replace(each, T_world_tool=offset @ each.T_world_tool) for each in candidates(skill))

    def open_on_the_way(skill: Place, plan: KeyframePlan) -> list[ManipCommand]:
        commands = make_commands(skill, plan)
        first, *others = commands
        if "place" in seen or first.motion is None:
            return commands
        seen.add("place")
        return [replace(first, kind=ManipKind.open_gripper, motion=replace(first.motion, gripper_m=0.08)), *others]

    monkeypatch.setattr(Pick, "_candidates", find_beside)
    monkeypatch.setattr(Place, "make_commands", open_on_the_way)


@pytest.mark.slow
@pytest.mark.usefixtures("missed_and_dropped_once")
def test_an_object_that_was_missed_or_dropped_is_picked_again() -> None:
    cfg = config("replan=1", "skills.0.lift_m=0.025", task="place_can")
    record = run(cfg)
    assert_success(record, cfg)
    entries = [(each["name"], each["attempt"], each.get("code")) for each in record.skills]
    assert entries == [
        ("pick", 0, "grasp_missed"),
        ("pick", 1, None),
        ("place", 0, "slipped"),
        ("pick", 2, None),
        ("place", 1, None),
    ]


def test_an_arm_with_ten_frames_a_second_is_not_called_blocked_while_it_moves(
    episode: Callable[..., EpisodeRecord],
) -> None:
    """The motors follow the actions two frames later: at ten frames a second, a fast arm is 0.2 rad behind the last."""
    record = episode("open_drawer", "world.record_hz=10")
    moved, asked = (record.arrays[key] for key in (f"robots.{ARM}.joint_positions", f"actions.{ARM}.joint_targets"))
    assert np.abs(moved[1:] - asked).max() > 0.15
    assert_success(record, config("world.record_hz=10"))
    assert [entry["attempt"] for entry in record.skills] == [0]
