"""What mechanisms ask of a robot: the steps before, the part that the hand holds, and the way of its joints."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from unlatch.configs.derived_task import derive_layout, derive_region
from unlatch.objects.annotation import SPOT
from unlatch.objects.closing_force_values import lever_m
from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_object
from unlatch.objects.mechanisms import Interlock, Latch, Mimic, PushLatch, Release, Spring
from unlatch.robots.catalog import ROBOTS
from unlatch.robots.hand_shape import hand_shape
from unlatch.simcore.errors import ConfigError
from unlatch.skills.mechanism_steps import (
    PressToPop,
    Step,
    click_openings,
    explain_held,
    held_to_open,
    is_held_closed,
    joint_path,
    opened_by,
    opens_another,
    place_beyond,
    positions_let_go,
    press_of,
    steps_before,
)
from unlatch.skills.strategies.open_close import count_holds, start_range, tip_tolerances
from unlatch.skills.strategies.ranking import derive_strategies

HAND = hand_shape("franka_panda", ROBOTS.load("franka_panda")().arms[0])


@lru_cache
def asset_of(category):
    return load_object(ObjectCfg(name=category, category=category, instance="1"), rng=np.random.default_rng(0))


def part_of(category, name):
    return asset_of(category).articulation.part(name)


def with_mechanisms(category, **mechanisms):
    asset = asset_of(category)
    return asset.changed(articulation=replace(asset.articulation, mechanisms=mechanisms))


def steps(category, name, asset=None, **openings):
    asset = asset or asset_of(category)
    articulation = asset.articulation
    positions = dict(asset.rest_positions)
    for part, opening in openings.items():
        found = articulation.part(part)
        positions[found.joint] = found.openness.position(opening)
    return steps_before(asset, articulation.part(name), positions), positions


@pytest.mark.parametrize(
    ("category", "part", "openings", "expected"),
    [
        ("latched_door", "door", {}, []),  # the hand turns the lever in the grasp that leads the door
        ("telescopic_drawer", "drawer", {}, []),
        ("button_microwave", "door", {}, [Step("close", "door")]),
        ("push_latch_cabinet", "door", {}, [Step("close", "door")]),
        ("push_latch_cabinet", "door", {"door": 0.5}, []),
        ("button_drawer", "drawer", {}, [Step("close", "button", is_kept=True)]),
        ("filing_cabinet", "drawer_2", {}, []),
        ("filing_cabinet", "drawer_2", {"drawer": 0.1}, [Step("close", "drawer")]),
    ],
)
def test_steps_follow_from_the_mechanism_and_the_state(category, part, openings, expected):
    assert steps(category, part, **openings)[0] == expected


def test_conditions_of_conditions_come_first():
    (dial,), positions = steps("locked_safe", "door")
    knob, wheels = part_of("locked_safe", "knob"), asset_of("locked_safe").articulation.mechanisms["wheels"]
    assert (dial.skill, dial.part) == ("rotate", "knob")
    assert knob.openness.position(dial.opening) == pytest.approx(sum(wheels.range) / 2)
    assert positions[knob.joint] == pytest.approx(sum(wheels.range) / 2)


def test_what_pops_out_far_enough_is_not_led_any_further():
    lid, knob = part_of("toolbox", "lid"), part_of("toolbox", "knob")
    clasp = PushLatch(knob.joint, press=0.02, pops_to=0.7, effort=0.1)
    hook = Latch(lid.joint, knob.joint, free_at=0.5)
    found, positions = steps("toolbox", "lid", with_mechanisms("toolbox", clasp=clasp, hook=hook))
    assert found == [Step("close", "knob")]
    assert positions[knob.joint] == pytest.approx(knob.openness.position(0.7))


def test_what_holds_the_partner_of_a_coupled_part_holds_the_part():
    lid, knob, partner = (part_of("toolbox", name) for name in ("lid", "knob", "knob_2"))
    low, high = sorted(knob.openness.position(opening) for opening in (0.8, 1.0))
    lock = Interlock(joint=partner.joint, by=knob.joint, range=(low, high))
    asset = with_mechanisms("toolbox", pair=Mimic(partner.joint, lid.joint, 0.5), lock=lock)
    (turn,), positions = steps("toolbox", "lid", asset)
    assert (turn.skill, turn.part, turn.opening) == ("rotate", "knob", pytest.approx(0.9))
    assert explain_held(asset, lid, positions) == []
    assert explain_held(asset, lid, asset.rest_positions) == [
        f"lid moves with knob_2, which is locked: knob at 0 rad, which frees it from {low:g} to {high:g} rad"
    ]


def test_a_push_latch_on_one_of_two_coupled_doors_is_pressed_by_either():
    first, second = (part_of("double_cabinet", name) for name in ("door", "door_2"))
    ratio = 0.5 * second.openness.sign * first.openness.sign
    latch = PushLatch(second.joint, press=0.01, pops_to=0.2, effort=1.0)
    asset = with_mechanisms("double_cabinet", pair=Mimic(second.joint, first.joint, ratio), latch=latch)
    found, positions = steps("double_cabinet", "door", asset)
    assert found == [Step("close", "door")]
    assert press_of(asset, first, 0.0) == PressToPop(first, pytest.approx(0.02), pytest.approx(0.4))
    assert positions[first.joint] == pytest.approx(first.openness.position(0.4))
    assert positions[second.joint] == pytest.approx(second.openness.position(0.2))


def test_a_knob_that_releases_a_part_is_turned():
    lid, knob = part_of("toolbox", "lid"), part_of("toolbox", "knob")
    asset = with_mechanisms("toolbox", hook=Release(lid.joint, knob.joint, at=0.8, pops_to=0.3, effort=2.0))
    (turn,), positions = steps("toolbox", "lid", asset)
    assert (turn.skill, turn.part) == ("rotate", "knob")
    assert turn.opening > 0.8
    assert positions[lid.joint] == pytest.approx(lid.openness.position(0.3))
    assert press_of(asset, lid, 0.0) is None


@pytest.mark.parametrize(("shorter", "longer"), [(0.7, 0.9), (0.3, 0.9)])
def test_a_lever_is_turned_to_the_side_on_which_it_opens_if_that_frees_the_door(shorter, longer):
    asset, lever = asset_of("latched_door"), part_of("latched_door", "lever")
    sign, closed = lever.openness.sign, lever.openness.closed
    low, high = sorted((closed - sign * longer, closed + sign * shorter))
    joints = {**asset.model.joints, lever.joint: replace(asset.model.joints[lever.joint], lower=low, upper=high)}
    bolt = Latch(part_of("latched_door", "door").joint, lever.joint, free_at=0.5)
    spring = Spring(lever.joint, rest=closed + 0.01 * sign, stiffness=1.0)
    articulation = replace(asset.articulation, mechanisms={"bolt": bolt, "spring": spring})
    place = place_beyond(articulation, replace(asset.model, joints=joints), bolt.conditions()[0])
    assert (sign * (place - closed) > 0.0) == (shorter > 0.5)
    assert abs(place - closed) > 0.51


def test_a_joint_is_led_into_the_part_of_a_range_that_its_limits_allow():
    lid, knob = part_of("toolbox", "lid"), part_of("toolbox", "knob")
    joint = asset_of("toolbox").model.joints[knob.joint]
    lock = Interlock(joint=lid.joint, by=knob.joint, range=(joint.upper - 0.2, joint.upper + 100.0))
    asset = with_mechanisms("toolbox", lock=lock)
    place = place_beyond(asset.articulation, asset.model, lock.conditions()[0])
    assert place == pytest.approx(joint.upper - 0.1)


def test_every_clasp_of_a_lid_is_turned():
    found, positions = steps("toolbox", "lid")
    assert [(step.skill, step.part) for step in found] == [("rotate", "knob"), ("rotate", "knob_2")]
    lid = part_of("toolbox", "lid")
    assert explain_held(asset_of("toolbox"), lid, positions) == []
    assert len(explain_held(asset_of("toolbox"), lid, asset_of("toolbox").rest_positions)) == 2


def test_the_second_door_of_a_cabinet_opens_after_the_first():
    (first,), _ = steps("double_cabinet", "door_2")
    least, _ = sorted(map(abs, asset_of("double_cabinet").articulation.mechanisms["strip"].range))
    assert (first.skill, first.part) == ("open", "door")
    assert first.opening > least
    assert steps("double_cabinet", "door")[0] == []


@pytest.mark.parametrize(
    ("category", "part", "held"),
    [("latched_door", "door", "lever"), ("locked_safe", "door", "lever"), ("filing_cabinet", "drawer", None)],
)
def test_the_hand_holds_the_lever_of_a_latched_part(category, part, held):
    asset, found = asset_of(category), part_of(category, part)
    holds = held_to_open(asset, found, 0.0)
    assert (None if holds is None else holds.name) == held
    assert held_to_open(asset, found, 0.3) is None  # a part that stands open has left its latch
    assert is_held_closed(asset, found) == (held is not None)


@pytest.mark.parametrize(("category", "part"), [("breaker", "switch"), ("pedal_bin", "pedal")])
def test_what_snaps_over_or_lifts_a_lid_is_pressed_from_where_it_rests(category, part):
    asset, found = asset_of(category), part_of(category, part)
    least, most = start_range("close", found, asset)
    assert least == most == pytest.approx(found.openness.span, abs=1e-3)
    assert opens_another(asset.articulation, found) == (category == "pedal_bin")
    start = {**asset.rest_positions, found.joint: found.openness.position(least)}
    resting = asset.with_followers(start, led=[found.joint])
    assert category == "breaker" or resting == pytest.approx(asset.rest_positions, abs=5e-3)
    for other in asset.articulation.parts.values():
        assert other is found or resting[other.joint] == pytest.approx(other.openness.closed, abs=5e-3)


@pytest.mark.parametrize(("swing", "is_pulled"), [("push", True), ("pull", False)])
def test_a_door_that_swings_away_is_pulled_closed_by_its_lever_where_no_push_has_a_plan(swing, is_pulled):
    cfg = ObjectCfg(name="door", category="latched_door", where={"swing": swing})
    asset = load_object(cfg, rng=np.random.default_rng(0))
    door = asset.articulation.part("door")
    start = start_range("close", door, asset)
    found = derive_strategies("close", asset, door, HAND, start)
    pulls = [setting for _, setting in found if setting.held_part == "lever"]
    assert found[0][0] == "push"
    assert bool(pulls) == is_pulled
    assert all(setting.post_actuation_motions.to == pytest.approx(door.openness.closed) for setting in pulls)


def test_a_lid_that_a_pedal_lifts_is_opened_by_a_press_to_the_stop():
    asset, lid, pedal = asset_of("pedal_bin"), part_of("pedal_bin", "lid"), part_of("pedal_bin", "pedal")
    assert opened_by(asset.articulation, lid) is pedal
    assert opened_by(asset.articulation, pedal) is None
    assert opened_by(asset_of("trash_can").articulation, part_of("trash_can", "lid")) is None
    task, start = derive_layout("open", asset, lid, HAND)
    assert start == (0.0, 0.0)  # it does not stay ajar
    at_pedal = derive_region("close", asset, pedal, (pedal.openness.span,) * 2)
    assert task["regions"] == [at_pedal]
    for asked in (None, 0.9 * lid.openness.span):
        settings = [setting for _, setting in derive_strategies("open", asset, lid, HAND, start, asked=asked)]
        assert {setting.held_part for setting in settings} == {"pedal"}
        assert all(s.post_actuation_motions.reach == pytest.approx(lid.openness.open, 0.01) for s in settings)
    assert count_holds(lid, asset, start, 0.9 * lid.openness.span) == 1


def test_a_lid_that_stands_up_is_pushed_from_behind_where_the_front_has_no_plan():
    asset, lid = asset_of("pedal_bin"), part_of("pedal_bin", "lid")
    start = start_range("close", lid, asset)
    for opening, has_sides in ((start, True), ((0.5, 0.9), False)):
        names = [name for name, _ in derive_strategies("close", asset, lid, HAND, opening)]
        assert names[0].startswith("push")
        assert any(name.startswith("side") for name in names) == has_sides


def test_a_wide_leaf_is_closed_from_where_an_arm_before_it_reaches_its_frame():
    way_m = {}
    for category in ("room_door", "latched_door"):
        asset, door = asset_of(category), part_of(category, "door")
        _, most = start_range("close", door, asset)
        way_m[category] = most * lever_m(asset.model, door, door.keypoint(SPOT).xyz)
        assert (most < 0.9) == (category == "room_door")
    assert way_m["latched_door"] < way_m["room_door"] == pytest.approx(0.45, rel=0.01)


@pytest.mark.parametrize(("category", "part"), [("light_switch", "switch"), ("room_door", "door")])
def test_fingertips_are_upright_and_near_only_where_a_part_moves_little(category, part):
    near_m, lean = tip_tolerances(part_of(category, part), asset_of(category), HAND, lean=0.6)
    assert (near_m < 0.0005, lean < 0.1) == ((True, True) if category == "light_switch" else (False, False))


def test_a_knob_with_clicks_is_turned_back_from_one_of_them():
    asset, knob = asset_of("detent_oven"), part_of("detent_oven", "knob")
    (start,) = set(start_range("close", knob, asset))
    assert min(abs(start - click) for click in click_openings(asset.articulation, knob)) < 5e-3
    assert 0.0 < start < knob.openness.span


@pytest.mark.parametrize("category", ["latched_door", "locked_safe"])
def test_the_lever_is_turned_beyond_what_frees_the_door_before_the_door_moves(category):
    asset = asset_of(category)
    articulation, model, rest = asset.articulation, asset.model, asset.rest_positions
    door, lever = part_of(category, "door"), part_of(category, "lever")
    latch = next(each for each in articulation.mechanisms.values() if each.kind == "latch")
    path = joint_path(articulation, model, door, lever, rest)
    corner = path.at(path.way[1])
    assert path.at(path.start) == pytest.approx({door.joint: rest[door.joint], lever.joint: rest[lever.joint]})
    assert corner[door.joint] == pytest.approx(rest[door.joint])
    assert latch.free_at < abs(corner[lever.joint] - rest[lever.joint]) < lever.openness.span
    end = path.at(door.openness.open)
    assert end[door.joint] == pytest.approx(door.openness.open)
    is_sprung = category == "latched_door"
    assert (end[lever.joint] == pytest.approx(rest[lever.joint])) == is_sprung  # let go, it would snap back
    assert joint_path(articulation, model, door, lever, rest, free=True).start == rest[door.joint]


def test_the_members_of_a_rail_move_with_their_drawer():
    asset, drawer = asset_of("telescopic_drawer"), part_of("telescopic_drawer", "drawer")
    path = joint_path(asset.articulation, asset.model, drawer, drawer, asset.rest_positions)
    assert path.at(0.2) == pytest.approx({drawer.joint: 0.2, "drawer_rail_slide": 0.1})
    assert positions_let_go(asset, {**asset.rest_positions, drawer.joint: 0.2})["drawer_rail_slide"] == 0.1


@pytest.mark.parametrize(("category", "pressed"), [("button_microwave", "button"), ("push_latch_cabinet", "door")])
def test_what_is_pressed_pops_out(category, pressed):
    asset, door = asset_of(category), part_of(category, "door")
    press = press_of(asset, door, 0.0)
    assert press.at.name == pressed
    assert press_of(asset, door, press.pops_to) is None
    led = press.at.openness.position(-press.depth)
    positions = positions_let_go(asset, {**asset.rest_positions, press.at.joint: led})
    assert positions[door.joint] == pytest.approx(door.openness.position(press.pops_to))
    assert positions_let_go(asset, asset.rest_positions)[door.joint] == asset.rest_positions[door.joint]


def test_what_holds_a_part_is_told_until_it_has_left_its_latch():
    asset, door = asset_of("latched_door"), part_of("latched_door", "door")
    (line,) = explain_held(asset, door, asset.rest_positions)
    free_at = asset.articulation.mechanisms["bolt"].free_at
    assert line == f"door is latched: lever at 0 of the {free_at:g} rad that free it"
    assert explain_held(asset, door, {**asset.rest_positions, door.joint: door.openness.position(0.5)}) == []


def test_a_lever_that_a_spring_turns_back_is_not_turned_for_its_own_sake():
    with pytest.raises(ConfigError, match="part 'lever': a spring turns it back once"):
        derive_layout("rotate", asset_of("latched_door"), part_of("latched_door", "lever"), hand=None)
