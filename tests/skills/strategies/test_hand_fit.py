"""How a hand takes a part, read off its colliders."""

import numpy as np
import pytest

from tests.skills.builders import CLOSED, GREY, HAND, HEAD, fit_of, handle_at, link, made_of, part_of, strategies_of
from unlatch.objects.annotation import HandleType, PartKind
from unlatch.skills.strategies.hand_fit import LEAST_HELD_M, TIP_ROOM_M
from unlatch.skills.strategies.open_close import start_range, widened_start

BAR_M = 0.01
"""Thickness of the bar."""


def drawer(*, overhang_m=0.0, above_m=0.03, standoff_m=0.04, handle=HandleType.bar, rail=False):
    """A closed drawer whose front is the plane x = 0, and a top that stands over it.

    Args:
        overhang_m: How far the top stands out before the front.
        above_m: Height of the top above the middle of the bar, or above the upper edge of the front.
        standoff_m: Free gap behind the bar.
        handle: What it is held by.
        rail: Whether a rail of the body lies between the fingers.
    """
    is_edge = handle is HandleType.edge
    top = (0.1 if is_edge else 0.0) + above_m
    rails = {"rail": ((0.042, -0.15, -0.012), (0.048, 0.15, -0.006))} if rail else {}
    over, side = ((-0.4, -0.3, top), (overhang_m, 0.3, top + 0.02)), ((-0.4, -0.3, -0.3), (-0.01, -0.25, top))
    body = link("body", top=over, side=side, **rails)
    moving = link("drawer", front=((-0.02, -0.2, -0.1), (0.0, 0.2, 0.1 if is_edge else min(0.1, top - 0.002))))
    if is_edge:
        head, size = np.array([-0.01, 0.0, 0.088]), [0.024, 0.02, 0.4]
    else:
        head, half = np.array([standoff_m + BAR_M / 2, 0.0, 0.0]), np.array([BAR_M / 2, 0.07, BAR_M / 2])
        moving.box("bar", head - half, head + half, rgba=GREY)
        size = [BAR_M, BAR_M, 0.14]
    how = {"kind": PartKind.slider, "axis": [1.0, 0.0, 0.0], "upper": 0.3, "head": head, "spot": [0.0, 0.1, 0.0]}
    across = {"across": [0.0, 0.0, -1.0], "along": [0.0, 1.0, 0.0]}
    return made_of(body, moving, handle=handle_at(head, size, handle), **how, **across)


def grasp_of(made, opening=0.0):
    return fit_of(made, 0.1).grasp(opening)


def test_a_free_bar_is_taken_on_its_head_and_one_on_the_front_or_beside_something_not_at_all():
    grasp = grasp_of(drawer())
    assert (grasp.width_m, grasp.setback_m) == (pytest.approx(BAR_M + 0.03), 0.0)
    assert grasp_of(drawer(standoff_m=-0.004)) is None
    assert grasp_of(drawer(rail=True)) is None, "only the part may be between the fingers"
    assert fit_of(drawer(handle=HandleType.knob), 0.1).front_directions() is None


@pytest.mark.parametrize("standoff", [0.001, 0.003])
def test_fingertips_stay_off_the_front_behind_a_flat_bar(standoff):
    tips = standoff + BAR_M / 2 + grasp_of(drawer(standoff_m=standoff)).setback_m - HAND.tip_m
    assert TIP_ROOM_M <= tips <= TIP_ROOM_M + 1e-3
    assert standoff + BAR_M - tips >= LEAST_HELD_M - 1e-3  # the pads still reach over the bar


def test_fingers_open_less_below_an_overhanging_top():
    assert grasp_of(drawer(overhang_m=0.06, above_m=0.042)).width_m < BAR_M + 0.03
    assert grasp_of(drawer(overhang_m=0.06, above_m=0.03)) is None


@pytest.mark.slow
def test_an_edge_opens_until_a_finger_fits_behind_it():
    start = {}
    for overhang in (0.0, 0.06):
        made = drawer(overhang_m=overhang, above_m=0.004, handle=HandleType.edge)
        fit, asked = fit_of(made, 0.06), start_range("open", made[1], made[0])
        start[overhang] = widened_start(asked, made[1], fit)
        strategies = strategies_of("open", made, start[overhang])
        assert next(iter(strategies)) == "edge"
        assert strategies["edge"].approach_width_m == min(fit.grasp(s).width_m for s in start[overhang])
        held = [setting for name, setting in strategies.items() if name.startswith("edge")]
        assert [s.keypoint_shifts.get(HEAD) for s in held] == [None, [0.0, 0.12, 0.0], [0.0, -0.12, 0.0]]
    assert start[0.0] == asked
    assert start[0.06][0] > start[0.0][0] + 0.02


@pytest.mark.slow
def test_a_handle_that_no_hand_fits_while_closed_starts_ajar_unless_it_never_fits():
    made = drawer(overhang_m=0.06, above_m=0.03)
    low, high = widened_start(CLOSED, made[1], fit_of(made, 0.1))
    assert 0.0 < low < high <= 0.6 * 1.2 * 0.3 + 1e-9
    assert grasp_of(made, low) is not None
    assert grasp_of(made) is None
    for other in (drawer(), drawer(standoff_m=-0.004)):
        assert widened_start(CLOSED, other[1], fit_of(other, 0.1)) == CLOSED
    ((name, setting),) = strategies_of("open", drawer(standoff_m=-0.004)).items()
    assert (name, setting.approach_width_m) == ("bar", None)


def test_a_knob_of_a_door_is_held_along_the_hinge_first_and_never_wedged():
    made = part_of("cabinet", "door", instance=97320000)
    assert made[1].handle.type is HandleType.knob
    (along, first), (across, second), *_ = strategies_of("open", made).items()
    assert (along, across) == ("knob_along_hinge", "knob")
    closing = next(c for c in first.constraint_list if c.tool_names().get("axis_to_keypoint_name") == "tool_side")
    assert closing.target_axis == "link0_contact_axis"
    assert (first.slips, second.slips) == (["side", "fixed"], ["fixed", "side"])


def test_a_place_beside_the_head_lies_on_the_part():
    asset, part = part_of("door", "door", instance=7)
    fit = fit_of((asset, part), 0.06)
    _, along, _ = fit.axes_link()
    heights, head = fit.solids.vertices(part.link) @ along, float(part.keypoint(HEAD).xyz @ along)
    (shift,) = fit.shifts()  # its lever stands low, the other place lay below the door
    assert heights.min() < head + shift < heights.max()


def lever_of_toaster(*, roof_m=None):
    """A lever that slides up along a wall; a roof may stand out over it, at a height `roof_m`."""
    roof = {} if roof_m is None else {"roof": ((0.0, -0.1, roof_m), (0.15, 0.1, roof_m + 0.02))}
    head, half = np.array([0.02, 0.0, 0.0]), np.array([0.015, 0.017, 0.005])
    body, lever = (
        link("body", wall=((-0.2, -0.1, -0.2), (0.0, 0.1, 0.14)), **roof),
        link("lever", lever=(head - half, head + half)),
    )
    how = {"kind": PartKind.slider, "axis": [0.0, 0.0, 1.0], "upper": 0.1, "head": head, "spot": [0.02, 0.0, 0.005]}
    across = {"across": [0.0, 1.0, 0.0], "along": [-1.0, 0.0, 0.0]}
    return made_of(body, lever, handle=handle_at(head, 2 * half[[2, 1, 0]], HandleType.knob), **how, **across)


def test_a_lever_is_taken_from_above_first_and_below_a_roof_from_the_front():
    made = lever_of_toaster(roof_m=0.12)
    assert grasp_of(made) is None
    strategies = strategies_of("open", made)
    assert list(strategies) == ["front", "front_2"]  # no knob, where the hand does not fit
    _, closing, palm = strategies["front"].constraint_list
    assert (closing.target_axis, palm.target_axis) == ([0.0, 0.0, 1.0], [1.0, 0.0, 0.0])
    assert list(strategies_of("open", lever_of_toaster())) == ["knob", "front", "front_2"]


def test_a_lever_is_led_down_by_a_grasp_where_no_push_fits():
    strategies = strategies_of("close", lever_of_toaster(roof_m=0.17), (0.04, 0.06))
    assert list(strategies) == ["front", "front_2", "push"]
    grasp = strategies["front"]
    assert grasp.approach_width_m
    assert (grasp.follow_joint.to, grasp.success_threshold) == (0.0, pytest.approx(0.01))


def wheel(spoke_m):
    """A door with a lock wheel of four spokes of length `spoke_m`, held near the middle of the wheel."""
    leaf = link(
        "leaf",
        panel=((-0.02, 0.0, -0.3), (0.0, 0.4, 0.3)),
        hub=((0.0, 0.24, -0.01), (0.05, 0.26, 0.01)),
        upright=((0.035, 0.242, -spoke_m), (0.05, 0.258, spoke_m)),
        across=((0.035, 0.25 - spoke_m, -0.008), (0.05, 0.25 + spoke_m, 0.008)),
    )
    head = [0.0425, 0.25, -0.01]
    how = {"kind": PartKind.hinge_vertical, "axis": [0.0, 0.0, -1.0], "upper": 1.5, "head": head}
    across = {"across": [0.0, 1.0, 0.0], "along": [0.0, 0.0, 1.0], "spot": [0.0, 0.3, 0.1]}
    body = link("body", back=((-0.4, 0.0, -0.3), (-0.38, 0.5, 0.3)))
    return made_of(body, leaf, handle=handle_at(head, [0.015, 0.016, 2 * spoke_m]), **how, **across)


@pytest.mark.slow
def test_a_wheel_is_held_at_a_spoke_beside_the_others_unless_they_are_too_short_for_fingers():
    asset, part = wheel(0.055)
    fit = fit_of((asset, part), 0.1)
    assert fit.grasp(0.0) is None  # at the head, the fingers meet the spokes that run across
    assert widened_start(CLOSED, part, fit) == CLOSED
    strategies = strategies_of("open", (asset, part))
    held = [name for name, setting in strategies.items() if setting.approach_width_m]
    assert held == list(strategies)[:2]
    for name in held:
        height = part.keypoint(HEAD).xyz[2] + strategies[name].keypoint_shifts[HEAD][2]
        assert 0.018 < abs(height) < 0.055  # beyond the spokes across, half a finger away, and on the upright
    assert fit_of(wheel(0.025), 0.1).grasp_shifts(CLOSED) == [0.0]


@pytest.mark.parametrize(("is_round", "shifts"), [(False, {"edge+9cm", "edge-9cm"}), (True, set())])
def test_the_edge_of_a_panel_is_also_held_beside_its_head_but_not_off_a_round_rim(is_round, shifts):
    leaf, head = link("door"), [0.01, 0.288, 0.0]
    if is_round:
        leaf.cylinder("disc", (0.01, 0.15, 0.0), axis="x", radius=0.15, length=0.02, rgba=GREY)
    else:
        leaf.box("panel", (0.0, 0.0, -0.15), (0.02, 0.3, 0.15), rgba=GREY)
    R = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    how = {"kind": PartKind.hinge_vertical, "axis": (0, 0, -1), "upper": 1.6, "head": head, "spot": (0.02, 0.2, 0.0)}
    edge = handle_at(head, [0.024, 0.02, 0.3], HandleType.edge, R)
    body = link("body", wall=((-0.4, 0.0, -0.2), (-0.05, 0.36, 0.2)))
    names = list(
        strategies_of("open", made_of(body, leaf, across=(0, 1, 0), along=(0, 0, 1), handle=edge, **how), (0.4, 0.48))
    )
    assert names[0] == "edge"
    assert {name for name in names if name.endswith("cm")} == shifts
