"""Close: its commands, how far it pushes, and when the part is closed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from tests.integration.skills.planned import again, planned_skill
from unlatch.objects.annotation import Openness
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.skills.close import Close
from unlatch.skills.commands import ManipKind, Phase
from unlatch.solver.setting import SuccessMode
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.runner import EpisodeRunner

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def planned() -> Iterator[Close]:
    """A planned skill at the start of an episode; its scene lives as long as this module."""
    with planned_skill(load("close_drawer")) as skill:
        yield skill


@pytest.fixture
def skill(planned: Close) -> Iterator[Close]:
    """One that has not planned, in the same scene; the part is put back afterwards."""
    s = planned.s
    made = again(planned)
    joint = made.part.joint
    yield made
    made.object.set_joints({joint: s})


def test_the_fingers_are_closed_throughout(planned: Close) -> None:
    told = [(command.kind, command.phase) for command in planned.commands if command.phase is not Phase.transit]
    assert told == [
        (ManipKind.update_specific, Phase.idle),
        (ManipKind.close_gripper, Phase.approach),
        (ManipKind.update_specific, Phase.idle),
        (ManipKind.close_gripper, Phase.follow),
        (ManipKind.close_gripper, Phase.retreat),
    ]
    assert {command.kind for command in planned.commands if command.phase is Phase.transit} == {ManipKind.close_gripper}
    assert planned.request().closed_gripper
    assert not planned.finger_contact_required


def test_with_an_approach_width_the_part_is_grasped_led_and_let_go(skill: Close, planned: Close) -> None:
    grasping = again(skill, approach_width_m=0.03)
    told = [command.kind for command in grasping.make_commands(planned.keyframe_plan)]
    assert told[-5:] == [
        ManipKind.update_specific,
        ManipKind.close_gripper,
        ManipKind.close_gripper,
        ManipKind.open_gripper,
        ManipKind.open_gripper,
    ]
    request = grasping.request()
    assert not request.closed_gripper
    assert request.gripper_open_m == 0.03
    assert request.slips is None


def test_a_push_ends_at_closed_where_the_range_goes_on_and_at_a_force_or_without_a_touch_where_it_does_not(
    skill: Close, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[float] = []
    largest, mean = skill.views.fingers_link.force_max_n, skill.views.fingers_link.force_mean_n
    monkeypatch.setattr(type(skill.executor), "end_motion", lambda self: ended.append(skill.s))
    monkeypatch.setattr(Close, "phase", Phase.follow)
    openness = skill.part.openness
    skill.object.set_joints({skill.part.joint: openness.closed})
    skill.check_frame()
    assert ended == [openness.closed]  # something else brought the part to its stop: it needs no push
    ended.clear()
    largest.set_value(30.0)
    mean.set_value(19.0)
    skill.check_frame()
    assert not ended  # the fingers touch the part, and do not press it against its stop yet
    mean.set_value(21.0)
    skill.check_frame()
    assert ended == [openness.closed]
    ended.clear()
    largest.set_value(0.0)
    mean.set_value(0.0)
    inside = openness.closed + 0.1 * (openness.open - openness.closed)
    skill.part = replace(skill.part, openness=Openness(closed=inside, open=openness.open))
    skill.object.set_joints({skill.part.joint: inside + 0.02 * openness.sign})
    skill.check_frame()
    assert not ended
    skill.object.set_joints({skill.part.joint: inside})
    skill.check_frame()
    assert ended == [pytest.approx(inside)]


def test_no_pair_may_touch_before_the_fingers_are_at_the_part(planned: Close) -> None:
    before, after = (
        command.params["allowed_pairs"] for command in planned.commands if command.kind is ManipKind.update_specific
    )
    assert before == []
    assert {link for _, link in after} == {f"{planned.object_name}/{planned.part.link}"}
    assert {finger for finger, _ in after} == set(planned.context.arm.cfg.gripper.finger_links)


def test_what_slides_is_pushed_by_a_hand_that_keeps_its_direction_or_as_the_setting_says(skill: Close) -> None:
    assert [slip.mode.value for slip in skill.slips][:2] == ["fixed", "side"]
    assert skill.request().slips == skill.slips
    named = again(skill, slips=["side", "cone"]).request().slips
    assert named is not None
    assert [slip.mode.value for slip in named] == ["side", "cone"]


@pytest.mark.parametrize("opened", [0.3, -0.3])
def test_a_slider_is_pushed_three_millimetres_past_closed(skill: Close, opened: float) -> None:
    skill.part = replace(skill.part, openness=Openness(closed=0.1, open=0.1 + opened))
    assert skill.default_target() == pytest.approx(0.1 - np.sign(opened) * 0.003)


@pytest.mark.slow
def test_a_door_is_pushed_a_little_more_than_a_degree_past_closed() -> None:
    with EpisodeRunner(load("close_microwave")) as runner:
        episode = runner.episode(0)
        episode.begin()
        skill = episode.planner.make_skill(episode.planner.strategies(0)[0])
        assert isinstance(skill, Close)
        assert skill.default_target() == pytest.approx(skill.part.openness.closed - skill.part.openness.sign * 0.02)


@pytest.mark.slow
@pytest.mark.parametrize("task", ["close_drawer", "close_microwave"])
def test_a_part_that_its_catch_draws_to_its_stop_is_pressed_no_more(
    episode: Callable[..., EpisodeRecord], task: str
) -> None:
    record = episode(task)
    assert record.success
    (skill,) = record.skills
    assert abs(skill["s_end"] - skill["s_closed"]) < 0.01
    (forces,) = (record.arrays[key] for key in record.arrays if key.endswith(".fingers_link.force_mean_n"))
    assert (forces > 0.5).sum() > 10  # it was pushed all the way
    s = record.arrays["objects." + skill["object"] + ".joint_positions"][:, skill["joint_index"]]
    at_stop = int(np.argmax(np.abs(s - skill["s_closed"]) < 0.0005))
    # the part is there ahead of the hand; the plan, carried out to the end, would press with more than 20 N for 0.3 s
    assert forces.max() < 20.0
    assert not forces[at_stop:].any()
    assert np.abs(s[-30:] - skill["s_closed"]).max() < 0.01


def test_near_closed_is_closed_whatever_the_way_there(skill: Close) -> None:
    closed, allowed = skill.part.openness.closed, skill.cfg.planner_setting.success_threshold
    skill.object.set_joints({skill.part.joint: closed + skill.part.openness.sign * (allowed + 0.001)})
    failure = skill.unmet_condition()
    assert failure.code == "not_reached"
    assert failure.message == (
        f"'{skill.part.name}' is {allowed + 0.001:.3f} from closed, expected at most {allowed:.3f}"
    )
    skill.object.set_joints({skill.part.joint: closed + skill.part.openness.sign * (allowed + 0.00001)})
    failure = skill.unmet_condition()
    assert f"is {allowed + 0.00001:.5f} from closed, expected at most {allowed:.5f}" in failure.message
    skill.object.set_joints({skill.part.joint: closed + skill.part.openness.sign * (allowed - 0.001)})
    assert skill.unmet_condition() is None


@pytest.mark.parametrize("mode", [SuccessMode.dis_to_init, SuccessMode.fraction])
def test_a_part_may_be_closed_by_a_distance_or_a_share_instead(skill: Close, mode: SuccessMode) -> None:
    asked = again(skill, success_mode=mode, success_threshold=0.05)
    openness = asked.part.openness
    unit = abs(openness.open - openness.closed) if mode is SuccessMode.fraction else 1.0
    asked.object.set_joints({asked.part.joint: asked.s0 - asked.part.openness.sign * 0.04 * unit})
    failure = asked.unmet_condition()
    assert failure.message == f"'{asked.part.name}' moved 0.040 of the 0.050 wanted"
    asked.object.set_joints({asked.part.joint: asked.s0 - asked.part.openness.sign * 0.06 * unit})
    assert asked.unmet_condition() is None


def test_a_joint_is_held_once_it_is_closed_and_only_where_the_setting_asks(skill: Close) -> None:
    asked = again(skill, update_art_joint=True)
    assert asked.held_joints() == {}
    asked.object.set_joints({asked.part.joint: asked.part.openness.closed})
    assert asked.held_joints() == {skill.object_name: frozenset((skill.part.joint,))}
    assert again(skill, update_art_joint=False).held_joints() == {}
