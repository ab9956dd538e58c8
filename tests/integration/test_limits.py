"""No limit of the robot is exceeded: in any planned motion of the shipped tasks, and in any recorded trajectory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

import numpy as np
import pytest

from tests.solver.builders import stretches
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.skills.skill import Skill
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.runner import EpisodeRunner

pytestmark = [pytest.mark.integration, pytest.mark.slow]

TASKS = (
    "open_microwave",
    pytest.param("close_microwave", marks=pytest.mark.heavy),
    pytest.param("open_drawer", marks=pytest.mark.heavy),
    "close_drawer",
)
PLANS = 15
EPISODES = 2
ARM = "franka_panda.left"


@pytest.fixture(scope="module", params=TASKS)
def runner(request: pytest.FixtureRequest) -> Iterator[EpisodeRunner]:
    with EpisodeRunner(load(request.param, "seed=11")) as opened:
        yield opened


@pytest.fixture(scope="module")
def planned(runner: EpisodeRunner) -> list[Skill]:
    return [skill for skill in map(runner.plan, range(PLANS)) if skill.keyframe_plan.found]


@pytest.fixture(scope="module")
def records(runner: EpisodeRunner) -> list[EpisodeRecord]:
    return [runner.run(number) for number in range(EPISODES)]


def assert_inside_limits(q: np.ndarray, runner: EpisodeRunner, frame_s: float) -> None:
    arm = runner.cfg.robot.arms[0]
    assert np.all(q >= np.array(arm.lower))
    assert np.all(q <= np.array(arm.upper))
    # linear between two samples: the difference is the speed, and its change the acceleration
    speed = np.diff(q, axis=0) / frame_s
    rest = np.zeros((1, q.shape[1]))
    change = np.diff(np.vstack([rest, speed, rest]), axis=0) / frame_s
    fast, hard = np.abs(speed) / np.array(arm.max_velocity), np.abs(change) / np.array(arm.max_acceleration)
    assert fast.max() <= 1.0 + 1e-9, f"{fast.max():.3f} of a joint's speed limit"
    assert hard.max() <= 1.0 + 1e-9, f"{hard.max():.3f} of a joint's acceleration limit"


def test_every_timed_segment_is_inside_position_speed_and_acceleration(
    runner: EpisodeRunner, planned: list[Skill]
) -> None:
    assert len(planned) >= 0.9 * PLANS
    for skill in planned:
        model = skill.context.arm_model
        for segment in skill.keyframe_plan.segments:
            assert np.all(segment.q >= model.q_lower)  # the planner's own limits have a margin to the robot's
            assert np.all(segment.q <= model.q_upper)
        for q in stretches(skill.keyframe_plan.segments):
            assert_inside_limits(q, runner, skill.context.frame_s)


def test_every_timed_sample_and_every_step_between_is_collision_free(runner: EpisodeRunner) -> None:
    for number in range(0, PLANS, 5):
        skill = runner.plan(number)  # the checker holds the scene of the last plan
        plan = skill.keyframe_plan
        if plan.found:
            for kind, q, s, hit in overlaps(skill):
                pytest.fail(f"plan {number}: {hit} in the {kind} at q={q.round(3).tolist()}, s={s:.3f}")


def overlaps(skill: Skill) -> Iterator[tuple[str, np.ndarray, float, object]]:
    """What touches at the samples of a plan and half-way between them, the fingers on the part apart."""
    request, checker = skill.request(), skill.context.checker
    fingers = {link for pair in request.part_pairs for link in pair}
    held = 0.0 if request.closed_gripper else request.gripper_contact_m
    free = 0.0 if request.closed_gripper else request.gripper_open_m
    s_end = request.scene.s
    for segment in skill.keyframe_plan.segments:
        on_way = segment.kind == "follow"
        rows = np.arange(0.0, len(segment.q) - 0.75, 0.5)
        q = np.column_stack([np.interp(rows, np.arange(len(segment.q)), column) for column in segment.q.T])
        s = np.interp(rows, np.arange(len(segment.q)), segment.s) if on_way else np.full(len(rows), s_end)
        touching = segment.kind != "transit"
        for q_here, s_here in zip(q, s, strict=True):
            with checker.allow(request.contact_links) if touching else nullcontext():
                hit = checker.deepest_collision(
                    q_here, s=float(s_here), gripper=held if on_way else free, clearance_m=0.0
                )
            if hit is not None and not {hit.link_a, hit.link_b} <= fingers:
                yield segment.kind, q_here, float(s_here), hit
        s_end = float(s[-1])


def test_commanded_joint_targets_of_executed_episodes_keep_every_limit(
    runner: EpisodeRunner, records: list[EpisodeRecord]
) -> None:
    for record in records:
        assert_inside_limits(record.arrays[f"actions.{ARM}.joint_targets"], runner, 1.0 / runner.cfg.world.record_hz)
