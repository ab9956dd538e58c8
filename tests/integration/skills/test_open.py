"""Open: its commands, how far it leads the part, and when it fails."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from tests.integration.episodes import assert_success, run_task
from tests.integration.skills.planned import again, planned_skill
from unlatch.objects.annotation import Openness
from unlatch.simcore.sim.world import WorldCfg
from unlatch.skills import articulation
from unlatch.skills.commands import ManipKind, Phase
from unlatch.skills.open import Open
from unlatch.solver.diagnosis import Diagnosis
from unlatch.solver.setting import SuccessMode
from unlatch.solver.solution import angles_between
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.runner import EpisodeRunner

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def planned() -> Iterator[Open]:
    """A planned skill at the start of an episode; its scene lives as long as this module."""
    with planned_skill(load("open_microwave")) as skill:
        yield skill


def at_rate(skill: Open, record_hz: int) -> Open:
    """The same skill with the same plan, in a world of another record rate."""
    other = Open(skill.cfg, replace(skill.context, rates=WorldCfg(record_hz=record_hz)))
    other.keyframe_plan = skill.keyframe_plan
    return other


@pytest.mark.parametrize(("record_hz", "grasp", "release"), [(20, 17, 8), (30, 26, 12), (60, 51, 24)])
def test_fingers_have_the_same_time_at_every_record_rate(
    planned: Open, record_hz: int, grasp: int, release: int
) -> None:
    commands = at_rate(planned, record_hz).make_commands(planned.keyframe_plan)
    dwells = {command.phase: command.dwell_frames for command in commands if command.dwell_frames}
    assert dwells == {Phase.grasp: grasp, Phase.release: release}


@pytest.fixture
def skill(planned: Open) -> Iterator[Open]:
    """One that has not planned, in the same scene; arm and part are put back afterwards."""
    arm, joint = planned.context.arm, planned.part.joint
    q, s = arm.q, planned.s
    made = again(planned)
    yield made
    arm.reset(q, gripper_m=arm.cfg.gripper.max_width_m)
    made.object.set_joints({joint: s})


def test_the_fingers_are_open_to_the_handle_closed_along_the_joint_and_open_again(planned: Open) -> None:
    told = [
        (command.kind, command.phase, sorted(command.params.get("allowed_pairs", [])))
        for command in planned.commands
        if command.phase is not Phase.transit
    ]
    fingers = planned.context.arm.cfg.gripper.finger_links
    pairs = sorted((finger, f"{planned.object_name}/{planned.part.link}") for finger in fingers)
    assert told == [
        (ManipKind.update_specific, Phase.idle, []),
        (ManipKind.open_gripper, Phase.approach, []),
        (ManipKind.update_specific, Phase.idle, pairs),
        (ManipKind.close_gripper, Phase.grasp, []),
        (ManipKind.close_gripper, Phase.follow, []),
        (ManipKind.open_gripper, Phase.release, []),
        (ManipKind.open_gripper, Phase.retreat, []),
    ]
    assert [command.kind for command in planned.commands if command.phase is Phase.transit] == [ManipKind.open_gripper]


def test_motions_join_and_the_follow_ends_at_its_target(planned: Open) -> None:
    motions = [command.motion for command in planned.commands if command.motion is not None]
    for before, after in pairwise(motions):
        assert np.abs(after.q[0] - before.q[-1]).max() < 0.05
    (follow,) = [command.motion for command in planned.commands if command.phase is Phase.follow]
    assert follow.s[-1] == pytest.approx(planned.follow_to, abs=1e-6)


def test_the_default_target_is_a_fifth_beyond_the_threshold(skill: Open) -> None:
    assert skill.default_target() == pytest.approx(skill.s0 + skill.part.openness.sign * 1.2 * 0.7)
    share = again(skill, success_mode=SuccessMode.fraction, success_threshold=0.5)
    span = skill.part.openness.open - skill.part.openness.closed
    assert share.default_target() == pytest.approx(skill.s0 + 1.2 * 0.5 * span)


def test_the_default_target_stops_short_of_the_end_of_the_joint(skill: Open) -> None:
    closed, opened = skill.part.openness.closed, skill.part.openness.open
    far = again(skill, success_threshold=10.0)
    assert far.default_target() == pytest.approx(closed + 0.97 * (opened - closed))


@pytest.mark.parametrize("opened", [1.5, -1.5])
def test_a_joint_that_opens_the_other_way_is_led_the_other_way(skill: Open, opened: float) -> None:
    skill.part = replace(skill.part, openness=Openness(closed=0.0, open=opened))
    skill.s0 = 0.0
    assert skill.default_target() == pytest.approx(np.sign(opened) * 0.84)


@pytest.mark.parametrize("mode", [None, SuccessMode.abs, SuccessMode.normal, SuccessMode.fraction])
def test_a_part_that_has_not_moved_far_enough_has_an_unmet_condition(skill: Open, mode: SuccessMode | None) -> None:
    asked = again(skill, success_mode=mode, success_threshold=0.5)
    openness = asked.part.openness
    unit = abs(openness.open - openness.closed) if mode is SuccessMode.fraction else 1.0
    asked.object.set_joints({asked.part.joint: asked.s0 + asked.part.openness.sign * 0.49 * unit})
    failure = asked.unmet_condition()
    assert failure.code == "not_reached"
    assert failure.message == "'door' moved 0.490 of the 0.500 wanted"
    asked.object.set_joints({asked.part.joint: asked.s0 + asked.part.openness.sign * 0.51 * unit})
    assert asked.unmet_condition() is None


def test_fingers_that_closed_on_nothing_have_missed(skill: Open) -> None:
    skill._check_grasp(touching=True)
    assert skill.failure is None
    skill._check_grasp(touching=False)
    assert skill.failure.code == "grasp_missed"
    assert skill.failure.message == "The fingers closed to 80.0 mm and hold nothing of 'door'"


def test_closed_fingers_that_touch_hold_nothing_either(skill: Open) -> None:
    skill.context.arm.reset(skill.context.arm.q, gripper_m=0.001)
    skill._check_grasp(touching=True)
    assert skill.failure.evidence["gripper_opening_m"] == pytest.approx(0.001)


@pytest.mark.parametrize(("record_hz", "frames"), [(20, 10), (30, 15), (60, 30)])
def test_half_a_second_without_the_part_is_a_slip(planned: Open, record_hz: int, frames: int) -> None:
    skill = at_rate(planned, record_hz)
    skill.executor.load([command for command in planned.commands if command.phase is Phase.follow])
    skill._follow_index = skill.executor.index  # the fingers have closed on the part
    for _ in range(frames - 1):
        skill.check_frame()
    assert skill.failure is None
    skill.check_frame()
    assert skill.failure.code == "slipped"
    assert skill.failure.evidence["frames_without_contact"] == frames


@pytest.mark.parametrize("has_met", [False, True])
def test_a_hook_has_two_seconds_to_meet_the_part_and_to_meet_it_again(
    planned: Open, monkeypatch: pytest.MonkeyPatch, has_met: bool
) -> None:
    skill = at_rate(planned, 30)
    monkeypatch.setattr(Open, "closed_gripper", property(lambda _: True))
    skill.executor.load([command for command in planned.commands if command.phase is Phase.follow])
    force = skill.views.fingers_link.force_max_n
    force.set_value(1.0 if has_met else 0.0)
    skill.check_frame()
    force.set_value(0.0)
    frames = 60 if has_met else 59  # the first frame without it is the one above, where it was not met
    for _ in range(frames - 1):
        skill.check_frame()
    assert skill.failure is None
    skill.check_frame()
    assert skill.failure.code == ("slipped" if has_met else "grasp_missed")
    assert has_met or skill.failure.message == "The hooking fingers did not meet 'door' in 2 s"


def test_no_plan_is_a_failure_with_the_planners_reason(
    planned: Open, skill: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    diagnosis = Diagnosis("path_infeasible", "the hand gets to 0.300 only", {"reached": 0.3})
    found = replace(planned.keyframe_plan, found=False, diagnosis=diagnosis)
    monkeypatch.setattr(articulation, "plan_keyframes", lambda *_: found)
    assert not skill.plan(np.random.default_rng(0))
    assert not skill.is_feasible()
    assert not skill.is_ready()
    assert (skill.failure.code, skill.failure.message) == ("path_infeasible", "the hand gets to 0.300 only")


@pytest.mark.slow
@pytest.mark.parametrize("task", ["open_microwave", "open_drawer"])
@pytest.mark.parametrize("record_hz", [20, 60])
def test_a_part_opens_at_other_record_rates(task: str, record_hz: int) -> None:
    assert_success(run_task(task, f"world.record_hz={record_hz}"))


def test_a_hook_leads_half_as_fast_as_fingers_that_hold(skill: Open) -> None:
    hook = again(skill, approach_width_m=0.0)
    assert skill.request().part_speed is None  # the planner's own, 0.5 rad/s
    assert hook.request().part_speed == 0.25
    assert hook.closed_gripper


@pytest.mark.slow
def test_a_hand_that_pinches_the_edge_of_a_lid_turns_with_the_lid() -> None:
    with EpisodeRunner(load("object=laptop", "skill=open")) as runner:
        skill = runner.plan(0)
        assert isinstance(skill, Open)
        plan, scene = skill.keyframe_plan, skill.snapshot()
        assert plan.found
        assert not skill.closed_gripper
        (led,) = (segment for segment in plan.segments if segment.kind == "follow")
        R, _ = skill.context.arm_model.kinematics.fk_batch(led.q)
        closing = R @ skill.context.arm_model.side_axis()
        with_lid = np.array([scene.joint.motion(float(s) - scene.s)[0] @ closing[0] for s in led.s])
        assert abs(led.s[-1] - led.s[0]) > 0.6
        assert angles_between(closing, with_lid).max() < 5e-3  # pads at an angle to a lid pry each other apart
