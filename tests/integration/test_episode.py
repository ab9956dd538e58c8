"""Episodes from configuration to record: what they depend on, and that every kind of failure is named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pybullet as p
import pytest

from tests.integration.episodes import assert_ends_alike, assert_success, assert_verified, run, run_task, same_bits
from unlatch.objects.library import load_object
from unlatch.robots.robot import Arm
from unlatch.simcore.recording.check import check_record
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.verdict import recompute_success
from unlatch.simcore.rng import stream
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.collision import BulletCollisionChecker
from unlatch.simcore.sim.world import World
from unlatch.skills.close import Close
from unlatch.skills.context import Failure
from unlatch.skills.open import Open
from unlatch.tasks.language import phrasing_draws, step_language, task_language
from unlatch.workflows.episode.attempt import Attempt
from unlatch.workflows.episode.episode import Episode
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.runner import EpisodeRunner

pytestmark = pytest.mark.integration

ARM = "franka_panda.left"


@pytest.fixture(scope="module")
def runner() -> Iterator[EpisodeRunner]:
    with EpisodeRunner(load("open_microwave")) as opened:
        yield opened


@pytest.fixture(scope="module")
def record(episode: Callable[..., EpisodeRecord]) -> EpisodeRecord:
    return episode("open_microwave")


def assert_failed(record: EpisodeRecord, code: str) -> None:
    """The episode failed with a code, and its record shows no success, either."""
    assert (record.success, record.code) == (False, code)
    assert not recompute_success(record).success


def test_a_record_is_complete_and_its_verdict_is_recomputed(record: EpisodeRecord) -> None:
    assert_success(record)
    assert {"plan", "reset", "execute"} <= record.timings_ms.keys()
    assert record.arrays[f"actions.{ARM}.joint_targets"].shape == (record.n_actions, 7)
    assert not record.arrays["actions.hold"].any()


@pytest.mark.slow
def test_an_episode_does_not_depend_on_what_ran_before(runner: EpisodeRunner, record: EpisodeRecord) -> None:
    assert not same_bits(runner.run(4), record)
    assert same_bits(runner.run(0), record)
    with EpisodeRunner(load("open_microwave")) as fresh:
        fresh.warm_up()
        assert same_bits(fresh.run(0), record)


def test_no_limit_of_the_robot_is_exceeded(runner: EpisodeRunner, record: EpisodeRecord) -> None:
    arm = runner.cfg.robot.arms[0]
    q, dq, tau = (record.arrays[f"robots.{ARM}.joint_{name}"] for name in ("positions", "velocities", "efforts"))
    assert np.all((q >= arm.lower) & (q <= arm.upper))
    assert np.all(np.abs(dq) <= arm.max_velocity)
    assert np.all(np.abs(tau) <= np.array(arm.max_effort) + 1e-9)


@pytest.mark.slow
def test_planning_changes_nothing_in_the_world() -> None:
    cfg = load("open_microwave")
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
    alone, executed = made.to_dict(), dict(record.skills[0]["plan"])
    del alone["timings_ms"], executed["timings_ms"]
    assert alone == executed


def test_layouts_that_overlap_are_counted_not_redrawn() -> None:
    record = run_task("open_microwave", *standing_at(-0.2, 0.0))
    assert_failed(record, "invalid_layout")
    assert "overlaps" in record.evidence["message"]


def standing_at(x_m: float, y_m: float) -> tuple[str, str]:
    return f"task.regions.0.center_m=[{x_m},{y_m}]", "task.regions.0.half_extent_m=[0.0,0.0]"


@pytest.mark.parametrize(("y_m", "arm"), [(0.35, "left"), (-0.35, "right")])
def test_an_object_that_overlaps_one_of_two_arms_is_found(y_m: float, arm: str) -> None:
    record = run_task("open_microwave", "robot=dual_panda", *standing_at(0.0, y_m))
    assert_failed(record, "invalid_layout")
    assert record.evidence["pair"][0].startswith(f"{arm}_panda")


@pytest.mark.slow
def test_fingers_that_close_on_nothing_are_grasp_missed(runner: EpisodeRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Arm, "gripper_opening_m", property(lambda self: 0.0))
    record = runner.run(0)
    assert_failed(record, "grasp_missed")
    assert record.evidence["gripper_opening_m"] == 0.0


@pytest.mark.slow
def test_a_touch_of_the_object_by_the_arm_is_a_collision(
    runner: EpisodeRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a planner that sees no obstacles drives the hand into the microwave in most placements
    monkeypatch.setattr(BulletCollisionChecker, "deepest_collision", lambda *_args, **_kwargs: None)
    hits = [record for record in map(runner.run, range(4)) if record.code == "collision"]
    assert hits
    for record in hits:
        violation = record.skills[0]["first_violation"]
        assert violation["force_n"] > 1.0
        assert record.evidence["pair"] == violation["pair"]
        verdict = recompute_success(record)
        assert (verdict.success, verdict.code) == (False, "collision")


@pytest.mark.slow
def test_a_finger_that_bears_more_than_its_gripper_allows_is_an_overload() -> None:
    cfg = load("open_microwave", "robot.arms.0.gripper.finger_force_limit_n=5")
    record = run(cfg)
    assert_failed(record, "overload")
    finger, hand, force_n, limit_n = (record.evidence[key] for key in ("finger", "hand", "force_n", "limit_n"))
    assert finger in cfg.robot.arms[0].gripper.finger_links
    assert record.message == f"{finger} bore {force_n:.0f} N for longer than 20 ms (allowed 5 N)"
    sustained_n = record.arrays[f"contacts.{ARM}.fingers.force_sustained_n"]
    assert sustained_n[-1] == force_n > limit_n == 5.0
    assert sustained_n[:-1].max() <= limit_n
    assert record.evidence["time_s"] == record.arrays["time"][-1]
    verdict = assert_verified(record)
    found = (verdict.code, *(verdict.evidence[key] for key in ("hand", "force_n", "limit_n", "frame")))
    assert found == ("overload", hand, force_n, limit_n, record.n_actions)
    assert hand == ARM
    for claim in ({"success": True, "code": None}, {"code": "slipped"}):
        (problem,) = check_record(replace(record, evidence={}, **claim))
        assert "overload" in problem


def test_a_bug_ends_the_episode_and_keeps_its_traceback(runner: EpisodeRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Open) -> None:
        raise RuntimeError("made on purpose")

    monkeypatch.setattr(Open, "check_frame", broken)
    record = runner.run(0)
    assert_failed(record, "error")
    assert "made on purpose" in record.evidence["traceback"]


def test_an_episode_past_its_time_limit_is_a_timeout(runner: EpisodeRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "cfg", replace(runner.cfg, task=replace(runner.cfg.task, max_duration_s=1.0)))
    record = runner.run(0)
    assert_failed(record, "timeout")
    assert record.evidence["time_s"] == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("task", ["close_drawer", "close_microwave", "open_drawer"])
def test_every_task_succeeds_and_agrees_with_its_record(task: str, episode: Callable[..., EpisodeRecord]) -> None:
    assert_success(episode(task))


@pytest.mark.slow
def test_phrasings_are_those_of_task_and_skill_and_the_drawn_one_comes_first() -> None:
    cfg = load("close_drawer")
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
    with EpisodeRunner(load("open_microwave", "skills.0.planner_setting.update_art_joint=true")) as runner:
        record = runner.run(0)
        assert_ends_alike(runner, record)
    held = record.arrays["actions.hold"][:, 0]
    first = record.skills[0]["frame_start"]
    assert not held[:first].any()
    assert held[first : record.skills[0]["frame_end"]].all()
    assert record.success, record.evidence


def test_ignored_links_are_left_out_of_the_planners_collisions(runner: EpisodeRunner) -> None:
    context = runner.plan(0).context
    q = np.array(context.arm_model.q_home)
    q[[1, 3]] = (1.4, -0.3)  # stretched forward and down, through whatever stands there
    context.checker.load(context.robot_model, context.obstacles())
    assert context.checker.deepest_collision(q) is not None
    words = ["microwave", "table", "plinth"]
    context.checker.load(context.robot_model, context.obstacles(), ignored_substrings=words)
    left = context.checker.deepest_collision(q)
    assert left is None or not any(word in left.link_b for word in words)


# The force of the grip is chosen for the part when the scene is built, set at the motors, and recorded.


@pytest.fixture(scope="module")
def checker() -> Iterator[BulletCollisionChecker]:
    with BulletCollisionChecker() as opened:
        yield opened


def efforts(checker: BulletCollisionChecker, task: str, *overrides: str, arm: str = "left") -> list[float]:
    """Returns the largest efforts [N] of the finger motors of an episode whose scene is built."""
    cfg = load(task, *overrides)
    with World(cfg.world) as world:
        episode = Episode(cfg, 0, world, checker)
        episode.reset()
    found = episode.scene.robot.arm(arm)
    return [found.drives.drives[joint].max_effort for joint in found.cfg.gripper.joints]


@pytest.mark.slow
def test_a_light_drawer_is_gripped_with_the_smallest_force_and_its_record_says_so(
    episode: Callable[..., EpisodeRecord],
) -> None:
    record = episode("open_drawer")
    assert_success(record)
    with EpisodeRunner(load("open_drawer")) as runner:
        assert record.skills[0]["grip_force_n"] == runner.cfg.robot.arms[0].gripper.least_force_n == 30.0
        assert_ends_alike(runner, record)


CATCH = ("open_microwave", "object.instance=2")
"""A door with a catch."""


@pytest.mark.slow
@pytest.mark.parametrize("arms", [("left",), ("left", "right")])
def test_a_door_with_a_catch_is_gripped_harder_by_every_hand(
    checker: BulletCollisionChecker, arms: tuple[str, ...]
) -> None:
    robot = ["robot=dual_panda"] if len(arms) == 2 else []
    held = [efforts(checker, *CATCH, *robot, arm=arm) for arm in arms]
    assert 30.0 < held[0][0] < 50.0
    assert held[0] == held[-1]


@pytest.mark.parametrize(
    ("task", "override", "force_n"),
    [
        pytest.param(CATCH, "grip_force_n=33", 33.0, marks=pytest.mark.slow, id="no more than the configured force"),
        pytest.param(("open_drawer",), "least_force_n=45", 45.0, id="a raised smallest force"),
    ],
)
def test_bounds_of_the_grip_force_can_be_changed(
    checker: BulletCollisionChecker, task: tuple[str, ...], override: str, force_n: float
) -> None:
    assert efforts(checker, *task, f"robot.arms.0.gripper.{override}") == [force_n, force_n]


@pytest.mark.parametrize("anchored", [True, False])
def test_friction_anchors_of_the_pads_can_be_switched_off(
    checker: BulletCollisionChecker, monkeypatch: pytest.MonkeyPatch, *, anchored: bool
) -> None:
    seen: dict[str, object] = {}
    original = Body.set_contact_material

    def note(self: Body, link: str, **values: object) -> None:
        seen[link] = values["friction_anchor"]
        original(self, link, **values)  # type: ignore[arg-type]

    monkeypatch.setattr(Body, "set_contact_material", note)
    efforts(checker, "open_drawer", f"robot.arms.0.gripper.friction_anchor={str(anchored).lower()}")
    assert seen == {"panda_leftfinger": anchored, "panda_rightfinger": anchored}


# A skill that moves the scene itself, in place of commanding the arm, is caught whatever its own verdict says.


def push_by_hand(skill: Close) -> None:
    skill.object.set_joints({skill.part.joint: skill.part.openness.closed})


def move_the_arm(skill: Close) -> None:
    arm = skill.context.arm
    arm.reset(arm.q + 0.01, gripper_m=arm.gripper_opening_m)


def throw(skill: Close) -> None:
    skill.object.body.set_joint_positions([skill.part.joint], [skill.s], np.array([-0.5]))


def tie(skill: Close) -> None:
    body = skill.object.body
    fixed = {"jointAxis": (0, 0, 0), "parentFramePosition": (0, 0, 0), "childFramePosition": (0, 0, 0)}
    hand = skill.context.robot.body
    link = body.link_index(skill.part.link)
    p.createConstraint(hand.body_id, 0, body.body_id, link, p.JOINT_POINT2POINT, physicsClientId=body.client, **fixed)


@pytest.mark.parametrize(
    ("cheat", "what"),
    [
        (push_by_hand, "drawer"),
        pytest.param(move_the_arm, "franka_panda", marks=pytest.mark.slow),
        pytest.param(throw, "drawer", marks=pytest.mark.slow),
        pytest.param(tie, "constraints", marks=pytest.mark.slow),
    ],
)
def test_a_skill_that_moves_the_scene_itself_is_an_error(
    cheat: Callable[[Close], None], what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = [0]

    def on_frame(self: Close) -> None:
        frames[0] += 1
        if frames[0] == 3:
            cheat(self)

    monkeypatch.setattr(Close, "check_frame", on_frame)
    monkeypatch.setattr(Close, "unmet_condition", lambda self: None)
    record = run_task("close_drawer")
    assert frames == [3]
    assert (record.success, record.code) == (False, "error")
    assert f"{what} of the scene changed between two record frames" in record.evidence["message"]
