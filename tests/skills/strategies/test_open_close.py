"""Derived settings for opening: how the hand holds knobs and edges, and what it may do on them."""

from dataclasses import replace

import numpy as np
import pytest

from tests.skills.builders import CLOSED, HAND, part_of
from unlatch.objects.annotation import Handle, HandleType, Openness, PartKind
from unlatch.skills.strategies.open_close import (
    count_holds,
    goal_value,
    grasp_setting,
    led_to,
    opened_to,
    push_setting,
    start_range,
)
from unlatch.skills.strategies.ranking import rotate_setting


def moves_by(part, span):
    """A part with another range."""
    return replace(part, openness=Openness(closed=0.0, open=span), closing_forces=None)


@pytest.mark.parametrize("along", [False, True])
def test_pads_meet_the_faces_of_a_blade_flat_whichever_skill_turns_it(along):
    _, knob = part_of("safe", "knob")
    size = np.array([0.02, 0.012, 0.04])  # with flat faces
    blade = replace(knob, handle=Handle(HandleType.knob, size, knob.handle.T_link_handle))
    opened = grasp_setting(blade, CLOSED, along=along)
    point, closing, _ = opened.constraint_list
    assert point.tolerance <= 0.0005
    assert closing.tool_names()["axis_to_keypoint_name"] == "tool_side"
    # a finger closes at 0.05 m/s; 9 mm from the axis, it turns a blade at 5.5 rad/s until the blade is in line
    assert closing.tolerance <= 0.005
    assert opened.constraint_list == rotate_setting(blade, None, along=along).constraint_list


def test_a_part_that_is_pressed_past_its_limit_by_a_hair_has_nothing_left_to_open():
    little = moves_by(part_of("safe", "knob")[1], 0.14)
    assert goal_value("open", little, (0.14 + 1e-8, 0.14 + 1e-8)) == 0.0


def test_a_round_handle_of_a_drawer_is_held_across_and_a_panel_may_turn_between_the_pads():
    _, knob = part_of("safe", "knob")
    assert len(grasp_setting(knob, CLOSED).constraint_list) == 2  # at any angle
    assert len(grasp_setting(replace(knob, kind=PartKind.slider), CLOSED).constraint_list) == 3
    assert grasp_setting(part_of("laptop", "lid")[1], (0.4, 0.4)).slips == ["side"]  # it does not pry them apart
    assert grasp_setting(part_of("drawer", "drawer")[1], CLOSED).slips == []


@pytest.mark.parametrize("span", [0.003, 0.029])
def test_a_button_is_pressed_from_fully_out_with_tolerances_that_follow_its_range(span):
    asset, held = part_of("drawer", "drawer")
    button = replace(moves_by(held, span), handle=Handle(HandleType.none, np.zeros(3)))
    start = start_range("close", button, asset)
    assert start == (span, span)
    setting = push_setting(button, asset, HAND, start)
    assert setting.success_threshold == pytest.approx(0.25 * span)
    point, _, palm = setting.constraint_list
    # neither the point nor a corner of the leaning fingertips uses up what counts as closed
    assert point.tolerance + palm.tolerance * HAND.tip_half_m < 0.5 * setting.success_threshold


def test_a_part_that_moves_little_is_led_to_the_end_of_its_range():
    _, drawer = part_of("drawer", "drawer")
    little = moves_by(drawer, 0.02)
    assert goal_value("open", little, CLOSED) == pytest.approx(0.6 * 0.02)
    assert opened_to(little, CLOSED) == pytest.approx(0.97 * 0.02)
    assert opened_to(moves_by(drawer, 0.1), CLOSED) == pytest.approx(1.5 * 0.6 * 0.1)


@pytest.mark.parametrize(
    ("category", "name", "start", "asked", "holds"),
    [
        ("laptop", "lid", (0.4, 0.48), 1.3, 1),
        ("laptop", "lid", (0.4, 0.48), 1.8, 2),
        ("laptop", "lid", (0.4, 0.48), 2.8, 3),
        # a flap that hangs down in the end takes a second hold
        ("oven", "door", CLOSED, 1.6, 1),
        ("oven", "door", CLOSED, 2.2, 2),
    ],
)
def test_a_part_takes_more_holds_the_further_it_is_led(category, name, start, asked, holds):
    asset, part = part_of(category, name)
    assert (category != "oven") or part.kind is PartKind.hinge_horizontal
    assert count_holds(moves_by(part, 3.1), asset, start, asked) == holds


@pytest.mark.parametrize(("handle", "asked", "holds"), [("bar", 1.4, 1), ("bar", 2.5, 2), ("edge", 2.5, 1)])
def test_a_door_that_a_hand_leads_far_by_its_handle_takes_a_second_hold_unless_it_is_there_at_once(
    handle, asked, holds
):
    asset, door = part_of("microwave", "door")
    made = replace(moves_by(door, 3.1), handle=Handle(HandleType(handle), np.array([0.02, 0.02, 0.2])))
    assert count_holds(made, asset, CLOSED, asked) == holds
    assert count_holds(made, asset, (1.9, 1.9), asked) == 1


def test_a_part_is_led_a_little_beyond_what_is_asked_and_must_reach_it():
    part, start, asked = moves_by(part_of("laptop", "lid")[1], 3.1), (2.3, 2.3), 2.8
    follow = led_to(grasp_setting(part, start), part, start, asked).follow_joint
    assert (follow.to, follow.reach) == pytest.approx((asked + 0.03 * (asked - start[0]), asked), abs=0.01)
    assert led_to(grasp_setting(part, start), part, start, 3.09).follow_joint.to == pytest.approx(3.1)
