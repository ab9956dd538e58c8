"""Where closed fingers can push a part, or drag it by friction where nothing else is left to do."""

import numpy as np
import pytest

from tests.skills.builders import (
    CLOSED,
    GREY,
    HAND,
    HEAD,
    SPOT,
    fit_of,
    handle_at,
    link,
    made_of,
    part_of,
    place_of,
    strategies_of,
)
from unlatch.objects.annotation import Handle, HandleType, PartKind
from unlatch.simcore.errors import ConfigError
from unlatch.skills.strategies.pushing import MET_EARLY_M, drag_spots, inner_spots, is_even, push_shifts
from unlatch.skills.strategies.ranking import dragged_start

BACK = {"back": ((-0.4, 0.0, -0.3), (-0.38, 0.5, 0.3))}
AJAR = (0.5, 0.9)


def hinged(leaf, spot_y, handle):
    """A leaf in the plane x = 0 that turns about the z axis, before a back."""
    how = {"kind": PartKind.hinge_vertical, "axis": [0.0, 0.0, -1.0], "upper": 1.5}
    where = {"across": [0.0, 1.0, 0.0], "along": [0.0, 0.0, 1.0], "spot": [0.0, spot_y, 0.0]}
    return made_of(link("body", **BACK), leaf, head=handle.T_link_handle.p, handle=handle, **how, **where)


def door(*, spot_y, bar=True, height=0.5):
    """A door in the plane x = 0, hinged at y = 0, 0.4 m wide, with a bar on its free side."""
    panel = {"panel": ((-0.02, 0.0, -height / 2), (0.0, 0.4, height / 2))}
    bars = {"bar": ((0.05, 0.34, -0.2), (0.06, 0.35, 0.2))} if bar else {}
    return hinged(link("leaf", **panel, **bars), spot_y, handle_at([0.055, 0.345, 0.0], [0.01, 0.01, 0.4]))


def shifts(made):
    return push_shifts(fit_of(made), AJAR)


def test_a_clear_spot_is_taken_as_it_is():
    found = shifts(door(spot_y=0.25))
    assert np.allclose(found[0], 0.0)
    assert all(np.linalg.norm(a - b) >= 0.05 for i, a in enumerate(found) for b in found[:i])


def test_beside_a_bar_the_palm_wants_its_room():
    made = door(spot_y=0.33)
    first = shifts(made)[0]
    # the palm is 63 mm thick about the fingertips, and keeps 4 mm
    assert 0.34 - (0.33 + first[1]) >= 0.0316 + 0.004
    strategies = strategies_of("close", made, AJAR)
    assert list(strategies)[:2] == ["push", "push_2"]
    assert strategies["push"].keypoint_shifts == {SPOT: pytest.approx(first.tolist(), abs=1e-4)}


def test_no_spot_lies_off_the_face_or_near_the_hinge():
    asset, part = door(spot_y=0.2, bar=False, height=0.12)
    for shift in shifts((asset, part)):
        _, y, z = part.keypoint(SPOT).xyz + shift
        assert abs(z) <= 0.06 - 0.008
        assert 0.1 <= y <= 0.4 - 0.008


@pytest.mark.slow
def test_without_a_fitting_spot_the_annotated_one_is_tried():
    made = door(spot_y=0.2, height=0.01)
    assert shifts(made) == []
    ((name, setting),) = strategies_of("close", made, AJAR).items()
    assert (name, bool(setting.keypoint_shifts)) == ("push", False)


def inside_pushes(made, start):
    return {name: s for name, s in strategies_of("open", made, start).items() if name.startswith("inside")}


@pytest.mark.slow
@pytest.mark.parametrize("category", ["microwave", "box"])
def test_a_part_that_stands_open_is_pushed_further_from_inside(category):
    asset, part = part_of(category, instance=3)
    fit, pushes = fit_of((asset, part)), inside_pushes((asset, part), (0.9, 0.9))
    assert "inside" in pushes
    _, along, outward = fit.axes_link()
    for setting in pushes.values():
        point = place_of(part, setting)
        reach = fit.solids.section(part.link, along, float(point @ along)) @ outward
        assert reach.min() - 0.005 <= float(point @ outward) <= reach.max() - 0.002
        assert setting.approach_width_m == 0.0
        assert setting.constraint_list[2].target_inner_product == -1  # the hand is on the inner side
    assert inside_pushes((asset, part), CLOSED) == {}


@pytest.mark.slow
@pytest.mark.parametrize(("gap_m", "upright", "even"), [(0.0, True, True), (0.02, False, False)])
def test_a_hand_that_pushes_between_slats_does_not_slide(gap_m, upright, even):
    # a hollow door; slats 2 cm wide with gaps are its inner face
    leaf = link("leaf", panel=((-0.01, 0.0, -0.25), (0.0, 0.42, 0.25)))
    for number, at in enumerate(np.arange(0.0, 0.41, 0.02 + gap_m).tolist()):
        low, high = ((at, -0.25), (at + 0.02, 0.25)) if upright else ((0.0, at - 0.21), (0.42, at - 0.19))
        leaf.box(f"slat_{number}", (-0.06, *low), (-0.04, *high), rgba=GREY)
    made = hinged(leaf, 0.25, handle_at([-0.005, 0.41, 0.0], [0.02, 0.01, 0.5], HandleType.edge))
    fit = fit_of(made)
    on_slats = [spot for spot in inner_spots(fit, (0.9,)) if spot[0] < -0.05]
    assert on_slats
    assert {is_even(fit, spot, 0.9) for spot in on_slats} == {even}
    assert any(s.slips == ["cone"] for s in inside_pushes(made, (0.9, 0.9)).values()) is not even


def bail(*, body_below, rim_z=None):
    """A bail on a hinge along y: closed, it stands straight up from the hinge; it opens towards -x.

    The body reaches up to `body_below` under the bar, on the side of +x. On the other side it may have a rim.
    """
    rim = {} if rim_z is None else {"rim": ((-0.45, -0.2, -0.3), (-0.25, 0.2, rim_z))}
    body = link("body", wall=((0.02, -0.2, -0.3), (0.3, 0.2, 0.3 - body_below)), **rim)
    loop, head = link("loop", bar=((-0.005, -0.15, 0.295), (0.005, 0.15, 0.305))), [0.0, 0.0, 0.3]
    how = {"kind": PartKind.lever, "axis": [0.0, -1.0, 0.0], "upper": 1.5, "head": head, "spot": [0.0, 0.0, 0.305]}
    across = {"across": [1.0, 0.0, 0.0], "along": [0.0, 1.0, 0.0]}
    return made_of(body, loop, handle=handle_at(head, [0.01, 0.01, 0.3]), **how, **across)


def test_a_bail_is_grasped_where_the_hand_fits_to_the_end_and_else_pushed():
    free = strategies_of("close", bail(body_below=0.2), AJAR)
    assert list(free)[:2] == ["bar", "side_1"]
    grasp, push = free["bar"], free["side_1"]
    assert (bool(grasp.approach_width_m), bool(push.approach_width_m)) == (True, False)
    assert grasp.follow_joint.to == 0.0
    assert push.follow_joint.to == pytest.approx(0.5 * push.success_threshold)
    near = strategies_of("close", bail(body_below=-0.05), AJAR)
    assert near
    assert {name.partition("_")[0] for name in near} <= {"side", "tip"}


def test_a_bail_is_led_a_little_beyond_what_is_asked():
    led = strategies_of("open", bail(body_below=0.2), asked=1.2)["bar"].follow_joint
    assert led.to == pytest.approx(1.03 * 1.2, abs=0.01)  # the arm lags; a path that ends too early is extended


def tongue(*, gap=0.05, wall=False, handle=HandleType.none):
    """A wide, flat tongue that turns about z, as that of a faucet: closed, it points along x, and opens towards -y.

    The body is `gap` below it. A wall may stand where fingers that push it open would be.
    """
    walls = {"wall": ((-0.05, 0.045, -0.3), (0.3, 0.07, 0.2))} if wall else {}
    body = link("body", spout=((-0.05, -0.05, -0.3), (0.16, 0.05, -0.005 - gap)), **walls)
    lever, head = link("tongue", plate=((-0.03, -0.04, -0.005), (0.16, 0.04, 0.005))), [0.152, 0.0, 0.0]
    how = {"kind": PartKind.lever, "axis": [0.0, 0.0, -1.0], "upper": 1.5, "head": head, "spot": [0.16, 0.0, 0.0]}
    across = {"across": [0.0, 1.0, 0.0], "along": [-1.0, 0.0, 0.0]}
    return made_of(body, lever, handle=handle_at(head, [0.01, 0.08, 0.016], handle), **how, **across)


@pytest.mark.parametrize("handle", [HandleType.none, HandleType.bar], ids=["no handle", "too wide for the fingers"])
def test_a_lever_that_nothing_can_hold_is_opened_by_closed_fingers(handle):
    asset, part = tongue(handle=handle)
    strategies = strategies_of("open", (asset, part))
    assert {name.partition("_")[0] for name in strategies} == {"side", "tip"}
    for name, setting in strategies.items():
        assert setting.approach_width_m == 0.0
        assert setting.follow_joint.to == pytest.approx(1.5 * setting.success_threshold)
        x, y, _ = place_of(part, setting, HEAD if name.startswith("side") else SPOT)
        assert y > 0.04 - 0.005  # on the side from which it opens
        assert 0.3 * 0.152 < x < 0.16


def test_fingers_beside_a_lever_stay_clear_of_a_wall():
    with pytest.raises(ConfigError, match="no place was found at which the hand could hold or push"):
        strategies_of("open", tongue(gap=0.003, wall=True))


FRAME = {
    "left": ((-0.1, -0.32, 0.0), (0.0, -0.3, 0.4)),
    "right": ((-0.1, 0.3, 0.0), (0.0, 0.32, 0.4)),
    "low": ((-0.1, -0.32, -0.02), (0.0, 0.32, 0.0)),
    "high": ((-0.1, -0.32, 0.4), (0.0, 0.32, 0.42)),
}
PANEL = {"panel": ((-0.02, -0.298, 0.002), (0.0, 0.0, 0.398))}
BRIDGE = {"bridge": ((0.02, -0.05, -0.02), (0.04, 0.05, 0.2))}
SHELF = {"shelf": ((0.01, -0.32, 0.0), (0.03, 0.32, 0.4))}


def sliding_panel(*, handle=False, **before):
    """A panel in a frame whose front, the plane x = 0, it does not leave: it slides along y by 0.25 m."""
    body, how = link("body", **FRAME, **before), {"kind": PartKind.slider, "axis": [0.0, 1.0, 0.0], "upper": 0.25}
    if handle:
        panel, head = link("panel", **PANEL, bar=((0.05, -0.03, 0.12), (0.06, -0.02, 0.28))), [0.055, -0.025, 0.2]
        across = {"across": [0.0, 1.0, 0.0], "along": [0.0, 0.0, 1.0], "handle": handle_at(head, [0.01, 0.01, 0.16])}
    else:
        panel, head = link("panel", **PANEL), [-0.01, -0.01, 0.2]
        edge = handle_at(head, [0.024, 0.02, 0.396], HandleType.edge)
        across = {"across": [0.0, 0.0, -1.0], "along": [-1.0, 0.0, 0.0], "handle": edge}
    return made_of(body, panel, head=head, spot=[0.0, -0.1, 0.2], **how, **across)


def turntable(radius_m=0.14):
    """A square table in a frame of the same height, which turns about the vertical; nothing of it can be held."""
    body = link("body", below=((-0.2, -0.2, 0.0), (0.2, 0.2, 0.04)))
    table = link("table", table=((-radius_m, -radius_m, 0.045), (radius_m, radius_m, 0.07)))
    how = {"kind": PartKind.knob, "axis": [0.0, 0.0, 1.0], "upper": 3.0, "head": [0.0, 0.0, 0.06]}
    across = {"across": [0.0, 1.0, 0.0], "along": [-1.0, 0.0, 0.0], "spot": [0.0, 0.0, 0.07]}
    return made_of(body, table, handle=Handle(HandleType.none, np.zeros(3)), **how, **across)


def test_a_panel_with_nothing_to_hold_is_dragged_by_its_front_as_the_last_resort():
    asset, part = sliding_panel()
    strategies = strategies_of("open", (asset, part))
    drags = {name: setting for name, setting in strategies.items() if name.startswith("drag")}
    assert list(drags)[:2] == ["drag", "drag_2"]
    assert list(strategies)[-len(drags) :] == list(drags)
    for setting in drags.values():
        x, y, z = place_of(part, setting)
        assert (x, setting.press_direction) == (pytest.approx(MET_EARLY_M), [-1.0, 0.0, 0.0])
        assert -0.298 + 0.015 <= y <= -0.015
        assert 0.002 + 0.015 <= z <= 0.398 - 0.015
        assert (setting.approach_width_m, setting.slips) == (0.0, ["fixed"])
    with_bar = strategies_of("open", sliding_panel(handle=True))
    assert with_bar
    assert not any(name.startswith("drag") for name in with_bar)


@pytest.mark.slow
@pytest.mark.parametrize(("handle", "start"), [(False, CLOSED), (True, (0.085, 0.102))])
def test_a_panel_that_only_friction_opens_starts_closed(handle, start):
    assert dragged_start(*sliding_panel(handle=handle), HAND, (0.085, 0.102)) == start


def test_the_hand_keeps_clear_of_what_it_would_meet_on_the_way():
    spots = drag_spots(fit_of(sliding_panel(**BRIDGE)), CLOSED, 0.225)
    assert spots
    assert min(spot.point[2] for spot in spots) > 0.2, "the fingertips would be dragged below the bridge"
    assert drag_spots(fit_of(sliding_panel(**SHELF)), CLOSED, 0.225) == []


@pytest.mark.parametrize(("skill", "end"), [("open", 0.75), ("close", 0.0)])
def test_a_flush_table_is_turned_by_fingertips_off_its_axis(skill, end):
    asset, part = turntable()
    strategies = strategies_of(skill, (asset, part), (0.6, 0.6) if skill == "close" else CLOSED)
    assert list(strategies) == ["drag", "drag_2", "drag_3", "drag_4"]
    for setting in strategies.values():
        x, y, z = place_of(part, setting)
        assert z == pytest.approx(0.07 + MET_EARLY_M)
        assert np.hypot(x, y) > 0.03
        assert setting.press_direction == [0.0, 0.0, -1.0]
        assert setting.follow_joint.to == pytest.approx(end)


@pytest.mark.parametrize(
    ("skill", "message"), [("open", "neither a handle nor an edge"), ("rotate", "nothing of it fits between fingers")]
)
def test_a_face_that_is_smaller_than_fingertips_and_their_lever_is_refused(skill, message):
    with pytest.raises(ConfigError, match=message):
        strategies_of(skill, turntable(radius_m=0.025))
