"""Derived tasks of what is turned in the hand."""

from dataclasses import replace

import numpy as np
import pytest

from unlatch.objects.annotation import Handle, HandleType, Openness, PartKind
from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_object
from unlatch.robots.catalog import load_robot
from unlatch.robots.hand_shape import hand_shape
from unlatch.simcore.errors import ConfigError
from unlatch.skills.strategies.open_close import is_round, opened_to, start_range
from unlatch.skills.strategies.ranking import check_turns, derive_strategies, rotate_setting, turned_by, turned_to

HAND = hand_shape("franka_panda", load_robot("franka_panda").arms[0])


def dial():
    """The round dial of a generated safe."""
    asset = load_object(ObjectCfg(name="safe", category="safe", instance="0"), rng=np.random.default_rng(0))
    return asset, asset.articulation.parts["knob"]


def sides(part):
    """How many constraints say where the fingertip line points."""
    constraints = rotate_setting(part, None).constraint_list
    return sum(item.tool_names().get("axis_to_keypoint_name") == "tool_side" for item in constraints)


@pytest.mark.parametrize(
    ("kind", "opened", "expected"),
    [(PartKind.knob, -4.0, 1.5), (PartKind.knob, 2.0, 1.2), (PartKind.lever, 1.5, 0.7), (PartKind.lever, -0.5, 0.3)],
)
def test_a_part_is_turned_by_a_share_of_its_range_at_most(kind, opened, expected):
    _, part = dial()
    part = replace(part, kind=kind, openness=Openness(closed=0.0, open=opened))
    assert turned_by(part) == pytest.approx(expected)
    setting = rotate_setting(part, None)
    assert setting.success_threshold == pytest.approx(expected)
    assert setting.follow_joint.to == pytest.approx(np.sign(opened) * turned_to(part))
    assert turned_by(part) < turned_to(part) < abs(opened)
    assert setting.update_art_joint


def test_a_round_knob_is_held_at_any_angle_and_a_blade_across():
    _, part = dial()
    assert is_round(part)
    assert sides(part) == 0
    blade = replace(part, handle=Handle(HandleType.knob, np.array([0.02, 0.012, 0.04]), part.handle.T_link_handle))
    assert not is_round(blade)
    assert sides(blade) == 1


def test_a_knob_is_held_in_its_middle():
    _, part = dial()
    (point, *_) = rotate_setting(part, None).constraint_list
    assert point.TYPE == "point2point_constraint"
    assert point.tolerance <= 0.0005


def test_rotate_refuses_sliders_and_hinged_parts():
    asset, _ = dial()
    door = asset.articulation.parts["door"]
    with pytest.raises(
        ConfigError, match=r"skill=rotate does not fit part 'door': it is a hinge_vertical, which is pul"
    ):
        check_turns(door)


def test_rotate_refuses_a_part_that_fingers_cannot_hold():
    _, part = dial()
    with pytest.raises(ConfigError, match=r"nothing of it fits between fingers \(handle\.type is none\)"):
        check_turns(replace(part, handle=replace(part.handle, type=HandleType.none)))


def test_close_turns_a_knob_back_to_closed_in_a_hand_that_holds_it():
    asset, part = dial()
    ((name, setting),) = derive_strategies("close", asset, part, HAND, start_range("close", part, asset))
    assert name == "knob"
    assert setting.follow_joint.to == pytest.approx(part.openness.closed)
    assert setting.approach_width_m > float(part.handle.size[1])


def test_close_refuses_a_knob_that_fingers_cannot_hold():
    asset, part = dial()
    bare = replace(part, handle=replace(part.handle, type=HandleType.none))
    with pytest.raises(ConfigError, match=r"'knob': it is a knob, which is turned back, and nothing of it fits"):
        derive_strategies("close", asset, bare, HAND, (0.5, 0.9))


def test_a_blade_is_held_flat_between_the_pads_across_it_or_along_it():
    asset = load_object(ObjectCfg(name="faucet", category="faucet", instance="0"), rng=np.random.default_rng(0))
    part = asset.articulation.parts["knob"]
    strategies = dict(derive_strategies("rotate", asset, part, HAND, (0.0, 0.0)))
    assert list(strategies) == ["knob", "knob_along"]
    closing = [strategies[name].constraint_list[1] for name in strategies]
    assert [item.axis_to_keypoint_name for item in closing] == ["tool_side", "tool_side"]
    assert closing[0].target_axis_to_keypoint_name == "articulated_object_tail"
    assert closing[1].target_axis == "link0_contact_axis"
    assert max(item.tolerance for item in closing) < 0.01
    widths = [strategies[name].approach_width_m for name in strategies]
    assert widths[0] < float(part.handle.size[2]) < widths[1]
    assert list(dict(derive_strategies("rotate", *dial(), HAND, (0.0, 0.0)))) == [
        "knob"
    ]  # round: one strategy for all angles


def test_a_blade_that_is_opened_far_is_also_held_along_it():
    asset = load_object(ObjectCfg(name="faucet", category="faucet", instance="0"), rng=np.random.default_rng(0))
    part = asset.articulation.parts["knob"]
    asked = 0.9 * part.openness.span
    far = dict(derive_strategies("open", asset, part, HAND, (0.0, 0.0), asked=asked))
    assert list(far) == ["knob", "knob_along"]
    assert {setting.follow_joint.to for setting in far.values()} == {far["knob"].follow_joint.to}
    assert {tuple(setting.slips) for setting in far.values()} == {("fixed", "side")}
    assert [setting.success_threshold for setting in far.values()] == pytest.approx([asked, asked])
    for little in (None, 0.6):  # within one turn of the wrist
        assert list(dict(derive_strategies("open", asset, part, HAND, (0.0, 0.0), asked=little))) == ["knob"]


@pytest.mark.parametrize(("asked", "beyond"), [(5.0, 0.25), (7.0, 0.5), (13.0, 0.75), (14.9, 0.1)])
def test_a_cap_that_takes_several_holds_is_led_further_beyond_what_is_asked(asked, beyond):
    _, part = dial()
    cap = replace(part, openness=Openness(closed=0.0, open=15.0))
    assert opened_to(cap, (0.0, 0.0), asked) == pytest.approx(asked + beyond, abs=0.06)  # three digits
    door = replace(cap, kind=PartKind.hinge_vertical)
    assert opened_to(door, (0.0, 0.0), asked) == pytest.approx(asked + min(beyond, 0.25), abs=0.06)
