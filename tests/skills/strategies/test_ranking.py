"""Derived tasks of what is turned in the hand."""

from dataclasses import replace

import numpy as np
import pytest

from tests.skills.builders import CLOSED, HAND, fit_of, handle_at, link, made_of, part_of, strategies_of
from unlatch.objects.annotation import Handle, HandleType, Openness, PartKind
from unlatch.simcore.errors import ConfigError
from unlatch.skills.strategies.open_close import is_round, start_range
from unlatch.skills.strategies.ranking import check_turns, rotate_setting, turned_by, turned_to


@pytest.fixture
def dial():
    """The round dial of a generated safe, and the safe."""
    return part_of("safe", "knob")


@pytest.fixture
def blade():
    return part_of("faucet", "knob")


def bare(part):
    return replace(part, handle=replace(part.handle, type=HandleType.none))


@pytest.mark.parametrize(
    ("kind", "opened", "expected"),
    [(PartKind.knob, -4.0, 1.5), (PartKind.knob, 2.0, 1.2), (PartKind.lever, 1.5, 0.7), (PartKind.lever, -0.5, 0.3)],
)
def test_a_part_is_turned_by_a_share_of_its_range_at_most(dial, kind, opened, expected):
    part = replace(dial[1], kind=kind, openness=Openness(closed=0.0, open=opened))
    setting = rotate_setting(part, None)
    assert (turned_by(part), setting.success_threshold) == pytest.approx((expected, expected))
    assert setting.follow_joint.to == pytest.approx(np.sign(opened) * turned_to(part))
    assert turned_by(part) < turned_to(part) < abs(opened)
    assert setting.update_art_joint


def test_a_round_knob_is_held_in_its_middle_at_any_angle_and_a_blade_across(dial):
    _, part = dial
    flat = replace(part, handle=Handle(HandleType.knob, np.array([0.02, 0.012, 0.04]), part.handle.T_link_handle))
    for each, sides in ((part, 0), (flat, 1)):  # how many constraints say where the fingertip line points
        constraints = rotate_setting(each, None).constraint_list
        assert sum(c.tool_names().get("axis_to_keypoint_name") == "tool_side" for c in constraints) == sides
        assert is_round(each) == (sides == 0)
        assert (constraints[0].TYPE, constraints[0].tolerance <= 0.0005) == ("point2point_constraint", True)


def test_what_is_pulled_or_what_fingers_cannot_hold_is_not_turned(dial):
    asset, part = dial
    with pytest.raises(
        ConfigError, match=r"skill=rotate does not fit part 'door': it is a hinge_vertical, which is pul"
    ):
        check_turns(asset.articulation.parts["door"])
    with pytest.raises(ConfigError, match=r"nothing of it fits between fingers \(handle\.type is none\)"):
        check_turns(bare(part))
    with pytest.raises(ConfigError, match=r"'knob': it is a knob, which is turned back, and nothing of it fits"):
        strategies_of("close", (asset, bare(part)), (0.5, 0.9))


def test_close_turns_a_knob_back_to_closed_in_a_hand_that_holds_it(dial):
    asset, part = dial
    ((name, setting),) = strategies_of("close", dial, start_range("close", part, asset)).items()
    assert (name, setting.follow_joint.to) == ("knob", pytest.approx(part.openness.closed))
    assert setting.approach_width_m > float(part.handle.size[1])


def test_a_blade_is_held_flat_between_the_pads_across_it_or_along_it(blade, dial):
    strategies = strategies_of("rotate", blade)
    assert list(strategies) == ["knob", "knob_along"]
    across, along = (setting.constraint_list[1] for setting in strategies.values())
    assert across.axis_to_keypoint_name == along.axis_to_keypoint_name == "tool_side"
    assert across.target_axis_to_keypoint_name == "articulated_object_tail"
    assert along.target_axis == "link0_contact_axis"
    assert max(across.tolerance, along.tolerance) < 0.01
    narrow, wide = (setting.approach_width_m for setting in strategies.values())
    assert narrow < float(blade[1].handle.size[2]) < wide
    assert list(strategies_of("rotate", dial)) == ["knob"]  # round: one strategy for all angles


def flat_dial(**around):
    """A dial of 24 mm that stands 20 mm out of a plate, with further boxes on the plate."""
    plate = ((-0.05, -0.3, -0.3), (0.0, 0.3, 0.3))
    dial = link("dial", disc=((0.0, -0.012, -0.012), (0.02, 0.012, 0.012)))
    how = {"kind": PartKind.knob, "axis": [1.0, 0.0, 0.0], "upper": 3.0, "spot": [0.02, 0.0, 0.0]}
    head = np.array([0.01, 0.0, 0.0])
    held = {"handle": handle_at(head, [0.02, 0.024, 0.024], HandleType.knob), "head": head}
    across = {"across": [0.0, 1.0, 0.0], "along": [0.0, 0.0, 1.0]}
    return made_of(link("body", plate=plate, **around), dial, **how, **held, **across)


def test_a_dial_is_also_held_by_its_tips_where_closed_fingers_would_meet_a_ring_around_it():
    sides = {"left": -1.0, "right": 1.0}
    ring = {
        name: ((0.0, min(0.013 * side, 0.017 * side), -0.03), (0.004, max(0.013 * side, 0.017 * side), 0.03))
        for name, side in sides.items()
    }
    assert list(strategies_of("rotate", flat_dial())) == ["knob"]
    found = strategies_of("rotate", flat_dial(**ring))
    assert list(found) == ["knob", "tips"]
    deep, tips = (setting.modify_actuation_motion for setting in found.values())
    assert tips[1] < deep[1] < 0.0


def test_a_round_dial_beside_a_handle_is_held_at_another_angle():
    made = flat_dial(handle=((0.0, -0.06, -0.02), (0.04, -0.02, 0.02)))
    assert fit_of(made, 0.06).grasp(0.0) is None
    assert strategies_of("rotate", made, CLOSED)["knob"].approach_width_m < HAND.max_width_m


def test_a_blade_that_is_opened_far_is_also_held_along_it(blade):
    asked = 0.9 * blade[1].openness.span
    far = strategies_of("open", blade, asked=asked)
    assert list(far) == ["knob", "knob_along"]
    assert len({setting.follow_joint.to for setting in far.values()}) == 1
    assert {tuple(setting.slips) for setting in far.values()} == {("fixed", "side")}
    assert [setting.success_threshold for setting in far.values()] == pytest.approx([asked, asked])
    for little in (None, 0.6):  # within one turn of the wrist
        assert list(strategies_of("open", blade, asked=little)) == ["knob"]
