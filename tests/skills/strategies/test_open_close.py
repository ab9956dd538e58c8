"""Derived settings for opening: how the hand holds knobs and edges, and what it may do on them."""

from dataclasses import replace

import numpy as np
import pytest

from unlatch.objects.annotation import SPOT, Handle, HandleType, Openness, PartKind
from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_object
from unlatch.robots.catalog import load_robot
from unlatch.robots.hand_shape import hand_shape
from unlatch.simcore.errors import ConfigError
from unlatch.skills.strategies.open_close import (
    count_holds,
    goal_value,
    grasp_setting,
    inside_push_setting,
    led_to,
    opened_to,
    push_setting,
    start_range,
)
from unlatch.skills.strategies.ranking import rotate_setting


def part_of(category, name):
    """A part of a generated object."""
    asset = load_object(ObjectCfg(category, category, instance="0"), rng=np.random.default_rng(0))
    return asset.articulation.parts[name]


def blade():
    """A knob with flat faces."""
    part = part_of("safe", "knob")
    return replace(part, handle=Handle(HandleType.knob, np.array([0.02, 0.012, 0.04]), part.handle.T_link_handle))


@pytest.mark.parametrize("along", [False, True])
def test_pads_meet_the_faces_of_a_blade_flat_whichever_skill_turns_it(along):
    opened = grasp_setting(blade(), (0.0, 0.0), along=along)
    point, closing, _ = opened.constraint_list
    assert point.tolerance <= 0.0005
    assert closing.tool_names()["axis_to_keypoint_name"] == "tool_side"
    # a finger closes at 0.05 m/s; 9 mm from the axis, it turns a blade at 5.5 rad/s until the blade is in line
    assert closing.tolerance <= 0.005
    assert opened.constraint_list == rotate_setting(blade(), None, along=along).constraint_list


def test_a_round_handle_of_a_drawer_is_held_across_and_a_round_knob_at_any_angle():
    knob = part_of("safe", "knob")
    drawer = replace(knob, kind=PartKind.slider)
    assert len(grasp_setting(knob, (0.0, 0.0)).constraint_list) == 2
    assert len(grasp_setting(drawer, (0.0, 0.0)).constraint_list) == 3


def test_a_panel_may_turn_between_the_pads_but_not_pry_them_apart():
    lid = part_of("laptop", "lid")
    assert grasp_setting(lid, (0.4, 0.4)).slips == ["side"]
    assert grasp_setting(part_of("drawer", "drawer"), (0.0, 0.0)).slips == []


def moves_by(part, span):
    """A part with another range."""
    return replace(part, openness=Openness(closed=0.0, open=span), closing_forces=None)


@pytest.mark.parametrize("span", [0.003, 0.01, 0.029])
def test_a_button_is_pressed_from_fully_out_with_tolerances_that_follow_its_range(span):
    hand = hand_shape("franka_panda", load_robot("franka_panda").arms[0])
    asset = load_object(ObjectCfg("drawer", "drawer", instance="0"), rng=np.random.default_rng(0))
    held = moves_by(asset.articulation.parts["drawer"], span)
    button = replace(held, handle=Handle(HandleType.none, np.zeros(3)))
    start = start_range("close", button, asset)
    assert start == (span, span)
    setting = push_setting(button, asset, hand, start)
    assert setting.success_threshold == pytest.approx(0.25 * span)
    point, _, palm = setting.constraint_list
    # neither the point nor a corner of the leaning fingertips uses up what counts as closed
    assert point.tolerance + palm.tolerance * hand.tip_half_m < 0.5 * setting.success_threshold
    with pytest.raises(ConfigError, match=r"a finger presses it, and a hand cannot hold it. Use skill=close"):
        grasp_setting(button, (0.0, 0.0))


def test_a_part_that_moves_little_is_led_to_the_end_of_its_range():
    drawer = part_of("drawer", "drawer")
    little, start = moves_by(drawer, 0.02), (0.0, 0.0)
    assert goal_value("open", little, start) == pytest.approx(0.6 * 0.02)
    assert opened_to(little, start) == pytest.approx(0.97 * 0.02)
    assert opened_to(moves_by(drawer, 0.1), start) == pytest.approx(1.5 * 0.6 * 0.1)


@pytest.mark.parametrize(
    ("category", "name", "asked", "holds"),
    [("laptop", "lid", 1.3, 1), ("laptop", "lid", 1.8, 2), ("laptop", "lid", 2.8, 3), ("microwave", "door", 1.5, 1)],
)
def test_a_lid_takes_more_holds_the_further_its_edge_is_led(category, name, asked, holds):
    asset = load_object(ObjectCfg(category, category, instance="0"), rng=np.random.default_rng(0))
    part = moves_by(asset.articulation.parts[name], 3.1)
    assert count_holds(part, asset, (0.4, 0.48), asked) == holds


@pytest.mark.parametrize(("asked", "holds"), [(1.4, 1), (1.6, 1), (2.2, 2), (2.8, 2)])
def test_a_flap_that_hangs_down_in_the_end_takes_a_second_hold(asked, holds):
    asset = load_object(ObjectCfg("oven", "oven", instance="0"), rng=np.random.default_rng(0))
    door = moves_by(asset.articulation.parts["door"], 3.1)
    assert door.kind is PartKind.hinge_horizontal
    assert count_holds(door, asset, (0.0, 0.0), asked) == holds


@pytest.mark.parametrize(("handle", "asked", "holds"), [("bar", 1.4, 1), ("bar", 2.5, 2), ("edge", 2.5, 1)])
@pytest.mark.parametrize("start", [(0.0, 0.0), (1.9, 1.9)])
def test_a_door_that_a_hand_leads_far_by_its_handle_takes_a_second_hold(handle, asked, holds, start):
    asset = load_object(ObjectCfg("microwave", "microwave", instance="0"), rng=np.random.default_rng(0))
    found = asset.articulation.parts["door"]
    made = Handle(HandleType(handle), np.array([0.02, 0.02, 0.2]))
    door = replace(moves_by(found, 3.1), handle=made)
    reaches_it_at_once = start[1] > 0.0
    assert count_holds(door, asset, start, asked) == (1 if reaches_it_at_once else holds)


def test_a_push_from_inside_aims_further_beyond_what_is_asked_than_a_hold():
    part, start, asked = moves_by(part_of("laptop", "lid"), 3.1), (2.3, 2.3), 2.8
    held, pushed = (
        led_to(setting, part, start, asked).follow_joint
        for setting in (
            grasp_setting(part, start),
            replace(inside_push_setting(part, start), keypoint_shifts={SPOT: [0.0, 0.0, 0.0]}),
        )
    )
    assert held is not None
    assert pushed is not None
    assert held.to == pytest.approx(asked + 0.2 * (asked - start[0]))
    assert pushed.to == pytest.approx(asked + 0.2)
