"""Where closed fingers can push a part."""

import numpy as np
import pytest

from unlatch.objects.annotation import SPOT, Handle, HandleType, PartKind
from unlatch.objects.config import ObjectCfg
from unlatch.objects.library import load_object
from unlatch.objects.procedural.links import LinkBuilder
from unlatch.robots.catalog import load_robot
from unlatch.robots.hand_shape import hand_shape
from unlatch.simcore.geometry import Pose
from unlatch.skills.strategies.hand_fit import HandFit
from unlatch.skills.strategies.pushing import inner_spots, is_even, lever_spots, places_beside_lever, push_shifts
from unlatch.skills.strategies.ranking import derive_strategies

HAND = hand_shape("franka_panda", load_robot("franka_panda").arms[0])
GREY = (0.5, 0.5, 0.5, 1.0)


def hinged(make_object, body, leaf, spot_y, handle):
    """A leaf in the plane x = 0 that turns about the z axis."""
    return make_object(
        body,
        leaf,
        kind=PartKind.hinge_vertical,
        axis=[0.0, 0.0, -1.0],
        upper=1.5,
        head=handle.T_link_handle.p,
        across=[0.0, 1.0, 0.0],
        along=[0.0, 0.0, 1.0],
        spot=[0.0, spot_y, 0.0],
        handle=handle,
    )


def door(make_object, *, spot_y, bar=True, height=0.5):
    """A door in the plane x = 0, hinged at y = 0, 0.4 m wide, with a bar on its free side."""
    body, leaf = LinkBuilder("body"), LinkBuilder("leaf")
    body.box("back", (-0.4, 0.0, -0.3), (-0.38, 0.5, 0.3), rgba=GREY)
    leaf.box("panel", (-0.02, 0.0, -height / 2), (0.0, 0.4, height / 2), rgba=GREY)
    if bar:
        leaf.box("bar", (0.05, 0.34, -0.2), (0.06, 0.35, 0.2), rgba=GREY)
    head = np.array([0.055, 0.345, 0.0])
    handle = Handle(HandleType.bar, np.array([0.01, 0.01, 0.4]), Pose.from_translation(head))
    return hinged(make_object, body, leaf, spot_y, handle)


def shifts(asset, part):
    return push_shifts(HandFit(asset, part, HAND, approach_m=0.0), (0.5, 0.9))


def test_a_clear_spot_is_taken_as_it_is(make_object):
    found = shifts(*door(make_object, spot_y=0.25))
    assert np.allclose(found[0], 0.0)
    assert all(np.linalg.norm(a - b) >= 0.05 for i, a in enumerate(found) for b in found[:i])


def test_beside_a_bar_the_palm_wants_its_room(make_object):
    asset, part = door(make_object, spot_y=0.33)
    first = shifts(asset, part)[0]
    # the palm is 63 mm thick about the fingertips, and keeps 4 mm
    assert 0.34 - (0.33 + first[1]) >= 0.0316 + 0.004
    strategies = derive_strategies("close", asset, part, HAND, (0.5, 0.9))
    assert [name for name, _ in strategies[:2]] == ["push", "push_2"]
    assert strategies[0][1].keypoint_shifts == {"link_contact_point": pytest.approx(first.tolist(), abs=1e-4)}


def test_no_spot_lies_off_the_face_or_near_the_hinge(make_object):
    asset, part = door(make_object, spot_y=0.2, bar=False, height=0.12)
    spot = part.keypoint("link_contact_point").xyz
    for shift in shifts(asset, part):
        _, y, z = spot + shift
        assert abs(z) <= 0.06 - 0.008
        assert 0.1 <= y <= 0.4 - 0.008


@pytest.mark.slow
def test_without_a_fitting_spot_the_annotated_one_is_tried(make_object):
    asset, part = door(make_object, spot_y=0.2, height=0.01)
    assert shifts(asset, part) == []
    ((name, setting),) = derive_strategies("close", asset, part, HAND, (0.5, 0.9))
    assert name == "push"
    assert not setting.keypoint_shifts


@pytest.mark.slow
@pytest.mark.parametrize("category", ["microwave", "box"])
def test_a_part_that_stands_open_is_pushed_further_from_inside(category):
    asset = load_object(ObjectCfg(category, category, instance="3"), rng=np.random.default_rng(0))
    part = next(iter(asset.articulation.parts.values()))
    fit = HandFit(asset, part, HAND, approach_m=0.0)
    pushes = {
        name: setting
        for name, setting in derive_strategies("open", asset, part, HAND, (0.9, 0.9))
        if name.startswith("inside")
    }
    assert "inside" in pushes
    _, _, outward = fit.axes_link()
    spot = part.keypoint(SPOT).xyz
    for setting in pushes.values():
        point = spot + np.array(setting.keypoint_shifts[SPOT])
        section = fit.solids.section(part.link, fit.axes_link()[1], float(point @ fit.axes_link()[1]))
        inner = float((section @ outward).min())
        assert inner - 0.005 <= float(point @ outward) <= float((section @ outward).max()) - 0.002
        assert setting.approach_width_m == 0.0
        assert setting.constraint_list[2].target_inner_product == -1  # the hand is on the inner side
    closed = [name for name, _ in derive_strategies("open", asset, part, HAND, (0.0, 0.0))]
    assert not any(name.startswith("inside") for name in closed)


def slatted_door(make_object, gap_m, *, upright=True):
    """A hollow door in the plane x = 0, hinged at y = 0; slats 2 cm wide with gaps are its inner face."""
    body, leaf = LinkBuilder("body"), LinkBuilder("leaf")
    body.box("back", (-0.4, 0.0, -0.3), (-0.38, 0.5, 0.3), rgba=GREY)
    leaf.box("panel", (-0.01, 0.0, -0.25), (0.0, 0.42, 0.25), rgba=GREY)
    for number, at in enumerate(np.arange(0.0, 0.41, 0.02 + gap_m).tolist()):
        low, high = ((at, -0.25), (at + 0.02, 0.25)) if upright else ((0.0, at - 0.21), (0.42, at - 0.19))
        leaf.box(f"slat_{number}", (-0.06, *low), (-0.04, *high), rgba=GREY)
    head = np.array([-0.005, 0.41, 0.0])
    handle = Handle(HandleType.edge, np.array([0.02, 0.01, 0.5]), Pose.from_translation(head))
    return hinged(make_object, body, leaf, 0.25, handle)


@pytest.mark.slow
@pytest.mark.parametrize(("gap_m", "upright", "even"), [(0.0, True, True), (0.02, True, False), (0.02, False, False)])
def test_a_hand_that_pushes_between_slats_does_not_slide(make_object, gap_m, upright, even):
    asset, part = slatted_door(make_object, gap_m, upright=upright)
    fit = HandFit(asset, part, HAND, approach_m=0.0)
    on_slats = [spot for spot in inner_spots(fit, (0.9,)) if spot[0] < -0.05]
    assert on_slats
    assert {is_even(fit, spot, 0.9) for spot in on_slats} == {even}
    pushes = {
        name: setting
        for name, setting in derive_strategies("open", asset, part, HAND, (0.9, 0.9))
        if name.startswith("inside")
    }
    assert any(setting.slips == ["cone"] for setting in pushes.values()) is not even


def bail(make_object, *, body_below, rim_z=None):
    """A bail on a hinge along y: closed, it stands straight up from the hinge; it opens towards -x.

    The body reaches up to `body_below` under the bar, on the side of +x. On the other side it may have a rim.
    """
    body, loop = LinkBuilder("body"), LinkBuilder("loop")
    if rim_z is not None:
        body.box("rim", (-0.45, -0.2, -0.3), (-0.25, 0.2, rim_z), rgba=GREY)
    body.box("wall", (0.02, -0.2, -0.3), (0.3, 0.2, 0.3 - body_below), rgba=GREY)
    loop.box("bar", (-0.005, -0.15, 0.295), (0.005, 0.15, 0.305), rgba=GREY)
    head = np.array([0.0, 0.0, 0.3])
    return make_object(
        body,
        loop,
        kind=PartKind.lever,
        axis=[0.0, -1.0, 0.0],
        upper=1.5,
        head=head,
        across=[1.0, 0.0, 0.0],
        along=[0.0, 1.0, 0.0],
        spot=[0.0, 0.0, 0.305],
        handle=Handle(HandleType.bar, np.array([0.01, 0.01, 0.3]), Pose.from_translation(head)),
    )


def test_a_bail_is_pushed_on_the_side_to_which_it_opens(make_object):
    asset, part = bail(make_object, body_below=0.2)
    outward, found = lever_spots(HandFit(asset, part, HAND, approach_m=0.0), (0.5, 0.9))
    assert np.allclose(outward, [-1.0, 0.0, 0.0], atol=1e-6)
    places = [part.keypoint(SPOT).xyz + shift for shift in found]
    assert len(places) > 1
    # the side of the bar at -x, and never beyond its ends
    assert all(-0.01 < x < -0.002 and abs(y) < 0.15 and abs(z - 0.3) < 1e-6 for x, y, z in places)


def test_a_bail_is_grasped_where_the_hand_fits_to_the_end_and_else_pushed(make_object):
    free = derive_strategies("close", *bail(make_object, body_below=0.2), HAND, (0.5, 0.9))
    assert [name for name, _ in free][:2] == ["bar", "push"]
    grasp, push = free[0][1], free[1][1]
    assert grasp.approach_width_m
    assert not push.approach_width_m
    assert grasp.follow_joint is not None
    assert push.follow_joint is not None
    assert grasp.follow_joint.to == 0.0
    assert push.follow_joint.to == pytest.approx(0.5 * push.success_threshold)
    near = derive_strategies("close", *bail(make_object, body_below=-0.05), HAND, (0.5, 0.9))
    assert {name.partition("_")[0] for name, _ in near} == {"push"}


@pytest.mark.parametrize(("rim_z", "room"), [(None, 1.44), (-0.2, 1.44), (-0.02, 1.32), (-0.01, 1.26)])
def test_a_bail_is_led_beyond_what_is_asked_only_where_the_hand_has_room(make_object, rim_z, room):
    asset, part = bail(make_object, body_below=0.2, rim_z=rim_z)
    fit = HandFit(asset, part, HAND, approach_m=0.1)
    assert fit.grasp(room) is not None
    assert room == 1.44 or fit.grasp(room + 0.06) is None
    led = dict(derive_strategies("open", asset, part, HAND, (0.0, 0.0), asked=1.2))["bar"].follow_joint
    assert led is not None
    # at least a tenth of a radian beyond, as the arm lags
    assert led.to == pytest.approx(max(room, 1.3), abs=0.02)


def tongue(make_object, *, gap=0.05, wall=False, handle=HandleType.none):
    """A wide, flat tongue that turns about z, as that of a faucet: closed, it points along x, and opens towards -y.

    The body is `gap` below it. A wall may stand where fingers that push it open would be.
    """
    body, lever = LinkBuilder("body"), LinkBuilder("tongue")
    body.box("spout", (-0.05, -0.05, -0.3), (0.16, 0.05, -0.005 - gap), rgba=GREY)
    if wall:
        body.box("wall", (-0.05, 0.045, -0.3), (0.3, 0.07, 0.2), rgba=GREY)
    lever.box("plate", (-0.03, -0.04, -0.005), (0.16, 0.04, 0.005), rgba=GREY)
    head = np.array([0.152, 0.0, 0.0])
    return make_object(
        body,
        lever,
        kind=PartKind.lever,
        axis=[0.0, 0.0, -1.0],
        upper=1.5,
        head=head,
        across=[0.0, 1.0, 0.0],
        along=[-1.0, 0.0, 0.0],
        spot=[0.16, 0.0, 0.0],
        handle=Handle(handle, np.array([0.01, 0.08, 0.016]), Pose.from_translation(head)),
    )


def test_a_lever_that_nothing_can_hold_is_opened_by_fingers_beside_it(make_object):
    asset, part = tongue(make_object)
    strategies = dict(derive_strategies("open", asset, part, HAND, (0.0, 0.0)))
    assert next(iter(strategies)) == "beside"
    for name, setting in strategies.items():
        assert setting.approach_width_m == 0.0
        assert setting.follow_joint is not None
        assert setting.follow_joint.to == pytest.approx(1.5 * setting.success_threshold)
        keypoint = "articulated_object_head" if name.startswith("beside") else SPOT
        x, y, _ = part.keypoint(keypoint).xyz + np.array(setting.keypoint_shifts[keypoint])
        assert y > 0.04 - 0.005  # on the side from which it opens
        assert 0.07 < x < 0.16  # and in the far half of the tongue


def test_a_lever_too_wide_for_the_fingers_is_pushed_open_and_not_grasped(make_object):
    names = [
        name for name, _ in derive_strategies("open", *tongue(make_object, handle=HandleType.bar), HAND, (0.0, 0.0))
    ]
    assert names[0] == "beside"
    assert "bar" not in names


@pytest.mark.parametrize(("gap", "lift"), [(0.05, 0.0), (0.003, 0.004)])
def test_fingers_beside_a_lever_stay_clear_of_what_is_below_it(make_object, gap, lift):
    asset, part = tongue(make_object, gap=gap)
    found = places_beside_lever(HandFit(asset, part, HAND, approach_m=0.06), (0.0,))
    assert found
    assert all(shift[2] == pytest.approx(lift) for shift in found)


def test_fingers_do_not_lie_where_a_wall_is_beside_a_lever(make_object):
    asset, part = tongue(make_object, wall=True)
    assert places_beside_lever(HandFit(asset, part, HAND, approach_m=0.06), (0.0,)) == []


def test_a_lever_without_room_at_its_tip_is_pushed_nearer_to_its_hinge(make_object):
    asset, part = tongue(make_object)
    _, found = lever_spots(HandFit(asset, part, HAND, approach_m=0.0), (0.5, 0.9))
    places = [part.keypoint(SPOT).xyz[0] + shift[0] for shift in found]
    assert len(places) > 1
    assert 0.5 * 0.152 <= min(places) < 0.14
